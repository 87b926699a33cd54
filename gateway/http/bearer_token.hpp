#pragma once

#include "session/base/mutex.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace agui::gateway {

/// The token that requests must carry. May be replaced while requests are checked; admitted
/// requests are not affected. Safe to call from any thread.
class bearer_token {
public:
    /// With nullopt, no request needs a token.
    explicit bearer_token(std::optional<std::string> token) : token_(std::move(token)) {}
    bearer_token(const bearer_token&) = delete;
    bearer_token& operator=(const bearer_token&) = delete;

    /// True if no token is needed, or the value of the Authorization header carries it.
    [[nodiscard]] bool accepts(std::string_view authorization) const;

    /// Returns false if no request needs a token.
    [[nodiscard]] bool is_set() const;

    /// Sets the token; the former one becomes invalid.
    void replace(std::optional<std::string> token);

private:
    mutable mutex mutex_;
    std::optional<std::string> token_ AGUI_GUARDED_BY(mutex_);
};

} // namespace agui::gateway
