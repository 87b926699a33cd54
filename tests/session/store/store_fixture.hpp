#pragma once

#include "session/store/store.hpp"
#include "tests/support/coroutine_test.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/temporary_folder.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace agui::test {

/// Records the reports of the store, and waits for later ones.
class recording_observer final : public session::log_observer {
public:
    void on_durable(std::uint64_t sequence) noexcept override {
        const std::lock_guard lock(mutex_);
        in_order_ = in_order_ && sequence > durable_;
        durable_ = sequence;
        told_.notify_all();
    }

    void on_failed() noexcept override {
        const std::lock_guard lock(mutex_);
        failed_ = true;
        told_.notify_all();
    }

    /// Returns true as soon as entries up to `sequence` are durable, and false after 20 s or a
    /// failure.
    [[nodiscard]] bool wait_durable(std::uint64_t sequence) {
        std::unique_lock lock(mutex_);
        told_.wait_for(lock, patience, [&] { return durable_ >= sequence || failed_; });
        return durable_ >= sequence;
    }

    [[nodiscard]] bool wait_failed() {
        std::unique_lock lock(mutex_);
        return told_.wait_for(lock, patience, [&] { return failed_; });
    }

    /// Returns true once anything was reported about entries up to `sequence`.
    [[nodiscard]] bool wait_told(std::uint64_t sequence) {
        std::unique_lock lock(mutex_);
        return told_.wait_for(lock, patience, [&] { return failed_ || durable_ >= sequence; });
    }

    [[nodiscard]] std::uint64_t durable() const {
        const std::lock_guard lock(mutex_);
        return durable_;
    }

    [[nodiscard]] bool in_order() const {
        const std::lock_guard lock(mutex_);
        return in_order_;
    }

private:
    mutable std::mutex mutex_;
    std::condition_variable told_;
    std::uint64_t durable_ = 0;
    bool failed_ = false;
    bool in_order_ = true;
};

inline session::thread_key key_of(std::string thread_id, std::string principal = {}) {
    return {std::move(principal), std::move(thread_id)};
}

inline const session::thread_key thread_1 = key_of("thread_1");
inline const session::thread_key thread_2 = key_of("thread_2");

inline session::run_record run_of(std::string run_id, unix_ms started_at = 1000) {
    session::run_record run;
    run.run_id = std::move(run_id);
    run.agent_id = "default";
    run.input_digest = "digest";
    run.started_at = started_at;
    return run;
}

inline session::stored_message
user_message(std::string id, std::string text, session::node_index parent = session::no_node) {
    session::stored_message stored;
    stored.parent = parent;
    stored.run_id = "run_1";
    stored.created_at = 1000;
    stored.message.id = std::move(id);
    stored.message.content = std::move(text);
    return stored;
}

/// A change that adds one user message and makes it the tip of branch 0.
inline session::changes
user_turn(std::string id, std::string text, session::node_index number = 0, unix_ms at = 1000) {
    session::changes change;
    change.messages.push_back(
        user_message(std::move(id), std::move(text), number == 0 ? session::no_node : number - 1)
    );
    change.branches.push_back({0, {.tip = number, .updated_at = at}});
    change.head = 0;
    change.at = at;
    return change;
}

inline session::thread_query
query_of(std::string principal, std::size_t limit = 50, std::string cursor = {}) {
    session::thread_query query;
    query.principal = std::move(principal);
    query.limit = limit;
    query.cursor = std::move(cursor);
    return query;
}

inline session::log_slice slice_of(
    std::int64_t run_number, std::uint64_t first_sequence, const std::vector<std::string>& frames
) {
    session::log_slice slice;
    slice.run_number = run_number;
    slice.first_sequence = first_sequence;
    for (const std::string& frame : frames) {
        slice.events += frame;
        slice.ends.push_back(static_cast<std::uint32_t>(slice.events.size()));
    }
    return slice;
}

/// An orphan and its thread.
struct lost_run {
    session::thread_key key;
    session::run_record run;
    std::uint64_t last_sequence = 0;
};

/// The orphans of all threads that nobody holds, in the order in which they began. Any failure is
/// thrown.
inline std::vector<lost_run> orphans_of(session::store& store) {
    std::vector<lost_run> found;
    std::exception_ptr thrown;
    boost::asio::io_context context{1};
    boost::asio::co_spawn(
        context,
        [&]() -> boost::asio::awaitable<void> {
            const std::vector<session::lease_ptr> claimed =
                (co_await store.claim_orphans(1000)).value();
            for (const session::lease_ptr& held : claimed) {
                for (const session::store::orphan& each : (co_await store.orphans(held)).value()) {
                    found.push_back({held->key(), each.run, each.last_sequence});
                }
                store.release(held);
            }
        },
        [&](std::exception_ptr error) { thrown = error; }
    );
    context.run();
    if (thrown) {
        std::rethrow_exception(thrown);
    }
    std::ranges::sort(found, {}, [](const lost_run& each) { return each.run.number; });
    return found;
}

inline std::vector<std::string> frames_of(const std::vector<session::log_entry>& entries) {
    std::vector<std::string> frames;
    frames.reserve(entries.size());
    for (const session::log_entry& entry : entries) {
        frames.push_back(entry.json);
    }
    return frames;
}

} // namespace agui::test
