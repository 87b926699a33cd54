#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace agui::test {

/// The choices that make an input, all derived from a number: the place that gets most of the
/// bytes, and the look of its names, texts, numbers, ids and values. One choice holds for all
/// places of a kind, because inputs that are the same everywhere cost the most.
class seeded_shape {
public:
    seeded_shape(std::uint32_t seed, std::size_t bytes) : seed_(seed), bytes_(bytes) {}

    [[nodiscard]] std::uint32_t seed() const noexcept { return seed_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
    /// Returns the same shape in another size.
    [[nodiscard]] seeded_shape of_bytes(std::size_t bytes) const noexcept { return {seed_, bytes}; }

    /// Returns a number from 0 to `count` - 1, always the same for the same name.
    [[nodiscard]] std::size_t pick(std::string_view what, std::size_t count) const noexcept;
    [[nodiscard]] std::string_view
    pick(std::string_view what, std::initializer_list<std::string_view> of) const noexcept;
    /// Returns true in one of `of` shapes.
    [[nodiscard]] bool chance(std::string_view what, std::size_t of) const noexcept {
        return pick(what, of) == 0;
    }

    /// The bytes for the place `which`: nearly all of them if the shape is about it.
    [[nodiscard]] std::size_t
    room(std::string_view which, std::initializer_list<std::string_view> places) const noexcept;
    /// The largest number of elements of a list with that room: a few large ones, or as many as
    /// fit.
    [[nodiscard]] std::size_t elements(std::string_view what, std::size_t room) const noexcept;

    // JSON, more or less: some shapes are not well-formed.

    /// A string of about that many bytes, with its quotes.
    [[nodiscard]] std::string text(std::string_view what, std::size_t bytes) const;
    [[nodiscard]] std::string value(std::string_view what, std::size_t bytes) const;
    /// The name of a member, with its quotes.
    [[nodiscard]] std::string name(std::string_view what, std::size_t index) const;
    /// The id of an element, with its quotes.
    [[nodiscard]] std::string id(std::string_view what, std::size_t index) const;
    [[nodiscard]] std::string number(std::string_view what, std::size_t index) const;

private:
    [[nodiscard]] std::string nested(std::string_view what, std::size_t bytes) const;
    [[nodiscard]] std::string object(std::string_view what, std::size_t bytes) const;
    [[nodiscard]] std::string array(std::string_view what, std::size_t bytes) const;

    std::uint32_t seed_;
    std::size_t bytes_;
};

/// Text as a JSON string, with quotes, again and again.
[[nodiscard]] std::string quoted(std::string text, std::size_t times = 1);

} // namespace agui::test
