#pragma once

#include "runner/base/model_provider.hpp"
#include "runner/loop/agent_loop.hpp"
#include "session/conversation/thread.hpp"

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <string>

namespace agui::gateway {

/// The parameters of a request for a title: those of the model in the configuration, with few
/// output tokens and without everything that is about tools, thinking or a form of the answer.
/// `by_effort`: the model's dialect turns thinking off by `reasoning_effort = "none"`, whatever
/// the model.
[[nodiscard]] runner::model_parameters
title_parameters(const runner::model_parameters& configured, bool by_effort);

/// The message that asks for the title of a thread: the start of the first user message and of its
/// answer on the head branch, as JSON, so that no text of theirs ends the data. Empty if the branch
/// has no user message with text.
[[nodiscard]] std::string title_question(const session::thread_record& thread);

struct title_answer {
    std::string title; ///< Empty if there is none.
    std::optional<runner::token_usage> usage;
    int status = 0;       ///< HTTP status of a failure; 0 if none was received.
    std::string detail{}; ///< Why there is no title, for the log; without content.
};

/// For whom a title is counted: model_request::principal and model_request::address.
struct title_asker {
    std::string principal;
    std::string address;
};

/// Asks the model once, if its circuit is not open, for at most 30 s. It may be cancelled
/// (terminal), which closes the connection to the model server.
[[nodiscard]] boost::asio::awaitable<title_answer>
ask_for_title(runner::model_choice model, std::string question, title_asker asker);

} // namespace agui::gateway
