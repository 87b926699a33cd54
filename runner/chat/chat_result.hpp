#pragma once

#include "runner/base/model_provider.hpp"
#include "runner/base/stop_reason.hpp"
#include "session/conversation/message.hpp"

#include <boost/assert/source_location.hpp>
#include <boost/system/result.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace agui::runner {

/// The text, calls and use of a conversation so far.
struct chat_totals {
    std::string content;            ///< All text of the model, including that before calls.
    std::vector<token_usage> usage; ///< By provider and model.
    /// Calls that were executed or left to the program, in order.
    std::vector<session::tool_call> calls;
    std::uint32_t rounds = 0; ///< Answers that held calls, executed or not.

    /// The sum of `usage`. A count that no model server reported is absent.
    [[nodiscard]] token_usage usage_total() const;
};

/// Why a chat ended, with the model server's status, its id of the request, a sentence of detail,
/// and the errors of plugins.
struct chat_end : end_details {
    stop_reason what = stop_reason::completed;

    /// True if the answer can be used: completed, max_output_tokens (the text was cut), or
    /// external_tool (calls are left to the program).
    [[nodiscard]] bool is_answer() const noexcept;
    /// Everything in one line, for people. It may hold text of a model server.
    [[nodiscard]] std::string text() const;
};

struct chat_response {
    stop_reason reason = stop_reason::completed; ///< See chat_end::is_answer().
    chat_totals totals;
    std::vector<session::tool_call> pending; ///< Only for external_tool.
    std::vector<session::message> messages;  ///< The whole conversation, for a later one.
};

/// The reason and state of a chat without a usable answer: max_rounds, tool_loop, token_limit,
/// cancelled, aborted, or a failure of the model.
struct chat_failure : chat_end {
    chat_response so_far;
};

/// Throws std::runtime_error with chat_end::text().
[[noreturn]] void
throw_exception_from_error(const chat_failure& error, const boost::source_location& where);

using chat_result = boost::system::result<chat_response, chat_failure>;

} // namespace agui::runner
