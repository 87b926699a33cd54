#pragma once

#include <string>
#include <string_view>

namespace agui::test {

// The answers of a model server, one server-sent event each.

/// The event that holds `data`.
[[nodiscard]] std::string model_frame(std::string_view data);
/// A chunk that says `text`.
[[nodiscard]] std::string text_frame(std::string_view text);
/// A chunk that calls a tool, all at once; `arguments` is JSON.
[[nodiscard]] std::string
call_frame(std::string_view id, std::string_view name, std::string_view arguments = "{}");
/// The end of an answer.
[[nodiscard]] std::string end_frames(std::string_view finish_reason = "stop");

} // namespace agui::test
