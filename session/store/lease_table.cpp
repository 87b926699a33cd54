#include "session/store/lease_table.hpp"

namespace agui::session {

result<void> lease_table::acquire(const thread_key& key, const std::string& run_id) {
    const std::lock_guard lock(mutex_);
    const auto [held, is_new] = runs_.try_emplace(key, run_id);
    if (is_new) {
        return {};
    }
    return failure{errc::thread_busy, "another run is active on this thread", {}, held->second};
}

void lease_table::release(const thread_key& key, std::string_view run_id) noexcept {
    const std::lock_guard lock(mutex_);
    const auto held = runs_.find(key);
    if (held != runs_.end() && held->second == run_id) {
        runs_.erase(held);
    }
}

void lease_table::release_with_commit(const thread_key& key, std::string_view run_id) noexcept {
    if (!run_id.empty()) {
        release(key, run_id);
    }
}

std::string lease_table::holder(const thread_key& key) const {
    const std::lock_guard lock(mutex_);
    const auto held = runs_.find(key);
    return held == runs_.end() ? std::string() : held->second;
}

std::map<thread_key, std::string> lease_table::all() const {
    const std::lock_guard lock(mutex_);
    return runs_;
}

} // namespace agui::session
