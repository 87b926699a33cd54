#include "runner/tools/schema_places.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <system_error>

namespace agui::runner {

namespace {

// Takes the first token of a JSON pointer that begins with a slash.
std::string next_token(std::string_view& pointer) {
    pointer.remove_prefix(1);
    const std::string_view raw = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(raw.size());
    std::string token;
    for (std::size_t i = 0; i < raw.size(); ++i) {
        const bool is_escape = raw[i] == '~' && i + 1 < raw.size();
        token += is_escape ? (raw[++i] == '0' ? '~' : '/') : raw[i];
    }
    return token;
}

} // namespace

void schema_places::sort() { std::ranges::sort(places_); }

std::optional<rule_index> schema_places::find(const place& wanted) const {
    const auto found = std::ranges::lower_bound(places_, wanted, {}, &located_rule::first);
    return found == places_.end() || found->first != wanted ? std::nullopt
                                                            : std::optional(found->second);
}

std::optional<rule_index> schema_places::find(std::string_view pointer) const {
    rule_index at = 0;
    while (!pointer.empty()) {
        const std::string keyword = next_token(pointer);
        std::optional<rule_index> next = find(place{at, keyword});
        if (!next && !pointer.empty()) {
            const std::string token = next_token(pointer);
            next = find(place{at, keyword, place::kind::named, token});
            std::uint32_t number = 0;
            const char* const end = token.data() + token.size();
            const auto read = std::from_chars(token.data(), end, number);
            if (!next && read.ec == std::errc() && read.ptr == end) {
                next = find(place{at, keyword, place::kind::numbered, {}, number});
            }
        }
        if (!next) {
            return std::nullopt;
        }
        at = *next;
    }
    return at;
}

} // namespace agui::runner
