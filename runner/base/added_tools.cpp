#include "runner/base/added_tools.hpp"

#include "session/base/contains.hpp"
#include "session/conversation/prompt_record.hpp"

#include <algorithm>
#include <set>
#include <string_view>

namespace agui::runner {

added_tools::added_tools(const model_request& request) {
    if (request.tools == nullptr) {
        return;
    }
    std::set<std::string_view> told;
    if (request.adds_tools && request.messages != nullptr) {
        for (const session::message& each : *request.messages) {
            if (each.prompt) {
                told.insert(each.prompt->tools.begin(), each.prompt->tools.end());
            }
        }
    }
    for (const tool_definition& tool : *request.tools) {
        (told.contains(tool.name) ? added_ : listed_).push_back(&tool);
    }
    if (listed_.empty() && !added_.empty()) {
        make_list(*request.messages);
    }
}

/// Tools may be added only to a list that is not empty, so the first ones make it.
void added_tools::make_list(const std::vector<session::message>& messages) {
    for (auto each = messages.begin(); listed_.empty() && each != messages.end(); ++each) {
        listed_ = added_with(*each);
    }
    std::erase_if(added_, [this](const tool_definition* tool) { return contains(listed_, tool); });
}

bool added_tools::is_added(std::string_view name) const {
    return std::ranges::find(added_, name, &tool_definition::name) != added_.end();
}

std::vector<const tool_definition*> added_tools::added_with(const session::message& value) const {
    std::vector<const tool_definition*> found;
    if (added_.empty() || !value.prompt) {
        return found;
    }
    for (const std::string& name : value.prompt->tools) {
        const auto tool = std::ranges::find(added_, name, &tool_definition::name);
        if (tool != added_.end()) {
            found.push_back(*tool);
        }
    }
    return found;
}

} // namespace agui::runner
