#include "runner/base/call_ids.hpp"

#include "runner/base/short_hash.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace agui::runner {

namespace {

constexpr std::size_t common_bytes_max = 40;
constexpr std::size_t nine = 9;
constexpr std::size_t hash_length = 12;

bool is_alphanumeric(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::string made_from(std::string_view id, call_id_form form, std::uint64_t attempt) {
    return form == call_id_form::nine ? short_hash(id, nine, attempt)
                                      : "call_" + short_hash(id, hash_length, attempt);
}

} // namespace

bool is_common_call_id(std::string_view id) noexcept {
    return !id.empty() && id.size() <= common_bytes_max && std::ranges::all_of(id, [](char c) {
        return is_alphanumeric(c) || c == '_' || c == '-';
    });
}

bool call_ids::fits(std::string_view id) const noexcept {
    return form_ == call_id_form::nine
               ? id.size() == nine && std::ranges::all_of(id, is_alphanumeric)
               : is_common_call_id(id);
}

std::string_view call_ids::sent(std::string_view id, bool own) {
    if (const auto known = sent_.find(id); known != sent_.end()) {
        return known->second;
    }
    const bool stays = fits(id) || (own && form_ == call_id_form::common);
    std::string made = stays ? std::string(id) : made_from(id, form_, 0);
    for (std::uint64_t attempt = 1; !taken_.insert(made).second; ++attempt) {
        made = made_from(id, form_, attempt);
    }
    return sent_.emplace(id, std::move(made)).first->second;
}

} // namespace agui::runner
