#include "session/sqlite/sqlite_worker.hpp"

#include "session/base/failpoint.hpp"

#include <pthread.h>
#include <sqlite3.h>

#include <exception>
#include <span>
#include <system_error>
#include <utility>

namespace agui::session {

namespace {

// True for failures of the disk, but not for those of one job or of its data.
bool is_of_disk(const std::exception& error) noexcept {
    const auto* const of_database = dynamic_cast<const sqlite_error*>(&error);
    if (of_database == nullptr) {
        return dynamic_cast<const std::system_error*>(&error) != nullptr; // Thrown by the journal.
    }
    switch (of_database->code() & 0xff) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
        return true;
    default:
        return false;
    }
}

} // namespace

sqlite_worker::sqlite_worker(sqlite_tables& tables, agui::logger& logger, settings given)
    : tables_(tables), log_(tables.log), logger_(logger), settings_(given), thread_([this] {
          run();
      }) {}

sqlite_worker::~sqlite_worker() { close(); }

void sqlite_worker::write(std::unique_ptr<store_job> job) { enqueue(std::move(job), false); }

void sqlite_worker::read(std::unique_ptr<store_job> job) { enqueue(std::move(job), true); }

void sqlite_worker::enqueue(std::unique_ptr<store_job> job, bool is_read) {
    {
        const std::lock_guard lock(mutex_);
        if (!closing_) {
            if (is_read) {
                reads_.push_back(std::move(job));
            } else {
                writes_.push_back(std::move(job));
            }
            sleeping_ = false;
            wake_.notify_one();
            return;
        }
    }
    job->fail(failure{errc::store_unavailable, "the store is closed"});
    job->complete();
}

void sqlite_worker::sync(std::uint64_t sequence, std::shared_ptr<log_observer> observer) {
    {
        const std::lock_guard lock(mutex_);
        if (!closing_) {
            if (syncs_.empty()) {
                oldest_sync_ = std::chrono::steady_clock::now();
            }
            if (!syncs_.empty() && syncs_.back().observer == observer) {
                syncs_.back().sequence = sequence;
            } else {
                syncs_.push_back({sequence, std::move(observer)});
            }
            if (std::exchange(sleeping_, false)) {
                wake_.notify_one();
            }
            return;
        }
    }
    if (observer) {
        observer->on_failed();
    }
}

void sqlite_worker::look_for_upkeep() {
    const std::lock_guard lock(mutex_);
    upkeep_due_ = true;
    if (std::exchange(sleeping_, false)) {
        wake_.notify_one();
    }
}

bool sqlite_worker::can_write() const noexcept { return has_disk_ && tables_.files.can_write(); }

void sqlite_worker::try_write() {
    const std::lock_guard lock(mutex_);
    try_due_ = true;
    if (std::exchange(sleeping_, false)) {
        wake_.notify_one();
    }
}

void sqlite_worker::close() {
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
        wake_.notify_one();
    }
    if (thread_.joinable()) {
        thread_.join();
    }
}

void sqlite_worker::run() noexcept {
    (void)::pthread_setname_np(::pthread_self(), "agui-store");
    work next;
    while (take(next)) {
        if (!next.syncs.empty()) {
            sync_now(next.syncs);
        }
        if (!next.writes.empty()) {
            carry_out(next.writes);
            next.writes.clear();
        }
        if (next.try_due) {
            try_write_now();
        }
        if (next.read) {
            read_now(std::move(next.read));
        }
        if (next.upkeep_due) {
            log_.look_for_upkeep();
        }
        if (log_.has_upkeep()) {
            log_.keep_up();
        }
    }
}

// Returns false if the worker is closed and nothing is left to do.
bool sqlite_worker::take(work& next) {
    const std::lock_guard lock(mutex_);
    await_work();
    next.syncs.swap(syncs_);
    next.writes.swap(writes_);
    next.upkeep_due = std::exchange(upkeep_due_, false);
    next.try_due = std::exchange(try_due_, false);
    if (!reads_.empty()) {
        next.read = std::move(reads_.front());
        reads_.pop_front();
    }
    return !closing_ || !next.syncs.empty() || !next.writes.empty() || next.read;
}

void sqlite_worker::await_work() {
    const auto is_awaited = [this]() AGUI_REQUIRES(mutex_) {
        return !writes_.empty() || !reads_.empty() || closing_;
    };
    while (!is_awaited() && syncs_.empty() && !upkeep_due_ && !try_due_ && !log_.has_upkeep()) {
        sleeping_ = true;
        wake_.wait(mutex_);
        sleeping_ = false;
    }
    // One sync serves all requests within the window; they need not wake this thread.
    while (!syncs_.empty() && !is_awaited() &&
           wake_.wait_until(mutex_, oldest_sync_ + settings_.group_window) ==
               std::cv_status::no_timeout) {
    }
}

void sqlite_worker::sync_now(std::vector<awaited_sync>& syncs) noexcept {
    bool is_done = false;
    try {
        check_failpoint("store.sync");
        tables_.files.sync();
        pass_failpoint("store.synced");
        is_done = true;
    } catch (const std::exception& error) {
        failed(error);
    }
    for (const awaited_sync& each : syncs) {
        if (each.observer) {
            is_done ? each.observer->on_durable(each.sequence) : each.observer->on_failed();
        }
    }
    syncs.clear();
}

void sqlite_worker::carry_out(job_span& jobs) {
    if (try_transaction(jobs.data(), jobs.size())) {
        pass_failpoint("store.tell");
        for (const auto& done : jobs) {
            done->complete();
        }
        pass_failpoint("store.told");
        return;
    }
    // A single job may be the cause, or the cause may be gone.
    for (const auto& job : jobs) {
        if (!try_transaction(&job, 1)) {
            job->fail({errc::store_unavailable, "the store is not writable"});
        }
        job->complete();
    }
}

bool sqlite_worker::try_transaction(const std::unique_ptr<store_job>* first, std::size_t count) {
    try {
        transaction all(*tables_.db);
        check_failpoint("store.begun");
        if (count == 1) {
            // Needs no savepoint, for which SQLite would copy pages: the transaction serves as one.
            (*first)->execute();
            check_failpoint("store.job_executed");
            if (!(*first)->succeeded()) {
                rolled_back();
                return true;
            }
        } else {
            for (const auto& job : std::span(first, count)) {
                execute(*job);
            }
        }
        check_failpoint("store.executed");
        all.commit();
        pass_failpoint("store.committed");
        committed();
    } catch (const std::exception& error) {
        rolled_back();
        failed(error);
        return false;
    }
    return true;
}

void sqlite_worker::committed() noexcept {
    log_.committed();
    tables_.cache.committed();
    tables_.usage.committed();
    has_disk_ = true;
    if (std::exchange(fails_, false)) {
        logger_.log(log_level::info, "the store is writable again");
    }
}

void sqlite_worker::rolled_back() noexcept {
    log_.rolled_back();
    tables_.cache.rolled_back();
    tables_.usage.rolled_back();
}

void sqlite_worker::failed(const std::exception& error) noexcept {
    if (is_of_disk(error)) {
        has_disk_ = false;
    }
    if (!std::exchange(fails_, true)) {
        logger_.log(log_level::error, "cannot write to the store", {{"reason", error.what()}});
    }
}

// Changes nothing, but writes a page.
void sqlite_worker::try_write_now() noexcept {
    try {
        transaction trial(*tables_.db);
        check_failpoint("store.begun");
        // SQLite writes no page whose content stays the same at each step.
        tables_.db->execute("UPDATE journal SET oldest = oldest + 1");
        tables_.db->execute("UPDATE journal SET oldest = oldest - 1");
        trial.commit();
        tables_.files.sync();
        committed();
    } catch (const std::exception& error) {
        rolled_back();
        failed(error);
    }
    log_.look_for_upkeep();
    log_.keep_up(); // Makes the journal's next file, if there was no room for it.
    tables_.files.try_write();
}

void sqlite_worker::execute(store_job& next) {
    savepoint own(*tables_.db);
    next.execute();
    check_failpoint("store.job_executed");
    if (next.succeeded()) {
        own.keep();
    } else {
        own.undo();
    }
}

void sqlite_worker::read_now(std::unique_ptr<store_job> job) {
    try {
        check_failpoint("store.read");
        job->execute();
    } catch (const std::exception& error) {
        logger_.log(log_level::error, "cannot read the store", {{"reason", error.what()}});
        job->fail(failure{errc::store_unavailable, "the store cannot be read"});
    }
    if (job->is_complete()) {
        job->complete();
    } else {
        const std::lock_guard lock(mutex_);
        reads_.push_back(std::move(job));
    }
}

} // namespace agui::session
