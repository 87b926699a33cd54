#include "gateway/auth/scopes.hpp"

#include <algorithm>

namespace agui::gateway {
namespace {

constexpr std::string_view agents_prefix = "agents:";

constexpr std::uint8_t bit(scope what) noexcept {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(what));
}

std::optional<scope> scope_named(std::string_view name) noexcept {
    for (const scope each : all_scopes) {
        if (name == to_string(each)) {
            return each;
        }
    }
    return std::nullopt;
}

} // namespace

std::string_view to_string(scope what) noexcept {
    switch (what) {
    case scope::run:
        return "run";
    case scope::read:
        return "read";
    case scope::delete_:
        return "delete";
    case scope::approve:
        return "approve";
    case scope::admin:
        return "admin";
    }
    return "";
}

scope_set scope_set::everything() {
    scope_set all;
    for (const scope each : all_scopes) {
        all.held_ |= bit(each);
    }
    return all;
}

bool scope_set::add(std::string_view text) {
    if (const auto found = scope_named(text)) {
        held_ |= bit(*found);
        return true;
    }
    if (!text.starts_with(agents_prefix)) {
        return false;
    }
    // The id may hold colons; the name of the scope may not.
    const std::string_view rest = text.substr(agents_prefix.size());
    const std::size_t colon = rest.rfind(':');
    if (colon == std::string_view::npos || colon == 0) {
        return false;
    }
    const auto what = scope_named(rest.substr(colon + 1));
    if ((what != scope::run && what != scope::approve) || of_agents_.size() >= agents_max) {
        return false;
    }
    of_agent added{*what, std::string(rest.substr(0, colon))};
    if (std::ranges::find(of_agents_, added) == of_agents_.end()) {
        of_agents_.push_back(std::move(added));
    }
    return true;
}

std::optional<std::string_view> scope_set::add_list(std::string_view list) {
    std::optional<std::string_view> refused;
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(' '), list.size());
        const std::string_view each = list.substr(0, end);
        if (!each.empty() && !add(each) && !refused) {
            refused = each;
        }
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return refused;
}

bool scope_set::allows(scope what) const noexcept {
    return (held_ & (bit(what) | bit(scope::admin))) != 0;
}

bool scope_set::allows(scope what, std::string_view agent) const noexcept {
    return allows(what) || std::ranges::any_of(of_agents_, [&](const of_agent& each) {
               return each.what == what && each.agent == agent;
           });
}

bool scope_set::may_allow(scope what) const noexcept {
    return allows(what) || std::ranges::find(of_agents_, what, &of_agent::what) != of_agents_.end();
}

std::vector<std::string> scope_set::texts() const {
    std::vector<std::string> all;
    for (const scope each : all_scopes) {
        if ((held_ & bit(each)) != 0) {
            all.emplace_back(to_string(each));
        }
    }
    for (const of_agent& each : of_agents_) {
        all.push_back(
            std::string(agents_prefix).append(each.agent).append(":").append(to_string(each.what))
        );
    }
    std::ranges::sort(all);
    return all;
}

} // namespace agui::gateway
