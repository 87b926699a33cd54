#pragma once

#include "session/base/clock.hpp"
#include "session/base/error.hpp"
#include "session/base/json_text.hpp"
#include "session/base/log.hpp"
#include "session/base/memory_budget.hpp"
#include "session/conversation/attachment.hpp"
#include "session/conversation/failed_attempt.hpp"
#include "session/conversation/pending_call.hpp"
#include "session/conversation/queued_request.hpp"
#include "session/conversation/thread.hpp"
#include "session/conversation/thread_access.hpp"
#include "session/store/lease.hpp"
#include "session/store/usage.hpp"
#include "session/store/whole_thread.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

/// The size of store::signing_key().
inline constexpr std::size_t signing_key_bytes = 32;

/// One event of a run's log as the store keeps it. A few events have another form in older protocol
/// versions, or none: for these, `variants` holds the form for their readers.
struct log_entry {
    std::uint64_t sequence = 0; ///< Dense from 1 in its run.
    std::string json;
    std::string variants; ///< In a form that the gateway chooses; often empty.
};

/// Learns how far a run's log is durable. Called on the store's thread or by append_log() itself,
/// in order; must not block. The store keeps it alive until its last call has returned.
class log_observer {
public:
    virtual ~log_observer() = default;
    /// All entries up to `sequence` are as durable as the store's settings promise.
    virtual void on_durable(std::uint64_t sequence) noexcept = 0;
    /// Entries were lost. Later ones are lost too unless the log is continued after its last
    /// durable entry. May be called more than once.
    virtual void on_failed() noexcept = 0;
};

/// Entries appended at once: `events` holds their JSON, concatenated without separators; ends[i] is
/// the end offset of the i-th.
struct log_slice {
    std::int64_t run_number = 0;
    std::uint64_t first_sequence = 0;
    std::string events;
    std::vector<std::uint32_t> ends;
    /// (index within the slice, variants) of the entries that have any, in order.
    std::vector<std::pair<std::uint32_t, std::string>> variants;
    /// The store may delay the entries to write them with others (postgres_settings::batch).
    bool may_wait = false;
};

/// The result of begin().
struct begun_run {
    std::int64_t number = 0;
};

/// The holder of a thread.
struct thread_holder {
    std::string run_id;          ///< Empty if a server itself holds the thread.
    std::int64_t run_number = 0; ///< 0 if the run has not begun.
    /// The number of messages when the run had begun: later ones are the run's own.
    node_index first_own_message = no_node;
    bool is_here = false;     ///< True if it was acquired through this store object.
    std::int64_t gateway = 0; ///< peer_address::number of another process; 0 if it has none.
};

/// A run, and the holder of its thread.
struct located_run {
    std::optional<run_record> run;       ///< nullopt if there is no such run.
    std::optional<thread_holder> holder; ///< Looked for only if the run is active.
};

/// The address at which a process on the same store answers others.
struct peer_address {
    std::int64_t number = 0; ///< Changes whenever the process has lost its leases.
    std::string url;         ///< Empty if the process cannot be asked.
    std::string secret; ///< Sent with requests to the process; only readers of the store know it.
};

/// A queued request for which no process is responsible.
struct left_request {
    thread_key key;
    queued_request request;
};

/// The caller's lease of the thread, and whether commit() releases it.
struct held_by {
    /// The holder's lease: errc::lease_lost if it has been released or lost. If it is null, nothing
    /// is checked, because the caller knows that it is alone.
    lease_ptr held = nullptr;
    /// True if the thread is to be free when the call returns, even if it fails.
    bool releases = false;
};

/// A client's request to stop a run, passed between processes.
struct stop_request {
    thread_key key;
    std::optional<std::string> run_id; ///< nullopt for any run of the thread.
    /// Time since the client asked. Without a run_id, runs received since then are not meant.
    std::chrono::milliseconds age{0};
};

/// How the last reader of a run left: by itself, or because the server closed its connection or
/// ended.
enum class leaving { left, cut_off };

/// Receives the requests of other processes on the same store. Called on the store's thread; must
/// not block.
class peer_handler {
public:
    virtual ~peer_handler() = default;
    virtual void on_stop_request(const stop_request& request) noexcept = 0;
    /// Clients read the run through another process. Repeated every few seconds
    /// (store::note_reader()).
    virtual void on_reader(const thread_key& key, const std::string& run_id) noexcept = 0;
};

/// A thread without its messages.
struct thread_summary {
    thread_key key;
    std::string agent_id;
    std::string title;
    bool archived = false;
    json_text metadata; ///< As in thread_record.
    unix_ms created_at = 0;
    unix_ms updated_at = 0;
    unix_ms last_run_at = 0;
    std::string active_run_id; ///< Empty if no run is active.
    // Set by summary() only:
    std::uint64_t bytes = 0;  ///< As in thread_record.
    document_sizes documents; ///< The documents' part of `bytes`.
    // Set by list() with thread_query::opened only:
    std::string shared_id; ///< thread_access::shared_id
    access_right right = access_right::read;
};

struct branch_summary {
    unix_ms updated_at = 0;
    bool is_head = false;
    std::uint64_t message_count = 0;
    std::string last_message_id; ///< Empty if the branch has no message.
};

struct thread_query {
    std::string principal;
    /// True for the threads of others that are opened to the principal, instead of its own.
    bool opened = false;
    std::optional<std::string> agent_id;
    bool archived = false;
    std::size_t limit = 50;
    std::string cursor; ///< The cursor from the previous page; empty for the first page.
};

/// Some threads of a list, the last changed first.
struct thread_page {
    std::vector<thread_summary> threads;
    std::string next_cursor; ///< Empty on the last page.
};

/// The storage of conversations. All functions may be called from any thread; awaitables complete
/// on the caller's executor, which must live until the store is closed. Cancelling the caller
/// undoes nothing: a commit that was started is carried out. Errors that depend on input are
/// returned as a `failure`; a store that cannot read or write returns errc::store_unavailable and
/// stays usable for later calls. A change that does not fit its thread (check_change) is a bug:
/// std::logic_error is thrown to the caller, and nothing of the change is stored.
///
/// Order: calls that one coroutine makes one after the other take effect in that order. Entries
/// given to append_log() for a run become durable in sequence, and before or together with a commit
/// that follows them.
class store {
public:
    virtual ~store() = default;

    /// Reserves the thread for a run, until release() or a commit() that releases it. At most one
    /// run of all processes holds a thread (P7): errc::thread_busy, with active_run_id and the
    /// process that has it, while it is held. With an empty id the server itself holds the thread,
    /// and active_run_id is empty, as it is while another call asks for the thread. A lease that
    /// its process has not renewed in time has expired.
    [[nodiscard]] virtual boost::asio::awaitable<result<lease_ptr>>
    acquire(thread_key key, std::string run_id) = 0;

    /// Frees the thread, if the lease still holds it. Never blocks: other processes may see the
    /// change a moment later.
    virtual void release(const lease_ptr& held) noexcept = 0;

    /// The holder of the thread, in any process; nullopt if it is free.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::optional<thread_holder>>>
    holder(thread_key key) = 0;

    /// A copy of the thread; nullopt if there is no such thread.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::optional<thread_record>>>
    load(thread_key key) = 0;

    // Parts of a thread; nullopt if there is no such thread.

    /// Everything but messages, branches, calls and documents. Reads no message.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::optional<thread_summary>>>
    summary(thread_key key) = 0;
    /// Reads no message.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::optional<json_text>>>
    state(thread_key key) = 0;
    /// The calls of all branches that wait for an answer or an approval. Reads only the messages
    /// that made them.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::optional<std::vector<pending_call>>>>
    pending_calls(thread_key key) = 0;
    /// Claims a pending call for a client, or renews its claim. Returns the call's claim: that of
    /// another holder if it is still valid at `now`, which is then unchanged. A claim until a time
    /// before `now` gives the holder's own up. `now` and call_claim::until are given in this
    /// machine's time. errc::not_found: there is no such thread, or no such call waits for an
    /// answer.
    [[nodiscard]] virtual boost::asio::awaitable<result<call_claim>>
    claim_call(thread_key key, call_claim claim, unix_ms now) = 0;
    /// Gives the thread the title `to` if its title is still `from`, and changes nothing else.
    /// Returns false if it has another title or if there is no such thread.
    [[nodiscard]] virtual boost::asio::awaitable<result<bool>>
    replace_title(thread_key key, std::string from, std::string to) = 0;
    /// Ordered by branch number. Reads the whole thread (load()).
    [[nodiscard]] boost::asio::awaitable<result<std::optional<std::vector<branch_summary>>>>
    branches(thread_key key);

    /// The data needed before a run begins.
    struct view {
        std::optional<run_record> run;       ///< The run with that id, if the thread has it.
        std::optional<thread_record> thread; ///< Set otherwise, as by load().
    };
    [[nodiscard]] virtual boost::asio::awaitable<result<view>>
    look_up(thread_key key, std::string run_id) = 0;

    /// Begins a run on an acquired thread: stores the run record and `change`, and creates the
    /// thread if there is none. `seen_version` is the version of the thread for which `change` was
    /// made (thread_record::version; 0 if there was no thread); without it the version is not
    /// checked. errc::conflict: the thread has another version by now, or changes::dequeued names a
    /// request that has left the queue because it was withdrawn. errc::lease_lost: `held` is no
    /// longer valid. errc::run_id_reused: the thread has a run with that id or idempotency key, or
    /// with one of changes::answered. std::logic_error also if changes::answered does not fit
    /// (check_answered).
    [[nodiscard]] virtual boost::asio::awaitable<result<begun_run>> begin(
        thread_key key, run_record run, changes change,
        std::optional<std::uint64_t> seen_version = std::nullopt, lease_ptr held = nullptr
    ) = 0;

    /// Stores `change`; it is durable when this returns. The entries in `log` are part of the same
    /// transaction. errc::not_found: there is no such thread, or it was removed. errc::lease_lost:
    /// `by.held` is no longer valid, and nothing was stored. errc::conflict and errc::run_id_reused
    /// as for begin(), about changes::dequeued and changes::answered.
    [[nodiscard]] virtual boost::asio::awaitable<result<void>> commit(
        thread_key key, changes change, std::optional<log_slice> log = std::nullopt, held_by by = {}
    ) = 0;

    // The queue of a thread: requests whose messages wait for the thread's next run, which takes
    // them with changes::dequeued. The lease holder does not own the queue.

    /// Appends a request; it is durable when this returns. Returns its number. errc::not_found:
    /// there is no such thread. errc::run_id_reused: the thread, or its queue, has its runId or
    /// idempotency key. errc::queue_full: the queue would exceed `limits`.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::int64_t>>
    enqueue(thread_key key, queued_request request, queue_limits limits) = 0;
    /// The requests in the order in which they were queued. Empty also if there is no such thread.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::vector<queued_request>>>
    queued(thread_key key) = 0;
    /// Removes a request from the queue. Returns false if it is not there.
    [[nodiscard]] virtual boost::asio::awaitable<result<bool>>
    withdraw(thread_key key, std::int64_t number) = 0;

    /// Makes entries of an active run durable. `observer` (may be null) learns the outcome, during
    /// this call or later. If `held` is no longer valid, it learns that they are lost. Cheap: it
    /// writes to a file or a queue, and may wake the store's thread.
    virtual void append_log(
        const log_slice& slice, const std::shared_ptr<log_observer>& observer,
        const lease_ptr& held = nullptr
    ) = 0;

    /// Entries of one run for append_logs(), with the arguments of append_log().
    struct log_append {
        const log_slice* slice = nullptr;
        std::shared_ptr<log_observer> observer;
        lease_ptr held;
    };
    /// Does the same for entries of different runs. The store may write them together; then all of
    /// them are written before the first observer is told, and if that write fails, all are lost.
    virtual void append_logs(std::span<const log_append> all) {
        for (const log_append& each : all) {
            append_log(*each.slice, each.observer, each.held);
        }
    }

    /// True if read_log() serves logs of ended runs. Otherwise the writer of a log must keep it.
    [[nodiscard]] virtual bool keeps_logs() const noexcept = 0;

    /// Entries with a sequence above `after`, at most `limit`, in order. Empty if there are no
    /// more. errc::run_expired: entries are missing or damaged, or there is no such run. In the log
    /// of an active run the store only notices entries that are missing before another one, or if
    /// all are missing.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::vector<log_entry>>>
    read_log(std::int64_t run_number, std::uint64_t after, std::size_t limit) = 0;

    /// Keeps a failed attempt of a run until drop_logs() drops it or the thread is removed. Neither
    /// waits nor fails: an attempt that cannot be kept is lost with a warning in the log. The
    /// operator reads the attempts from the store's tables; a route must not serve them.
    virtual void keep_attempt(failed_attempt attempt) = 0;

    // Attachments: files that wait for a message of the thread, which need not exist yet. A message
    // that uses one holds its bytes itself. They are dropped with the thread, and by drop_logs().

    /// Keeps an attachment; it is durable when this returns. Keeping it again updates its time.
    /// errc::body_too_large: the attachments of the thread would take more than `bytes_max`. With
    /// PostgreSQL, concurrent calls may exceed it together, because the sum is read without a lock.
    [[nodiscard]] virtual boost::asio::awaitable<result<void>>
    keep_attachment(thread_key key, attachment what, std::uint64_t bytes_max) = 0;
    /// nullopt if the thread has no attachment with that digest.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::optional<attachment>>>
    find_attachment(thread_key key, std::string sha256) = 0;

    // Access of other principals to a thread. It is removed with the thread.

    /// Opens the thread to exactly these principals; no entries close it. The entries are as in
    /// thread_access. `new_id` (make_shared_id()) becomes the thread's shared id if it has none.
    /// Durable when this returns. Returns false if there is no such thread.
    [[nodiscard]] virtual boost::asio::awaitable<result<bool>>
    set_access(thread_key key, std::vector<access_entry> entries, std::string new_id) = 0;
    /// nullopt if there is no such thread.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::optional<thread_access>>>
    access_of(thread_key key) = 0;
    /// The thread with that shared id. nullopt if there is none, or if it is not opened to the
    /// principal: both take the same time.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::optional<shared_thread>>>
    find_shared(std::string shared_id, std::string principal) = 0;

    // The usage of models, by subject (usage_claim) and by day and month of UTC. The times are
    // given in this machine's time; the store's time decides about the day and the month. Dropped
    // by drop_logs() (first_kept_period()), and not with threads.

    /// Adds `amount` to the day and the month of each subject, or to none if one of their limits
    /// would be exceeded. It is durable when this returns. Calls at the same time, in all
    /// processes, never exceed a limit together. With PostgreSQL, an amount may be added twice if
    /// the connection is lost meanwhile. At most usage_claims_max claims, of different subjects.
    [[nodiscard]] virtual boost::asio::awaitable<result<usage_reservation>>
    reserve_usage(std::vector<usage_claim> claims, usage_amount amount, unix_ms now) = 0;
    /// Replaces a reservation by what was used, once, in the day and month of the reservation. It
    /// may exceed the limits. After a failure, the reservation may stay.
    [[nodiscard]] virtual boost::asio::awaitable<result<void>> settle_usage(usage_settlement what
    ) = 0;
    [[nodiscard]] virtual boost::asio::awaitable<result<usage_reading>>
    read_usage(std::vector<std::string> subjects, unix_ms now) = 0;
    /// The sizes of all threads of the principal (thread_summary::bytes) and of the attachments
    /// that wait for a message of them.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::uint64_t>>
    bytes_of_principal(std::string principal) = 0;

    // Run records; nullopt if there is no such run or thread.

    [[nodiscard]] virtual boost::asio::awaitable<result<std::optional<run_record>>>
    find_run(thread_key key, std::string run_id) = 0;
    /// find_run(), then holder() if the run is active: a shared store may do both at once.
    [[nodiscard]] virtual boost::asio::awaitable<result<located_run>>
    locate_run(thread_key key, std::string run_id);
    /// The run that was begun with that idempotency key, which must not be empty.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::optional<run_record>>>
    find_run_by_key(thread_key key, std::string idempotency_key) = 0;
    /// The run of the thread that began last, without those that another run answers.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::optional<run_record>>>
    latest_run(thread_key key) = 0;

    /// errc::invalid_input: the cursor is not one that a page returned.
    [[nodiscard]] virtual boost::asio::awaitable<result<thread_page>> list(thread_query query) = 0;

    /// Session events with a sequence above `after`, at most `limit`, in order. Empty if there are
    /// no more, or if there is no such thread.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::vector<session_event>>>
    events(thread_key key, std::uint64_t after, std::size_t limit) = 0;

    /// Removes the thread with its queue, runs, logs, failed attempts, attachments, access and
    /// session events; also attachments kept for a thread that does not exist. Returns false if
    /// there was no such thread.
    [[nodiscard]] virtual boost::asio::awaitable<result<bool>> remove(thread_key key) = 0;

    // For copies of threads, and for the removal of a person's data.

    /// The principals that own threads, in the order of their bytes: those after `after`, at most
    /// `limit`. nullopt for the first page.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::vector<std::string>>>
    principals(std::optional<std::string> after, std::size_t limit) = 0;
    /// The records of the thread's runs with a number above `after`, at most `limit`, in the order
    /// in which they began. Empty if there are no more, or if there is no such thread.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::vector<run_record>>>
    runs(thread_key key, std::int64_t after, std::size_t limit) = 0;
    /// The digests of the thread's attachments, sorted.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::vector<std::string>>>
    attachment_digests(thread_key key) = 0;
    /// Stores a thread that a store had before, all of it or nothing; it is durable when this
    /// returns. Its runs have no logs. Returns false if there is such a thread. errc::conflict:
    /// another thread has its shared id. errc::run_id_reused: two of its runs have the same id or
    /// idempotency key. std::logic_error if its content does not fit a new thread (check_change).
    [[nodiscard]] virtual boost::asio::awaitable<result<bool>> restore(whole_thread what) = 0;
    /// Removes what is kept of a principal beside its threads: its rights in threads of others, and
    /// all its attachments. Its usage stays.
    [[nodiscard]] virtual boost::asio::awaitable<result<forgotten_principal>>
    forget_principal(std::string principal) = 0;
    /// Overwrites or drops what removed threads have left in files and tables of the store, as far
    /// as the store can: see the READMEs of its rooms. May take long, and other writes may wait.
    [[nodiscard]] virtual boost::asio::awaitable<result<void>> scrub() = 0;

    /// An active run that does not hold its thread: an earlier process left it, its process has
    /// lost its lease, or its end could not be stored.
    struct orphan {
        run_record run;
        std::uint64_t last_sequence = 0; ///< Last sequence of its log.
    };
    /// The orphans of a thread, in the order in which they began. The caller holds the thread and
    /// must end them. errc::lease_lost.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::vector<orphan>>> orphans(lease_ptr held
    ) = 0;
    /// Threads that have orphans and are not held, at most `limit` of them, each acquired for the
    /// server itself: the caller must end the orphans and release the thread. If several processes
    /// ask at once, one gets each thread. Empty if there are none at the moment.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::vector<lease_ptr>>>
    claim_orphans(std::size_t limit) = 0;

    /// The store's time at a moment of this machine's clock. The ends of runs and the times of
    /// failed attempts and attachments are read in the store's time, which several processes share.
    /// The times at which a run has started or was queued are read as they were given: clients have
    /// been shown them.
    [[nodiscard]] virtual unix_ms shared_time(unix_ms own) const noexcept { return own; }

    // Other processes on the same store.

    /// True if other processes may use the store, so that an active run which is not here may be in
    /// one of them. The calls below are for such a store; on others they do nothing.
    [[nodiscard]] virtual bool is_shared() const noexcept { return false; }
    /// Claims queued requests whose processes have ended or lost their leases, at most `limit` of
    /// them, the oldest first. This process is then responsible for them; if several ask at once,
    /// one gets each. Also returns requests that are recorded as this process's own but are not
    /// among the `known` numbers: it failed to handle them. Call it after claim_orphans(), which
    /// finds out which processes are gone.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::vector<left_request>>>
    claim_queued(std::vector<std::int64_t> known, std::size_t limit);
    /// Makes this process responsible for a request of the process `from`
    /// (queued_request::gateway). Returns false if another process has taken it over, or if it has
    /// left the queue.
    [[nodiscard]] virtual boost::asio::awaitable<result<bool>>
    take_over_queued(std::int64_t number, std::int64_t from);
    /// Leaves a request in its queue to other processes (claim_queued()), because this one is about
    /// to end.
    [[nodiscard]] virtual boost::asio::awaitable<result<void>> leave_queued(std::int64_t number);
    /// Sets the handler, before the first run. With null the calls stop, and none is under way when
    /// this returns.
    virtual void set_peer_handler(peer_handler* handler) { (void)handler; }
    /// Tells every other process within a second or so, for those that cannot be asked directly.
    /// Returns once the store has the request, not once it has taken effect.
    [[nodiscard]] virtual boost::asio::awaitable<result<void>> request_stop(stop_request request);
    /// Tells the others in the same way that clients read a run through this process, so that it
    /// does not end for lack of readers. Call it every few seconds.
    [[nodiscard]] virtual boost::asio::awaitable<result<void>>
    note_reader(thread_key key, std::string run_id);

    /// The number of this process; 0 if it has none at the moment, or if processes have none.
    [[nodiscard]] virtual std::int64_t gateway_number() const noexcept { return 0; }
    /// Announces to other processes where they can ask this one, also under the numbers that it
    /// gets later. They know it once this returns; if it fails, they know it with the next number.
    [[nodiscard]] virtual boost::asio::awaitable<result<void>>
    announce(std::string url, std::string secret);
    /// nullopt if that process cannot be asked, or has not renewed its leases in time.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::optional<peer_address>>>
    find_gateway(std::int64_t number);
    /// All other processes that have renewed their leases in time, including those without a URL.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::vector<peer_address>>>
    other_gateways();
    /// The IP address of this machine on connections to the store's server; empty if they do not
    /// use TCP.
    [[nodiscard]] virtual std::string local_address() const { return {}; }

    /// 32 random bytes, made once with the store and kept with it: every process on it has the same
    /// ones. For signatures; they never leave the process.
    [[nodiscard]] virtual std::string_view signing_key() const noexcept = 0;

    /// The reason why the store cannot be used at the moment, or empty if it can. It is a few words
    /// that any client may read: they name no server. A store that writes only on request tries a
    /// write with each such call.
    [[nodiscard]] virtual std::string unavailable() const { return {}; }

    /// Sets the password for new connections to a server; existing ones stay. A store without a
    /// server ignores it. Safe to call from any thread.
    virtual void use_password(std::string /*password*/) {} // NOLINT(*-value-param): for overrides.

    /// The limits that drop_logs() applies to logs of ended runs, failed attempts, attachments and
    /// counted usage.
    struct log_limits {
        /// Logs of runs that ended earlier are dropped, and attempts that were made earlier.
        unix_ms ended_since = 0;
        unix_ms attached_since = 0; ///< Attachments that were kept earlier are dropped.
        unix_ms now = 0; ///< Usage that is not kept at this time is dropped; 0 keeps all.
        /// Then the oldest are dropped until the logs take about this much, and the attempts an
        /// eighth of it; 0 for no limit.
        std::uint64_t max_bytes = 0;
    };
    /// Drops logs of ended runs, failed attempts, attachments and usage. The runs' records stay. A
    /// store that drops logs by whole days may keep them for a day longer.
    [[nodiscard]] virtual boost::asio::awaitable<result<void>> drop_logs(log_limits limits) = 0;

    /// Writes the queued data and ends the store's thread, if it has one. May be repeated; no other
    /// call may follow.
    virtual void close() = 0;
};

/// A store in memory: its contents are lost with the process. keeps_logs() is false, and failed
/// attempts are not kept.
[[nodiscard]] std::unique_ptr<store> make_memory_store();

/// The failures that a commit survives. relaxed and process: a killed process. power: also a power
/// cut.
enum class durability { relaxed, process, power };

struct sqlite_settings {
    std::string path;
    session::durability durability = session::durability::process;
    /// With durability::power, log entries wait at most this long to be synced with others.
    std::chrono::microseconds group_window{1000};
    /// The size of a journal file (session/sqlite/FORMAT.md).
    std::size_t journal_file_bytes = std::size_t{64} << 20U;
    /// Receives failures and damage; may be null. Must outlive the store.
    agui::logger* logger = nullptr;
    /// Counts the messages that are kept in memory (message_cache); may be null. Must outlive the
    /// store.
    memory_budget* memory = nullptr;
};

/// A store in an SQLite file (WAL mode), with a thread of its own and group commit. The file is
/// created, or migrated to this version's schema. Throws std::runtime_error, with the path and a
/// reason for the operator, if the file cannot be opened, belongs to another program or process, or
/// has a newer schema.
[[nodiscard]] std::unique_ptr<store> make_sqlite_store(const sqlite_settings& settings);

struct postgres_settings {
    /// libpq's URL or its `key=value` form. May hold a password; it is not logged.
    std::string url;
    /// Overrides one in the URLs. If empty, theirs or libpq's sources apply.
    std::string password{};
    std::size_t pool = 8; ///< Connections at most.
    bool prepared = true; ///< False for poolers that do not keep prepared statements.
    /// Interval at which slices that may wait (log_slice::may_wait) are written, those of all runs
    /// together. A run's first slice after a commit, or after a pause of ten intervals, is written
    /// at once. With 0, none waits.
    std::chrono::milliseconds batch{25};
    /// power and process: commits and log entries are durable as the server's settings say, at
    /// least on its disk. relaxed: a crash of the server may lose the last log entries, not
    /// commits.
    session::durability durability = session::durability::power;
    /// Time without a renewal after which other processes take over this one's runs. It renews its
    /// leases three times in that time. At least 100 ms.
    std::chrono::milliseconds lease{30'000};
    /// The longest wait of a call while the server is away.
    std::chrono::milliseconds store_wait{10'000};
    agui::logger* logger = nullptr;                 ///< As above.
    memory_budget* memory = nullptr;                ///< As above.
    const agui::clock* own_clock = &system_clock(); ///< Clock of the caller's times.
};

/// A store in a PostgreSQL database (version 13 or later, UTF8), in its schema `agui`, with a
/// thread of its own. Any number of processes may use the same database: see acquire(). The schema
/// is created, or migrated to this version's. Throws std::runtime_error, with a reason for the
/// operator, if the server cannot be used within store_wait, or the schema is too new. Destroying
/// or closing it may take as long as store_wait, if the server is away.
[[nodiscard]] std::unique_ptr<store> make_postgres_store(const postgres_settings& settings);

} // namespace agui::session
