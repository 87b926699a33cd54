#pragma once

#include "session/base/text_map.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::translator {

/// Writes JSON in its canonical form from the events of a parser: keys sorted at every level,
/// strings and numbers in one form, no spaces. Holds the text once, and 12 bytes per member of each
/// open object. Positions have 32 bits: the caller limits the text to less than 4 GB.
class canonical_writer {
public:
    void begin_object();
    /// To be called before each member's value. Returns false if a member of that name was dropped
    /// before; duplicate() then names it. Other duplicates are found at the end of the object.
    [[nodiscard]] bool key(std::string_view name);
    /// Returns false if two members have the same name; duplicate() then names them.
    [[nodiscard]] bool end_object();
    void begin_array();
    void end_array();
    void string(std::string_view text);
    void integer(std::int64_t number);
    void integer(std::uint64_t number);
    void number(double number);          ///< Must be finite.
    void literal(std::string_view word); ///< true, false or null.

    /// Removes the last written member. Its name still counts as used.
    void drop_member();

    /// The duplicate member's name as JSON.
    [[nodiscard]] const std::string& duplicate() const noexcept { return duplicate_; }
    /// The writer's position in the document, such as `messages[2].id`. In an array, the position
    /// of the next element.
    [[nodiscard]] std::string path() const;
    /// The number of open objects and arrays.
    [[nodiscard]] std::size_t depth() const noexcept { return frames_.size(); }
    /// The approximate number of bytes it holds.
    [[nodiscard]] std::size_t bytes() const noexcept {
        return text_.capacity() + members_.capacity() * sizeof(member);
    }
    [[nodiscard]] std::string take() { return std::move(text_); }

private:
    /// A member `"key":value` in the text.
    struct member {
        std::uint32_t begin;
        std::uint32_t key_end; ///< After the key's quote.
        std::uint32_t end;
    };
    struct frame {
        bool is_object;
        std::uint32_t begin;      ///< Offset of its text.
        std::size_t first_member; ///< Index in members_.
        std::size_t count = 0;    ///< For an array: number of elements begun.
        std::string key;          ///< For an object: decoded key of the current member.
        text_set dropped = {};
    };

    void begin_value();
    void close_member();
    [[nodiscard]] std::uint32_t here() const noexcept {
        return static_cast<std::uint32_t>(text_.size());
    }
    [[nodiscard]] std::string_view key_of(const member& of) const noexcept {
        return std::string_view(text_).substr(of.begin, of.key_end - of.begin);
    }
    void sort_members(const frame& of);

    std::string text_;
    std::vector<member> members_; ///< Members of all open objects, innermost last.
    std::vector<frame> frames_;
    std::string duplicate_;
};

} // namespace agui::translator
