#pragma once

#include <boost/json/array.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace agui::translator {

/// The largest written event. Released clients fail at 10 MB (10 485 760 bytes).
inline constexpr std::size_t event_bytes_max = 8'000'000;
/// Room in an event for its type, time and ids.
inline constexpr std::size_t envelope_bytes_max = 64U << 10U;

/// Returns the URL of a part of the thread, by its digest. The function is empty if there are no
/// links.
using part_link = std::function<std::string(std::string_view sha256)>;

/// Shortens messages in their wire form, from the oldest on and only as far as necessary, until
/// they take at most `bytes_max` as JSON. First the data parts become links or, without links,
/// texts that name them (session::left_out_note). Then the results of tools are shortened, then
/// other texts and arguments (session::shortened_text). Then other large members are left out. All
/// messages stay, with their ids and in their order; only if that is still too much, the oldest are
/// left out.
void limit_messages(boost::json::array& messages, std::size_t bytes_max, const part_link& link);

/// Replaces the data parts of messages in their wire form by links, whatever their size is. A part
/// for which `link` is empty, or returns an empty text, stays.
void link_parts(boost::json::array& messages, const part_link& link);

} // namespace agui::translator
