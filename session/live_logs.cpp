#include "session/live_logs.hpp"

#include <algorithm>

namespace agui::session {

void live_logs::open(std::int64_t run_number) {
    const std::lock_guard lock(mutex_);
    runs_.insert_or_assign(run_number, live_run{});
}

void live_logs::close(std::int64_t run_number) {
    const std::lock_guard lock(mutex_);
    runs_.erase(run_number);
}

live_logs::outcome live_logs::append(const log_slice& slice) {
    const std::lock_guard lock(mutex_);
    const auto found = runs_.find(slice.run_number);
    if (found == runs_.end()) {
        return outcome::refused;
    }
    live_run& target = found->second;
    const std::uint64_t last = last_sequence(slice);
    if (target.queued_through == 0 && slice.first_sequence == target.durable + 1) {
        if (target.chain_bytes >= chain_bytes_max) {
            target.restart();
        }
        encoded_.clear();
        encode_entries(slice, target.chain, encoded_);
        const log_ring::place before = ring_.end();
        const auto count = static_cast<std::uint32_t>(slice.ends.size());
        if (ring_.append({slice.run_number, slice.first_sequence, count, encoded_})) {
            target.chain_bytes += encoded_.size();
            target.durable = last;
            return before / log_ring::segment_bytes == ring_.end() / log_ring::segment_bytes
                       ? outcome::durable
                       : outcome::durable_and_due;
        }
        target.restart();
        if (encoded_.capacity() > log_ring::segment_bytes) {
            std::string().swap(encoded_);
        }
    }
    target.queued_through = std::max(target.queued_through, last);
    return outcome::refused;
}

void live_logs::hold(std::int64_t run_number, std::uint64_t sequence) {
    const std::lock_guard lock(mutex_);
    if (const auto found = runs_.find(run_number); found != runs_.end()) {
        found->second.queued_through = std::max(found->second.queued_through, sequence);
    }
}

void live_logs::settle(std::int64_t run_number, std::uint64_t sequence, bool durable) {
    const std::lock_guard lock(mutex_);
    const auto found = runs_.find(run_number);
    if (found == runs_.end()) {
        return;
    }
    live_run& settled = found->second;
    if (durable) {
        settled.durable = std::max(settled.durable, sequence);
    }
    settled.restart();
    if (sequence >= settled.queued_through) {
        settled.queued_through = 0;
    }
}

log_ring::place live_logs::cut() {
    const std::lock_guard lock(mutex_);
    for (auto& [number, live] : runs_) {
        live.restart();
    }
    return ring_.end();
}

} // namespace agui::session
