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

/// Told how far a run's log is durable. Called on a thread of the store or inline from append_log,
/// in order; must not block and must not throw. Kept alive by the store until its last call has
/// returned.
class log_observer {
public:
    virtual ~log_observer() = default;
    /// All entries up to `sequence` survive what the store's durability promises.
    virtual void on_durable(std::uint64_t sequence) noexcept = 0;
    /// Nothing further of this log will become durable.
    virtual void on_failed() noexcept = 0;
};

/// Entries appended at once: `events` holds their JSON in a row, without separator; ends[i] is
/// where the i-th ends.
struct log_slice {
    std::int64_t run_number = 0;
    std::uint64_t first_sequence = 0;
    std::string events;
    std::vector<std::uint32_t> ends;
    /// (index within the slice, variants) of the entries that have any, in order.
    std::vector<std::pair<std::uint32_t, std::string>> variants;
};

/// The start of a run, as accepted.
struct begun_run {
    std::int64_t number = 0;
};

/// A page of threads, newest first.
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
    std::string cursor; ///< Of the page before; empty: the first.
};

struct thread_page {
    std::vector<thread_summary> threads;
    std::string next_cursor; ///< Empty: this was the last page.
};

/// Where conversations live. All functions may be called from any thread; awaitables complete on
/// the caller's executor. Cancellation of the caller does not undo what was asked for: a commit
/// that was started is carried out. Input-dependent failures are `failure`s; a store that cannot
/// work answers errc::store_unavailable and stays usable for later calls.
///
/// Order: calls made by one coroutine one after the other take effect in that order; append_log
/// entries of a run become durable in sequence, and before or together with a commit that follows
/// them.
class store {
public:
    virtual ~store() = default;

    /// Reserves the thread for a run: at most one holder (P7). Fails with errc::thread_busy
    /// (active_run_id set) while another run holds it. Held until commit(…, release) or release().
    /// An empty id holds it for the server itself: nobody is told of a run then.
    [[nodiscard]] virtual boost::asio::awaitable<result<void>>
    acquire(thread_key key, std::string run_id) = 0;

    /// Gives the thread back if `run_id` holds it; otherwise nothing. Never blocks.
    virtual void release(const thread_key& key, std::string_view run_id) noexcept = 0;

    /// The run that holds the thread in this process, or empty.
    [[nodiscard]] virtual std::string active_run(const thread_key& key) const = 0;

    /// A copy of the thread; nullopt: never seen.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::optional<thread_record>>>
    load(thread_key key) = 0;

    /// Parts of a thread that are found without its messages; nullopt: never seen.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::optional<thread_summary>>>
    summary(thread_key key) = 0;
    [[nodiscard]] virtual boost::asio::awaitable<result<std::optional<json_text>>>
    state(thread_key key) = 0;
    /// Reads the messages that made the calls, and no others.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::optional<std::vector<pending_call>>>>
    pending_calls(thread_key key) = 0;
    /// Reads how the messages are linked, and the last one of each branch. By number of the branch.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::optional<std::vector<branch_summary>>>>
    branches(thread_key key) = 0;

    /// What a new run has to know, in one call.
    struct view {
        std::optional<run_record> run; ///< The one of that id, if the thread has it. Otherwise:
        std::optional<thread_record> thread; ///< as load(),
        std::uint64_t as_of = 0;             ///< as long as is_current() says so.
    };
    [[nodiscard]] virtual boost::asio::awaitable<result<view>>
    look_up(thread_key key, std::string run_id) = 0;
    /// False if anything may have been written to any thread since. Never blocks.
    [[nodiscard]] virtual bool is_current(std::uint64_t as_of) const noexcept = 0;

    /// What the caller of begin() has seen of the thread after it had acquired it, or before and
    /// is_current() has said so since; and it has seen no run of that id or idempotency key.
    struct basis {
        std::uint64_t as_of = 0; ///< Of the view.
        bool thread_exists = false;
        thread_size size;
    };

    /// Begins a run on an acquired thread: stores the run record and `change`, creating the thread
    /// if it is new. errc::run_id_reused if the thread has a run of that id or idempotency key.
    /// With `seen`, a store may do without looking at the thread again.
    [[nodiscard]] virtual boost::asio::awaitable<result<begun_run>> begin(
        thread_key key, run_record run, changes change, std::optional<basis> seen = std::nullopt
    ) = 0;

    /// Durable when it returns. With `log`, the entries are part of the same transaction. With
    /// `release_run_id`, the thread is free before this returns, also when it fails.
    [[nodiscard]] virtual boost::asio::awaitable<result<void>> commit(
        thread_key key, changes change, std::optional<log_slice> log = std::nullopt,
        std::string release_run_id = {}
    ) = 0;

    /// Makes log entries durable; observer->on_durable follows, or has been called when this
    /// returns. Cheap: at most one system call on the caller's path, to wake the store.
    virtual void
    append_log(const log_slice& slice, const std::shared_ptr<log_observer>& observer) = 0;

    /// True if read_log serves logs of ended runs; otherwise whoever wrote the log must keep it.
    [[nodiscard]] virtual bool keeps_logs() const noexcept = 0;

    /// Entries with a sequence above `after`, at most `limit`, in order. Empty at the end.
    /// errc::run_expired if entries are missing.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::vector<log_entry>>>
    read_log(std::int64_t run_number, std::uint64_t after, std::size_t limit) = 0;

    [[nodiscard]] virtual boost::asio::awaitable<result<std::optional<run_record>>>
    find_run(thread_key key, std::string run_id) = 0;

    /// The run that was begun with that idempotency key, which is not empty.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::optional<run_record>>>
    find_run_by_key(thread_key key, std::string idempotency_key) = 0;

    /// The run that was begun last on the thread.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::optional<run_record>>>
    latest_run(thread_key key) = 0;

    [[nodiscard]] virtual boost::asio::awaitable<result<thread_page>> list(thread_query query) = 0;

    /// Journal entries with a sequence above `after`, at most `limit`.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::vector<session_event>>>
    events(thread_key key, std::uint64_t after, std::size_t limit) = 0;

    /// Removes the thread, its runs, logs and journal. False if there was none.
    [[nodiscard]] virtual boost::asio::awaitable<result<bool>> remove(thread_key key) = 0;

    /// An active run that does not hold its thread: a former process left it, or its end could not
    /// be stored.
    struct orphan {
        thread_key key;
        run_record run;
        std::uint64_t last_sequence = 0; ///< Of its log.
    };
    /// To be ended by the caller, in the order in which they began; of one thread, or of all.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::vector<orphan>>>
    orphans(std::optional<thread_key> thread = std::nullopt) = 0;

    /// Which logs of ended runs drop_logs() leaves.
    struct log_limits {
        unix_ms ended_since = 0; ///< Those of runs that ended earlier go.
        std::uint64_t max_bytes =
            0; ///< Then those that ended first go until about so much is left; 0: no limit.
    };
    /// Drops logs of ended runs. Their records stay.
    [[nodiscard]] virtual boost::asio::awaitable<result<void>> drop_logs(log_limits limits) = 0;

    /// Writes what is queued and stops the store's thread, if it has one. No call may follow.
    virtual void close() = 0;
};

/// Lost with the process. keeps_logs() is false.
[[nodiscard]] std::unique_ptr<store> make_memory_store();

/// What a commit survives: relaxed and process a killed process, power also a power cut.
enum class durability { relaxed, process, power };

struct sqlite_settings {
    std::string path;
    session::durability durability = session::durability::process;
    /// Log entries wait at most this long for company.
    std::chrono::microseconds group_window{1000};
    /// What live runs have committed past the queue waits at most about this long until it is
    /// brought into the tables.
    std::chrono::milliseconds apply_window{1000};
    agui::logger* logger = nullptr; ///< Failures and damage; null: nobody. Outlives the store.
};

/// SQLite in WAL mode with a thread of its own and group commit; the file is created or migrated.
/// Throws std::runtime_error if the file cannot be opened, is not ours, or is of a newer schema.
[[nodiscard]] std::unique_ptr<store> make_sqlite_store(const sqlite_settings& settings);

} // namespace agui::session
