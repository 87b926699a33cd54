#include "runner/loop/hosted_tools.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>

namespace agui::runner {

void hosted_tools::on(std::string_view id, std::string_view name, hosted_tool state) {
    if (context_ == nullptr) {
        return;
    }
    if (state == hosted_tool::running) {
        const auto shown = context_->show_activity(
            {.type = "hosted-tool", .content = {{"tool", name}, {"status", "in_progress"}}}
        );
        if (shown) {
            running_.push_back({std::string(id), *shown});
        }
        return;
    }
    const auto ended = std::ranges::find(running_, id, &running::id);
    if (ended != running_.end()) {
        show_end(*ended, state == hosted_tool::completed ? "completed" : "failed");
        running_.erase(ended);
    }
}

void hosted_tools::stop() {
    for (const running& each : running_) {
        show_end(each, "incomplete");
    }
    running_.clear();
}

void hosted_tools::show_end(const running& tool, std::string_view status) const {
    const boost::json::object change{{"op", "replace"}, {"path", "/status"}, {"value", status}};
    (void)context_->patch_activity(tool.activity, boost::json::array{change});
}

} // namespace agui::runner
