#include "session/sqlite/sqlite_worker.hpp"

#include "session/base/failpoint.hpp"

#include <pthread.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace agui::session {

namespace {

// Consecutive entries of one run are queued as one slice until it has this size.
constexpr std::size_t merged_bytes_max = 1U << 20U;
// How much may wait while the disk is stalled. The current transaction may hold as much again.
constexpr std::size_t queued_bytes_max = 128U << 20U;

failure unavailable() { return {errc::store_unavailable, "the store cannot be written"}; }

} // namespace

sqlite_worker::sqlite_worker(
    database& db, sqlite_log& log, sqlite_redo& redo, live_logs* live, agui::logger& logger,
    settings given
)
    : db_(db),
      log_(log),
      redo_(redo),
      live_(live),
      logger_(logger),
      settings_(given),
      thread_([this] { run(); }) {}

sqlite_worker::~sqlite_worker() { close(); }

void sqlite_worker::append(log_slice slice, std::shared_ptr<log_observer> observer) {
    {
        const std::lock_guard lock(mutex_);
        if (!closing_ && queued_bytes_ + slice.events.size() <= queued_bytes_max) {
            queued_bytes_ += slice.events.size();
            if (writes_.empty()) {
                oldest_write_ = std::chrono::steady_clock::now();
            }
            item* const back = writes_.empty() ? nullptr : &writes_.back();
            const bool follows = back != nullptr && !back->job && back->observer == observer &&
                                 back->entries.run_number == slice.run_number &&
                                 last_sequence(back->entries) + 1 == slice.first_sequence &&
                                 back->entries.events.size() < merged_bytes_max;
            if (follows) {
                append_entries(back->entries, slice);
            } else {
                writes_.push_back({nullptr, std::move(slice), std::move(observer)});
            }
            if (std::exchange(sleeping_, false)) {
                wake_.notify_one();
            }
            return;
        }
    }
    if (live_ != nullptr) {
        live_->settle(slice.run_number, last_sequence(slice), false);
    }
    if (observer) {
        observer->on_failed();
    }
}

void sqlite_worker::write(std::unique_ptr<store_job> job) { enqueue(std::move(job), false); }

void sqlite_worker::read(std::unique_ptr<store_job> job) { enqueue(std::move(job), true); }

void sqlite_worker::enqueue(std::unique_ptr<store_job> job, bool is_read) {
    {
        const std::lock_guard lock(mutex_);
        if (!closing_) {
            if (is_read) {
                reads_.push_back(std::move(job));
            } else {
                ++writes_queued_;
                writes_.push_back({std::move(job), {}, nullptr});
            }
            urgent_ = true;
            sleeping_ = false;
            wake_.notify_one();
            return;
        }
    }
    job->fail(failure{errc::store_unavailable, "the store is closed"});
    job->complete();
}

void sqlite_worker::take_live() {
    const std::lock_guard lock(mutex_);
    live_due_ = true;
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
        if (!next.writes.empty()) {
            expecting_entries_ = !next.writes.back().job;
            carry_out(next.writes);
            next.writes.clear();
        }
        if (next.read) {
            read_now(std::move(next.read));
        }
        if (next.live_due) {
            redo_.take_live();
        }
        if (redo_.has_work()) {
            redo_.step();
        }
    }
}

// False: closed, and nothing is left to do.
bool sqlite_worker::take(work& next) {
    std::unique_lock lock(mutex_);
    await_work(lock);
    next.writes.swap(writes_);
    queued_bytes_ = 0;
    urgent_ = false;
    next.live_due = std::exchange(live_due_, false);
    if (!reads_.empty()) {
        next.read = std::move(reads_.front());
        reads_.pop_front();
    }
    return !closing_ || !next.writes.empty() || next.read;
}

void sqlite_worker::await_work(std::unique_lock<std::mutex>& lock) {
    // While entries keep coming, a timer costs less than being woken by the first entry of a batch.
    if (std::exchange(expecting_entries_, false) && !redo_.has_work()) {
        const auto since = writes_.empty() ? std::chrono::steady_clock::now() : oldest_write_;
        wait_for_company(lock, since + settings_.group_window);
        if (!writes_.empty()) {
            return;
        }
    }
    const auto has_work = [this] {
        return !writes_.empty() || !reads_.empty() || live_due_ || closing_ || redo_.has_work();
    };
    while (!has_work()) {
        sleeping_ = true;
        if (const auto due = redo_.due()) {
            wake_.wait_until(lock, *due);
        } else {
            wake_.wait(lock);
        }
        sleeping_ = false;
    }
    if (!writes_.empty()) {
        wait_for_company(lock, oldest_write_ + settings_.group_window);
    }
}

// Entries that no caller waits for are held until others join them. Those need not wake the thread.
void sqlite_worker::wait_for_company(
    std::unique_lock<std::mutex>& lock, std::chrono::steady_clock::time_point deadline
) {
    while (!urgent_ && reads_.empty() && !closing_) {
        if (wake_.wait_until(lock, deadline) == std::cv_status::timeout) {
            return;
        }
    }
}

void sqlite_worker::carry_out(std::vector<item>& writes) {
    item* const first = writes.data();
    item* const last = first + writes.size();
    writes_done_ += static_cast<std::uint64_t>(std::count_if(first, last, [](const item& write) {
        return write.job != nullptr;
    }));
    if (try_transaction(first, last)) {
        pass_failpoint("store.tell");
        for (item& done : writes) {
            tell(done);
        }
        pass_failpoint("store.told");
        return;
    }
    // A single job may be at fault, or the cause may be gone.
    for (item* unit = first; unit != last;) {
        item* end = unit + 1;
        while (!unit->job && end != last && !end->job) {
            ++end;
        }
        carry_out_alone(unit, end);
        unit = end;
    }
}

void sqlite_worker::carry_out_alone(item* first, item* last) {
    const bool done = try_transaction(first, last);
    for (; first != last; ++first) {
        if (!done && first->job) {
            first->job->fail(unavailable());
        }
        first->accepted = first->accepted && done;
        tell(*first);
    }
}

bool sqlite_worker::try_transaction(item* first, item* last) {
    redo_.end_read();
    try {
        transaction all(db_);
        check_failpoint("store.begun");
        redo_.apply();
        if (last - first == 1 && first->job) {
            // Without a savepoint, for which SQLite would copy pages: the transaction serves as
            // one.
            first->job->execute();
            check_failpoint("store.job_executed");
            if (!first->job->succeeded()) {
                rolled_back();
                return true;
            }
        } else {
            for (item* next = first; next != last; ++next) {
                execute(*next);
            }
        }
        check_failpoint("store.executed");
        log_.write_staged();
        check_failpoint("store.page_written");
        all.commit();
        pass_failpoint("store.committed");
        redo_.committed();
        log_.committed();
    } catch (const std::exception& error) {
        rolled_back();
        redo_.failed(error);
        return false;
    }
    return true;
}

void sqlite_worker::rolled_back() noexcept {
    redo_.rolled_back();
    log_.rolled_back();
}

void sqlite_worker::execute(item& next) {
    if (!next.job) {
        next.accepted = log_.stage(next.entries);
        return;
    }
    savepoint own(db_);
    next.job->execute();
    check_failpoint("store.job_executed");
    if (next.job->succeeded()) {
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
    redo_.read_done();
}

void sqlite_worker::tell(item& done) noexcept {
    if (done.job) {
        done.job->complete();
        return;
    }
    const std::uint64_t last = last_sequence(done.entries);
    if (done.observer) {
        done.accepted ? done.observer->on_durable(last) : done.observer->on_failed();
    }
    if (live_ != nullptr) {
        // After the observer: entries that bypass the queue from here on notify it directly.
        live_->settle(done.entries.run_number, last, done.accepted);
    }
}

} // namespace agui::session
