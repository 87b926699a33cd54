#pragma once

#include <string_view>

namespace agui::translator {

/// The type of an event in the form in which agui_translator writes it: `{"type":"RUN_ERROR",…` has
/// RUN_ERROR. Empty for any other text. The view is into `event`.
[[nodiscard]] inline std::string_view type_of_event(std::string_view event) noexcept {
    constexpr std::string_view begin = R"({"type":")";
    if (!event.starts_with(begin)) {
        return {};
    }
    event.remove_prefix(begin.size());
    return event.substr(0, event.find('"'));
}

} // namespace agui::translator
