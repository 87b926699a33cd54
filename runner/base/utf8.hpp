#pragma once

#include "session/conversation/message.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace agui::runner {

/// True for well-formed UTF-8 (RFC 3629).
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// The text with U+FFFD in place of invalid UTF-8.
[[nodiscard]] std::string to_utf8(std::string_view text);

/// Replaces invalid UTF-8 by U+FFFD. Returns the size in bytes, counting parts as JSON text.
std::size_t make_utf8(session::content& value);

/// The first `limit` bytes of UTF-8 text, or up to three fewer, so that no character is cut in two.
[[nodiscard]] std::string_view utf8_head(std::string_view text, std::size_t limit) noexcept;

/// Joins characters that a stream has cut in two: the bytes of one UTF-8 sequence, or the two
/// surrogates of a pair. parse_json_scratch() delivers each surrogate as the three bytes that UTF-8
/// would give it (WTF-8).
class utf8_joiner {
public:
    /// Appends to `out`, as UTF-8, all characters that are complete; bytes that can no longer
    /// become a character give U+FFFD. The start of a character at the end of `delta` is held back:
    /// at most five bytes.
    void join(std::string_view delta, std::string& out);

    /// Ends the text: the bytes held back become U+FFFD.
    void finish(std::string& out);

    /// True if nothing is held back: a delta that is UTF-8 can then be passed on unchanged.
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

private:
    std::array<char, 5> held_{};
    std::size_t size_ = 0;
};

} // namespace agui::runner
