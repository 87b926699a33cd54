// Copies of threads, and the removal of what is kept of a principal.

#include "session/conversation/message_json.hpp"
#include "tests/session/store/store_contract_case.hpp"

namespace agui::session {
namespace {

using namespace store_contract_case;

const thread_key copied = key_of("copied", "alice");
const std::string its_shared_id = "shared-" + std::string(32, 'a');

run_record ended_run(std::string id, std::string key = {}) {
    run_record run = run_of(std::move(id));
    run.idempotency_key = std::move(key);
    run.status = run_status::finished;
    run.ended_at = 2000;
    run.last_sequence = 5;
    return run;
}

whole_thread copy_of_a_thread() {
    whole_thread what;
    what.key = copied;
    what.content.messages.push_back(user_message("m1", "Hello"));
    what.content.messages.push_back(user_message("m2", "again", 0));
    what.content.branches.push_back({0, {.tip = 1, .updated_at = 1500}});
    what.content.head = 0;
    what.content.calls.push_back(
        {.id = "c1",
         .name = "paint",
         .run_id = "run_1",
         .status = call_status::pending,
         .made_in = 1}
    );
    what.content.events.push_back(
        {.type = "user.message", .run_id = "run_1", .timestamp = 1200, .data = {}}
    );
    what.content.state = json_text(R"({"a":1.50})");
    what.content.metadata = json_text(R"({"b":2})");
    what.content.offered_tools = json::array{json::object{{"name", "paint"}}};
    what.content.context = json::array{json::object{{"value", "x"}}};
    what.content.agent_id = "painter";
    what.content.title = "A title";
    what.content.archived = true;
    what.content.last_request_had_history = true;
    what.content.at = 3000;
    what.created_at = 1000;
    what.last_run_at = 2500;
    what.runs = {ended_run("run_1", "key"), ended_run("run_2")};
    what.access = {its_shared_id, {{"bob", access_right::write}}};
    what.attachments = {{std::string(64, 'f'), "image/png", "bytes", 4000}};
    return what;
}

class CopyContract : public StoreContract {};

INSTANTIATE_TEST_SUITE_P(Stores, CopyContract, test::all_stores(), [](const auto& info) {
    return name_of(info.param);
});

TEST_P(CopyContract, RestoresAThreadWhole) {
    EXPECT_TRUE(get(subject().restore(copy_of_a_thread())));
    reopen();

    const thread_record thread = load(copied);
    EXPECT_EQ(thread.nodes.size(), 2U);
    EXPECT_EQ(thread.nodes[1].parent, 0U);
    EXPECT_EQ(text_of(thread.nodes[1].message.content), "again");
    EXPECT_EQ(thread.branches.at(0).tip, 1U);
    EXPECT_EQ(thread.calls.at(0).status, call_status::pending);
    EXPECT_EQ(thread.state.view(), R"({"a":1.50})");
    EXPECT_EQ(thread.metadata.view(), R"({"b":2})");
    EXPECT_EQ(thread.offered_tools.size(), 1U);
    EXPECT_EQ(thread.context.size(), 1U);
    EXPECT_EQ(thread.agent_id, "painter");
    EXPECT_EQ(thread.title, "A title");
    EXPECT_TRUE(thread.archived);
    EXPECT_TRUE(thread.last_request_had_history);
    EXPECT_EQ(thread.created_at, 1000);
    EXPECT_EQ(thread.updated_at, 3000);
    EXPECT_EQ(thread.last_run_at, 2500);
    EXPECT_GT(thread.bytes, 0U);
    EXPECT_EQ(get(subject().events(copied, 0, 10)).at(0).type, "user.message");
    EXPECT_EQ(get(subject().access_of(copied)).value(), copy_of_a_thread().access);
    EXPECT_EQ(get(subject().find_shared(its_shared_id, "bob"))->key, copied);
}

TEST_P(CopyContract, RestoresRunsInTheirOrderWithoutLogs) {
    EXPECT_TRUE(get(subject().restore(copy_of_a_thread())));
    reopen();

    const std::vector<run_record> runs = get(subject().runs(copied, 0, 10));
    ASSERT_EQ(runs.size(), 2U);
    EXPECT_EQ(runs[0].run_id, "run_1");
    EXPECT_EQ(runs[0].idempotency_key, "key");
    EXPECT_EQ(runs[0].status, run_status::finished);
    EXPECT_EQ(runs[0].last_sequence, 5U);
    EXPECT_EQ(get(subject().latest_run(copied))->run_id, "run_2");
    EXPECT_EQ(failure_of(subject().read_log(runs[0].number, 0, 10)), errc::run_expired);
    EXPECT_EQ(get(subject().runs(copied, runs[0].number, 10)).size(), 1U);
    EXPECT_EQ(get(subject().runs(copied, 0, 1)).size(), 1U);
    EXPECT_TRUE(get(subject().runs(key_of("unknown"), 0, 10)).empty());
}

TEST_P(CopyContract, RestoresAttachments) {
    EXPECT_TRUE(get(subject().restore(copy_of_a_thread())));

    const std::vector<std::string> digests = get(subject().attachment_digests(copied));
    EXPECT_EQ(digests, std::vector{std::string(64, 'f')});
    EXPECT_EQ(get(subject().find_attachment(copied, digests.at(0)))->bytes, "bytes");
    EXPECT_TRUE(get(subject().attachment_digests(key_of("unknown"))).empty());
}

TEST_P(CopyContract, ContinuesARestoredThread) {
    EXPECT_TRUE(get(subject().restore(copy_of_a_thread())));

    begin(copied, "run_3", user_turn("m3", "more", 2));

    EXPECT_EQ(load(copied).nodes.size(), 3U);
    EXPECT_EQ(get(subject().latest_run(copied))->run_id, "run_3");
}

TEST_P(CopyContract, LeavesAThreadThatExists) {
    begin(copied, "own", user_turn("own", "Hello"));

    EXPECT_FALSE(get(subject().restore(copy_of_a_thread())));
    EXPECT_EQ(load(copied).nodes.size(), 1U);
}

TEST_P(CopyContract, RefusesTheSharedIdOfAnotherThread) {
    EXPECT_TRUE(get(subject().restore(copy_of_a_thread())));
    whole_thread second = copy_of_a_thread();
    second.key.thread_id = "second";

    EXPECT_EQ(failure_of(subject().restore(second)), errc::conflict);
    EXPECT_FALSE(get(subject().load(second.key)));
}

TEST_P(CopyContract, RefusesTwoRunsWithOneName) {
    whole_thread twins = copy_of_a_thread();
    twins.runs[1].run_id = "run_1";
    EXPECT_EQ(failure_of(subject().restore(twins)), errc::run_id_reused);
    twins.runs[1] = ended_run("run_2", "key");
    EXPECT_EQ(failure_of(subject().restore(twins)), errc::run_id_reused);
    EXPECT_FALSE(get(subject().load(copied)));
}

TEST_P(CopyContract, RefusesContentThatFitsNoThread) {
    whole_thread wrong = copy_of_a_thread();
    wrong.content.branches.push_back({7, {}});

    EXPECT_THROW((void)run(subject().restore(wrong)), std::logic_error);
    EXPECT_FALSE(get(subject().load(copied)));
    EXPECT_TRUE(get(subject().attachment_digests(copied)).empty());
}

TEST_P(CopyContract, ListsPrincipals) {
    for (const char* const each : {"", "a", "a/b", "b"}) {
        begin(key_of("one", each), "run_1", user_turn("m1", "Hello"));
        begin(key_of("two", each), "run_1", user_turn("m1", "Hello"));
    }
    using names = std::vector<std::string>;

    EXPECT_EQ(get(subject().principals(std::nullopt, 10)), (names{"", "a", "a/b", "b"}));
    EXPECT_EQ(get(subject().principals(std::nullopt, 2)), (names{"", "a"}));
    EXPECT_EQ(get(subject().principals("", 2)), (names{"a", "a/b"}));
    EXPECT_EQ(get(subject().principals("a", 2)), (names{"a/b", "b"}));
    EXPECT_EQ(get(subject().principals("b", 2)), names());
}

TEST_P(CopyContract, ForgetsWhatAPrincipalHasBesideItsThreads) {
    EXPECT_TRUE(get(subject().restore(copy_of_a_thread())));
    done(subject().keep_attachment(
        key_of("none", "bob"), {std::string(64, '1'), "text/plain", "x", 1}, 100
    ));

    EXPECT_EQ(get(subject().forget_principal("bob")), (forgotten_principal{1, 1}));
    EXPECT_EQ(get(subject().forget_principal("bob")), forgotten_principal());
    EXPECT_FALSE(get(subject().find_shared(its_shared_id, "bob")));
    EXPECT_FALSE(get(subject().find_attachment(key_of("none", "bob"), std::string(64, '1'))));
    EXPECT_EQ(get(subject().attachment_digests(copied)).size(), 1U) << "another principal's";
}

TEST_P(CopyContract, ScrubbingKeepsActiveRunsAndTheirLogs) {
    const std::int64_t number = begin(thread_1, "run_1", user_turn("m1", "Hello"));
    const auto observer = std::make_shared<recording_observer>();
    subject().append_log(slice_of(number, 1, {"a", "b"}), observer);
    EXPECT_TRUE(observer->wait_durable(2));

    done(subject().scrub());
    subject().append_log(slice_of(number, 3, {"c"}), observer);
    EXPECT_TRUE(observer->wait_durable(3));
    done(subject().scrub());

    if (subject().keeps_logs()) {
        EXPECT_EQ(
            frames_of(get(subject().read_log(number, 0, 10))),
            (std::vector<std::string>{"a", "b", "c"})
        );
    }
    EXPECT_EQ(load(thread_1).nodes.size(), 1U);
}

} // namespace
} // namespace agui::session
