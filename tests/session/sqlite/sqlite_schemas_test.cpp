// Stores that earlier versions have left are opened, and their conversations go on
// (tests/session/stores).
#include "tests/session/sqlite/sqlite_fixture.hpp"

#include <filesystem>

namespace agui::session {
namespace {

namespace json = boost::json;

using test::run_of;
using test::SqliteStore;

class SqliteSchemas : public SqliteStore, public ::testing::WithParamInterface<int> {
protected:
    SqliteSchemas() {
        const std::string name = "schema_" + std::to_string(GetParam()) + ".db";
        for (const char* suffix : {"", "-wal", "-log"}) {
            const std::filesystem::path from =
                std::filesystem::path(AGUI_TEST_STORES) / (name + suffix);
            if (std::filesystem::exists(from)) {
                std::filesystem::copy_file(from, path() + suffix);
            }
        }
        if (std::filesystem::exists(path() + "-log")) {
            std::filesystem::resize_file(path() + "-log", 1U << 20U);
        }
    }

    static thread_key handed_off() { return {"alice", "handed_off"}; }
    static thread_key under_way() { return {"alice", "under_way"}; }
};

TEST_P(SqliteSchemas, ConversationsAreThere) {
    const std::unique_ptr<store> subject = open();

    const auto thread = get(subject->load(handed_off()));

    ASSERT_TRUE(thread);
    ASSERT_EQ(thread->nodes.size(), 2U);
    EXPECT_EQ(text_of(thread->nodes[0].message.content), "Paint it blue, please. \u00e4\u6f22");
    EXPECT_EQ(thread->nodes[1].parent, 0U);
    EXPECT_EQ(text_of(thread->nodes[1].message.content), "With pleasure");
    EXPECT_EQ(thread->state.view(), R"({"color":"red"})");
    EXPECT_EQ(thread->offered_tools.size(), 1U);
    EXPECT_GT(thread->bytes, 100U);
    EXPECT_LT(thread->bytes, 500U);
    EXPECT_EQ(get(subject->list(test::query_of("alice"))).threads.size(), 2U);
    EXPECT_EQ(get(subject->load(under_way()))->nodes.size(), 1U);
}

TEST_P(SqliteSchemas, LogsAreThereOrSaidToBeGone) {
    const std::unique_ptr<store> subject = open();
    const auto ended = get(subject->find_run(handed_off(), "run_of_handed_off"));
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->status, run_status::finished);
    EXPECT_EQ(ended->last_sequence, 8U);

    const auto log = run(subject->read_log(ended->number, 0, 100));
    const bool is_kept = GetParam() == 3 || GetParam() >= 5;
    if (is_kept) {
        ASSERT_TRUE(log);
        ASSERT_EQ(log->size(), 8U);
        EXPECT_NE(log->back().json.find("RUN_FINISHED"), std::string::npos);
    } else {
        // Version 3 writes logs in another form, version 5 the ring: those that there were are
        // dropped.
        ASSERT_FALSE(log);
        EXPECT_EQ(log.error().code, errc::run_expired);
    }

    const auto orphans = test::orphans_of(*subject);
    ASSERT_EQ(orphans.size(), 1U);
    EXPECT_EQ(orphans[0].key, under_way());
    EXPECT_EQ(orphans[0].run.run_id, "run_of_under_way");
    if (is_kept) {
        EXPECT_EQ(orphans[0].last_sequence, 3U);
    }
}

TEST_P(SqliteSchemas, AHandOffIsFinished) {
    std::unique_ptr<store> subject = open();
    const auto pending = get(subject->pending_calls(handed_off())).value();
    ASSERT_EQ(pending.size(), 1U);
    EXPECT_EQ(pending[0].call.id, "call_1");
    EXPECT_EQ(pending[0].message_id, "m2");
    EXPECT_EQ(pending[0].arguments, R"({"color":"blue"})");

    const lease_ptr held = get(subject->acquire(handed_off(), "run_2"));
    changes answered;
    stored_message answer = test::user_message("m3", "done", 1);
    answer.message.role = role::tool;
    answer.message.tool_call_id = "call_1";
    answered.messages.push_back(answer);
    answered.branches.push_back({0, {.tip = 2, .updated_at = 3000}});
    answered.calls.push_back(pending[0].call);
    answered.calls[0].status = call_status::answered;
    run_record second = run_of("run_2");
    second.number = get(subject->begin(handed_off(), second, answered)).number;
    changes end;
    stored_message said = test::user_message("m4", "It is blue.", 2);
    said.message.role = role::assistant;
    end.messages.push_back(std::move(said));
    end.branches.push_back({0, {.tip = 3, .updated_at = 4000}});
    second.status = run_status::finished;
    second.last_sequence = 1;
    end.run = second;
    done(subject->commit(
        handed_off(), end, test::slice_of(second.number, 1, {"terminal"}), {held, true}
    ));
    subject.reset();

    subject = open();
    const auto thread = get(subject->load(handed_off()));
    ASSERT_EQ(thread->nodes.size(), 4U);
    EXPECT_EQ(thread->find_call("call_1")->status, call_status::answered);
    EXPECT_TRUE(get(subject->pending_calls(handed_off()))->empty());
    EXPECT_EQ(get(subject->read_log(second.number, 0, 10)).size(), 1U);
}

TEST_P(SqliteSchemas, FailedAttemptsAreKeptFromNowOn) {
    const std::unique_ptr<store> subject = open();
    const auto ended = get(subject->find_run(handed_off(), "run_of_handed_off"));
    ASSERT_TRUE(ended);
    EXPECT_TRUE(get(subject->failed_attempts(ended->number)).empty());

    failed_attempt attempt;
    attempt.run_number = ended->number;
    attempt.at = 2000;
    attempt.body = "why";
    subject->keep_attempt(attempt);

    EXPECT_EQ(get(subject->failed_attempts(ended->number)).at(0).body, "why");
}

TEST_P(SqliteSchemas, RequestsAreQueuedFromNowOn) {
    std::unique_ptr<store> subject = open();
    for (const thread_key& key : {handed_off(), under_way()}) {
        EXPECT_TRUE(get(subject->queued(key)).empty());
        queued_request request;
        request.run_id = "run_of_" + key.thread_id;
        const auto taken = run(subject->enqueue(key, request, {.requests = 9, .bytes = 1000}));
        ASSERT_FALSE(taken) << "the runs are known";
        EXPECT_EQ(taken.error().code, errc::run_id_reused);
        request.run_id = "run_2";
        get(subject->enqueue(key, request, {.requests = 9, .bytes = 1000}));
    }
    subject.reset();

    subject = open();
    const auto waiting = get(subject->queued(handed_off()));
    ASSERT_EQ(waiting.size(), 1U);
    changes taken;
    taken.dequeued.push_back(waiting[0].number);
    get(subject->begin(handed_off(), run_of("run_2"), taken));
    EXPECT_TRUE(get(subject->queued(handed_off())).empty());
    EXPECT_EQ(get(subject->find_run(handed_off(), "run_of_handed_off"))->answered_by, "");
    EXPECT_EQ(get(subject->pending_calls(handed_off()))->size(), 1U);
    EXPECT_EQ(get(subject->queued(under_way())).size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(
    Versions, SqliteSchemas, ::testing::Values(1, 2, 3, 4, 5, 8, 9, 10),
    [](const ::testing::TestParamInfo<int>& version) { return std::to_string(version.param); }
);

} // namespace
} // namespace agui::session
