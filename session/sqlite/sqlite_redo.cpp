#include "session/sqlite/sqlite_redo.hpp"

#include "session/base/failpoint.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace agui::session {

namespace {

// False for errors that are not due to the record, such as a full or failing disk.
bool is_fault_of_record(const std::exception& error) noexcept {
    const auto* const of_sqlite = dynamic_cast<const sqlite_error*>(&error);
    return of_sqlite != nullptr ? (of_sqlite->code() & 0xff) == SQLITE_CONSTRAINT
                                : dynamic_cast<const std::logic_error*>(&error) != nullptr;
}

} // namespace

sqlite_redo::sqlite_redo(
    database& db, sqlite_threads& threads, sqlite_runs& runs, sqlite_log& log,
    std::chrono::milliseconds apply_window, agui::logger& logger
)
    : db_(db),
      threads_(threads),
      runs_(runs),
      log_(log),
      apply_window_(apply_window),
      logger_(logger),
      set_applied_(db, "UPDATE log_ring SET applied = ?") {}

void sqlite_redo::recover(const std::vector<log_ring::contents::commit>& commits) {
    const auto applied = static_cast<log_ring::place>(db_.integer("SELECT applied FROM log_ring"));
    transaction change(db_);
    log_ring::place through = applied;
    for (const auto& [bytes, behind] : commits) {
        if (behind <= applied) {
            continue;
        }
        if (const auto record = redo_from_bytes(bytes)) {
            apply_or_leave_out(*record);
        } else {
            logger_.log(log_level::error, "left out a commit that cannot be read");
        }
        through = behind;
    }
    if (through == applied) {
        return;
    }
    set_applied(through);
    change.commit();
    pass_failpoint("redo.recovered");
}

void sqlite_redo::use(live_logs& live) { live_ = &live; }

void sqlite_redo::take(chains how) {
    if (live_ == nullptr) {
        return;
    }
    const std::size_t before = held_.size();
    const log_ring::place until = how == chains::restart ? live_->cut(held_) : live_->take(held_);
    taken_ += held_.size() - before;
    const auto now = std::chrono::steady_clock::now();
    if (before == 0) {
        due_ = now + apply_window_;
    }
    if (held_.size() >= live_logs::records_at_once && !fails_) {
        due_ = now;
    }
    // Before take_live(), which takes the runs' entries.
    for (std::size_t i = before; i < held_.size(); ++i) {
        if (held_[i].record.begins) {
            log_.run_begun(held_[i].record.run_number);
        }
    }
    log_.take_live(until);
}

void sqlite_redo::apply() {
    take(chains::go_on);
    apply_held();
}

void sqlite_redo::apply_held() {
    if (applied_ == held_.size()) {
        return;
    }
    check_failpoint("redo.apply");
    try {
        for (; applied_ < held_.size(); ++applied_) {
            const redo_record& record = held_[applied_].record;
            one_by_one_ ? apply_or_leave_out(record) : apply_one(record);
        }
    } catch (const std::exception& error) {
        one_by_one_ = one_by_one_ || is_fault_of_record(error);
        throw;
    }
    set_applied(held_.back().behind);
    check_failpoint("redo.applied");
}

void sqlite_redo::apply_one(const redo_record& record) {
    if (record.begins) {
        const auto at = threads_.find(record.key);
        if (at.has_value() != record.thread_exists) {
            if (!at) {
                return; // The thread was removed in the meantime.
            }
            throw std::logic_error("a new thread exists already");
        }
        std::int64_t thread = 0;
        if (!at) {
            thread = threads_.create(
                record.key, record.begins->agent_id, record.change, record.begins->started_at,
                record.message_texts
            );
        } else if (at->size == record.before) {
            thread = at->thread;
            threads_.apply(*at, record.change, record.begins->started_at, record.message_texts);
        } else {
            throw std::logic_error("a run begins on a thread that has changed");
        }
        (void)runs_.add(thread, *record.begins);
        return;
    }
    const auto at = threads_.find_of_run(record.run_number);
    if (!at) {
        return; // Its thread was removed in the meantime.
    }
    if (at->size != record.before) {
        throw std::logic_error("a thread is not as its run left it");
    }
    threads_.apply(*at, record.change, std::nullopt, record.message_texts);
    if (record.change.run && !runs_.update(at->thread, *record.change.run)) {
        throw std::logic_error("a commit changes a run that is not its own");
    }
}

// A record that does not fit must not keep the others out of the tables. A power cut can cause one;
// otherwise it is a bug.
void sqlite_redo::apply_or_leave_out(const redo_record& record) {
    savepoint own(db_);
    try {
        apply_one(record);
    } catch (const std::exception& error) {
        if (!is_fault_of_record(error)) {
            throw;
        }
        own.undo();
        logger_.log(
            log_level::error, "left out a commit that does not fit its thread",
            {{"thread", record.key.thread_id},
             {"run", std::to_string(record.run_number)},
             {"reason", error.what()}}
        );
        return;
    }
    own.keep();
}

void sqlite_redo::set_applied(log_ring::place through) {
    set_applied_.execute(std::uint64_t{through});
}

void sqlite_redo::committed() noexcept {
    const auto end = held_.begin() + static_cast<std::ptrdiff_t>(applied_);
    std::for_each(held_.begin(), end, [this](const live_logs::held_record& done) {
        if (const std::int64_t ended = ended_run(done.record.change); ended != 0) {
            log_.run_ended(ended);
        }
    });
    held_.erase(held_.begin(), end);
    applied_ = 0;
    one_by_one_ = false;
    log_.resume();
    if (std::exchange(fails_, false)) {
        logger_.log(log_level::info, "the store can be written again");
    }
    if (live_ != nullptr) {
        live_->refuse_begins(false);
        // Records that came in the meantime have not asked to be taken.
        take_wanted_ = held_.empty() && !live_->ask_for_next();
    }
}

void sqlite_redo::rolled_back() noexcept { applied_ = 0; }

void sqlite_redo::failed(const std::exception& error) noexcept {
    if (one_by_one_ && is_fault_of_record(error)) {
        return; // The next attempt finds the record at fault and leaves it out.
    }
    if (!std::exchange(fails_, true)) {
        logger_.log(log_level::error, "cannot write the store", {{"reason", error.what()}});
    }
    if (live_ != nullptr) {
        live_->refuse_begins(true);
    }
    due_ = std::chrono::steady_clock::now() + apply_window_;
}

std::optional<std::chrono::steady_clock::time_point> sqlite_redo::due() const noexcept {
    return held_.empty() ? std::nullopt : std::optional(due_);
}

bool sqlite_redo::is_due() const noexcept {
    return !held_.empty() && std::chrono::steady_clock::now() >= due_;
}

void sqlite_redo::show(const thread_key& key) {
    take(chains::go_on);
    if (std::ranges::any_of(held_, [&](const auto& held) { return held.record.key == key; })) {
        begin_read();
    }
}

void sqlite_redo::show_run(std::int64_t run_number) {
    take(chains::go_on);
    const bool concerned = std::ranges::any_of(held_, [run_number](const auto& held) {
        return held.record.run_number == run_number;
    });
    if (concerned) {
        begin_read();
    }
}

void sqlite_redo::show_all() {
    take(chains::go_on);
    if (!held_.empty()) {
        begin_read();
    }
}

void sqlite_redo::begin_read() {
    for (;;) {
        const bool was_one_by_one = one_by_one_;
        try {
            if (!read_) {
                read_.emplace(db_);
            }
            apply_held();
            return;
        } catch (const std::exception&) {
            read_.reset();
            rolled_back();
            if (was_one_by_one || !one_by_one_) {
                throw;
            }
        }
    }
}

void sqlite_redo::end_read() noexcept {
    if (read_) {
        read_.reset();
        rolled_back();
    }
}

void sqlite_redo::read_done() noexcept {
    // If the disk was full a moment ago, step() tries again. Until then the transaction stays open,
    // because applying all records again takes up to a tenth of a second.
    if (!read_ || fails_) {
        return;
    }
    try {
        read_->commit();
        pass_failpoint("redo.read_committed");
        committed();
    } catch (const std::exception& error) {
        failed(error); // The records stay, and the next transaction begins with them.
    }
    read_.reset();
    rolled_back();
}

void sqlite_redo::take_live() noexcept {
    try {
        take(chains::go_on);
    } catch (const std::exception&) {
        // The next transaction tries again; if that fails too, it is reported there.
    }
}

bool sqlite_redo::has_work() const noexcept {
    return take_wanted_ || is_due() || log_.fold_pending();
}

void sqlite_redo::step() noexcept {
    if (std::exchange(take_wanted_, false)) {
        take_live();
        return;
    }
    end_read();
    if (is_due()) {
        (void)apply_now(chains::go_on);
        return;
    }
    // Asked once: an append may change the answer, and a fold must not start without apply_now().
    const bool starts = log_.fold_starts();
    if (starts && !apply_now(chains::restart)) {
        log_.rest();
        return;
    }
    log_.fold_step(starts);
}

bool sqlite_redo::apply_now(chains how) noexcept {
    end_read();
    for (;;) {
        const bool was_one_by_one = one_by_one_;
        try {
            take(how);
            if (!held_.empty()) {
                transaction all(db_);
                apply_held();
                all.commit();
                pass_failpoint("redo.committed");
                committed();
            }
            return true;
        } catch (const std::exception& error) {
            rolled_back();
            if (!was_one_by_one && one_by_one_) {
                continue;
            }
            failed(error);
            return false;
        }
    }
}

void sqlite_redo::take_all_steps() noexcept {
    while (has_work()) {
        step();
    }
}

bool sqlite_redo::fold_all() noexcept { return apply_now(chains::restart) && log_.fold_all(); }

} // namespace agui::session
