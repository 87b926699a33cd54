#pragma once

#include "runner/tools/run_context.hpp"
#include "session/conversation/state_change.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {

/// What a tool's answer does in its run besides its result: carried out when the result is stored,
/// before it is shown.
struct tool_effects {
    std::optional<session::state_change> state;
    std::vector<activity> activities;
    std::vector<std::pair<std::string, boost::json::value>> customs; ///< Name and value.

    [[nodiscard]] bool empty() const noexcept {
        return !state && activities.empty() && customs.empty();
    }
};

/// The member of `_meta` in the answer of a webhook or of an MCP server that holds effects:
///
///     {"statePatch": [JSON Patch], or "state": DOCUMENT,
///      "activities": [{"type": TEXT, "content": OBJECT, "id"?: TEXT, "replace"?: BOOL}],
///      "custom": [{"name": TEXT, "value": VALUE}]}
inline constexpr std::string_view effects_member = "org.agui-gateway/effects";

/// Effects in one answer beyond this number are left out.
inline constexpr std::size_t effects_max = 100;

/// The effects in the `_meta` of an answer; null if it has none. Members of the wrong form are left
/// out. `answer` may have any members.
[[nodiscard]] std::shared_ptr<const tool_effects>
read_tool_effects(const boost::json::object& answer);

} // namespace agui::runner
