#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace agui::runner {

/// Follows the brackets of a JSON object or array that arrives in pieces, to find its end. Checks
/// nothing else of JSON.
class json_brackets {
public:
    /// Takes a piece up to and including the bracket that closes the outermost one, or all of it.
    /// Returns the number of bytes taken. Must not be called once closed() is true.
    std::size_t feed(std::string_view text) noexcept;

    [[nodiscard]] bool closed() const noexcept { return begun_ && depth_ == 0; }
    /// True while there are only blanks between the outermost brackets.
    [[nodiscard]] bool hollow() const noexcept { return hollow_; }
    /// Hash of the text; blanks between tokens do not change it.
    [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }

private:
    std::uint64_t hash_ = 0xcbf29ce484222325U; // FNV-1a, 64 bits.
    std::int64_t depth_ = 0;
    bool begun_ = false;
    bool hollow_ = true;
    bool in_string_ = false;
    bool escaped_ = false;
};

/// Tells whether a text that arrives in pieces is one JSON object. Checks its brackets only.
class object_text {
public:
    void feed(std::string_view text) noexcept;

    /// True if the text begins with `{` and ends with the bracket that closes it; blanks may
    /// surround it.
    [[nodiscard]] bool whole() const noexcept { return !is_other_ && brackets_.closed(); }
    /// Hash of a whole object; blanks between tokens do not change it.
    [[nodiscard]] std::uint64_t hash() const noexcept { return brackets_.hash(); }

private:
    bool has_begun_ = false;
    bool is_other_ = false;
    json_brackets brackets_;
};

} // namespace agui::runner
