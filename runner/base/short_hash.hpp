#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace agui::runner {

/// `length` characters of a-z and 0-9 (at most 12) that depend on nothing but the arguments, in
/// every process and version: they stand in requests whose beginnings servers cache. Each `attempt`
/// gives others, for a caller whose first ones are taken.
[[nodiscard]] std::string
short_hash(std::string_view text, std::size_t length, std::uint64_t attempt = 0);

} // namespace agui::runner
