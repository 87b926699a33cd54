#include "session/store/message_cache.hpp"

#include <iterator>
#include <mutex>
#include <utility>

namespace agui::session {

namespace {

// Fewer messages are read in less than a millisecond.
constexpr std::size_t messages_least = 500;

// Approximate bytes of a message besides its texts.
constexpr std::size_t message_bytes = 768;

// Copying the list takes as long as reading about as many messages again.
constexpr std::size_t read_again_max = 100;

bool is_enough(const message_cache::kept& what, std::int64_t thread, std::size_t size) noexcept {
    return what.thread == thread && what.messages->size() <= size &&
           size - what.messages->size() <= read_again_max;
}

} // namespace

message_cache::kept message_cache::find(const thread_key& key) {
    const std::lock_guard lock(mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) {
        return {};
    }
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->what;
}

void message_cache::keep(std::int64_t thread, const thread_record& record) {
    if (record.nodes.size() < messages_least) {
        return;
    }
    const std::size_t bytes =
        record.bytes - record.documents.total() + record.nodes.size() * message_bytes;
    {
        const std::lock_guard lock(mutex_);
        const auto known = by_key_.find(record.key);
        if (known != by_key_.end() && is_enough(known->second->what, thread, record.nodes.size())) {
            return;
        }
    }
    auto messages = std::make_shared<const node_list>(record.nodes);
    const std::lock_guard lock(mutex_);
    if (const auto known = by_key_.find(record.key); known != by_key_.end()) {
        drop(known->second);
    }
    if (!make_room(bytes)) {
        return;
    }
    entries_.push_front({record.key, {thread, std::move(messages)}, bytes});
    by_key_.insert_or_assign(record.key, entries_.begin());
    bytes_ += bytes;
}

void message_cache::forget(const thread_key& key) noexcept {
    const std::lock_guard lock(mutex_);
    if (const auto known = by_key_.find(key); known != by_key_.end()) {
        drop(known->second);
    }
}

std::size_t message_cache::bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
}

void message_cache::drop(entries::iterator gone) noexcept {
    bytes_ -= gone->bytes;
    share_.shrink_to(bytes_);
    by_key_.erase(gone->key);
    entries_.erase(gone);
}

// Returns false if the bytes do not fit, even without all others.
bool message_cache::make_room(std::size_t bytes) noexcept {
    if (bytes > bytes_max_) {
        return false; // It would displace all others.
    }
    while (bytes_ + bytes > bytes_max_ || !share_.grow_to(bytes_ + bytes)) {
        if (entries_.empty()) {
            return false;
        }
        drop(std::prev(entries_.end()));
    }
    return true;
}

} // namespace agui::session
