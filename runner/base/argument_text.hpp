#pragma once

#include "runner/base/json_brackets.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace agui::runner {

/// The arguments of one call, from the pieces in which a server sends them: the text of one JSON
/// object. Nothing is added to an object once its brackets are closed; blanks around it are
/// dropped. Accepts what servers send in practice: `{}` or `null` as a placeholder before the
/// object or in its place; an object that was encoded once or several times more, as a JSON string.
/// Any other text is passed on as it came, for the reader of the call to judge.
class argument_text {
public:
    /// Takes the next piece. Returns the rest of it that belongs to another object, encoded or not,
    /// which begins after this one is whole; usually empty, otherwise it starts with `{`.
    [[nodiscard]] std::string feed(std::string_view text);

    /// A placeholder was the arguments.
    void settle();

    /// No more will come. `complete`: nothing was cut off, so that no arguments at all mean `{}`.
    void finish(bool complete);

    /// What can be passed on and was not taken yet.
    [[nodiscard]] const std::string& ready() const noexcept { return ready_; }
    void taken() noexcept { ready_.clear(); }

    /// True if there is nothing but blanks so far.
    [[nodiscard]] bool blank() const noexcept { return form_ == form::blank; }
    [[nodiscard]] bool placeholder() const noexcept { return form_ == form::placeholder; }
    /// True if they are an object whose brackets are closed.
    [[nodiscard]] bool whole() const noexcept { return form_ == form::whole; }
    /// Of a whole object: the same for texts that differ only in the blanks between their tokens.
    [[nodiscard]] std::uint64_t hash() const noexcept { return brackets_.hash(); }

private:
    enum class form {
        blank,
        word,        ///< Maybe `null`: held_ is its begin.
        placeholder, ///< held_ is its text.
        object,      ///< As long as it is hollow, held_ is its text.
        quoted,      ///< A JSON string: held_ is its text.
        whole,
        next_quoted, ///< After a whole object, a JSON string: held_ is its text.
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
    bool escaped_ = false; ///< Of a JSON string: its last character was a backslash.
    json_brackets brackets_;
};

} // namespace agui::runner
