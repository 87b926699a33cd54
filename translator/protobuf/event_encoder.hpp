#pragma once

#include <cstddef>
#include <string>

namespace agui::translator {

/// Replaces the JSON of an event, from `json_at` to the end of `out`, by the message Event of
/// ag_ui.proto: the fields in the order of their numbers, map entries in the order of the JSON. A
/// plain delta of a text, of reasoning or of arguments is written in place, without an allocation.
/// Left out are members that the protocol does not know or whose value has another type than
/// there. Numbers within a document become doubles. std::invalid_argument: the JSON is no event of
/// the protocol; `out` is unchanged.
void encode_event(std::string& out, std::size_t json_at);

} // namespace agui::translator
