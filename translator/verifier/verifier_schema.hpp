#pragma once

#include <boost/json/object.hpp>

#include <optional>
#include <string>
#include <string_view>

// The verifier's checks of a single event. Internal to this folder.
namespace agui::translator {

/// A broken rule, as its name and a sentence, or nullopt.
using violation = std::optional<std::string>;

/// The text of a violation, such as "V3: TEXT_MESSAGE_START before RUN_STARTED".
[[nodiscard]] violation wrong(std::string_view rule, std::string_view what);
[[nodiscard]] violation
wrong(std::string_view rule, std::string_view subject, std::string_view what);

/// Checks an event's members against the protocol's tables (schema/event_tables.hpp): required
/// members, types, literals, no null where a member may be left out. Stricter than clients, as
/// producers should be: unknown members and kinds, which a client strips with a warning, empty
/// deltas and empty ids are violations too. `type` must be a string.
[[nodiscard]] violation check_schema(const boost::json::object& event);

} // namespace agui::translator
