#pragma once

#include "runner/base/json_brackets.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace agui::runner {

/// Joins the pieces of one call's arguments, the text of one JSON object, as a server streams them.
/// Nothing is added to an object once its brackets are closed; blanks around it are dropped.
/// Accepts the forms that servers send in practice: `{}` or `null` as a placeholder before the
/// object or in its place; an object encoded as a JSON string, once or several times. Any other
/// text is passed on unchanged, and the reader of the call judges it.
class argument_text {
public:
    /// Takes the next piece. If another object, encoded or not, begins after this one is whole,
    /// returns the rest of the piece that belongs to it; it starts with `{`. Usually returns an
    /// empty text.
    [[nodiscard]] std::string feed(std::string_view text);

    /// The placeholder held so far was the arguments.
    void settle();

    /// Ends the text. `complete` means that nothing was cut off: missing arguments then become
    /// `{}`.
    void finish(bool complete);

    /// The text that can be passed on and was not taken yet.
    [[nodiscard]] const std::string& ready() const noexcept { return ready_; }
    void taken() noexcept { ready_.clear(); }

    /// True if there is nothing but blanks so far.
    [[nodiscard]] bool blank() const noexcept { return form_ == form::blank; }
    [[nodiscard]] bool placeholder() const noexcept { return form_ == form::placeholder; }
    /// True if the arguments are an object whose brackets are closed.
    [[nodiscard]] bool whole() const noexcept { return form_ == form::whole; }
    /// Hash of a whole object; blanks between tokens do not change it.
    [[nodiscard]] std::uint64_t hash() const noexcept { return brackets_.hash(); }

private:
    enum class form {
        blank,
        word,        ///< Perhaps `null`; held_ is its start.
        placeholder, ///< held_ is its text.
        object,      ///< held_ is its text while it is hollow.
        quoted,      ///< A JSON string; held_ is its text.
        whole,
        next_quoted, ///< A JSON string after a whole object; held_ is its text.
        other,
    };

    void begin(std::string_view text);
    void read_word(std::string_view& text);
    void read_object(std::string_view& text);
    [[nodiscard]] std::string read_quoted(std::string_view& text);
    [[nodiscard]] std::string take_decoded();
    void take_as_text();

    form form_ = form::blank;
    std::string ready_;
    std::string held_;
    bool escaped_ = false; ///< The last character of the JSON string was a backslash.
    json_brackets brackets_;
};

} // namespace agui::runner
