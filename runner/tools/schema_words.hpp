#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace agui::runner {

// The words with which a model is told that its arguments do not fit a schema.

/// Path to a value, innermost step first.
struct value_path {
    const value_path* outer = nullptr;
    std::string_view member;
    std::size_t item = 0;
    bool is_item = false;
};

/// The path as a JSON pointer whose names are not escaped, at most 150 bytes; "/" for the whole.
[[nodiscard]] std::string path_text(const value_path& inner);

/// A member's name in quotes, at most 50 bytes of it.
[[nodiscard]] std::string quoted_member(std::string_view name);

/// "the type must be string or null"; `types` are bits of json_type.
[[nodiscard]] std::string type_rule(std::uint8_t types);

} // namespace agui::runner
