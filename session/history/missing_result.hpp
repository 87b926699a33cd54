#pragma once

#include "session/conversation/thread.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

// The explicit error result of an unanswered call. It is made wherever a thread is shown to a
// client or sent to a model, so that all of them see the same. It is stored only for a call that a
// person has not approved (approval.hpp), because that person may have given a reason.

/// True if the call has no result and never gets one, or has one. `status` comes from the call's
/// record; nullopt if the thread has none.
[[nodiscard]] bool is_unanswerable(std::optional<call_status> status) noexcept;

/// A fixed sentence that says why there is no result.
[[nodiscard]] std::string_view missing_answer(std::optional<call_status> status) noexcept;

/// The id of the result, always the same for the same call.
[[nodiscard]] std::string missing_result_id(std::string_view call_id);

/// The result as a model gets it: `error` set, without content.
[[nodiscard]] message missing_result(const tool_call& call, std::optional<call_status> status);
/// The same result for clients: the content is `{"error":"…"}`, because clients before 1.0 know no
/// `error`.
[[nodiscard]] message
shown_missing_result(const tool_call& call, std::optional<call_status> status);

/// The stored results of the calls that the branch `path` has without a result, each once, in the
/// order stored: another branch was the one on which a person answered. Pure.
[[nodiscard]] std::vector<node_index>
results_elsewhere(const thread_record& thread, const std::vector<node_index>& path);

/// True for an error result that a client was shown and sends back, under any id. It answers
/// nothing.
[[nodiscard]] bool is_missing_result(const message& value);

} // namespace agui::session
