#pragma once

#include <cstddef>
#include <string>

namespace agui::translator {

/// encode_event() for an event that has nothing but an id and a delta, as event_writer::delta()
/// writes it. Returns false and changes nothing if the event is another one.
[[nodiscard]] bool encode_delta(std::string& out, std::size_t json_at) noexcept;

} // namespace agui::translator
