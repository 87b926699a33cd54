#include "session/conversation/change_check.hpp"
#include "session/conversation/thread.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace agui::session {
namespace {

namespace json = boost::json;

stored_message node(node_index parent) {
    stored_message added;
    added.parent = parent;
    return added;
}

call_record
call(std::string id, call_status status = call_status::open, node_index made_in = no_node) {
    call_record record;
    record.id = std::move(id);
    record.status = status;
    record.made_in = made_in;
    return record;
}

TEST(Thread, PathRunsFromTheFirstMessageToTheTip) {
    thread_record thread;
    thread.nodes = {node(no_node), node(0), node(0), node(2)};

    EXPECT_EQ(thread.path(3), (std::vector<node_index>{0, 2, 3}));
    EXPECT_EQ(thread.path(1), (std::vector<node_index>{0, 1}));
    EXPECT_TRUE(thread.path(no_node).empty());
    EXPECT_THROW((void)thread.path(4), std::logic_error);
}

// A change fits a thread of any size that is no smaller than the least one.
TEST(Thread, TheLeastSizeForAChangeMatchesItsCheck) {
    const auto with = [](std::vector<node_index> parents,
                         std::vector<std::pair<std::uint32_t, node_index>> branches,
                         std::optional<std::uint32_t> head, std::vector<node_index> made_in) {
        changes change;
        for (const node_index parent : parents) {
            change.messages.push_back(node(parent));
        }
        for (const auto& [index, tip] : branches) {
            change.branches.push_back({index, {.tip = tip, .updated_at = 0}});
        }
        change.head = head;
        for (const node_index in : made_in) {
            change.calls.push_back(call("a", call_status::open, in));
        }
        return change;
    };
    const changes all[] = {
        with({}, {}, {}, {}),
        with({no_node, 0}, {{0, 1}}, 0, {1}),
        with({2, 1}, {}, {}, {}),
        with({no_node}, {{0, 3}}, {}, {}),
        with({no_node}, {}, {}, {2}),
        with({}, {{1, no_node}, {2, no_node}}, 2, {}),
        with({}, {{2, no_node}, {0, no_node}}, 3, {}),
        with({}, {}, 1, {}),
    };
    for (const changes& change : all) {
        const thread_size least = least_size_for(change);
        SCOPED_TRACE(std::to_string(least.messages) + " " + std::to_string(least.branches));
        for (std::size_t messages = 0; messages < 5; ++messages) {
            for (std::size_t branches = 0; branches < 5; ++branches) {
                if (messages >= least.messages && branches >= least.branches) {
                    EXPECT_NO_THROW(check_change({messages, branches}, change));
                } else {
                    EXPECT_THROW(check_change({messages, branches}, change), std::logic_error);
                }
            }
        }
    }
}

TEST(Thread, FindsCallsById) {
    thread_record thread;
    thread.calls = {call("a"), call("b")};

    EXPECT_EQ(thread.find_call("b"), &thread.calls[1]);
    EXPECT_EQ(thread.find_call("c"), nullptr);
}

TEST(Thread, NamesOfStatesAreReadBack) {
    for (const call_status status :
         {call_status::open, call_status::pending, call_status::answered, call_status::dead,
          call_status::abandoned, call_status::denied, call_status::held, call_status::asked,
          call_status::approved, call_status::executing, call_status::cancelled,
          call_status::indeterminate, call_status::suspended}) {
        EXPECT_EQ(call_status_from_string(to_string(status)), status);
    }
    for (const run_status status :
         {run_status::active, run_status::finished, run_status::failed, run_status::cancelled}) {
        EXPECT_EQ(run_status_from_string(to_string(status)), status);
    }
    EXPECT_EQ(to_string(call_status::abandoned), "abandoned");
    EXPECT_EQ(to_string(run_status::cancelled), "cancelled");
    EXPECT_EQ(call_status_from_string("gone"), std::nullopt);
    EXPECT_EQ(run_status_from_string(""), std::nullopt);
}

TEST(ThreadApply, AppendsMessagesAndMovesBranches) {
    thread_record thread;
    changes first;
    first.messages = {node(no_node), node(0)};
    first.branches = {{0, {.tip = 1, .updated_at = 5}}};
    first.at = 5;
    changes second;
    second.messages = {node(0)};
    second.branches = {{1, {.tip = 2, .updated_at = 6}}, {0, {.tip = 0, .updated_at = 6}}};
    second.head = 1;
    second.at = 6;

    apply(thread, first);
    apply(thread, second);

    EXPECT_EQ(thread.nodes.size(), 3U);
    ASSERT_EQ(thread.branches.size(), 2U);
    EXPECT_EQ(thread.branches[0].tip, 0U);
    EXPECT_EQ(thread.branches[1].tip, 2U);
    EXPECT_EQ(thread.head, 1U);
    EXPECT_EQ(thread.created_at, 5);
    EXPECT_EQ(thread.updated_at, 6);
}

TEST(ThreadApply, ReplacesGivenMembersAndKeepsTheRest) {
    thread_record thread;
    thread.title = "kept";
    thread.state = json_text("1");
    thread.calls = {call("a")};
    thread.updated_at = 7;
    changes change;
    change.calls = {call("b"), call("a", call_status::dead)};
    change.archived = true;
    change.agent_id = "helper";
    change.offered_tools = json::array{1};
    change.metadata = json_text(R"({"k":1})");
    change.last_request_had_history = true;

    apply(thread, change);

    EXPECT_EQ(thread.title, "kept");
    EXPECT_EQ(thread.state, json_text("1"));
    EXPECT_EQ(thread.updated_at, 7);
    ASSERT_EQ(thread.calls.size(), 2U);
    EXPECT_EQ(thread.calls[0].id, "a");
    EXPECT_EQ(thread.calls[0].status, call_status::dead);
    EXPECT_EQ(thread.calls[1].id, "b");
    EXPECT_TRUE(thread.archived);
    EXPECT_EQ(thread.agent_id, "helper");
    EXPECT_EQ(thread.offered_tools, json::array{1});
    EXPECT_EQ(thread.metadata.view(), R"({"k":1})");
    EXPECT_TRUE(thread.last_request_had_history);
}

TEST(ThreadApply, RefusesAChangeThatDoesNotFit) {
    thread_record thread;
    thread.nodes = {node(no_node)};
    changes own_parent;
    own_parent.messages = {node(1)};
    changes branch_gap;
    branch_gap.branches = {{1, {}}};
    changes dangling_tip;
    dangling_tip.branches = {{0, {.tip = 1}}};
    changes dangling_head;
    dangling_head.head = 1;
    changes dangling_call;
    dangling_call.calls = {call("a", call_status::open, 1)};

    EXPECT_THROW(apply(thread, own_parent), std::logic_error);
    EXPECT_THROW(apply(thread, branch_gap), std::logic_error);
    EXPECT_THROW(apply(thread, dangling_tip), std::logic_error);
    EXPECT_THROW(apply(thread, dangling_head), std::logic_error);
    EXPECT_THROW(apply(thread, dangling_call), std::logic_error);
    EXPECT_EQ(thread.nodes.size(), 1U);
    EXPECT_TRUE(thread.branches.empty());
    EXPECT_TRUE(thread.calls.empty());
}

} // namespace
} // namespace agui::session
