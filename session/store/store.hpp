#pragma once

#include "session/base/error.hpp"
#include "session/base/json_text.hpp"
#include "session/base/log.hpp"
#include "session/conversation/pending_call.hpp"
#include "session/conversation/thread.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

/// One event of a run's log as the store keeps it; readers of an older protocol version get other
/// JSON for the few events that differ, or none.
struct log_entry {
    std::uint64_t sequence = 0; ///< Dense from 1 in its run.
    std::string json;
    std::string
        variants; ///< For older protocol versions, in a form the gateway chooses; often empty.
};

/// Learns how far a run's log is durable. Called on a thread of the store or inline from
/// append_log, in order; must not block and must not throw. The store keeps it alive until its last
/// call has returned.
class log_observer {
public:
    virtual ~log_observer() = default;
    /// All entries up to `sequence` survive what the store's durability promises.
    virtual void on_durable(std::uint64_t sequence) noexcept = 0;
    /// No further entry of this log will become durable.
    virtual void on_failed() noexcept = 0;
};

/// Entries appended at once: `events` holds their JSON, concatenated without separators; ends[i] is
/// where the i-th ends.
struct log_slice {
    std::int64_t run_number = 0;
    std::uint64_t first_sequence = 0;
    std::string events;
    std::vector<std::uint32_t> ends;
    /// (index within the slice, variants) of the entries that have any, in order.
    std::vector<std::pair<std::uint32_t, std::string>> variants;
};

/// What begin() says about the run that it has stored.
struct begun_run {
    std::int64_t number = 0;
};

/// A thread without its messages.
struct thread_summary {
    thread_key key;
    std::string agent_id;
    std::string title;
    bool archived = false;
    boost::json::object metadata;
    unix_ms created_at = 0;
    unix_ms updated_at = 0;
    unix_ms last_run_at = 0;
    std::string active_run_id; ///< Empty: none.
    // In summary() only:
    std::uint64_t bytes = 0;  ///< As in thread_record.
    document_sizes documents; ///< Of `bytes`.
};

struct branch_summary {
    unix_ms updated_at = 0;
    bool is_head = false;
    std::uint64_t message_count = 0;
    std::string last_message_id; ///< Empty: it has no message.
};

struct thread_query {
    std::string principal;
    std::optional<std::string> agent_id;
    bool archived = false;
    std::size_t limit = 50;
    std::string cursor; ///< The cursor from the previous page; empty: the first page.
};

/// Newest first.
struct thread_page {
    std::vector<thread_summary> threads;
    std::string next_cursor; ///< Empty: this was the last page.
};

/// Where conversations live. All functions may be called from any thread; awaitables complete on
/// the caller's executor. Cancelling the caller undoes nothing: a commit that was started is
/// carried out. Input-dependent failures are `failure`s; a store that cannot read or write returns
/// errc::store_unavailable and stays usable for later calls.
///
/// Order: calls that one coroutine makes in sequence take effect in that order; append_log entries
/// of a run become durable in sequence, and before or together with a commit that follows them.
class store {
public:
    virtual ~store() = default;

    /// Reserves the thread for a run: at most one holder (P7). Fails with errc::thread_busy
    /// (active_run_id set) while another run holds it. Held until commit(…, release) or release().
    /// With an empty id the server itself holds it, and no run id is reported.
    [[nodiscard]] virtual boost::asio::awaitable<result<void>>
    acquire(thread_key key, std::string run_id) = 0;

    /// Frees the thread if `run_id` holds it; otherwise does nothing. Never blocks.
    virtual void release(const thread_key& key, std::string_view run_id) noexcept = 0;

    /// The run that holds the thread in this process, or empty.
    [[nodiscard]] virtual std::string active_run(const thread_key& key) const = 0;

    /// A copy of the thread; nullopt: never seen.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::optional<thread_record>>>
    load(thread_key key) = 0;

    /// The parts of a thread that can be read without its messages; nullopt: never seen.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::optional<thread_summary>>>
    summary(thread_key key) = 0;
    [[nodiscard]] virtual boost::asio::awaitable<result<std::optional<json_text>>>
    state(thread_key key) = 0;
    /// Reads only the messages that made the calls.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::optional<std::vector<pending_call>>>>
    pending_calls(thread_key key) = 0;
    /// Reads the links between messages, and the last message of each branch. Ordered by branch
    /// number.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::optional<std::vector<branch_summary>>>>
    branches(thread_key key) = 0;

    /// What a new run needs to know, in one call.
    struct view {
        std::optional<run_record> run; ///< The run with that id, if the thread has it. Otherwise:
        std::optional<thread_record> thread; ///< as load(),
        std::uint64_t as_of = 0;             ///< valid while is_current() returns true.
    };
    [[nodiscard]] virtual boost::asio::awaitable<result<view>>
    look_up(thread_key key, std::string run_id) = 0;
    /// False if any thread may have been written since then. Never blocks.
    [[nodiscard]] virtual bool is_current(std::uint64_t as_of) const noexcept = 0;

    /// What the caller of begin() has seen of the thread: after acquiring it, or before, with
    /// is_current() true since then. It has also seen no run with that id or idempotency key.
    struct basis {
        std::uint64_t as_of = 0; ///< Of the view.
        bool thread_exists = false;
        thread_size size;
    };

    /// Begins a run on an acquired thread: stores the run record and `change`, creating the thread
    /// if it is new. errc::run_id_reused if the thread has a run with that id or idempotency key.
    /// With `seen`, a store need not read the thread again.
    [[nodiscard]] virtual boost::asio::awaitable<result<begun_run>> begin(
        thread_key key, run_record run, changes change, std::optional<basis> seen = std::nullopt
    ) = 0;

    /// Durable when it returns. With `log`, the entries are part of the same transaction. With
    /// `release_run_id`, the thread is free before this returns, even if it fails.
    [[nodiscard]] virtual boost::asio::awaitable<result<void>> commit(
        thread_key key, changes change, std::optional<log_slice> log = std::nullopt,
        std::string release_run_id = {}
    ) = 0;

    /// Makes log entries durable; observer->on_durable follows, or has been called when this
    /// returns. Cheap: at most one system call on the caller's path, to wake the store.
    virtual void
    append_log(const log_slice& slice, const std::shared_ptr<log_observer>& observer) = 0;

    /// True if read_log serves logs of ended runs; otherwise the writer of the log must keep it.
    [[nodiscard]] virtual bool keeps_logs() const noexcept = 0;

    /// Entries with a sequence above `after`, at most `limit`, in order. Empty at the end.
    /// errc::run_expired if entries are missing.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::vector<log_entry>>>
    read_log(std::int64_t run_number, std::uint64_t after, std::size_t limit) = 0;

    [[nodiscard]] virtual boost::asio::awaitable<result<std::optional<run_record>>>
    find_run(thread_key key, std::string run_id) = 0;

    /// The run that was begun with that idempotency key, which must not be empty.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::optional<run_record>>>
    find_run_by_key(thread_key key, std::string idempotency_key) = 0;

    /// The latest run of the thread.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::optional<run_record>>>
    latest_run(thread_key key) = 0;

    [[nodiscard]] virtual boost::asio::awaitable<result<thread_page>> list(thread_query query) = 0;

    /// Journal entries with a sequence above `after`, at most `limit`.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::vector<session_event>>>
    events(thread_key key, std::uint64_t after, std::size_t limit) = 0;

    /// Removes the thread, its runs, logs and journal. False if there was none.
    [[nodiscard]] virtual boost::asio::awaitable<result<bool>> remove(thread_key key) = 0;

    /// An active run that does not hold its thread: it is left from an earlier process, or its end
    /// could not be stored.
    struct orphan {
        thread_key key;
        run_record run;
        std::uint64_t last_sequence = 0; ///< Of its log.
    };
    /// The orphans of one thread, or of all, in the order in which they began. The caller must end
    /// them.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::vector<orphan>>>
    orphans(std::optional<thread_key> thread = std::nullopt) = 0;

    /// Which logs of ended runs drop_logs() keeps.
    struct log_limits {
        unix_ms ended_since = 0; ///< Logs of runs that ended earlier are dropped.
        std::uint64_t max_bytes =
            0; ///< Then the oldest are dropped until about this much is left; 0: no limit.
    };
    /// Drops logs of ended runs. Their records stay.
    [[nodiscard]] virtual boost::asio::awaitable<result<void>> drop_logs(log_limits limits) = 0;

    /// Writes what is queued and stops the store's thread, if it has one. No call may follow.
    virtual void close() = 0;
};

/// Its contents are lost with the process. keeps_logs() is false.
[[nodiscard]] std::unique_ptr<store> make_memory_store();

/// What a commit survives. relaxed, process: a killed process. power: also a power cut.
enum class durability { relaxed, process, power };

struct sqlite_settings {
    std::string path;
    session::durability durability = session::durability::process;
    /// Log entries wait at most this long to be written in a group.
    std::chrono::microseconds group_window{1000};
    /// What live runs have committed without the queue is written to the tables after about this
    /// long at most.
    std::chrono::milliseconds apply_window{1000};
    agui::logger* logger =
        nullptr; ///< For failures and damage; null: no log. Must outlive the store.
};

/// SQLite in WAL mode with a thread of its own and group commit; the file is created or migrated.
/// Throws std::runtime_error if the file cannot be opened, is not one of ours, or has a newer
/// schema.
[[nodiscard]] std::unique_ptr<store> make_sqlite_store(const sqlite_settings& settings);

} // namespace agui::session
