#include "translator/agui/projected_events.hpp"

#include <optional>
#include <string_view>

namespace agui::translator {

void projected_events::on_event(const wire_event& event) {
    std::optional<std::string_view> older;
    switch (form_) {
    case projection::undeclared:
        older = event.undeclared;
        break;
    case projection::v1_0:
        older = event.v1_0;
        break;
    case projection::v1_1:
        break;
    }
    const std::string_view json = older.value_or(event.json);
    if (!json.empty()) {
        events_.emplace_back(json);
    }
}

} // namespace agui::translator
