// What every store must do: one suite, run against each of them.
#include "session/base/work_count.hpp"
#include "session/history/shown_messages.hpp"
#include "session/history/turn_failure.hpp"
#include "tests/session/store/store_contract.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <thread>
#include <tuple>

namespace agui::session {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

using test::frames_of;
using test::key_of;
using test::query_of;
using test::recording_observer;
using test::run_of;
using test::slice_of;
using test::StoreContract;
using test::user_message;
using test::user_turn;

INSTANTIATE_TEST_SUITE_P(Stores, StoreContract, test::all_stores(), [](const auto& info) {
    return name_of(info.param);
});

const thread_key thread_1 = key_of("thread_1");

message message_of(role speaker, std::string id) {
    message value;
    value.id = std::move(id);
    value.role = speaker;
    value.content = "text of " + std::string(to_string(speaker));
    return value;
}

// One message of each role, with every member that the role has.
std::vector<message> messages_of_all_roles() {
    std::vector<message> all;
    all.push_back(message_of(role::system, "m0"));
    all.push_back(message_of(role::developer, "m1"));
    all.back().name = "ops";
    all.push_back(message_of(role::user, "m2"));
    all.back().content = json::array{
        {{"type", "text"}, {"text", "look: \xc3\xa9 \" \\ \n"}},
        {{"type", "image"}, {"source", {{"type", "url"}, {"value", "https://x/y.png"}}}},
    };
    all.back().metadata = json::object{{"a", {1, 2.5, nullptr, true}}};
    all.push_back(message_of(role::reasoning, "m3"));
    all.back().encrypted_value = "opaque";
    all.back().encrypted_value_type = "anthropic.redacted_thinking";
    all.push_back(message_of(role::assistant, "m4"));
    all.back().content = std::string();
    all.back().tool_calls.push_back({"call_1", "f", "{\"a\":", "e", "t"});
    all.back().tool_calls.push_back({"call_2", "g", "", std::nullopt, std::nullopt});
    all.back().subagent_run_id = "sub_1";
    turn_origin origin;
    origin.provider = "main";
    origin.model = "thinker-1";
    origin.blocks.push_back({turn_block::kind::reasoning, "m3", 0, nullptr});
    origin.blocks.push_back({turn_block::kind::call, "call_1", 0, json::object{{"x", "signed"}}});
    origin.data = {{"reasoning", "reasoning_content"}};
    all.back().origin = std::make_shared<const turn_origin>(origin);
    all.push_back(message_of(role::tool, "m5"));
    all.back().tool_call_id = "call_1";
    all.back().name = "f";
    all.back().error = "it failed";
    all.push_back(message_of(role::activity, "m6"));
    all.back().content = std::string();
    all.back().activity_type = "PLAN";
    all.back().activity = {{"steps", json::array{"one"}}};
    return all;
}

TEST_P(StoreContract, KeepsEveryMessageRoleAndField) {
    changes change;
    const std::vector<message> given = messages_of_all_roles();
    for (std::size_t i = 0; i < given.size(); ++i) {
        const auto number = static_cast<node_index>(i);
        change.messages.push_back({
            .parent = i == 0 ? no_node : number - 1,
            .run_id = "run_" + std::to_string(i),
            .created_at = 1000 + number,
            .message = given[i],
        });
    }

    begin(thread_1, "run_1", change);
    const thread_record thread = load(thread_1);

    EXPECT_EQ(thread.key, thread_1);
    for (std::size_t i = 0; i < given.size(); ++i) {
        SCOPED_TRACE(i);
        EXPECT_EQ(thread.nodes.at(i).message, given[i]);
        EXPECT_EQ(thread.nodes.at(i).parent, change.messages[i].parent);
        EXPECT_EQ(thread.nodes.at(i).run_id, change.messages[i].run_id);
        EXPECT_EQ(thread.nodes.at(i).created_at, change.messages[i].created_at);
    }
}

TEST_P(StoreContract, KeepsEveryThreadField) {
    changes change = user_turn("m0", "hi", 0, 5000);
    change.agent_id = "helper";
    change.title = "A title";
    change.archived = true;
    change.metadata = json_text(R"({"k":"v"})");
    change.state = json_text(R"({"color":"red"})");
    change.offered_tools = json::array{{{"name", "f"}}};
    change.last_request_had_history = true;

    get(subject().begin(thread_1, run_of("run_1", 4000), change));
    const thread_record thread = load(thread_1);

    EXPECT_EQ(thread.agent_id, "helper");
    EXPECT_EQ(thread.title, "A title");
    EXPECT_TRUE(thread.archived);
    EXPECT_EQ(thread.metadata.view(), R"({"k":"v"})");
    EXPECT_EQ(thread.state, json_text(R"({"color":"red"})"));
    EXPECT_EQ(thread.offered_tools, (json::array{{{"name", "f"}}}));
    EXPECT_TRUE(thread.last_request_had_history);
    EXPECT_EQ(thread.created_at, 5000);
    EXPECT_EQ(thread.updated_at, 5000);
    EXPECT_EQ(thread.last_run_at, 4000);
}

TEST_P(StoreContract, HasASigningKeyOfItsOwn) {
    EXPECT_EQ(subject().signing_key().size(), signing_key_bytes);
    EXPECT_NE(subject().signing_key(), make_memory_store()->signing_key());
}

TEST_P(StoreContract, KeepsAttachmentsOfAThreadThatNeedNotExist) {
    const thread_key key = key_of("not yet");
    const attachment photo{
        .sha256 = std::string(64, 'a'),
        .mime_type = "image/png",
        .bytes = std::string("\x89PNG\0\xff", 6),
        .kept_at = 1000,
    };

    done(subject().keep_attachment(key, photo, 6));

    EXPECT_EQ(get(subject().find_attachment(key, photo.sha256)), photo);
    EXPECT_FALSE(get(subject().find_attachment(key, std::string(64, 'b'))));
    EXPECT_FALSE(get(subject().find_attachment(key_of("another"), photo.sha256)));
    EXPECT_FALSE(get(subject().find_attachment({"bob", key.thread_id}, photo.sha256)));
}

TEST_P(StoreContract, AttachmentsOfAThreadHaveALimit) {
    const thread_key key = key_of("thread_a");
    attachment one{.sha256 = std::string(64, 'a'), .mime_type = "a/b", .bytes = "1234"};
    attachment other{.sha256 = std::string(64, 'b'), .mime_type = "a/b", .bytes = "567"};

    done(subject().keep_attachment(key, one, 6));
    const auto refused = run(subject().keep_attachment(key, other, 6));

    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::body_too_large);
    EXPECT_FALSE(get(subject().find_attachment(key, other.sha256)));
    one.kept_at = 7;
    done(subject().keep_attachment(key, one, 6)); // The same once more.
    EXPECT_EQ(get(subject().find_attachment(key, one.sha256))->kept_at, 7);
    done(subject().keep_attachment(key, other, 7));
}

TEST_P(StoreContract, AttachmentsAreDroppedByAgeAndWithTheirThread) {
    const thread_key key = key_of("thread_a");
    attachment early{.sha256 = std::string(64, 'a'), .mime_type = "a/b", .bytes = "1"};
    early.kept_at = 100;
    attachment late = early;
    late.sha256 = std::string(64, 'b');
    late.kept_at = 200;
    done(subject().keep_attachment(key, early, 100));
    done(subject().keep_attachment(key, late, 100));

    done(subject().drop_logs({.ended_since = 0, .attached_since = 200}));
    EXPECT_FALSE(get(subject().find_attachment(key, early.sha256)));
    EXPECT_TRUE(get(subject().find_attachment(key, late.sha256)));

    begin(key, "run_1");
    EXPECT_TRUE(get(subject().remove(key)));
    EXPECT_FALSE(get(subject().find_attachment(key, late.sha256)));
}

TEST_P(StoreContract, AttachmentsOfAThreadThatWasNeverMadeAreRemovedToo) {
    const thread_key key = key_of("never");
    const attachment photo{.sha256 = std::string(64, 'a'), .mime_type = "a/b", .bytes = "1"};
    done(subject().keep_attachment(key, photo, 100));

    EXPECT_FALSE(get(subject().remove(key)));

    EXPECT_FALSE(get(subject().find_attachment(key, photo.sha256)));
}

TEST_P(StoreContract, AbsentMembersChangeNothing) {
    changes first = user_turn("m0", "hi", 0, 5000);
    first.title = "A title";
    first.state = json_text(R"({"color":"red"})");
    first.offered_tools = json::array{{{"name", "f"}}};
    begin(thread_1, "run_1", first);

    changes second;
    second.metadata = json_text(R"({"k":"v"})");
    done(subject().commit(thread_1, second));
    const thread_record thread = load(thread_1);

    EXPECT_EQ(thread.title, "A title");
    EXPECT_EQ(thread.state, json_text(R"({"color":"red"})"));
    EXPECT_EQ(thread.offered_tools, (json::array{{{"name", "f"}}}));
    EXPECT_EQ(thread.nodes.size(), 1U);
    EXPECT_EQ(thread.updated_at, 5000);
    EXPECT_EQ(thread.metadata.view(), R"({"k":"v"})");
}

TEST_P(StoreContract, AStateOfNullReplacesOneThatWasThere) {
    changes first;
    first.state = json_text(R"({"color":"red"})");
    begin(thread_1, "run_1", first);

    changes second;
    second.state = json_text();
    done(subject().commit(thread_1, second));

    EXPECT_TRUE(load(thread_1).state.is_null());
}

TEST_P(StoreContract, ReadsBackTextThatIsNotUtf8AndJsonThatIsDeep) {
    json::value deep = 1;
    for (int i = 0; i < 200; ++i) {
        deep = json::array{std::move(deep)};
    }
    changes change = user_turn("m0", "broken \xff\xfe bytes");
    change.messages.edit_each([&](stored_message& node) {
        node.message.metadata = json::object{{"deep", deep}};
    });

    begin(thread_1, "run_1", change);
    const thread_record thread = load(thread_1);

    EXPECT_EQ(text_of(thread.nodes.at(0).message.content), "broken \xff\xfe bytes");
    EXPECT_EQ(thread.nodes.at(0).message.metadata, (json::object{{"deep", deep}}));
}

TEST_P(StoreContract, KeepsBranchesAndTheHead) {
    changes first = user_turn("m0", "hi");
    first.messages.push_back(user_message("m1", "more", 0));
    first.branches[0].value.tip = 1;
    begin(thread_1, "run_1", first);

    changes edit;
    edit.messages.push_back(user_message("m2", "other", 0));
    edit.branches.push_back({1, {.tip = 2, .updated_at = 2000}});
    edit.head = 1;
    done(subject().commit(thread_1, edit));
    const thread_record thread = load(thread_1);

    ASSERT_EQ(thread.branches.size(), 2U);
    EXPECT_EQ(thread.branches[0].tip, 1U);
    EXPECT_EQ(thread.branches[1].tip, 2U);
    EXPECT_EQ(thread.branches[1].updated_at, 2000);
    EXPECT_EQ(thread.head, 1U);
    EXPECT_EQ(thread.path(thread.branches[1].tip), (std::vector<node_index>{0, 2}));
}

TEST_P(StoreContract, ReplacesCallsByIdInTheOrderMade) {
    changes first = user_turn("m0", "hi");
    first.calls.push_back({"b", "f", "run_1", call_owner::external, call_status::open, 0});
    first.calls.push_back({"a", "g", "run_1", call_owner::server, call_status::denied, 0});
    begin(thread_1, "run_1", first);

    changes second;
    second.calls.push_back({"b", "f", "run_1", call_owner::external, call_status::answered, no_node}
    );
    second.calls.push_back({"0", "h", "run_2", call_owner::external, call_status::pending, 0});
    done(subject().commit(thread_1, second));
    const thread_record thread = load(thread_1);

    ASSERT_EQ(thread.calls.size(), 3U);
    EXPECT_EQ(thread.calls[0].id, "b");
    EXPECT_EQ(thread.calls[0].status, call_status::answered);
    EXPECT_EQ(thread.calls[0].made_in, no_node);
    EXPECT_EQ(thread.calls[1].id, "a");
    EXPECT_EQ(thread.calls[1].owner, call_owner::server);
    EXPECT_EQ(thread.calls[1].status, call_status::denied);
    EXPECT_EQ(thread.calls[2].name, "h");
    EXPECT_EQ(thread.calls[2].run_id, "run_2");
    EXPECT_EQ(thread.calls[2].made_in, 0U);
}

TEST_P(StoreContract, NumbersTheJournalOfEachThreadFromOne) {
    changes change = user_turn("m0", "hi");
    change.events.push_back({0, "run.started", "run_1", 10, {}});
    change.events.push_back({0, "user.message", "run_1", 11, {{"messageId", "m0"}}});
    begin(thread_1, "run_1", change);
    begin(key_of("thread_2"), "run_1", change);
    changes end;
    end.events.push_back({0, "run.finished", "run_1", 12, {}});
    done(subject().commit(thread_1, end));

    const std::vector<session_event> all = get(subject().events(thread_1, 0, 100));
    const std::vector<session_event> middle = get(subject().events(thread_1, 1, 1));

    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].sequence, 1U);
    EXPECT_EQ(all[1].sequence, 2U);
    EXPECT_EQ(all[1].type, "user.message");
    EXPECT_EQ(all[1].run_id, "run_1");
    EXPECT_EQ(all[1].timestamp, 11);
    EXPECT_EQ(all[1].data, (json::object{{"messageId", "m0"}}));
    EXPECT_EQ(all[2].sequence, 3U);
    ASSERT_EQ(middle.size(), 1U);
    EXPECT_EQ(middle[0].sequence, 2U);
    EXPECT_EQ(get(subject().events(key_of("thread_2"), 0, 100)).size(), 2U);
    EXPECT_TRUE(get(subject().events(thread_1, 3, 100)).empty());
    EXPECT_TRUE(get(subject().events(key_of("unknown"), 0, 100)).empty());
}

TEST_P(StoreContract, KnowsNothingOfAThreadThatWasNeverSeen) {
    EXPECT_FALSE(get(subject().load(thread_1)));
    EXPECT_FALSE(get(subject().find_run(thread_1, "run_1")));
    EXPECT_FALSE(get(subject().latest_run(thread_1)));
    EXPECT_FALSE(get(subject().remove(thread_1)));
    EXPECT_EQ(failure_of(subject().commit(thread_1, {})), errc::not_found);
}

TEST_P(StoreContract, FindsRunsByIdAndTheLatest) {
    run_record first = run_of("run_1", 100);
    first.parent_run_id = "run_0";
    first.input_digest = "other";
    const begun_run begun = get(subject().begin(thread_1, first, {}));
    begin(thread_1, "run_2");

    const std::optional<run_record> found = get(subject().find_run(thread_1, "run_1"));
    const std::optional<run_record> latest = get(subject().latest_run(thread_1));

    ASSERT_TRUE(found);
    EXPECT_EQ(found->number, begun.number);
    EXPECT_EQ(found->run_id, "run_1");
    EXPECT_EQ(found->parent_run_id, "run_0");
    EXPECT_EQ(found->agent_id, "default");
    EXPECT_EQ(found->input_digest, "other");
    EXPECT_EQ(found->status, run_status::active);
    EXPECT_EQ(found->started_at, 100);
    ASSERT_TRUE(latest);
    EXPECT_EQ(latest->run_id, "run_2");
    EXPECT_FALSE(get(subject().find_run(thread_1, "run_3")));
}

TEST_P(StoreContract, LooksUpTheRunOrElseItsThread) {
    EXPECT_FALSE(get(subject().look_up(thread_1, "run_1")).run);
    EXPECT_FALSE(get(subject().look_up(thread_1, "run_1")).thread);
    begin(thread_1, "run_1", user_turn("m1", "Hello"));

    const store::view known = get(subject().look_up(thread_1, "run_1"));
    EXPECT_EQ(known.run.value().run_id, "run_1");
    EXPECT_FALSE(known.thread);
    const store::view unknown = get(subject().look_up(thread_1, "run_2"));
    EXPECT_FALSE(unknown.run);
    EXPECT_EQ(unknown.thread.value().nodes.size(), 1U);
}

TEST_P(StoreContract, ShowsWhatAThreadIsWithoutItsMessages) {
    EXPECT_FALSE(get(subject().summary(thread_1)));
    changes first = user_turn("m1", "Hello");
    first.title = "A title";
    first.metadata = json_text(R"({"a":1})");
    begin(thread_1, "run_1", first);
    const lease_ptr held = acquire(thread_1, "run_1");

    const auto found = get(subject().summary(thread_1));

    ASSERT_TRUE(found);
    EXPECT_EQ(found->key, thread_1);
    EXPECT_EQ(found->agent_id, "default");
    EXPECT_EQ(found->title, "A title");
    EXPECT_FALSE(found->archived);
    EXPECT_EQ(found->metadata.view(), R"({"a":1})");
    EXPECT_EQ(found->updated_at, 1000);
    EXPECT_EQ(found->active_run_id, "run_1");
}

TEST_P(StoreContract, ShowsTheStateOfAThread) {
    EXPECT_FALSE(get(subject().state(thread_1)));
    begin(thread_1, "run_1", user_turn("m1", "Hello"));
    EXPECT_TRUE(get(subject().state(thread_1)).value().is_null());
    changes change;
    change.state = json_text(R"({"color":"red"})");
    done(subject().commit(thread_1, change));

    EXPECT_EQ(get(subject().state(thread_1)).value(), json_text(R"({"color":"red"})"));
}

TEST_P(StoreContract, ShowsThePendingCallsOfAThread) {
    EXPECT_FALSE(get(subject().pending_calls(thread_1)));
    begin(thread_1, "run_1", user_turn("m1", "Paint"));
    changes change;
    stored_message turn = user_message("m2", "", 0);
    turn.message.role = role::assistant;
    turn.message.tool_calls = {
        {"c1", "paint", R"({"color":"blue"})", {}, {}}, {"c2", "look", "{}", {}, {}}
    };
    change.messages.push_back(turn);
    change.branches.push_back({0, {.tip = 1, .updated_at = 2000}});
    change.calls.push_back({"c1", "paint", "run_1", call_owner::external, call_status::pending, 1});
    change.calls.push_back({"c2", "look", "run_1", call_owner::server, call_status::answered, 1});
    done(subject().commit(thread_1, change));

    const auto pending = get(subject().pending_calls(thread_1)).value();

    ASSERT_EQ(pending.size(), 1U);
    EXPECT_EQ(pending[0].call.id, "c1");
    EXPECT_EQ(pending[0].call.name, "paint");
    EXPECT_EQ(pending[0].call.run_id, "run_1");
    EXPECT_EQ(pending[0].message_id, "m2");
    EXPECT_EQ(pending[0].arguments, R"({"color":"blue"})");
}

TEST_P(StoreContract, ShowsTheBranchesOfAThread) {
    EXPECT_FALSE(get(subject().branches(thread_1)));
    begin(thread_1, "run_1", user_turn("m1", "One"));
    done(subject().commit(thread_1, user_turn("m2", "Two", 1, 2000)));
    changes edit;
    edit.messages.push_back(user_message("m3", "Other", no_node));
    edit.branches.push_back({1, {.tip = 2, .updated_at = 3000}});
    edit.head = 1;
    done(subject().commit(thread_1, edit));

    const auto found = get(subject().branches(thread_1)).value();

    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].message_count, 2U);
    EXPECT_EQ(found[0].last_message_id, "m2");
    EXPECT_EQ(found[0].updated_at, 2000);
    EXPECT_FALSE(found[0].is_head);
    EXPECT_EQ(found[1].message_count, 1U);
    EXPECT_EQ(found[1].last_message_id, "m3");
    EXPECT_TRUE(found[1].is_head);
}

TEST_P(StoreContract, KeepsTheNoteOfAFailedRun) {
    begin(thread_1, "run_1", user_turn("m1", "One"));
    changes failed = user_turn("", "", 1, 2000);
    failed.messages.edit_each([](stored_message& node) {
        node.message = failure_note("m1", {"model_rejected", "It was refused.", true});
    });
    done(subject().commit(thread_1, failed));

    const thread_record thread = load(thread_1);

    ASSERT_EQ(thread.nodes.size(), 2U);
    EXPECT_TRUE(is_refusal_note(thread.nodes[1].message));
    const std::vector<message> shown = shown_messages(thread, 1);
    ASSERT_EQ(shown.size(), 1U);
    EXPECT_TRUE(shown[0].metadata.value_or(boost::json::object()).contains("agui-gateway.error"));
    EXPECT_EQ(get(subject().branches(thread_1)).value().at(0).last_message_id, "m1");
}

TEST_P(StoreContract, CountsTheDocumentsOfAThread) {
    begin(thread_1, "run_1", user_turn("m1", "Hello"));
    const std::uint64_t messages = load(thread_1).bytes;
    const std::string much(1000, 'x');
    const auto is_between = [&](std::uint64_t least) {
        const thread_record thread = load(thread_1);
        const thread_summary summary = get(subject().summary(thread_1)).value();
        EXPECT_EQ(summary.bytes, thread.bytes);
        EXPECT_EQ(summary.documents.total(), thread.documents.total());
        EXPECT_EQ(thread.bytes, messages + thread.documents.total());
        EXPECT_GE(thread.bytes, messages + least);
        EXPECT_LE(thread.bytes, messages + least + 200);
    };
    changes change;
    change.state = json_text(R"({"x":")" + much + R"("})");
    done(subject().commit(thread_1, change));
    is_between(1000);
    changes others;
    others.offered_tools = json::array{{{"name", much}}};
    others.context = json::array{{{"value", much}}};
    done(subject().commit(thread_1, others));
    is_between(3000);
    change.state = json_text("{}");
    done(subject().commit(thread_1, change));
    is_between(2000);
    EXPECT_EQ(load(thread_1).documents.state, 2U);
}

#ifdef AGUI_VERIFY_EVENTS

TEST_P(StoreContract, PendingCallsCostWhatTheirMessagesTake) {
    const auto work_of = [&](const thread_key& key, std::size_t calls) {
        changes change = user_turn("m1", std::string(1U << 10U, 'x'));
        std::vector<tool_call> made;
        for (std::size_t i = 0; i < calls; ++i) {
            const std::string id = "c" + std::to_string(i);
            made.push_back({id, "paint", "{}", {}, {}});
            change.calls.push_back(
                {id, "paint", "run_1", call_owner::external, call_status::pending, 0}
            );
        }
        change.messages.edit_each([&](stored_message& node) {
            node.message.role = role::assistant;
            node.message.tool_calls = std::move(made);
        });
        begin(key, "run_1", change);
        const std::uint64_t before = work_done;
        const auto pending = get(subject().pending_calls(key)).value();
        const std::uint64_t work = work_done - before;
        EXPECT_EQ(pending.size(), calls);
        EXPECT_TRUE(std::ranges::all_of(pending, [](const pending_call& each) {
            return each.message_id == "m1" && each.arguments == "{}";
        }));
        return work;
    };

    const std::uint64_t once = work_of(thread_1, 200);
    const std::uint64_t twice = work_of(key_of("thread_2"), 400);

    EXPECT_GT(once, 0U);
    EXPECT_LE(static_cast<double>(twice), 2.3 * static_cast<double>(once)) << once;
}

TEST_P(StoreContract, BranchesCostWhatTheThreadHas) {
    const auto work_of = [&](const thread_key& key, std::uint32_t size) {
        changes change;
        for (std::uint32_t i = 0; i < size; ++i) { // A path,
            change.messages.push_back(user_message("m", "x", i == 0 ? no_node : i - 1));
        }
        for (std::uint32_t i = 0; i < size; ++i) { // and branches at its end.
            change.messages.push_back(user_message("m" + std::to_string(i), "x", size - 1));
            change.branches.push_back({i, {.tip = size + i, .updated_at = 1}});
        }
        begin(key, "run_1", change);
        const std::uint64_t before = work_done;
        const auto branches = get(subject().branches(key)).value();
        const std::uint64_t work = work_done - before;
        EXPECT_EQ(branches.size(), size);
        EXPECT_TRUE(std::ranges::all_of(branches, [&](const branch_summary& each) {
            return each.message_count == size + 1U;
        }));
        return work;
    };

    const std::uint64_t once = work_of(thread_1, 300);
    const std::uint64_t twice = work_of(key_of("thread_2"), 600);

    EXPECT_GT(once, 0U);
    EXPECT_LE(static_cast<double>(twice), 2.3 * static_cast<double>(once)) << once;
}

#endif

TEST_P(StoreContract, ALongThreadIsTheSameAfterItWasStored) {
    changes change;
    for (session::node_index i = 0; i < 3000; ++i) {
        change.messages.push_back(
            user_message("m" + std::to_string(i), std::string(400, 'x'), i == 0 ? no_node : i - 1)
        );
    }
    change.branches.push_back({0, {.tip = 2999, .updated_at = 1000}});
    begin(thread_1, "run_1", change);

    const thread_record thread = load(thread_1);

    ASSERT_EQ(thread.nodes.size(), 3000U);
    for (session::node_index i = 0; i < 3000; ++i) {
        ASSERT_EQ(thread.nodes[i].message, change.messages[i].message);
        ASSERT_EQ(thread.nodes[i].parent, change.messages[i].parent);
    }
    EXPECT_GE(thread.bytes, 3000U * 400U);
    EXPECT_LE(thread.bytes, 3000U * 500U);
}

TEST_P(StoreContract, KnowsAboutHowManyBytesTheMessagesOfAThreadTake) {
    begin(thread_1, "run_1", user_turn("m1", std::string(10'000, 'x')));
    const std::uint64_t before = load(thread_1).bytes;
    EXPECT_GE(before, 10'000U);
    EXPECT_LE(before, 10'100U);
    done(subject().commit(thread_1, user_turn("m2", std::string(5000, 'y'), 1)));
    EXPECT_GE(load(thread_1).bytes, before + 5000U);
    EXPECT_LE(load(thread_1).bytes, before + 5100U);
}

TEST_P(StoreContract, AThreadOfTheSameNameAsARemovedOneBeginsEmpty) {
    for (int life = 0; life < 3; ++life) {
        SCOPED_TRACE(life);
        begin(thread_1, "run_1", user_turn("m1", "Hello"));
        EXPECT_EQ(load(thread_1).nodes.size(), 1U);
        EXPECT_TRUE(get(subject().remove(thread_1)));
        EXPECT_FALSE(get(subject().load(thread_1)));
        EXPECT_FALSE(get(subject().find_run(thread_1, "run_1")));
    }
}

TEST_P(StoreContract, ReplacesTheRecordOfARun) {
    begin(thread_1, "run_1");
    run_record ended = get(subject().find_run(thread_1, "run_1")).value();
    ended.status = run_status::cancelled;
    ended.end_reason = "user_stop";
    ended.ended_at = 9000;
    ended.last_sequence = 42;
    ended.input_digest.clear();
    changes change;
    change.run = ended;

    done(subject().commit(thread_1, change));
    const run_record found = get(subject().find_run(thread_1, "run_1")).value();

    EXPECT_EQ(found.status, run_status::cancelled);
    EXPECT_EQ(found.end_reason, "user_stop");
    EXPECT_EQ(found.ended_at, 9000);
    EXPECT_EQ(found.last_sequence, 42U);
    EXPECT_EQ(found.input_digest, "digest") << "an empty digest keeps the stored one";
}

TEST_P(StoreContract, RefusesARunIdOfTheThreadTwiceAndStoresNothing) {
    begin(thread_1, "run_1", user_turn("m0", "hi"));

    const auto again = run(subject().begin(thread_1, run_of("run_1"), user_turn("m1", "x", 1)));

    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, errc::run_id_reused);
    EXPECT_EQ(load(thread_1).nodes.size(), 1U);
    EXPECT_NE(begin(key_of("thread_2"), "run_1"), 0) << "another thread may use the id";
}

TEST_P(StoreContract, NumbersOfRunsDiffer) {
    const std::int64_t first = begin(thread_1, "run_1");
    const std::int64_t second = begin(key_of("thread_2"), "run_1");
    get(subject().remove(key_of("thread_2")));
    const std::int64_t third = begin(key_of("thread_2"), "run_1");

    EXPECT_LT(first, second);
    EXPECT_LT(second, third) << "the number of a removed run is not used again";
}

TEST_P(StoreContract, PrincipalsDoNotMeet) {
    const thread_key mine = key_of("same", "alice");
    const thread_key theirs = key_of("same", "bob");
    begin(mine, "run_1", user_turn("m0", "secret"));

    EXPECT_FALSE(get(subject().load(theirs)));
    EXPECT_FALSE(get(subject().find_run(theirs, "run_1")));
    EXPECT_TRUE(get(subject().list(query_of("bob"))).threads.empty());
    EXPECT_FALSE(get(subject().remove(theirs)));
    EXPECT_NE(begin(theirs, "run_1"), 0);
    EXPECT_TRUE(acquire(mine, "run_1")->is_held());
    EXPECT_TRUE(acquire(theirs, "run_1")->is_held());
    EXPECT_EQ(load(mine).nodes.size(), 1U);
    EXPECT_TRUE(load(theirs).nodes.empty());
}

TEST_P(StoreContract, HundredAcquirersHaveOneWinner) {
    std::atomic<int> winners = 0;
    std::atomic<int> told_of_a_holder = 0;
    asio::thread_pool pool(4);
    for (int i = 0; i < 100; ++i) {
        asio::co_spawn(
            pool, subject().acquire(thread_1, "run_" + std::to_string(i)),
            [&](std::exception_ptr error, result<lease_ptr> outcome) {
                if (!error && outcome) {
                    ++winners;
                } else if (!error && outcome.error().code == errc::thread_busy &&
                           outcome.error().active_run_id.starts_with("run_")) {
                    ++told_of_a_holder;
                }
            }
        );
    }
    pool.join();

    EXPECT_EQ(winners, 1);
    EXPECT_EQ(told_of_a_holder, 99);
}

TEST_P(StoreContract, OnlyTheHolderReleases) {
    const lease_ptr first = acquire(thread_1, "run_1");
    EXPECT_EQ(active_run(thread_1), "run_1");
    EXPECT_EQ(failure_of(subject().acquire(thread_1, "run_1")), errc::thread_busy);
    subject().release(first);
    EXPECT_FALSE(get(subject().holder(thread_1)));
    const lease_ptr second = acquire(thread_1, "run_2");
    EXPECT_GT(second->token(), first->token());

    subject().release(first);

    EXPECT_EQ(active_run(thread_1), "run_2");
    EXPECT_TRUE(second->is_held());
    EXPECT_FALSE(first->is_held());
    EXPECT_FALSE(first->is_lost()) << "it was given back before another could have it";
}

TEST_P(StoreContract, SaysWhoHoldsAThread) {
    EXPECT_FALSE(get(subject().holder(thread_1)));
    const lease_ptr held = acquire(thread_1, "run_1");
    EXPECT_EQ(get(subject().holder(thread_1))->run_number, 0);

    const std::int64_t number =
        get(subject().begin(thread_1, run_of("run_1"), user_turn("m1", "Hi"), 0, held)).number;

    const auto holder = get(subject().holder(thread_1));
    ASSERT_TRUE(holder);
    EXPECT_EQ(holder->run_id, "run_1");
    EXPECT_EQ(holder->run_number, number);
    EXPECT_EQ(holder->first_own_message, 1U);
    EXPECT_TRUE(holder->is_here);
}

TEST_P(StoreContract, WhatTheServerHoldsItselfIsNobodysRun) {
    get(subject().begin(thread_1, run_of("run_0"), {}));
    const lease_ptr held = acquire(thread_1, "");

    const auto refused = run(subject().acquire(thread_1, "run_1"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::thread_busy);
    EXPECT_EQ(refused.error().active_run_id, "");
    EXPECT_EQ(active_run(thread_1), "");
    done(subject().commit(thread_1, {})); // Releases nothing.
    EXPECT_EQ(failure_of(subject().acquire(thread_1, "")), errc::thread_busy);

    subject().release(held);
    EXPECT_EQ(failure_of(subject().acquire(thread_1, "run_1")), errc::internal);
}

// Once the thread may be another's, nothing of its former holder is written.
TEST_P(StoreContract, RefusesWhatComesWithAnOldLease) {
    const lease_ptr first = acquire(thread_1, "run_1");
    const std::int64_t number =
        get(subject().begin(thread_1, run_of("run_1"), {}, std::nullopt, first)).number;
    subject().release(first);
    const lease_ptr second = acquire(thread_1, "run_2");
    const std::uint64_t version = load(thread_1).version;

    EXPECT_EQ(
        failure_of(subject().begin(thread_1, run_of("run_3"), {}, std::nullopt, first)),
        errc::lease_lost
    );
    EXPECT_EQ(
        failure_of(subject().commit(thread_1, user_turn("m1", "late"), std::nullopt, {first, true})
        ),
        errc::lease_lost
    );
    EXPECT_EQ(failure_of(subject().orphans(first)), errc::lease_lost);
    const auto observer = std::make_shared<recording_observer>();
    subject().append_log(slice_of(number, 1, {"late"}), observer, first);
    EXPECT_TRUE(observer->wait_failed());

    EXPECT_EQ(observer->durable(), 0U);
    EXPECT_FALSE(get(subject().find_run(thread_1, "run_3")));
    EXPECT_EQ(load(thread_1).version, version);
    EXPECT_EQ(active_run(thread_1), "run_2") << "the old lease has released nothing";
    done(subject().commit(thread_1, user_turn("m1", "in time"), std::nullopt, {second, true}));
    EXPECT_EQ(active_run(thread_1), "");
}

asio::awaitable<bool> commit_and_acquire(store& subject, lease_ptr held) {
    const auto committed = co_await subject.commit(thread_1, {}, std::nullopt, {held, true});
    const auto holder = co_await subject.holder(thread_1);
    const auto acquired = co_await subject.acquire(thread_1, "run_2");
    co_return committed.has_value() && holder && !holder->has_value() && acquired.has_value();
}

TEST_P(StoreContract, TheThreadIsFreeBeforeACommitCompletes) {
    const lease_ptr held = acquire(thread_1, "run_1");
    begin(thread_1, "run_1");

    EXPECT_TRUE(run(commit_and_acquire(subject(), held)));
}

TEST_P(StoreContract, TheThreadIsFreeAlsoAfterACommitThatFails) {
    const lease_ptr held = acquire(thread_1, "run_1");

    EXPECT_EQ(
        failure_of(subject().commit(thread_1, {}, std::nullopt, {held, true})), errc::not_found
    );
    EXPECT_FALSE(get(subject().holder(thread_1)));
}

asio::awaitable<bool> completes_where_it_was_called(store& subject) {
    const auto caller = std::this_thread::get_id();
    const auto begun = co_await subject.begin(thread_1, run_of("run_1"), {});
    const bool same_after_write = std::this_thread::get_id() == caller;
    const auto thread = co_await subject.load(thread_1);
    co_return begun.has_value() && thread.has_value() &&
        same_after_write&& std::this_thread::get_id() == caller;
}

TEST_P(StoreContract, CompletesOnTheCallersExecutor) {
    EXPECT_TRUE(run(completes_where_it_was_called(subject())));
}

TEST_P(StoreContract, CarriesOutACommitWhoseCallerIsCancelled) {
    begin(thread_1, "run_1");
    changes change;
    change.title = "stored";
    asio::cancellation_signal cancel;
    bool ended = false;
    asio::co_spawn(
        context(), subject().commit(thread_1, change),
        asio::bind_cancellation_slot(
            cancel.slot(), [&](std::exception_ptr, const result<void>&) { ended = true; }
        )
    );

    context().restart();
    context().poll_one(); // The coroutine runs up to where it waits for the store.
    cancel.emit(asio::cancellation_type::terminal);
    while (!ended) {
        context().restart();
        context().run_one();
    }

    EXPECT_EQ(load(thread_1).title, "stored");
}

TEST_P(StoreContract, RefusesAChangeThatDoesNotFitAndStoresNothingOfIt) {
    begin(thread_1, "run_1", user_turn("m0", "hi"));
    changes dangling = user_turn("m1", "x", 1);
    dangling.branches[0].value.tip = 7;
    changes gap;
    gap.branches.push_back({5, {}});
    changes unknown_run;
    unknown_run.title = "not stored";
    unknown_run.run = run_of("run_9");

    EXPECT_THROW(run(subject().commit(thread_1, dangling)), std::logic_error);
    EXPECT_THROW(run(subject().commit(thread_1, gap)), std::logic_error);
    EXPECT_THROW(run(subject().commit(thread_1, unknown_run)), std::logic_error);

    const thread_record thread = load(thread_1);
    EXPECT_EQ(thread.nodes.size(), 1U);
    EXPECT_EQ(thread.branches.size(), 1U);
    EXPECT_EQ(thread.title, "");
}

TEST_P(StoreContract, ListsPagesOfThreadsNewestFirst) {
    for (int i = 0; i < 5; ++i) {
        // Two of them change in the same millisecond.
        begin(
            key_of("thread_" + std::to_string(i)), "run_1", user_turn("m0", "x", 0, 1000 + i / 2)
        );
    }
    const lease_ptr held = acquire(key_of("thread_4"), "run_1");

    const thread_page first = get(subject().list(query_of("", 2)));
    const thread_page second = get(subject().list(query_of("", 2, first.next_cursor)));
    const thread_page third = get(subject().list(query_of("", 2, second.next_cursor)));

    ASSERT_EQ(first.threads.size(), 2U);
    EXPECT_EQ(first.threads[0].key.thread_id, "thread_4");
    EXPECT_EQ(first.threads[0].active_run_id, "run_1");
    EXPECT_EQ(first.threads[0].updated_at, 1002);
    EXPECT_EQ(first.threads[0].last_run_at, 1000);
    EXPECT_EQ(first.threads[0].agent_id, "default");
    EXPECT_EQ(first.threads[1].key.thread_id, "thread_3");
    EXPECT_EQ(first.threads[1].active_run_id, "");
    ASSERT_EQ(second.threads.size(), 2U);
    EXPECT_EQ(second.threads[0].key.thread_id, "thread_2");
    EXPECT_EQ(second.threads[1].key.thread_id, "thread_1");
    ASSERT_EQ(third.threads.size(), 1U);
    EXPECT_EQ(third.threads[0].key.thread_id, "thread_0");
    EXPECT_EQ(third.next_cursor, "");
}

TEST_P(StoreContract, ListsByAgentAndArchived) {
    changes archived = user_turn("m0", "x");
    archived.archived = true;
    archived.title = "old";
    archived.metadata = json_text(R"({"k":1})");
    begin(key_of("thread_1"), "run_1", archived);
    changes of_helper = user_turn("m0", "x");
    of_helper.agent_id = "helper";
    begin(key_of("thread_2"), "run_1", of_helper);
    begin(key_of("thread_3"), "run_1", user_turn("m0", "x"));

    thread_query archived_ones = query_of("");
    archived_ones.archived = true;
    thread_query of_agent = query_of("");
    of_agent.agent_id = "helper";
    const thread_page old = get(subject().list(archived_ones));
    const thread_page helper = get(subject().list(of_agent));

    ASSERT_EQ(old.threads.size(), 1U);
    EXPECT_EQ(old.threads[0].title, "old");
    EXPECT_TRUE(old.threads[0].archived);
    EXPECT_EQ(old.threads[0].metadata.view(), R"({"k":1})");
    ASSERT_EQ(helper.threads.size(), 1U);
    EXPECT_EQ(helper.threads[0].key.thread_id, "thread_2");
    EXPECT_EQ(get(subject().list(query_of(""))).threads.size(), 2U);
}

TEST_P(StoreContract, RefusesAListCursorThatIsNone) {
    for (const char* cursor : {"x", "1", "1-", "-2x", "1-2-3"}) {
        SCOPED_TRACE(cursor);
        const auto page = run(subject().list(query_of("", 50, cursor)));
        ASSERT_FALSE(page);
        EXPECT_EQ(page.error().code, errc::invalid_input);
        EXPECT_EQ(page.error().path, "cursor");
    }
}

TEST_P(StoreContract, RemovesAThreadWithAllOfIt) {
    changes change = user_turn("m0", "hi");
    change.events.push_back({0, "run.started", "run_1", 10, {}});
    change.calls.push_back({"c", "f", "run_1", call_owner::external, call_status::open, 0});
    change.state = json_text("1");
    begin(thread_1, "run_1", change);
    begin(key_of("thread_2"), "run_1", change);

    EXPECT_TRUE(get(subject().remove(thread_1)));

    EXPECT_FALSE(get(subject().load(thread_1)));
    EXPECT_FALSE(get(subject().find_run(thread_1, "run_1")));
    EXPECT_TRUE(get(subject().events(thread_1, 0, 10)).empty());
    EXPECT_EQ(load(key_of("thread_2")).nodes.size(), 1U);
    EXPECT_EQ(failure_of(subject().commit(thread_1, {})), errc::not_found);

    begin(thread_1, "run_1");
    const thread_record fresh = load(thread_1);
    EXPECT_TRUE(fresh.nodes.empty());
    EXPECT_TRUE(fresh.calls.empty());
    EXPECT_TRUE(fresh.state.is_null());
}

TEST_P(StoreContract, TellsObserversHowFarALogIsDurable) {
    const std::int64_t number = begin(thread_1, "run_1");
    const auto observer = std::make_shared<recording_observer>();

    subject().append_log(slice_of(number, 1, {"a", "b"}), observer);
    subject().append_log(slice_of(number, 3, {"c"}), observer);

    EXPECT_TRUE(observer->wait_durable(3));
    EXPECT_TRUE(observer->in_order());
}

TEST_P(StoreContract, ServesLogsOrSaysThatTheyAreGone) {
    const std::int64_t number = begin(thread_1, "run_1");
    subject().append_log(slice_of(number, 1, {"a", "", "c"}), nullptr);
    log_slice with_variants = slice_of(number, 4, {"d", "e"});
    with_variants.variants.emplace_back(1, "e of old");
    done(subject().commit(thread_1, {}, with_variants));

    const auto all = run(subject().read_log(number, 0, 100));
    if (!subject().keeps_logs()) {
        ASSERT_FALSE(all);
        EXPECT_EQ(all.error().code, errc::run_expired);
        return;
    }

    EXPECT_EQ(frames_of(all.value()), (std::vector<std::string>{"a", "", "c", "d", "e"}));
    EXPECT_EQ(all->front().sequence, 1U);
    EXPECT_EQ(all->at(3).variants, "");
    EXPECT_EQ(all->back().sequence, 5U);
    EXPECT_EQ(all->back().variants, "e of old");
    EXPECT_EQ(
        frames_of(get(subject().read_log(number, 2, 2))), (std::vector<std::string>{"c", "d"})
    );
    EXPECT_EQ(get(subject().read_log(number, 4, 9)).at(0).variants, "e of old");
    EXPECT_TRUE(get(subject().read_log(number, 5, 100)).empty());
    EXPECT_TRUE(get(subject().read_log(number, 99, 100)).empty());
}

TEST_P(StoreContract, SaysThatTheLogOfAnUnknownRunIsGone) {
    const auto entries = run(subject().read_log(12345, 0, 10));

    ASSERT_FALSE(entries);
    EXPECT_EQ(entries.error().code, errc::run_expired);
}

TEST_P(StoreContract, ARunThatHoldsItsThreadIsNoOrphan) {
    const lease_ptr held = acquire(thread_1, "run_1");
    get(subject().begin(thread_1, run_of("run_1"), {}, std::nullopt, held));

    EXPECT_TRUE(test::orphans_of(subject()).empty());
    EXPECT_TRUE(get(subject().orphans(held)).empty());
}

TEST_P(StoreContract, DropsLogsOfRunsThatEndedBefore) {
    const std::int64_t old = begin(thread_1, "run_1");
    const std::int64_t recent = begin(thread_1, "run_2");
    const std::int64_t active = begin(thread_1, "run_3");
    for (const auto& [number, run_id, ended_at] :
         {std::tuple(old, "run_1", 1000), std::tuple(recent, "run_2", 3000)}) {
        changes end;
        end.run = run_of(run_id);
        end.run->number = number;
        end.run->status = run_status::finished;
        end.run->ended_at = ended_at;
        end.run->last_sequence = 1;
        done(subject().commit(thread_1, end, slice_of(number, 1, {"end"})));
    }
    done(subject().commit(thread_1, {}, slice_of(active, 1, {"going on"})));

    done(subject().drop_logs({.ended_since = 2000, .max_bytes = 0}));

    EXPECT_FALSE(run(subject().read_log(old, 0, 10)));
    EXPECT_TRUE(get(subject().find_run(thread_1, "run_1"))) << "the record outlives the log";
    if (subject().keeps_logs()) {
        EXPECT_EQ(get(subject().read_log(recent, 0, 10)).size(), 1U);
        EXPECT_EQ(get(subject().read_log(active, 0, 10)).size(), 1U);
    }
}

failed_attempt attempt_of(std::int64_t run_number, unix_ms at, std::string body) {
    failed_attempt attempt;
    attempt.run_number = run_number;
    attempt.at = at;
    attempt.model = "main";
    attempt.status = 500;
    attempt.request_id = "req_1";
    attempt.body = std::move(body);
    return attempt;
}

std::vector<std::string> bodies_of(const std::vector<failed_attempt>& attempts) {
    std::vector<std::string> bodies;
    for (const failed_attempt& each : attempts) {
        bodies.push_back(each.body);
    }
    return bodies;
}

TEST_P(StoreContract, KeepsTheFailedAttemptsOfARun) {
    const std::int64_t number = begin(thread_1, "run_1");
    const std::int64_t other = begin(thread_1, "run_2");
    subject().keep_attempt(attempt_of(number, 1000, std::string(attempt_body_max, 'x')));
    subject().keep_attempt(attempt_of(other, 1001, "of the other"));
    failed_attempt silent;
    silent.run_number = number;
    silent.at = 1002;
    silent.model = "spare";
    subject().keep_attempt(silent);

    const auto kept = get(subject().failed_attempts(number));

    ASSERT_EQ(kept.size(), 2U);
    EXPECT_EQ(kept[0].run_number, number);
    EXPECT_EQ(kept[0].at, 1000);
    EXPECT_EQ(kept[0].model, "main");
    EXPECT_EQ(kept[0].status, 500);
    EXPECT_EQ(kept[0].request_id, "req_1");
    EXPECT_EQ(kept[0].body, std::string(attempt_body_max, 'x'));
    EXPECT_EQ(kept[1].model, "spare");
    EXPECT_EQ(kept[1].status, 0);
    EXPECT_EQ(kept[1].request_id + kept[1].body, "");
    EXPECT_TRUE(get(subject().failed_attempts(99)).empty());
}

TEST_P(StoreContract, DropsFailedAttemptsMadeBefore) {
    const std::int64_t number = begin(thread_1, "run_1");
    // More than a store drops at once.
    for (int i = 0; i < 200; ++i) {
        subject().keep_attempt(attempt_of(number, 1000 + i, std::to_string(i)));
    }

    done(subject().drop_logs({.ended_since = 1199, .max_bytes = 0}));

    EXPECT_EQ(bodies_of(get(subject().failed_attempts(number))), std::vector<std::string>{"199"})
        << "the run is still active";
}

TEST_P(StoreContract, RemovesFailedAttemptsWithTheirThread) {
    const std::int64_t number = begin(thread_1, "run_1");
    const std::int64_t other = begin(key_of("thread_2"), "run_1");
    subject().keep_attempt(attempt_of(number, 1000, "a"));
    subject().keep_attempt(attempt_of(other, 1000, "b"));

    EXPECT_TRUE(get(subject().remove(thread_1)));

    EXPECT_TRUE(get(subject().failed_attempts(number)).empty());
    EXPECT_EQ(get(subject().failed_attempts(other)).size(), 1U);
}

asio::awaitable<int> rounds_of_turns(store& subject, int runner, int rounds) {
    int completed = 0;
    const thread_key key = key_of("thread_" + std::to_string(runner));
    for (int i = 0; i < rounds; ++i) {
        const std::string run_id = "run_" + std::to_string(i);
        const auto acquired = co_await subject.acquire(key, run_id);
        changes turn = user_turn("m" + std::to_string(i), "x", static_cast<node_index>(i));
        const lease_ptr held = acquired ? *acquired : nullptr;
        const auto begun = co_await subject.begin(key, run_of(run_id), turn, std::nullopt, held);
        if (!acquired || !begun) {
            co_return completed;
        }
        subject.append_log(slice_of(begun->number, 1, {"one", "two"}), nullptr, held);
        log_slice last = slice_of(begun->number, 3, {"three"});
        const auto committed = co_await subject.commit(key, {}, last, {held, true});
        const auto thread = co_await subject.load(key);
        const auto expected = static_cast<std::size_t>(i) + 1;
        if (committed && thread && *thread && (*thread)->nodes.size() == expected) {
            ++completed;
        }
    }
    co_return completed;
}

TEST_P(StoreContract, ServesManyThreadsAtOnce) {
    std::atomic<int> completed = 0;
    asio::thread_pool pool(4);
    for (int i = 0; i < 16; ++i) {
        asio::co_spawn(
            pool, rounds_of_turns(subject(), i, 10),
            [&](std::exception_ptr error, int rounds) { completed += error ? 0 : rounds; }
        );
    }
    pool.join();

    EXPECT_EQ(completed, 160);
}

} // namespace
} // namespace agui::session
