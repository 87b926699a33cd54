#pragma once

#include "gateway/auth/caller.hpp"
#include "gateway/auth/key_set.hpp"
#include "gateway/auth/secret_digest.hpp"
#include "session/base/mutex.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

namespace agui::gateway {

/// Remembers the callers of verified tokens, at most `2 * half` of them: those that were used
/// lately. Safe to call from any thread.
class verified_tokens {
public:
    static constexpr std::size_t agent_scopes_max = 16;

    explicit verified_tokens(std::size_t half) : half_(half) {}

    /// The caller of a token that was verified with these keys and has not expired; null if there
    /// is none.
    [[nodiscard]] std::shared_ptr<const caller>
    find(const secret_digest& digest, const std::shared_ptr<const key_set>& keys, unix_ms now) {
        const std::lock_guard lock(mutex_);
        if (keys_ != keys) { // A key may have been revoked.
            recent_.clear();
            older_.clear();
            keys_ = keys;
        }
        const auto known = recent_.find(digest);
        if (known != recent_.end()) {
            return is_valid(*known->second, now) ? known->second : nullptr;
        }
        const auto old = older_.find(digest);
        if (old == older_.end() || !is_valid(*old->second, now)) {
            return nullptr;
        }
        const std::shared_ptr<const caller> found = old->second;
        insert(digest, found);
        return found;
    }

    /// Remembers the caller, unless it has more than `agent_scopes_max` scopes for single agents,
    /// which would take too much memory.
    void
    add(const secret_digest& digest, const std::shared_ptr<const key_set>& keys,
        std::shared_ptr<const caller> who) {
        const std::lock_guard lock(mutex_);
        if (keys_ == keys && who->scopes.agent_scopes() <= agent_scopes_max) {
            insert(digest, std::move(who));
        }
    }

private:
    using table = std::map<secret_digest, std::shared_ptr<const caller>>;

    static bool is_valid(const caller& who, unix_ms now) {
        return who.expires && now < *who.expires;
    }

    void insert(const secret_digest& digest, std::shared_ptr<const caller> who)
        AGUI_REQUIRES(mutex_) {
        if (recent_.size() >= half_) {
            older_ = std::exchange(recent_, {});
        }
        recent_[digest] = std::move(who);
    }

    const std::size_t half_;
    mutex mutex_;
    std::shared_ptr<const key_set> keys_ AGUI_GUARDED_BY(mutex_);
    table recent_ AGUI_GUARDED_BY(mutex_);
    table older_ AGUI_GUARDED_BY(mutex_);
};

} // namespace agui::gateway
