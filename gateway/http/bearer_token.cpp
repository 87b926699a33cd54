#include "gateway/http/bearer_token.hpp"

#include "gateway/http/access_rules.hpp"

#include <utility>

namespace agui::gateway {

bool bearer_token::accepts(std::string_view authorization) const {
    const std::lock_guard lock(mutex_);
    return !token_ || bearer_accepted(authorization, *token_);
}

bool bearer_token::is_set() const {
    const std::lock_guard lock(mutex_);
    return token_.has_value();
}

void bearer_token::replace(std::optional<std::string> token) {
    const std::lock_guard lock(mutex_);
    token_ = std::move(token);
}

} // namespace agui::gateway
