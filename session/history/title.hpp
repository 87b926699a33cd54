#pragma once

#include "session/conversation/thread.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace agui::session {

/// The most characters of a title made from a message: it has to fit on a line of a list.
inline constexpr std::size_t title_characters_max = 80;

/// The start of `text` as one line: whole characters, white space as single spaces, without control
/// characters and those that change the direction of text.
[[nodiscard]] std::string
title_line(std::string_view text, std::size_t characters_max = title_characters_max);

/// The title that `change` gives to `thread`: made from the first user message that has text, if it
/// comes with the change and the thread has no title. nullopt if the title does not change.
[[nodiscard]] std::optional<std::string>
title_of_change(const thread_record& thread, const changes& change);

/// The thread's title if it is the one that title_of_change() made from its first user message, or
/// equals it; otherwise empty.
[[nodiscard]] std::string automatic_title(const thread_record& thread);

/// The title that a model's answer gives: its title_line() without quotation marks around it and
/// without a full stop at its end. Empty if nothing is left.
[[nodiscard]] std::string title_of_answer(std::string_view answer);

} // namespace agui::session
