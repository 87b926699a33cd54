#include "runner/provider/role_order.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace agui::runner {

namespace json = boost::json;
using session::message;
using session::role;

namespace {

// Requests must begin alike (P13), so these texts never change.
constexpr std::string_view first_user_text = "(The conversation begins.)";
constexpr std::string_view answer_to_results = "Understood.";

/// The parts of a content; a text is one part.
json::array parts_of(const session::content& content) {
    if (const auto* text = std::get_if<std::string>(&content)) {
        return json::array{{{"type", "text"}, {"text", *text}}};
    }
    return std::get<json::array>(content);
}

} // namespace

ordered_messages::ordered_messages(const std::vector<message>& given, role_order order) {
    std::optional<role> last; // Last role that a chat template sees.
    std::size_t place = 0;    // Place of its message.
    bool only_system = true;  // True so far.
    for (const message& each : given) {
        if (each.role == role::activity) {
            continue;
        }
        if (each.role == role::reasoning) {
            list_.push_back(&each); // The next answer may have to send it back.
            continue;
        }
        const bool is_system = session::is_system(each);
        if (is_system && session::is_blank(each.content)) {
            continue;
        }
        if (only_system && !is_system && each.role != role::user && order.begins_with_user) {
            add_fixed(role::user, first_user_text);
        }
        only_system = only_system && is_system;
        const bool follows_results =
            last == role::tool && each.role != role::tool && each.role != role::assistant;
        if (follows_results && order.answers_results) {
            add_fixed(role::assistant, answer_to_results);
        }
        if (order.separates_answers && last == role::assistant && each.role == role::assistant &&
            each.origin && !each.by_plugin && is_answer_at(place)) {
            add_fixed(role::user, continue_text);
            last = role::user;
        }
        const bool may_merge = each.role == role::user || each.role == role::assistant;
        if (order.merges_rows && may_merge && last == each.role) {
            merge(place, each);
        } else {
            list_.push_back(&each);
        }
        place = list_.size() - 1;
        last = each.role;
    }
    if (order.separates_answers && last == role::assistant && is_answer_at(place)) {
        add_fixed(role::user, continue_text);
    }
}

// A call is followed by its result, and servers may not get a blank message.
bool ordered_messages::is_answer_at(std::size_t place) const {
    const message& said = *list_[place];
    return !said.by_plugin && said.tool_calls.empty() && !session::is_blank(said.content);
}

/// Merges the message at `place`, which calls no tools, with the message that follows it.
void ordered_messages::merge(std::size_t place, const message& next) {
    const message* const first = list_[place];
    // Reasoning may stand between the two and must stay in front of its answer.
    list_.erase(list_.begin() + static_cast<std::ptrdiff_t>(place));
    if (session::is_blank(first->content)) {
        list_.push_back(&next);
        return;
    }
    if (made_.empty() || first != &made_.back()) {
        made_.push_back(*first);
    }
    message& whole = made_.back();
    list_.push_back(&whole);
    whole.tool_calls = next.tool_calls;
    whole.origin = next.origin;
    whole.by_plugin = whole.by_plugin || next.by_plugin;
    if (session::is_blank(next.content)) {
        return;
    }
    auto* const text = std::get_if<std::string>(&whole.content);
    const auto* const more = std::get_if<std::string>(&next.content);
    if (text != nullptr && more != nullptr) {
        text->append("\n\n" + *more);
        return;
    }
    json::array parts = parts_of(whole.content);
    for (json::value& part : parts_of(next.content)) {
        parts.push_back(std::move(part));
    }
    whole.content = std::move(parts);
}

void ordered_messages::add_fixed(role who, std::string_view text) {
    message& fixed = made_.emplace_back();
    fixed.role = who;
    fixed.content = std::string(text);
    list_.push_back(&fixed);
}

} // namespace agui::runner
