#include "proto-fixtures/replay/added_messages.hpp"

#include <algorithm>
#include <utility>

namespace agui::replay {

namespace json = boost::json;

json::array add_up(const std::vector<json::object>& frames) {
    json::array all;
    for (const json::object& frame : frames) {
        for (const json::value& sent : frame.at("messages").as_array()) {
            json::object changed = sent.as_object();
            const bool replaces = changed.erase("replace") > 0;
            const auto known = std::ranges::find_if(all, [&](const json::value& one) {
                return one.at("id") == changed.at("id");
            });
            if (known == all.end()) {
                all.emplace_back(std::move(changed));
                continue;
            }
            if (changed.at("type") == "content" && !replaces) {
                json::string whole = known->at("value").as_string();
                whole.append(changed.at("value").as_string());
                changed.at("value") = std::move(whole);
            }
            *known = std::move(changed);
        }
    }
    return all;
}

} // namespace agui::replay
