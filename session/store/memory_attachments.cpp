#include "session/store/memory_attachments.hpp"

#include "session/store/store_failures.hpp"

#include <iterator>
#include <utility>

namespace agui::session {

result<void>
memory_attachments::keep(const thread_key& key, attachment what, std::uint64_t bytes_max) {
    const std::lock_guard lock(mutex_);
    std::uint64_t bytes = what.bytes.size();
    if (const auto kept = kept_.find(key); kept != kept_.end()) {
        for (const auto& [sha256, each] : kept->second) {
            bytes += sha256 == what.sha256 ? 0 : each.bytes.size();
        }
    }
    if (bytes > bytes_max) {
        return attachments_too_large(bytes_max);
    }
    std::string sha256 = what.sha256;
    kept_[key].insert_or_assign(std::move(sha256), std::move(what));
    return {};
}

std::optional<attachment>
memory_attachments::find(const thread_key& key, const std::string& sha256) const {
    const std::lock_guard lock(mutex_);
    const auto kept = kept_.find(key);
    if (kept == kept_.end()) {
        return std::nullopt;
    }
    const auto found = kept->second.find(sha256);
    return found == kept->second.end() ? std::nullopt : std::optional(found->second);
}

std::uint64_t memory_attachments::bytes_of(const std::string& principal) const {
    const std::lock_guard lock(mutex_);
    std::uint64_t bytes = 0;
    const auto end = kept_.end();
    for (auto thread = kept_.lower_bound({principal, {}});
         thread != end && thread->first.principal == principal; ++thread) {
        for (const auto& [sha256, each] : thread->second) {
            bytes += each.bytes.size();
        }
    }
    return bytes;
}

void memory_attachments::erase(const thread_key& key) {
    const std::lock_guard lock(mutex_);
    kept_.erase(key);
}

std::vector<std::string> memory_attachments::digests(const thread_key& key) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> found;
    if (const auto kept = kept_.find(key); kept != kept_.end()) {
        for (const auto& [sha256, each] : kept->second) {
            found.push_back(sha256);
        }
    }
    return found;
}

std::size_t memory_attachments::erase_of(const std::string& principal) {
    const std::lock_guard lock(mutex_);
    std::size_t erased = 0;
    auto thread = kept_.lower_bound({principal, {}});
    while (thread != kept_.end() && thread->first.principal == principal) {
        erased += thread->second.size();
        thread = kept_.erase(thread);
    }
    return erased;
}

void memory_attachments::drop_before(unix_ms time) {
    const std::lock_guard lock(mutex_);
    for (auto thread = kept_.begin(); thread != kept_.end();) {
        std::erase_if(thread->second, [&](const auto& each) { return each.second.kept_at < time; });
        thread = thread->second.empty() ? kept_.erase(thread) : std::next(thread);
    }
}

} // namespace agui::session
