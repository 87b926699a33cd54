#pragma once

#include <boost/json/value.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace agui::translator {

/// Writes JSON from the events of a parser, in the form of append_json(): members in the given
/// order, no spaces.
class text_writer {
public:
    void begin_object();
    void key(std::string_view name);
    void end_object();
    void begin_array();
    void end_array();
    void string(std::string_view text);
    void number(const boost::json::value& value); ///< Must be finite.
    void literal(std::string_view word);          ///< true, false or null.

    [[nodiscard]] bool is_empty() const noexcept { return text_.empty(); }
    /// The number of bytes it holds.
    [[nodiscard]] std::size_t bytes() const noexcept { return text_.capacity(); }
    /// The text, with at most an eighth of spare capacity.
    [[nodiscard]] std::string take();

private:
    void separate();

    std::string text_;
};

} // namespace agui::translator
