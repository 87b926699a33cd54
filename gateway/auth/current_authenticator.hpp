#pragma once

#include "gateway/auth/authenticator.hpp"
#include "session/base/mutex.hpp"

#include <memory>
#include <mutex>
#include <utility>

namespace agui::gateway {

/// The authenticator of new requests. May be replaced while requests are checked; admitted requests
/// are not affected. Safe to call from any thread.
class current_authenticator {
public:
    explicit current_authenticator(std::shared_ptr<authenticator> first)
        : current_(std::move(first)) {}
    current_authenticator(const current_authenticator&) = delete;
    current_authenticator& operator=(const current_authenticator&) = delete;

    /// Never null. A request keeps it until it is admitted.
    [[nodiscard]] std::shared_ptr<authenticator> get() const {
        const std::lock_guard lock(mutex_);
        return current_;
    }

    void replace(std::shared_ptr<authenticator> next) {
        const std::lock_guard lock(mutex_);
        current_.swap(next);
    }

private:
    mutable mutex mutex_;
    std::shared_ptr<authenticator> current_ AGUI_GUARDED_BY(mutex_);
};

} // namespace agui::gateway
