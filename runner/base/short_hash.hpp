#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace agui::runner {

/// `length` characters of a-z and 0-9 (at most 12). They depend only on the arguments, in every
/// process and version, because servers cache the beginnings of requests that hold them. Each
/// `attempt` gives different ones, for a caller whose first ones are taken.
[[nodiscard]] std::string
short_hash(std::string_view text, std::size_t length, std::uint64_t attempt = 0);

} // namespace agui::runner
