#include "gateway/run/state_prediction.hpp"

#include "session/base/finite_json.hpp"
#include "session/base/partial_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <iterator>
#include <variant>

namespace agui::gateway {

namespace json = boost::json;

namespace {

constexpr std::size_t first_shown_bytes = 16;

} // namespace

std::string prediction_text(const std::vector<predicted_member>& members) {
    json::array text;
    for (const predicted_member& each : members) {
        text.push_back(
            {{"state_key", each.state_key}, {"tool", each.tool}, {"tool_argument", each.argument}}
        );
    }
    return json::serialize(text);
}

std::vector<state_prediction::change> state_prediction::on(const runner::runner_event& event) {
    if (const auto* const started = std::get_if<runner::call_started>(&event)) {
        const bool is_meant =
            std::ranges::find(members_, started->name, &predicted_member::tool) != members_.end();
        if (is_meant) {
            calls_.push_back(
                {std::string(started->call_id), std::string(started->name), {}, first_shown_bytes, 0
                }
            );
        }
        return {};
    }
    if (calls_.empty()) {
        return {};
    }
    if (const auto* const more = std::get_if<runner::call_arguments>(&event)) {
        const auto found = std::ranges::find(calls_, more->call_id, &call::id);
        if (found == calls_.end()) {
            return {};
        }
        found->arguments.append(more->delta);
        if (found->arguments.size() > predicted_bytes_max) {
            calls_.erase(found);
            return {};
        }
        if (found->arguments.size() < found->next) {
            return {};
        }
        found->shown = found->arguments.size();
        found->next = found->arguments.size() + found->arguments.size() / 4 + first_shown_bytes;
        return read(*found);
    }
    // Some dialects complete their calls with the answer only.
    const auto* const ended = std::get_if<runner::call_ended>(&event);
    const bool all_end = std::holds_alternative<runner::turn_ended>(event);
    std::vector<change> changes;
    std::erase_if(calls_, [&](const call& each) {
        const bool ends = all_end || (ended != nullptr && each.id == ended->call_id);
        if (ends && each.arguments.size() > each.shown) {
            std::ranges::move(read(each), std::back_inserter(changes));
        }
        return ends;
    });
    return changes;
}

std::vector<state_prediction::change> state_prediction::read(const call& of) const {
    std::vector<change> changes;
    const auto arguments = parse_partial(of.arguments);
    const json::object* const members = arguments ? arguments->if_object() : nullptr;
    if (members == nullptr) {
        return changes;
    }
    for (const predicted_member& each : members_) {
        const json::value* const value =
            each.tool == of.tool ? members->if_contains(each.argument) : nullptr;
        if (value != nullptr && session::is_finite(*value)) {
            changes.push_back({each.state_key, *value});
        }
    }
    return changes;
}

} // namespace agui::gateway
