#include "gateway/log/log_turn.hpp"

#include "gateway/log/event_log.hpp"

#include <boost/asio/post.hpp>
#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <utility>

namespace agui::gateway {

namespace {

// A thread that waits for events takes longer than this to wake up and read; from one ready socket
// to the next it takes a few microseconds.
constexpr std::chrono::microseconds idle_after{20};

// How many logs share a write. One write for more of them would save little and take more memory.
constexpr std::size_t logs_at_once = 32;

// Memory that each thread keeps for a slice.
constexpr std::size_t reused_slice_bytes = 4096;

thread_local log_turn* current = nullptr;

using append_list = boost::container::small_vector<session::store::log_append, 2>;

void write(session::store* to, append_list& entries) {
    if (entries.empty()) {
        return;
    }
    try {
        to->append_logs(entries);
    } catch (const std::exception&) {
        for (const auto& each : entries) {
            each.observer->on_failed();
        }
    }
    entries.clear();
}

void empty(std::span<session::log_slice> slices) {
    for (session::log_slice& slice : slices) {
        if (slice.events.capacity() > reused_slice_bytes) {
            slice = {};
        }
        slice.events.clear();
        slice.ends.clear();
        slice.variants.clear();
    }
}

} // namespace

log_turn::log_turn(boost::asio::any_io_executor executor, clock::time_point (*now)())
    : executor_(std::move(executor)), now_(now), outer_(std::exchange(current, this)) {}

log_turn::~log_turn() { current = outer_; }

log_turn* log_turn::of_this_thread() noexcept { return current; }

void log_turn::begin_batch() { is_busy_ = now_() - last_end_ < idle_after; }

void log_turn::end_batch() { last_end_ = now_(); }

void log_turn::add(std::shared_ptr<event_log> log) {
    const bool is_first = waiting_.empty();
    waiting_.push_back(std::move(log));
    if (is_first) {
        try {
            boost::asio::post(executor_, [this] { publish_waiting(); });
        } catch (...) {
            waiting_.clear();
            throw;
        }
    }
}

// Readers continue within this and may add logs, for which another handler is posted.
void log_turn::publish_waiting() {
    std::vector<std::shared_ptr<event_log>> logs = std::exchange(waiting_, {});
    for (const auto& log : logs) {
        log->writing_.flush_scheduled = false;
    }
    publish(logs);
    logs.clear();
    if (waiting_.empty()) {
        waiting_.swap(logs); // Keeps the memory.
    }
    last_end_ = now_();
}

void log_turn::publish(std::span<const std::shared_ptr<event_log>> logs) {
    // Nothing is allocated for most slices, which are one token.
    static thread_local std::vector<session::log_slice> reused;
    std::vector<session::log_slice> slices = std::exchange(reused, {});
    slices.resize(std::max(slices.size(), std::min(logs.size(), logs_at_once)));
    append_list entries;
    while (!logs.empty()) {
        const auto some = logs.first(std::min(logs.size(), logs_at_once));
        logs = logs.subspan(some.size());
        session::store* to = nullptr;
        for (std::size_t i = 0; i < some.size(); ++i) {
            event_log& log = *some[i];
            if (log.settings_.store != to) {
                write(to, entries);
                to = log.settings_.store;
            }
            if (log.stage(slices[i])) {
                entries.push_back({&slices[i], some[i], log.own().held});
            }
        }
        write(to, entries);
        for (std::size_t i = 0; i < some.size(); ++i) {
            some[i]->show_unstored(slices[i]);
        }
        empty(std::span(slices).first(some.size()));
    }
    reused = std::move(slices);
}

} // namespace agui::gateway
