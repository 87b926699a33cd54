#pragma once

#include <boost/json/object.hpp>

#include <optional>
#include <string>

// The part of the verifier that looks at one event alone. Internal to this folder.
namespace agui::translator {

/// A broken rule: its name and a sentence; nullopt: none.
using violation = std::optional<std::string>;

/// Checks an event's members against the protocol's tables (verifier_tables.hpp): required members,
/// types, literals, no null where a member may be left out. Stricter than clients are, because a
/// producer should be: unknown members and kinds, which a client strips with a warning, empty
/// deltas and empty ids are violations too. `type` must be a string.
[[nodiscard]] violation check_schema(const boost::json::object& event);

} // namespace agui::translator
