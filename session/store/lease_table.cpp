#include "session/store/lease_table.hpp"

#include <memory>

namespace agui::session {

result<lease_ptr> lease_table::acquire(const thread_key& key, const std::string& run_id) {
    const std::lock_guard lock(mutex_);
    if (const auto found = holders_.find(key); found != holders_.end()) {
        return failure{
            errc::thread_busy,
            "another run is active on this thread",
            {},
            found->second.held->run_id()
        };
    }
    auto held = std::make_shared<lease>(key, run_id, ++last_token_);
    holders_.emplace(held->key(), entry{.held = held});
    return held;
}

void lease_table::release(const lease_ptr& held) noexcept {
    if (!held || !held->set_released()) {
        return;
    }
    const std::lock_guard lock(mutex_);
    const auto found = holders_.find(held->key());
    if (found != holders_.end() && found->second.held == held) {
        holders_.erase(found);
    }
}

void lease_table::set_begun(
    const lease_ptr& held, std::int64_t run_number, node_index first_own_message
) {
    if (!held) {
        return;
    }
    const std::lock_guard lock(mutex_);
    const auto found = holders_.find(held->key());
    if (found != holders_.end() && found->second.held == held) {
        found->second.run_number = run_number;
        found->second.first_own_message = first_own_message;
    }
}

std::optional<thread_holder> lease_table::holder(const thread_key& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = holders_.find(key);
    if (found == holders_.end()) {
        return std::nullopt;
    }
    const entry& by = found->second;
    return thread_holder{by.held->run_id(), by.run_number, by.first_own_message, true};
}

std::string lease_table::run_of(const thread_key& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = holders_.find(key);
    return found == holders_.end() ? std::string() : found->second.held->run_id();
}

bool lease_table::is_free(const thread_key& key) const {
    const std::lock_guard lock(mutex_);
    return !holders_.contains(key);
}

} // namespace agui::session
