#pragma once

#include "session/history/history_plan.hpp"
#include "tests/support/thread_builder.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace agui::test {

/// A request's messages, with the tool `paint` offered.
inline session::history_input request(std::vector<session::message> messages) {
    session::history_input input;
    input.messages = std::move(messages);
    input.offered_tools = {"paint", "move"};
    input.is_server_tool = is_server_tool;
    return input;
}

/// The result of plan_history() for a request, and the thread that results.
struct planned {
    errc error = errc::internal; ///< Set if the request was refused.
    std::string path;
    bool refused = false;
    session::history_plan plan;
    session::thread_record thread; ///< The thread with the plan applied.

    [[nodiscard]] std::vector<std::string> branch() const { return outline(thread); }
    [[nodiscard]] session::call_status status(std::string_view call_id) const {
        return thread.find_call(call_id)->status;
    }
};

inline planned plan(
    session::thread_record thread, const session::history_input& input,
    const session::history_policy& policy = {}
) {
    planned made;
    auto result = session::plan_history(thread, input, policy);
    if (!result) {
        made.refused = true;
        made.error = result.error().code;
        made.path = result.error().path;
        made.thread = std::move(thread);
        return made;
    }
    made.plan = std::move(*result);
    made.thread = std::move(thread);
    session::apply(made.thread, made.plan.change);
    return made;
}

inline planned plan(
    const thread_builder& thread, std::vector<session::message> messages,
    const session::history_policy& policy = {}
) {
    return plan(thread.build(), request(std::move(messages)), policy);
}

} // namespace agui::test
