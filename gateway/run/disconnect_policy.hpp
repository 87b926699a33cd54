#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace agui::gateway {

/// `server.on_disconnect`: what happens to a run when its last reader leaves. The official clients
/// stop a run by dropping its connection. A page reload drops it too, so a run counts as stopped
/// only if its client does not reconnect.
struct disconnect_policy {
    enum class kind { go_on, cancel, grace };
    kind what = kind::grace;
    std::chrono::seconds grace{10}; ///< Time to reconnect; for `grace` only.
};

/// "continue", "cancel", "grace:SECONDS" (at most a day); nullopt for anything else.
[[nodiscard]] std::optional<disconnect_policy> disconnect_policy_from_string(std::string_view text);
[[nodiscard]] std::string to_string(const disconnect_policy& policy);

} // namespace agui::gateway
