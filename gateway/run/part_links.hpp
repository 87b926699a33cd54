#pragma once

#include "session/base/clock.hpp"
#include "session/conversation/thread.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace agui::gateway {

/// Makes and checks the links at which the parts of a thread are read without any other
/// authentication (capability links): any client that has a link may read that part until it
/// expires. All servers on the same store make and accept the same links. Set once before the first
/// request; then any thread may use it.
class part_links {
public:
    struct settings {
        std::string base_url; ///< `server.public_url` with base_path. If empty, no links are made.
        std::string key;      ///< session::store::signing_key().
        std::chrono::seconds valid{std::chrono::hours(7 * 24)}; ///< `session.link_days`.
    };

    part_links() = default;
    explicit part_links(settings values) : settings_(std::move(values)) {}

    /// Returns a link, or an empty text if no links are made. It expires after at least
    /// settings::valid, at the end of a day (UTC), so that the links of one day are equal.
    [[nodiscard]] std::string
    link(const session::thread_key& key, std::string_view sha256, unix_ms now) const;

    /// The principal whose thread the token opens; nullopt if the token is invalid or expired. The
    /// time taken does not depend on where a wrong token differs.
    [[nodiscard]] std::optional<std::string> principal_of(
        std::string_view thread_id, std::string_view sha256, std::string_view token, unix_ms now
    ) const;

private:
    [[nodiscard]] std::string signature(
        const session::thread_key& key, std::string_view sha256, std::string_view expiry
    ) const;

    settings settings_;
};

} // namespace agui::gateway
