#include "runner/base/tool_names.hpp"

#include "runner/base/short_hash.hpp"
#include "session/base/white_space.hpp"

#include <algorithm>

namespace agui::runner {

namespace {

constexpr std::size_t hash_length = 8;
constexpr std::string_view namespace_prefix = "functions.";

bool fits(std::string_view name) noexcept {
    return !name.empty() && name.size() <= sent_tool_name_max &&
           std::ranges::all_of(name, is_tool_name_character);
}

std::string fitted(std::string_view name, std::uint64_t attempt) {
    std::string made(name.substr(0, sent_tool_name_max - hash_length - 1));
    std::ranges::replace_if(made, [](char c) { return !is_tool_name_character(c); }, '_');
    return made + "_" + short_hash(name, hash_length, attempt);
}

} // namespace

tool_names::tool_names(const std::vector<tool_definition>* offered) : offered_(offered) {
    if (offered == nullptr) {
        return;
    }
    for (const tool_definition& each : *offered) {
        if (!fits(each.name) && !changed_.contains(each.name)) {
            changed_.emplace(each.name, unused_name(each.name));
        }
    }
}

std::string tool_names::sent(std::string_view name) const {
    if (fits(name)) {
        return std::string(name);
    }
    const auto known = changed_.find(name);
    return known == changed_.end() ? unused_name(name) : known->second;
}

const tool_definition* tool_names::meant(std::string_view said) const noexcept {
    if (const tool_definition* const exact = find(said)) {
        return exact;
    }
    said = trimmed(said);
    if (const tool_definition* const bare = find(said)) {
        return bare;
    }
    return said.starts_with(namespace_prefix) ? find(trimmed(said.substr(namespace_prefix.size())))
                                              : nullptr;
}

std::string tool_names::unused_name(std::string_view name) const {
    std::string made = fitted(name, 0);
    for (std::uint64_t attempt = 1; is_taken(made); ++attempt) {
        made = fitted(name, attempt);
    }
    return made;
}

bool tool_names::is_taken(std::string_view name) const noexcept {
    const auto is_it = [name](const auto& changed) {
        return changed.second == name;
    };
    return (offered_ != nullptr &&
            std::ranges::find(*offered_, name, &tool_definition::name) != offered_->end()) ||
           std::ranges::any_of(changed_, is_it);
}

// A made name never equals a real one, so the order of the two does not matter.
const tool_definition* tool_names::find(std::string_view name) const noexcept {
    if (offered_ == nullptr) {
        return nullptr;
    }
    const auto changed =
        std::ranges::find_if(changed_, [name](const auto& each) { return each.second == name; });
    const std::string_view real = changed == changed_.end() ? name : changed->first;
    const auto found = std::ranges::find(*offered_, real, &tool_definition::name);
    return found == offered_->end() ? nullptr : &*found;
}

} // namespace agui::runner
