#include "runner/loop/run_step.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace agui::runner {
namespace {

using session::call_owner;

std::vector<session::call_record> open(std::initializer_list<call_owner> owners) {
    std::vector<session::call_record> calls;
    for (const call_owner owner : owners) {
        calls.emplace_back().owner = owner;
    }
    return calls;
}

TEST(RunStep, AsksTheModelIfNoCallIsOpen) { EXPECT_EQ(next_run_step({}), run_step::ask_model); }

TEST(RunStep, ExecutesTheServersCallsFirst) {
    EXPECT_EQ(next_run_step(open({call_owner::server})), run_step::execute_calls);
    EXPECT_EQ(
        next_run_step(open({call_owner::external, call_owner::server})), run_step::execute_calls
    );
}

TEST(RunStep, HandsOverCallsThatOnlyTheCallerCanAnswer) {
    EXPECT_EQ(
        next_run_step(open({call_owner::external, call_owner::external})), run_step::hand_over
    );
}

TEST(RunStep, AsksForApprovalsOnceNothingElseCanBeExecuted) {
    using session::call_status;
    std::vector<session::call_record> calls = open({call_owner::server, call_owner::external});
    calls[0].status = call_status::held;
    EXPECT_EQ(next_run_step(calls), run_step::ask_approval);
    for (const call_status executable : {call_status::open, call_status::approved}) {
        calls.emplace_back().owner = call_owner::server;
        calls.back().status = executable;
        EXPECT_EQ(next_run_step(calls), run_step::execute_calls);
        calls.pop_back();
    }
}

} // namespace
} // namespace agui::runner
