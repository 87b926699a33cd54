#pragma once

#include <boost/json/array.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace agui::translator {

/// The largest event that is written: released clients give up at 10 MB (10 485 760 bytes).
inline constexpr std::size_t event_bytes_max = 8'000'000;

/// The URL at which a part of the thread is served, by its digest; empty function: there is none.
using part_link = std::function<std::string(std::string_view sha256)>;

/// Shortens messages in their wire form until they take at most `bytes_max` as JSON, from the
/// oldest on, and only as far as is necessary: first the data parts become links, or texts that
/// name them (session::left_out_note) where there are no links; then the results of tools are
/// shortened, then other texts and arguments (session::shortened_text); then what else may be
/// large is left out. All messages stay, with their ids and in their order, unless those alone are
/// too much: then the oldest are left out.
void limit_messages(boost::json::array& messages, std::size_t bytes_max, const part_link& link);

} // namespace agui::translator
