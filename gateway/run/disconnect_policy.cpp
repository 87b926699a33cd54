#include "gateway/run/disconnect_policy.hpp"

#include <charconv>

namespace agui::gateway {

std::optional<disconnect_policy> disconnect_policy_from_string(std::string_view text) {
    static constexpr std::string_view grace = "grace:";
    static constexpr long longest = 24L * 60 * 60;
    if (text == "continue") {
        return disconnect_policy{disconnect_policy::kind::go_on, {}};
    }
    if (text == "cancel") {
        return disconnect_policy{disconnect_policy::kind::cancel, {}};
    }
    if (!text.starts_with(grace)) {
        return std::nullopt;
    }
    text.remove_prefix(grace.size());
    long seconds = -1;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (ec != std::errc{} || end != text.data() + text.size() || seconds < 0 || seconds > longest) {
        return std::nullopt;
    }
    return disconnect_policy{disconnect_policy::kind::grace, std::chrono::seconds(seconds)};
}

std::string to_string(const disconnect_policy& policy) {
    switch (policy.what) {
    case disconnect_policy::kind::go_on:
        return "continue";
    case disconnect_policy::kind::cancel:
        return "cancel";
    case disconnect_policy::kind::grace:
        return "grace:" + std::to_string(policy.grace.count());
    }
    return "continue";
}

} // namespace agui::gateway
