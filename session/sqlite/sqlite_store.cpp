#include "session/store/store.hpp"

#include "session/conversation/change_check.hpp"
#include "session/sqlite/disk_reserve.hpp"
#include "session/sqlite/live_logs.hpp"
#include "session/sqlite/sqlite_db.hpp"
#include "session/sqlite/sqlite_log.hpp"
#include "session/sqlite/sqlite_redo.hpp"
#include "session/sqlite/sqlite_removal.hpp"
#include "session/sqlite/sqlite_runs.hpp"
#include "session/sqlite/sqlite_schema.hpp"
#include "session/sqlite/sqlite_threads.hpp"
#include "session/sqlite/sqlite_worker.hpp"
#include "session/store/lease_table.hpp"

#include "session/base/failpoint.hpp"

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sqlite3.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <map>
#include <random>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace agui::session {

namespace asio = boost::asio;

namespace {

// Logs are dropped in portions, so that other calls come between.
constexpr std::size_t dropped_at_once = 64;
constexpr std::uint64_t dropped_bytes_at_once = 2U << 20U; // About.

failure not_found() { return {errc::not_found, "there is no such thread", {}, {}}; }

// The work of one call and the handler that waits for it. `Work` returns result<T>; `Settle` is
// called once on the store's thread with the outcome, before the handler is posted to its executor.
template <class T, class Work, class Settle, class Handler>
class job final : public store_job {
public:
    job(Work work, Settle settle, Handler handler)
        : work_(std::move(work)),
          settle_(std::move(settle)),
          handler_(std::move(handler)),
          guard_(asio::make_work_guard(handler_)) {}

    void execute() override {
        error_ = nullptr;
        try {
            outcome_ = work_();
        } catch (const std::logic_error&) {
            // A bug of the caller, which gets it back.
            error_ = std::current_exception();
        }
    }

    bool succeeded() const noexcept override { return error_ == nullptr && outcome_.has_value(); }

    void fail(failure reason) override {
        error_ = nullptr;
        outcome_ = std::move(reason);
    }

    void complete() noexcept override {
        if (error_) {
            settle_(result<T>(failure{}));
        } else {
            settle_(outcome_);
        }
        const auto executor = guard_.get_executor();
        asio::post(
            executor, [handler = std::move(handler_), error = std::move(error_),
                       outcome = std::move(outcome_)](
                      ) mutable { std::move(handler)(std::move(error), std::move(outcome)); }
        );
        guard_.reset();
    }

private:
    Work work_;
    Settle settle_;
    Handler handler_;
    asio::executor_work_guard<asio::associated_executor_t<Handler>> guard_;
    std::exception_ptr error_;
    result<T> outcome_ = failure{};
};

// A read that takes long, in slices, between which others have their turn. `Work` returns nullopt
// for a slice that is not the last.
template <class T, class Work, class Handler>
class sliced_read final : public store_job {
public:
    sliced_read(Work work, Handler handler)
        : work_(std::move(work)),
          handler_(std::move(handler)),
          guard_(asio::make_work_guard(handler_)) {}

    void execute() override {
        std::optional<result<T>> outcome = work_();
        is_complete_ = outcome.has_value();
        if (outcome) {
            outcome_ = std::move(*outcome);
        }
    }

    bool succeeded() const noexcept override { return outcome_.has_value(); }
    bool is_complete() const noexcept override { return is_complete_; }

    void fail(failure reason) override {
        is_complete_ = true;
        outcome_ = std::move(reason);
    }

    void complete() noexcept override {
        const auto executor = guard_.get_executor();
        asio::post(
            executor, [handler = std::move(handler_), outcome = std::move(outcome_)](
                      ) mutable { std::move(handler)(std::exception_ptr(), std::move(outcome)); }
        );
        guard_.reset();
    }

private:
    Work work_;
    Handler handler_;
    asio::executor_work_guard<asio::associated_executor_t<Handler>> guard_;
    bool is_complete_ = false;
    result<T> outcome_ = failure{};
};

enum class access { read, write };

// Queues `work` and completes with what it returns.
template <class T, class Work, class Settle>
auto submit(sqlite_worker& worker, access how, Work work, Settle settle) {
    return asio::async_initiate<const asio::use_awaitable_t<>, void(std::exception_ptr, result<T>)>(
        [&worker, how](auto handler, Work queued, Settle settled) {
            using job_type = job<T, Work, Settle, decltype(handler)>;
            auto next = std::make_unique<job_type>(
                std::move(queued), std::move(settled), std::move(handler)
            );
            if (how == access::read) {
                worker.read(std::move(next));
            } else {
                worker.write(std::move(next));
            }
        },
        asio::use_awaitable, std::move(work), std::move(settle)
    );
}

template <class T, class Work>
auto submit_slices(sqlite_worker& worker, Work work) {
    return asio::async_initiate<const asio::use_awaitable_t<>, void(std::exception_ptr, result<T>)>(
        [&worker](auto handler, Work queued) {
            using job_type = sliced_read<T, Work, decltype(handler)>;
            worker.read(std::make_unique<job_type>(std::move(queued), std::move(handler)));
        },
        asio::use_awaitable, std::move(work)
    );
}

std::uint64_t random_identity() {
    std::random_device source;
    std::uniform_int_distribution<std::int64_t> any(1);
    return static_cast<std::uint64_t>(any(source));
}

class sqlite_store final : public store {
public:
    explicit sqlite_store(const sqlite_settings& settings)
        : log_(settings.logger == nullptr ? null_logger() : *settings.logger),
          opened_(open(settings, sqlite_migrations())),
          threads_(*opened_, log_),
          runs_(*opened_),
          run_log_(*opened_, runs_, log_),
          removal_(*opened_, run_log_),
          redo_(*opened_, threads_, runs_, run_log_, settings.apply_window, log_),
          reserve_(std::filesystem::weakly_canonical(settings.path).string() + "-reserve", log_),
          goes_past_queue_(settings.durability != durability::power),
          // Beside the file itself, as the write-ahead log is.
          live_path_(std::filesystem::weakly_canonical(settings.path).string() + "-log"),
          live_(open_log()),
          worker_(
              *opened_, run_log_, redo_, live_.get(), log_, {.group_window = settings.group_window}
          ) {}

    ~sqlite_store() override { sqlite_store::close(); }

    asio::awaitable<result<void>> acquire(thread_key key, std::string run_id) override {
        co_return leases_.acquire(key, run_id);
    }

    void release(const thread_key& key, std::string_view run_id) noexcept override {
        leases_.release(key, run_id);
    }

    std::string active_run(const thread_key& key) const override { return leases_.holder(key); }

    asio::awaitable<result<std::optional<thread_record>>> load(thread_key key) override;
    asio::awaitable<result<std::optional<thread_summary>>> summary(thread_key key) override;
    asio::awaitable<result<std::optional<json_text>>> state(thread_key key) override;
    asio::awaitable<result<std::optional<std::vector<pending_call>>>> pending_calls(thread_key key
    ) override;
    asio::awaitable<result<std::optional<std::vector<branch_summary>>>> branches(thread_key key
    ) override;
    asio::awaitable<result<view>> look_up(thread_key key, std::string run_id) override;
    bool is_current(std::uint64_t as_of) const noexcept override {
        return worker_.writes_queued() + (live_ ? live_->commits() : 0) == as_of;
    }
    asio::awaitable<result<begun_run>>
    begin(thread_key key, run_record run, changes change, std::optional<basis> seen) override;
    asio::awaitable<result<void>> commit(
        thread_key key, changes change, std::optional<log_slice> log, std::string release_run_id
    ) override;

    void append_log(const log_slice& slice, const std::shared_ptr<log_observer>& observer) override;

    bool keeps_logs() const noexcept override { return true; }

    asio::awaitable<result<std::vector<log_entry>>>
    read_log(std::int64_t run_number, std::uint64_t after, std::size_t limit) override;
    asio::awaitable<result<std::optional<run_record>>>
    find_run(thread_key key, std::string run_id) override;
    asio::awaitable<result<std::optional<run_record>>>
    find_run_by_key(thread_key key, std::string idempotency_key) override;
    asio::awaitable<result<std::optional<run_record>>> latest_run(thread_key key) override;
    asio::awaitable<result<thread_page>> list(thread_query query) override;
    asio::awaitable<result<std::vector<session_event>>>
    events(thread_key key, std::uint64_t after, std::size_t limit) override;
    asio::awaitable<result<bool>> remove(thread_key key) override;
    asio::awaitable<result<std::vector<orphan>>> orphans(std::optional<thread_key> thread) override;
    asio::awaitable<result<void>> drop_logs(log_limits limits) override;

    void close() override;

private:
    static std::unique_ptr<database>
    open(const sqlite_settings& settings, std::span<const sqlite_migration> migrations);
    std::unique_ptr<live_logs> open_log();
    std::unique_ptr<live_logs> open_ring();
    void set_ring_identity(std::optional<std::uint64_t> identity);

    template <class T, class Work>
    asio::awaitable<result<T>> read(Work work) {
        return submit<T>(worker_, access::read, std::move(work), [](const result<T>&) {});
    }

    template <class T, class Work>
    asio::awaitable<result<T>> write(Work work) {
        return submit<T>(worker_, access::write, std::move(work), [](const result<T>&) {});
    }

    // What one of the functions of sqlite_threads finds of a thread.
    template <class T>
    asio::awaitable<result<T>>
    read_part(T (sqlite_threads::*part)(const thread_key&), thread_key key) {
        return read<T>([this, part, key = std::move(key)]() -> result<T> {
            redo_.show(key);
            return (threads_.*part)(key);
        });
    }

    [[nodiscard]] bool
    is_still_there(const thread_key& key, std::int64_t thread, std::uint64_t& removed);
    // What a reading of sqlite_threads finds of a thread, in slices.
    template <class Reading>
    auto read_in_slices(thread_key key)
        -> asio::awaitable<result<std::optional<decltype(Reading::found)>>>;
    struct long_read;
    std::optional<result<view>> read_slice(long_read& what);
    asio::awaitable<result<view>> read_thread(thread_key key, std::optional<std::string> run_id);

    // A run as it has begun, and what its thread is then.
    struct begun_thread {
        std::int64_t run_number = 0;
        thread_size size;
    };
    bool go_past_queue(live_logs::outcome taken);
    std::optional<begun_run>
    begin_past_queue(const thread_key& key, run_record& run, changes& change, const basis& seen);
    bool commit_past_queue(
        const thread_key& key, changes& change, const std::optional<log_slice>& log,
        const std::string& release_run_id
    );
    result<begun_thread>
    begin_now(const thread_key& key, const run_record& run, const changes& change);
    result<void>
    commit_now(const thread_key& key, const changes& change, const std::optional<log_slice>& log);
    asio::awaitable<result<bool>> mark_removed(thread_key key);
    result<bool> mark_removed_now(const thread_key& key, std::vector<std::int64_t>& runs);
    asio::awaitable<result<void>> erase_removed();
    asio::awaitable<void> restore_reserve();
    result<std::vector<orphan>> orphans_now(const std::optional<thread_key>& thread);
    result<bool> drop_some_logs(const log_limits& limits);
    [[nodiscard]] std::vector<std::int64_t> first_ended_beyond(std::uint64_t max_bytes);

    lease_table leases_;
    agui::logger& log_;
    std::unique_ptr<database> opened_;
    sqlite_threads threads_;
    sqlite_runs runs_;
    sqlite_log run_log_;
    sqlite_removal removal_;
    sqlite_redo redo_;
    disk_reserve reserve_;
    const bool goes_past_queue_; ///< What live runs do may.
    const std::string live_path_;
    bool closed_ = false;
    bool ring_is_left_ = false;       ///< A former process's, which is still needed.
    std::unique_ptr<live_logs> live_; ///< Null: nothing goes past the queue.
    sqlite_worker worker_;            // Last: its thread uses all of the above.
};

std::string explain(const sqlite_error& error) {
    switch (error.code() & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return "is in use by another process: a store belongs to one process alone";
    case SQLITE_NOTADB:
        return "is not an SQLite database";
    default:
        return std::string("cannot be opened: ") + error.what();
    }
}

std::unique_ptr<database>
sqlite_store::open(const sqlite_settings& settings, std::span<const sqlite_migration> migrations) {
    auto db = std::make_unique<database>(settings.path);
    open_schema(*db, settings.durability, migrations);
    return db;
}

// The ring exists from the opening of the store to its clean end; each process has its own.
std::unique_ptr<live_logs> sqlite_store::open_log() {
    const auto identity =
        static_cast<std::uint64_t>(opened_->integer("SELECT coalesce(identity, 0) FROM log_ring"));
    if (identity == 0) {
        run_log_.recover(nullptr, false);
    } else {
        const std::optional<log_ring::contents> left = log_ring::recover(live_path_, identity);
        if (left) {
            redo_.recover(left->commits);
        }
        run_log_.recover(left ? &*left : nullptr, !left);
        // Before anything is written that could be taken for what is there.
        if (!redo_.fold_all()) {
            ring_is_left_ = true;
            return nullptr;
        }
        set_ring_identity(std::nullopt);
        std::error_code ignored; // A file that is left belongs to no store.
        std::filesystem::remove(live_path_, ignored);
    }
    return goes_past_queue_ ? open_ring() : nullptr;
}

// Null, with a warning, if there can be none.
std::unique_ptr<live_logs> sqlite_store::open_ring() {
    try {
        const std::uint64_t identity = random_identity();
        auto live = std::make_unique<live_logs>(live_path_, identity, runs_.last_number());
        live->ring().prepare(); // So that the file is known.
        set_ring_identity(identity);
        run_log_.use(live->ring());
        redo_.use(*live);
        redo_.take_all_steps();
        return live;
    } catch (const std::exception& error) {
        log_.log(
            log_level::warning, "every log entry becomes a transaction", {{"reason", error.what()}}
        );
        return nullptr;
    }
}

void sqlite_store::set_ring_identity(std::optional<std::uint64_t> identity) {
    statement update(*opened_, "UPDATE log_ring SET identity = ?, applied = 0");
    update.execute(identity);
}

void sqlite_store::append_log(
    const log_slice& slice, const std::shared_ptr<log_observer>& observer
) {
    if (slice.ends.empty()) {
        return;
    }
    if (!live_ || !go_past_queue(live_->append(slice))) {
        worker_.append(slice, observer);
        return;
    }
    if (observer) {
        observer->on_durable(last_sequence(slice));
    }
}

// False: it did not.
bool sqlite_store::go_past_queue(live_logs::outcome taken) {
    if (taken == live_logs::outcome::durable_and_due) {
        worker_.take_live();
    }
    return taken != live_logs::outcome::refused;
}

void sqlite_store::close() {
    worker_.close();
    const bool has_ring = live_ || ring_is_left_;
    if (std::exchange(closed_, true) || !has_ring || !redo_.fold_all()) {
        return;
    }
    try {
        set_ring_identity(std::nullopt);
        std::error_code ignored; // A file that is left belongs to no store.
        std::filesystem::remove(live_path_, ignored);
    } catch (const sqlite_error& error) {
        log_.log(
            log_level::warning, "the file of the latest log entries stays",
            {{"reason", error.what()}}
        );
    }
}

// A view of a thread that is being read, by its caller's key.
struct sqlite_store::long_read {
    thread_key key;
    std::optional<std::string> run_id; ///< Wanted rather than the thread.
    view seen;
    std::optional<sqlite_threads::reading> thread;
    std::uint64_t removed = 0; ///< See is_still_there.
};

// False: what is read in slices is not the thread of this name any more, and its rows may be going.
// `removed` keeps how many threads were removed when it was looked for.
bool sqlite_store::is_still_there(
    const thread_key& key, std::int64_t thread, std::uint64_t& removed
) {
    if (removed == removal_.count()) {
        return true;
    }
    removed = removal_.count();
    const auto at = threads_.find(key);
    return at && at->thread == thread;
}

// One slice of it. A thread only grows, so what is read in several slices is what it was at the
// first.
std::optional<result<store::view>> sqlite_store::read_slice(long_read& what) {
    redo_.show(what.key);
    if (!what.thread || !is_still_there(what.key, what.thread->thread, what.removed)) {
        what.thread.reset();
        what.removed = removal_.count();
        what.seen = view();
        what.seen.as_of = worker_.writes_done() + redo_.taken();
        const auto at = threads_.find(what.key);
        if (at && what.run_id) {
            what.seen.run = runs_.find(at->thread, *what.run_id);
        }
        if (!at || what.seen.run) {
            return std::move(what.seen);
        }
        what.thread = threads_.begin_reading(what.key, *at);
    }
    pass_failpoint("store.read_slice");
    if (!threads_.read_on(*what.thread)) {
        return std::nullopt;
    }
    what.seen.thread = std::move(what.thread->record);
    return std::move(what.seen);
}

template <class Reading>
auto sqlite_store::read_in_slices(thread_key key)
    -> asio::awaitable<result<std::optional<decltype(Reading::found)>>> {
    struct part_read {
        thread_key key;
        std::optional<Reading> begun;
        std::uint64_t removed = 0;
    };
    using found_type = std::optional<decltype(Reading::found)>;
    auto what = std::make_unique<part_read>();
    what->key = std::move(key);
    return submit_slices<found_type>(
        worker_,
        [this, what = std::move(what)]() -> std::optional<result<found_type>> {
            redo_.show(what->key);
            if (!what->begun || !is_still_there(what->key, what->begun->thread, what->removed)) {
                what->begun.reset();
                what->removed = removal_.count();
                const auto at = threads_.find(what->key);
                if (!at) {
                    return result<found_type>(found_type());
                }
                threads_.begin_reading(*at, what->begun.emplace());
            }
            pass_failpoint("store.read_slice");
            if (!threads_.read_on(*what->begun)) {
                return std::nullopt;
            }
            return result<found_type>(found_type(std::move(what->begun->found)));
        }
    );
}

asio::awaitable<result<store::view>>
sqlite_store::read_thread(thread_key key, std::optional<std::string> run_id) {
    auto what = std::make_unique<long_read>();
    what->key = std::move(key);
    what->run_id = std::move(run_id);
    return submit_slices<view>(worker_, [this, what = std::move(what)] {
        return read_slice(*what);
    });
}

asio::awaitable<result<std::optional<thread_record>>> sqlite_store::load(thread_key key) {
    auto found = co_await read_thread(std::move(key), std::nullopt);
    if (!found) {
        co_return found.error();
    }
    co_return std::move(found->thread);
}

asio::awaitable<result<std::optional<thread_summary>>> sqlite_store::summary(thread_key key) {
    auto found = co_await read_part(&sqlite_threads::summary, std::move(key));
    if (found && found->has_value()) {
        (*found)->active_run_id = leases_.holder((*found)->key);
    }
    co_return found;
}

asio::awaitable<result<std::optional<json_text>>> sqlite_store::state(thread_key key) {
    return read_part(&sqlite_threads::state, std::move(key));
}

asio::awaitable<result<std::optional<std::vector<pending_call>>>>
sqlite_store::pending_calls(thread_key key) {
    return read_in_slices<sqlite_threads::pending_reading>(std::move(key));
}

asio::awaitable<result<std::optional<std::vector<branch_summary>>>>
sqlite_store::branches(thread_key key) {
    return read_in_slices<sqlite_threads::branches_reading>(std::move(key));
}

asio::awaitable<result<store::view>> sqlite_store::look_up(thread_key key, std::string run_id) {
    return read_thread(std::move(key), std::move(run_id));
}

asio::awaitable<result<begun_run>>
sqlite_store::begin(thread_key key, run_record run, changes change, std::optional<basis> seen) {
    if (live_ && seen && is_current(seen->as_of)) {
        if (const auto begun = begin_past_queue(key, run, change, *seen)) {
            co_return *begun;
        }
    }
    run.number = live_ ? live_->take_number() : 0;
    auto settle = [this, key](const result<begun_thread>& outcome) {
        if (!outcome) {
            return;
        }
        run_log_.run_begun(outcome->run_number);
        if (live_) {
            live_->open(key, outcome->run_number, outcome->size);
        }
    };
    auto work = [this, key = std::move(key), run = std::move(run), change = std::move(change)] {
        return begin_now(key, run, change);
    };
    const auto begun =
        co_await submit<begun_thread>(worker_, access::write, std::move(work), std::move(settle));
    if (!begun) {
        co_return begun.error();
    }
    co_return begun_run{begun->run_number};
}

// Nullopt: nothing is done, and what was given is as it was.
std::optional<begun_run> sqlite_store::begin_past_queue(
    const thread_key& key, run_record& run, changes& change, const basis& seen
) {
    redo_record record;
    record.key = key;
    record.begins = std::move(run);
    record.thread_exists = seen.thread_exists;
    record.before = seen.size;
    record.change = std::move(change);
    if (go_past_queue(live_->begin(record))) {
        return begun_run{record.run_number};
    }
    run = std::move(*record.begins);
    change = std::move(record.change);
    return std::nullopt;
}

result<sqlite_store::begun_thread>
sqlite_store::begin_now(const thread_key& key, const run_record& run, const changes& change) {
    const std::optional<sqlite_threads::position> at = threads_.find(key);
    std::int64_t thread = 0;
    if (!at) {
        thread = threads_.create(key, run.agent_id, change, run.started_at);
    } else {
        thread = at->thread;
        if (runs_.exists(thread, run)) {
            return failure{
                errc::run_id_reused, "runId: has already been used on this thread", {}, {}
            };
        }
        threads_.apply(*at, change, run.started_at);
    }
    if (change.run && !runs_.update(thread, *change.run)) {
        throw std::logic_error("a run must begin on the thread before its record changes");
    }
    const std::int64_t number = runs_.add(thread, run);
    return begun_thread{number, size_after(at ? at->size : thread_size(), change)};
}

asio::awaitable<result<void>> sqlite_store::commit(
    thread_key key, changes change, std::optional<log_slice> log, std::string release_run_id
) {
    if (live_ && commit_past_queue(key, change, log, release_run_id)) {
        co_return result<void>();
    }
    const std::int64_t number = log ? log->run_number : 0;
    const std::uint64_t last = log ? last_sequence(*log) : 0;
    const std::int64_t ended = ended_run(change);
    const thread_size growth = size_after({}, change);
    std::int64_t held = 0;
    if (live_) {
        held = live_->hold_commit(key);
        if (number != 0) {
            live_->hold(number, last);
        }
    }
    auto settle = [this, key, run_id = std::move(release_run_id), number, last, ended, held,
                   growth](const result<void>& outcome) {
        leases_.release_with_commit(key, run_id);
        if (!live_) {
            return;
        }
        live_->settle_commit(held, outcome ? std::optional(growth) : std::nullopt);
        if (number != 0) {
            live_->settle(number, last, outcome.has_value());
        }
        if (outcome && ended != 0) {
            live_->close(ended);
        }
    };
    auto work = [this, key = std::move(key), change = std::move(change), log = std::move(log)] {
        return commit_now(key, change, log);
    };
    auto committed =
        co_await submit<void>(worker_, access::write, std::move(work), std::move(settle));
    co_return committed;
}

// False: nothing is done, and what was given is as it was.
bool sqlite_store::commit_past_queue(
    const thread_key& key, changes& change, const std::optional<log_slice>& log,
    const std::string& release_run_id
) {
    redo_record record;
    record.key = key;
    record.change = std::move(change);
    try {
        if (go_past_queue(live_->commit(record, log))) {
            leases_.release_with_commit(key, release_run_id);
            return true;
        }
    } catch (...) {
        leases_.release_with_commit(key, release_run_id);
        throw;
    }
    change = std::move(record.change);
    return false;
}

result<void> sqlite_store::commit_now(
    const thread_key& key, const changes& change, const std::optional<log_slice>& log
) {
    const std::optional<sqlite_threads::position> at = threads_.find(key);
    if (!at) {
        return not_found();
    }
    const bool has_entries = log && !log->ends.empty();
    if (has_entries) {
        run_log_.open(log->run_number);
    }
    threads_.apply(*at, change);
    if (change.run && !runs_.update(at->thread, *change.run)) {
        throw std::logic_error("a run must begin on the thread before its record changes");
    }
    // Last, because what is staged is not undone with the savepoint.
    if (has_entries && !run_log_.stage(*log)) {
        return failure{
            errc::store_unavailable, "entries of the run's log before these were lost", {}, {}
        };
    }
    if (const std::int64_t ended = ended_run(change); ended != 0) {
        run_log_.run_ended(ended);
    }
    return {};
}

asio::awaitable<result<std::vector<log_entry>>>
sqlite_store::read_log(std::int64_t run_number, std::uint64_t after, std::size_t limit) {
    auto entries = co_await read<std::vector<log_entry>>([this, run_number, after, limit] {
        redo_.show_run(run_number);
        return run_log_.read(run_number, after, limit);
    });
    co_return entries;
}

asio::awaitable<result<std::optional<run_record>>>
sqlite_store::find_run(thread_key key, std::string run_id) {
    auto run = co_await read<std::optional<run_record>>(
        [this, key = std::move(key),
         run_id = std::move(run_id)]() -> result<std::optional<run_record>> {
            redo_.show(key);
            const auto at = threads_.find(key);
            return at ? runs_.find(at->thread, run_id) : std::nullopt;
        }
    );
    co_return run;
}

asio::awaitable<result<std::optional<run_record>>>
sqlite_store::find_run_by_key(thread_key key, std::string idempotency_key) {
    auto run = co_await read<std::optional<run_record>>(
        [this, key = std::move(key),
         idempotency_key = std::move(idempotency_key)]() -> result<std::optional<run_record>> {
            redo_.show(key);
            return runs_.find_by_key(key, idempotency_key);
        }
    );
    co_return run;
}

asio::awaitable<result<std::optional<run_record>>> sqlite_store::latest_run(thread_key key) {
    auto run = co_await read<std::optional<run_record>>(
        [this, key = std::move(key)]() -> result<std::optional<run_record>> {
            redo_.show(key);
            return runs_.latest(key);
        }
    );
    co_return run;
}

asio::awaitable<result<thread_page>> sqlite_store::list(thread_query query) {
    auto page = co_await read<thread_page>([this, query = std::move(query)] {
        redo_.show_all();
        return threads_.list(query);
    });
    if (page) {
        for (thread_summary& summary : page->threads) {
            summary.active_run_id = leases_.holder(summary.key);
        }
    }
    co_return page;
}

asio::awaitable<result<std::vector<session_event>>>
sqlite_store::events(thread_key key, std::uint64_t after, std::size_t limit) {
    auto page = co_await read<std::vector<session_event>>(
        [this, key = std::move(key), after, limit]() -> result<std::vector<session_event>> {
            redo_.show(key);
            return threads_.events(key, after, limit);
        }
    );
    co_return page;
}

asio::awaitable<result<bool>> sqlite_store::remove(thread_key key) {
    auto removed = co_await mark_removed(key);
    if (!removed && removed.error().code == errc::store_unavailable && reserve_.release()) {
        removed = co_await mark_removed(key);
    }
    if (removed && *removed) {
        // It is gone already; what fails here drop_logs() does.
        (void)co_await erase_removed();
    }
    co_await restore_reserve(); // For the next one.
    co_return removed;
}

asio::awaitable<result<bool>> sqlite_store::mark_removed(thread_key key) {
    const auto runs = std::make_shared<std::vector<std::int64_t>>();
    auto settle = [this, runs](const result<bool>& outcome) {
        if (!outcome) {
            return;
        }
        for (const std::int64_t run : *runs) {
            run_log_.run_removed(run); // It may have begun in the same transaction.
            if (live_) {
                live_->close(run);
            }
        }
    };
    auto work = [this, key = std::move(key), runs] {
        return mark_removed_now(key, *runs);
    };
    return submit<bool>(worker_, access::write, std::move(work), std::move(settle));
}

// `runs` are those that it had.
result<bool>
sqlite_store::mark_removed_now(const thread_key& key, std::vector<std::int64_t>& runs) {
    const std::optional<sqlite_threads::position> at = threads_.find(key);
    if (!at) {
        return false;
    }
    runs = runs_.of_thread(at->thread);
    removal_.mark(at->thread);
    return true;
}

asio::awaitable<void> sqlite_store::restore_reserve() {
    if (!reserve_.restore()) {
        // What the write-ahead log takes is free once it is in the file.
        (void)co_await read<bool>([this]() -> result<bool> {
            redo_.end_read();
            opened_->execute("PRAGMA wal_checkpoint(TRUNCATE)");
            return true;
        });
        reserve_.restore();
    }
}

asio::awaitable<result<void>> sqlite_store::erase_removed() {
    for (;;) {
        const auto more =
            co_await write<bool>([this]() -> result<bool> { return removal_.erase_some(); });
        if (!more) {
            co_return more.error();
        }
        if (!*more) {
            co_return result<void>();
        }
        pass_failpoint("store.removal_step");
    }
}

asio::awaitable<result<std::vector<store::orphan>>>
sqlite_store::orphans(std::optional<thread_key> thread) {
    auto found = co_await read<std::vector<orphan>>([this, thread = std::move(thread)] {
        return orphans_now(thread);
    });
    co_return found;
}

result<std::vector<store::orphan>> sqlite_store::orphans_now(const std::optional<thread_key>& thread
) {
    // Who holds a thread is asked first: a run that ends in between gives its thread back when its
    // end is there to be read. And once more, for one that has begun in between.
    const std::map<thread_key, std::string> holders = leases_.all();
    pass_failpoint("store.leases_read");
    redo_.show_all();
    std::vector<orphan> found = runs_.active(thread);
    pass_failpoint("store.orphans_read");
    std::erase_if(found, [&](const orphan& lost) {
        const auto held = holders.find(lost.key);
        return (held != holders.end() && held->second == lost.run.run_id) ||
               leases_.holder(lost.key) == lost.run.run_id;
    });
    for (orphan& lost : found) {
        lost.last_sequence = run_log_.last_sequence_of(lost.run.number);
    }
    return found;
}

asio::awaitable<result<void>> sqlite_store::drop_logs(log_limits limits) {
    const auto erased = co_await erase_removed();
    if (!erased) {
        co_return erased.error();
    }
    co_await restore_reserve();
    for (;;) {
        const auto more = co_await write<bool>([this, limits] { return drop_some_logs(limits); });
        if (!more) {
            co_return more.error();
        }
        if (!*more) {
            co_return result<void>();
        }
    }
}

// True if there may be more to drop.
result<bool> sqlite_store::drop_some_logs(const log_limits& limits) {
    std::vector<std::int64_t> runs = runs_.with_log_before(limits.ended_since, dropped_at_once);
    if (runs.empty() && limits.max_bytes != 0) {
        runs = first_ended_beyond(limits.max_bytes);
    }
    // Bounded: every stream waits for this transaction.
    std::uint64_t bytes = 0;
    std::size_t count = 0;
    while (count < runs.size() && bytes < dropped_bytes_at_once) {
        bytes += run_log_.row_bytes_of(runs[count]);
        runs_.set_log_state(runs[count], log_state::dropped);
        ++count;
    }
    runs.resize(count);
    run_log_.erase(runs);
    return !runs.empty();
}

// Those that ended first and have to go until `max_bytes` are left, or some of them. What is not
// folded yet does not count, and stays.
std::vector<std::int64_t> sqlite_store::first_ended_beyond(std::uint64_t max_bytes) {
    std::vector<std::int64_t> runs;
    std::uint64_t left = run_log_.row_bytes();
    if (left <= max_bytes) {
        return runs;
    }
    for (const std::int64_t run : runs_.with_rows(dropped_at_once)) {
        if (left > max_bytes) {
            left -= run_log_.row_bytes_of(run);
            runs.push_back(run);
        }
    }
    if (runs.empty()) {
        log_.log(
            log_level::warning, "logs that cannot be dropped are beyond session.log_max_bytes"
        );
    }
    return runs;
}

} // namespace

std::unique_ptr<store> make_sqlite_store(const sqlite_settings& settings) {
    try {
        return std::make_unique<sqlite_store>(settings);
    } catch (const sqlite_error& error) {
        throw std::runtime_error(settings.path + ": " + explain(error));
    } catch (const std::runtime_error& error) {
        throw std::runtime_error(settings.path + ": " + error.what());
    }
}

} // namespace agui::session
