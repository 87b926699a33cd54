#pragma once

#include "session/sqlite/sqlite_tables.hpp"
#include "session/sqlite/sqlite_thread_reader.hpp"
#include "session/store/store.hpp"
#include "session/store/stored_change.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace agui::session {

/// The jobs on threads, executed on the store's thread: reads in slices, and the removal. A read
/// sees everything that was durable before. Throws sqlite_error.
class thread_jobs {
public:
    /// The arguments must outlive this.
    explicit thread_jobs(sqlite_tables& tables) : tables_(tables) {}

    /// A view of a thread that is being read.
    struct view_read {
        thread_key key;
        std::optional<std::string> run_id; ///< If set, this run is looked up before the thread.
        store::view seen;
        std::optional<sqlite_thread_reader::reading> begun;
        std::uint64_t removed = 0; ///< For is_still_there().
    };
    /// The pending calls of a thread that are being read.
    struct pending_calls_read {
        thread_key key;
        std::optional<sqlite_thread_reader::pending_reading> begun;
        std::uint64_t removed = 0; ///< For is_still_there().
    };

    /// Reads one slice; nullopt if it was not the last. A thread only grows, so the result is the
    /// thread as it was at the first slice.
    [[nodiscard]] std::optional<result<store::view>> read_slice(view_read& what);
    [[nodiscard]] std::optional<result<std::optional<std::vector<pending_call>>>>
    read_slice(pending_calls_read& what);

    /// Makes a thread invisible; sqlite_removal deletes its rows. Returns false if there is no such
    /// thread. Runs in a transaction.
    [[nodiscard]] bool remove(const thread_key& key);
    /// store::restore(); `content` is made of `what.content`. Runs in a transaction.
    [[nodiscard]] result<bool> restore(const whole_thread& what, const stored_change& content);
    /// store::forget_principal(). Runs in a transaction.
    [[nodiscard]] forgotten_principal forget(const std::string& principal);

private:
    [[nodiscard]] bool
    is_still_there(const thread_key& key, std::int64_t thread, std::uint64_t& removed);
    sqlite_tables& tables_;
};

} // namespace agui::session
