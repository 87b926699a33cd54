#include "session/sqlite/thread_cache.hpp"

#include <exception>
#include <iterator>

namespace agui::session {

namespace {

// Approximate bytes of a thread, a message and a call besides their texts.
constexpr std::size_t thread_bytes = 1024;
constexpr std::size_t message_bytes = 512;
constexpr std::size_t call_bytes = 256;

std::size_t weight_of(const thread_record& record) noexcept {
    return thread_bytes + record.bytes + record.nodes.size() * message_bytes +
           record.calls.size() * call_bytes;
}

} // namespace

std::optional<thread_record> thread_cache::find(std::int64_t thread, std::uint64_t version) {
    const auto found = by_thread_.find(thread);
    if (found == by_thread_.end()) {
        return std::nullopt;
    }
    if (found->second->record.version != version) {
        drop(found->second);
        return std::nullopt;
    }
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->record;
}

void thread_cache::keep(std::int64_t thread, const thread_record& record) {
    forget(thread);
    if (weight_of(record) > bytes_max_) {
        return; // It would displace all others.
    }
    entries_.push_front({thread, record, 0});
    by_thread_.insert_or_assign(thread, entries_.begin());
    weigh(entries_.front());
    make_room();
}

void thread_cache::forget(std::int64_t thread) noexcept {
    if (const auto known = by_thread_.find(thread); known != by_thread_.end()) {
        drop(known->second);
    }
}

void thread_cache::stage(std::int64_t thread, std::uint64_t version, const changes& change) {
    if (by_thread_.contains(thread)) {
        staged_.push_back({thread, version, &change});
    }
}

void thread_cache::committed() noexcept {
    for (const staged_change& staged : staged_) {
        const auto known = by_thread_.find(staged.thread);
        if (known == by_thread_.end()) {
            continue;
        }
        entry& changed = *known->second;
        try {
            if (changed.record.version != staged.version) {
                drop(known->second);
                continue;
            }
            apply(changed.record, *staged.change);
            weigh(changed);
        } catch (const std::exception&) {
            drop(known->second); // The change may be half applied.
        }
    }
    staged_.clear();
    make_room();
}

void thread_cache::weigh(entry& of) noexcept {
    bytes_ -= of.bytes;
    of.bytes = weight_of(of.record);
    bytes_ += of.bytes;
}

void thread_cache::drop(entries::iterator gone) noexcept {
    bytes_ -= gone->bytes;
    by_thread_.erase(gone->thread);
    entries_.erase(gone);
}

void thread_cache::make_room() noexcept {
    while (bytes_ > bytes_max_ && !entries_.empty()) {
        drop(std::prev(entries_.end()));
    }
}

} // namespace agui::session
