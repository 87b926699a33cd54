#include "tests/session/store/store_contract_case.hpp"

namespace agui::session {
namespace {

using namespace store_contract_case;

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

TEST_P(StoreContract, ShowsAThreadWithoutItsMessages) {
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

TEST_P(StoreContract, ReplacesATitleOnlyIfItIsStillTheOne) {
    EXPECT_FALSE(get(subject().replace_title(thread_1, "", "By a model")));
    changes first = user_turn("m1", "Hello");
    first.title = "Hello";
    begin(thread_1, "run_1", first);
    const std::uint64_t version = load(thread_1).version;

    EXPECT_TRUE(get(subject().replace_title(thread_1, "Hello", "By a model")));
    EXPECT_EQ(load(thread_1).title, "By a model");
    EXPECT_EQ(get(subject().summary(thread_1)).value().title, "By a model");
    EXPECT_EQ(get(subject().list({})).threads.at(0).title, "By a model");
    EXPECT_EQ(load(thread_1).version, version) << "a run may begin on what was read before";
    EXPECT_EQ(load(thread_1).updated_at, 1000);

    EXPECT_FALSE(get(subject().replace_title(thread_1, "Hello", "Another")));
    EXPECT_EQ(load(thread_1).title, "By a model");
    EXPECT_TRUE(get(subject().remove(thread_1)));
    EXPECT_FALSE(get(subject().replace_title(thread_1, "By a model", "Another")));
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
        {"c1", "paint", R"({"color":"blue"})", {}, {}},
        {"c2", "look", "{}", {}, {}},
        {"c3", "order", R"({"count":2})", {}, {}},
    };
    change.messages.push_back(turn);
    change.branches.push_back({0, {.tip = 1, .updated_at = 2000}});
    change.calls.push_back({"c1", "paint", "run_1", call_owner::external, call_status::pending, 1});
    change.calls.push_back({"c2", "look", "run_1", call_owner::server, call_status::answered, 1});
    change.calls.push_back({"c3", "order", "run_1", call_owner::server, call_status::asked, 1});
    done(subject().commit(thread_1, change));

    const auto pending = get(subject().pending_calls(thread_1)).value();

    ASSERT_EQ(pending.size(), 2U);
    EXPECT_EQ(pending[0].call.id, "c1");
    EXPECT_EQ(pending[0].call.name, "paint");
    EXPECT_EQ(pending[0].call.run_id, "run_1");
    EXPECT_EQ(pending[0].message_id, "m2");
    EXPECT_EQ(pending[0].arguments, R"({"color":"blue"})");
    EXPECT_EQ(pending[1].call.id, "c3");
    EXPECT_EQ(pending[1].call.status, call_status::asked);
    EXPECT_EQ(pending[1].call.owner, call_owner::server);
    EXPECT_EQ(pending[1].arguments, R"({"count":2})");
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

TEST_P(StoreContract, PendingCallsCostTheSizeOfTheirMessages) {
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

TEST_P(StoreContract, BranchesCostTheSizeOfTheThread) {
    const auto work_of = [&](const thread_key& key, std::uint32_t size) {
        changes change;
        for (std::uint32_t i = 0; i < size; ++i) { // The thread is a path,
            change.messages.push_back(user_message("m", "x", i == 0 ? no_node : i - 1));
        }
        for (std::uint32_t i = 0; i < size; ++i) { // with branches at its end.
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

} // namespace
} // namespace agui::session
