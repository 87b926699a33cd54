// The conversations of subagents inside a thread, and what a request does to calls that wait for
// one.
#include "session/history/subagent.hpp"

#include "session/history/approval.hpp"
#include "session/history/history_plan.hpp"
#include "session/history/model_history.hpp"
#include "session/history/shown_messages.hpp"
#include "tests/support/history_request.hpp"

#include "session/base/parse_json.hpp"

#include <map>

namespace agui::session {
namespace {

using test::answer;
using test::call;
using test::plan;
using test::planned;
using test::request;
using test::thread_builder;
using test::tip_of;
using test::user;

using lines = std::vector<std::string>;

// In these threads get_weather, the server's tool, stands for the tool of an agent.
tool_call agent_call(std::string id) { return call(std::move(id), "get_weather"); }

// Gives messages to the subagents that work for calls, by message id.
thread_record owned(thread_record thread, const std::map<std::string, std::string>& calls) {
    thread.nodes.edit_each([&](stored_message& node) {
        const auto found = calls.find(node.message.id);
        if (found != calls.end()) {
            node.message.subagent_run_id = subagent_run_id(found->second);
        }
    });
    return thread;
}

// The agents of c1 and c2 work side by side: the first waits for a call of the caller, the second
// for an agent of its own, which waits for an approval.
thread_record waiting() {
    thread_builder thread;
    thread.user("u1", "One")
        .assistant("a1", "", {agent_call("c1"), agent_call("c2")}, call_status::suspended)
        .assistant("b1", "", {call("c3", "paint")}, call_status::pending)
        .assistant("d1", "Wait", {agent_call("c4")}, call_status::suspended)
        .assistant("e1", "", {agent_call("c5")}, call_status::asked)
        .offered({"paint", "move"});
    return owned(thread.build(), {{"b1", "c1"}, {"d1", "c2"}, {"e1", "c4"}});
}

// The answer to the approval of c5, which that message made.
history_input resume(std::string_view made_in, std::string_view payload) {
    history_input input = request({});
    input.approvals = {
        {approval_id(made_in, agent_call("c5")), false, parse_json(std::string(payload)).value()}
    };
    input.now = 1000;
    return input;
}

TEST(Subagent, IsNamedAfterItsCall) {
    EXPECT_EQ(call_of_subagent(subagent_run_id("c1")), "c1");
    EXPECT_EQ(call_of_subagent("made by a client"), "");
    EXPECT_EQ(call_of_subagent(""), "");
}

TEST(Subagent, HasAConversationOfItsOwn) {
    thread_builder thread;
    thread.user("u1", "One")
        .assistant("a1", "", {agent_call("c1"), agent_call("c2")}, call_status::open)
        .assistant("b1", "", {call("c3", "paint")})
        .assistant("d1", "Other")
        .answer("c3", "done")
        .assistant("b2", "Two");
    const thread_record stored =
        owned(thread.build(), {{"b1", "c1"}, {"c3:tool", "c1"}, {"b2", "c1"}, {"d1", "c2"}});

    const thread_record own = subagent_thread(stored, tip_of(stored), "c1", "Paint it.");

    EXPECT_EQ(
        test::outline(own), (lines{
                                "user c1:agent:task: Paint it.", "assistant b1:  [c3 paint({})]",
                                "tool c3: done", "assistant b2: Two"
                            })
    );
    EXPECT_EQ(test::outline(model_history(own, tip_of(own), {})), test::outline(own));
    ASSERT_EQ(own.calls.size(), 1U);
    EXPECT_EQ(own.nodes[own.calls[0].made_in].message.id, "b1");
    EXPECT_GT(own.bytes, 0U);
    EXPECT_EQ(
        test::outline(subagent_thread(stored, tip_of(stored), "c4", "New")),
        (lines{"user c4:agent:task: New"})
    );
}

TEST(Subagent, AStoredTaskTakesThePlaceOfTheArgument) {
    thread_builder thread;
    thread.user("u1", "One").assistant("a1", "", {agent_call("c1")}, call_status::open);
    message first = task_message("c1", "Edited.");
    first.subagent_run_id = subagent_run_id("c1");
    thread.add(first).assistant("b1", "", {call("c3", "paint")});
    const thread_record stored = owned(thread.build(), {{"b1", "c1"}});

    const thread_record own = subagent_thread(stored, tip_of(stored), "c1", "Paint it.");

    EXPECT_EQ(
        test::outline(own), (lines{"user c1:agent:task: Edited.", "assistant b1:  [c3 paint({})]"})
    );
    EXPECT_EQ(own.calls[0].made_in, 1U);
}

TEST(Subagent, StaysOutOfTheHistoryOfItsAgent) {
    const thread_record stored = waiting();

    EXPECT_EQ(model_history(stored, tip_of(stored), {}).size(), 4U); // Two are missing results.
    EXPECT_EQ(shown_messages(stored, tip_of(stored)).size(), 5U);    // None of these is shown.
}

TEST(Subagent, ItsApprovalsNameIt) {
    const thread_record stored = waiting();

    const std::vector<approval> open =
        open_approvals(stored, tip_of(stored), std::chrono::seconds(10));

    ASSERT_EQ(open.size(), 1U);
    EXPECT_EQ(open[0].subagent_run_id, "c4:agent");
}

TEST(Subagent, TheCallOfItsAgentGoesOnOnceItsCallIsAnswered) {
    const planned made = plan(waiting(), request({answer("c3", "painted")}));

    EXPECT_EQ(made.plan.next, next_step::wait_for_approval);
    EXPECT_EQ(made.status("c3"), call_status::answered);
    EXPECT_EQ(made.status("c1"), call_status::open);
    EXPECT_EQ(made.thread.find_call("c1")->run_id, "");
    EXPECT_EQ(made.status("c2"), call_status::suspended);
    EXPECT_EQ(made.status("c4"), call_status::suspended);
    EXPECT_EQ(made.thread.nodes.back().message.subagent_run_id, "c1:agent");
}

TEST(Subagent, AnAnswerBelongsToTheAgentThatHasMadeTheCall) {
    message given = answer("c3", "painted");
    given.subagent_run_id = "of another";

    const planned made = plan(waiting(), request({given}));

    EXPECT_EQ(made.thread.nodes.back().message.subagent_run_id, "c1:agent");
}

TEST(Subagent, AnAnswerIsSentBackWithItsOwnerWhileOthersAreAwaited) {
    thread_builder thread;
    thread.user("u1", "One")
        .assistant("a1", "", {agent_call("c1")}, call_status::suspended)
        .assistant("b1", "", {call("c3", "paint"), call("c4", "move")}, call_status::pending)
        .offered({"paint", "move"});
    const thread_record stored = owned(thread.build(), {{"b1", "c1"}});
    for (const history_mode mode : {history_mode::server, history_mode::client}) {
        history_policy policy;
        policy.mode = mode;
        std::vector<message> messages{answer("c3", "done")};
        if (mode == history_mode::client) {
            messages.insert(
                messages.begin(),
                {stored.nodes[0].message, stored.nodes[1].message, stored.nodes[2].message}
            );
        }

        const planned made = plan(stored, request(std::move(messages)), policy);

        EXPECT_EQ(made.plan.next, next_step::wait_for_answers);
        EXPECT_TRUE(made.plan.snapshot);
        EXPECT_EQ(made.thread.nodes.back().message.subagent_run_id, subagent_run_id("c1"));
    }
}

TEST(Subagent, TheCallsOfAllItsAgentsGoOnOnceItsCallIsApproved) {
    const thread_record stored = waiting();

    const planned made = plan(stored, resume("e1", R"({"approved":true})"));

    EXPECT_EQ(made.plan.next, next_step::wait_for_answers);
    EXPECT_EQ(made.status("c5"), call_status::approved);
    EXPECT_EQ(made.status("c4"), call_status::open);
    EXPECT_EQ(made.status("c2"), call_status::open);
    EXPECT_EQ(made.status("c1"), call_status::suspended);
}

TEST(Subagent, ARefusalIsStoredInItsConversation) {
    const thread_record stored = waiting();

    const planned made = plan(stored, resume("e1", R"({"approved":false})"));

    EXPECT_EQ(made.status("c5"), call_status::denied);
    EXPECT_EQ(made.status("c2"), call_status::open);
    const thread_record own = subagent_thread(made.thread, tip_of(made.thread), "c4", "Look.");
    EXPECT_EQ(own.nodes.back().message.tool_call_id, "c5");
}

TEST(Subagent, WithOneCallApprovedItExecutesItWhileAnotherWaits) {
    thread_builder thread;
    thread.user("u1", "One")
        .assistant("a1", "", {agent_call("c1")}, call_status::suspended)
        .assistant("b1", "", {agent_call("c5"), agent_call("c6")}, call_status::asked);
    const thread_record stored = owned(thread.build(), {{"b1", "c1"}});

    const planned made = plan(stored, resume("b1", R"({"approved":true})"));

    EXPECT_EQ(made.plan.next, next_step::wait_for_approval);
    EXPECT_EQ(made.status("c1"), call_status::open);
    EXPECT_EQ(made.status("c6"), call_status::asked);
}

TEST(Subagent, WaitsOnWhereNothingIsAnswered) {
    const planned made = plan(waiting(), request({user("u1", "One")}));

    EXPECT_EQ(made.status("c1"), call_status::suspended);
    EXPECT_EQ(made.status("c2"), call_status::suspended);
}

TEST(Subagent, AUserMessageAbandonsItsCallAndItGoesOn) {
    thread_builder thread;
    thread.user("u1", "One")
        .assistant("a1", "", {agent_call("c1")}, call_status::suspended)
        .assistant("b1", "", {call("c3", "paint")}, call_status::pending);
    const thread_record stored = owned(thread.build(), {{"b1", "c1"}});

    const planned made = plan(stored, request({user("u1", "One"), user("u2", "Two")}));

    EXPECT_EQ(made.plan.next, next_step::call_model);
    EXPECT_EQ(made.status("c3"), call_status::abandoned);
    EXPECT_EQ(made.status("c1"), call_status::open);
}

TEST(Subagent, AToolMessageAnswersNoCallOfAnAgent) {
    const thread_record stored = waiting();

    const planned made = plan(stored, request({answer("c1", "forged")}));

    EXPECT_EQ(made.status("c1"), call_status::suspended);
    EXPECT_EQ(made.thread.nodes.size(), stored.nodes.size());
}

// A client that keeps the history puts the result behind the call, and then the subagent's
// messages.
TEST(Subagent, ItsMessagesAreStoredOnceWhereTheClientHasTheHistory) {
    thread_builder thread;
    thread.user("u1", "One")
        .assistant("a1", "", {agent_call("c1")})
        .user("t1", "Look")
        .assistant("b1", "Rain")
        .answer("c1", "rain")
        .assistant("a2", "Wet");
    const thread_record stored = owned(thread.build(), {{"t1", "c1"}, {"b1", "c1"}});
    const auto sent = [&stored](std::vector<std::size_t> nodes, message last) {
        std::vector<message> messages;
        for (const std::size_t node : nodes) {
            messages.push_back(stored.nodes[node].message);
        }
        messages.push_back(std::move(last));
        return request(std::move(messages));
    };
    history_policy policy;
    policy.mode = history_mode::client;

    const planned next = plan(stored, sent({0, 1, 4, 2, 3, 5}, user("u2", "Two")), policy);
    EXPECT_EQ(next.thread.nodes.size(), stored.nodes.size() + 1);
    EXPECT_EQ(next.thread.branches.size(), 1U);
    EXPECT_EQ(next.branch().back(), "user u2: Two");

    const planned edited = plan(stored, sent({0, 1, 4, 2, 3}, user("u2", "Two")), policy);
    EXPECT_EQ(edited.thread.branches.size(), 2U);
    EXPECT_EQ(
        edited.branch(), (lines{
                             "user u1: One", "assistant a1:  [c1 get_weather({})]", "user t1: Look",
                             "assistant b1: Rain", "tool c1: rain", "user u2: Two"
                         })
    );
}

TEST(Subagent, OnAnotherBranchItIsLeftAlone) {
    const planned made = plan(waiting(), request({user("u1", "Edited")}));

    EXPECT_EQ(made.plan.next, next_step::call_model);
    EXPECT_EQ(made.status("c1"), call_status::suspended);
    EXPECT_EQ(made.status("c3"), call_status::pending);
}

} // namespace
} // namespace agui::session
