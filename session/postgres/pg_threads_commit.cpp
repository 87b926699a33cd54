// A change of a thread by its run, with the run's log entries.
#include "session/base/id.hpp"
#include "session/conversation/change_check.hpp"
#include "session/postgres/pg_error.hpp"
#include "session/postgres/pg_threads.hpp"
#include "session/store/store_failures.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <utility>

namespace agui::session {

namespace asio = boost::asio;

namespace {

constexpr const char* end_run =
    "SELECT agui.end_run($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, "
    "$16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, "
    "$33, $34, $35, $36, $37, $38, $39, $40, $41, $42, $43, $44, $45, $46, $47, $48, $49, "
    "$50, $51, $52, $53, $54, $55, $56)";

// The rows have all entries so far.
constexpr const char* move_journal =
    "UPDATE agui.runs SET journal_from = $2 WHERE number = $1 AND journal_writer = $3";

std::int64_t random_mark() {
    const std::string bytes = random_bytes(sizeof(std::int64_t));
    std::int64_t mark = 0;
    std::memcpy(&mark, bytes.data(), sizeof mark);
    return mark;
}

} // namespace

// Entries of a run's log that a commit writes: those in the journal, the waiting ones, and the
// slice that came with the commit.
struct pg_threads::commit_log {
    const pg_logs::taken& waiting;
    pg_log_row earlier; // Entries in the journal, and waiting ones.
    pg_log_row slice;
    bool is_one_row = false; // `earlier` has the slice, too.
    std::uint64_t end = 0;   // Last entry before the slice.
    // True if the outcome of the commit is unknown, or if the table has fewer entries than
    // expected.
    bool is_unknown = false;
    bool says_size = false; // The record of the run gets the size of its log.
    // Set once the commit was sent, to the result of add_change().
    std::optional<thread_position> before;

    // The last entry that the table must have.
    [[nodiscard]] std::uint64_t end_expected() const noexcept {
        return earlier.empty() ? end : earlier.first_sequence - 1;
    }
    // True if the rows leave no gap after the end of the log in the table.
    [[nodiscard]] bool continues(std::uint64_t end_in_table) {
        const bool knows_end = waiting.is_known && !waiting.has_failed;
        if (knows_end && end_in_table < end_expected()) {
            is_unknown = true;
            return false;
        }
        if (!knows_end) {
            end = end_in_table;
        }
        return slice.empty() || slice.first_sequence == end + 1;
    }
    [[nodiscard]] pg_log_size stored_after() const {
        pg_log_size size = waiting.stored;
        for (const pg_log_row* const each : rows()) {
            size.add(*each);
        }
        return size;
    }
    [[nodiscard]] std::vector<const pg_log_row*> rows() const {
        std::vector<const pg_log_row*> all;
        if (!earlier.empty()) {
            all.push_back(&earlier);
        }
        if (!slice.empty() && !is_one_row) {
            all.push_back(&slice);
        }
        return all;
    }
};

struct pg_threads::ending {
    // Stored as runs.outcome: a retry recognizes its own commit by it.
    const std::int64_t mark = random_mark();
    bool was_tried = false;
};

asio::awaitable<result<void>> pg_threads::commit(std::shared_ptr<const committing> what) {
    const lease_ptr& held = what->by.held;
    if (held && !held->is_held()) {
        co_return lease_is_lost();
    }
    // The run whose entries go with it.
    const changes& change = what->stored.change;
    check_answered(change);
    const bool has_slice = what->log && !what->log->ends.empty();
    std::int64_t run = 0;
    if (has_slice) {
        run = what->log->run_number;
    } else if (change.run) {
        run = change.run->number;
    } else {
        run = parts_.leases.run_of(held);
    }
    if (run == 0) {
        co_await parts_.logs.flush(0); // Entries of any run come first.
    }
    const std::uint64_t last =
        has_slice ? what->log->first_sequence + what->log->ends.size() - 1 : 0;
    pg_logs::taken entries = co_await parts_.logs.take(run, last);
    commit_log log{
        .waiting = entries,
        .earlier = entries.chain.as_row(run),
        .slice = {},
        .end = entries.end,
        .before = {}
    };
    if (!entries.row.empty()) {
        log.earlier.append(entries.row);
    }
    std::optional<result<void>> outcome;
    std::exception_ptr failed;
    try {
        if (run != 0 && (!entries.is_known || entries.has_failed)) {
            log.earlier = {}; // The tables say which entries count.
            const std::int64_t gateway = held ? number_holding(*held) : 0;
            if (held && gateway == 0) {
                outcome = lease_is_lost();
            } else {
                co_await settle({run}, gateway);
                entries.chain = {};
            }
        }
        if (!outcome) {
            outcome = co_await commit_with(what, log);
        }
    } catch (const std::exception&) {
        failed = std::current_exception();
    }
    const bool is_done = outcome && outcome->has_value();
    const std::uint64_t own = entries.row.empty() ? 0 : entries.row.last_sequence;
    pg_logs::outcome of_entries = pg_logs::outcome::refused;
    if (is_done) {
        of_entries = pg_logs::outcome::committed;
    } else if (log.is_unknown) {
        of_entries = pg_logs::outcome::unknown;
        note_unsure(what, log);
    }
    if (is_done) {
        entries.chain = {};
    }
    entries.stored = log.stored_after();
    const bool joins_rows = !log.says_size || !entries.stored.bytes_without_joining();
    parts_.logs.give_back(std::move(entries), of_entries, std::max(own, last));
    if (failed) {
        std::rethrow_exception(failed);
    }
    if (is_done && (what->by.releases || !change.messages.empty())) {
        unsure_.erase(held);
    }
    const std::int64_t ended = ended_run(change);
    if (is_done && ended != 0) {
        parts_.logs.close(ended);
        if (joins_rows) {
            parts_.upkeep.on_run_ended();
        }
    }
    co_return *outcome;
}

void pg_threads::note_unsure(const std::shared_ptr<const committing>& what, const commit_log& log) {
    std::erase_if(unsure_, [](const auto& one) { return !one.first->is_held(); });
    // Without a lease, others may change the thread in between. A change without messages, which a
    // repeat stores once more, is one of the state beside the run's own commits.
    if (log.before && what->by.held && !what->by.releases &&
        !what->stored.change.messages.empty()) {
        unsure_.insert_or_assign(what->by.held, unsure_commit{what, *log.before});
    }
}

// Returns the position of the thread for which the change was made.
thread_position
pg_threads::add_change(pg_batch& to, const committing& what, const thread_position& now) const {
    if (const auto earlier = unsure_.find(what.by.held); earlier != unsure_.end()) {
        const thread_position& before = earlier->second.before;
        const changes& first = earlier->second.what->stored.change;
        if (const auto rest = rest_of(what.stored.change, first, before, now)) {
            change_thread(to, *rest, now);
            return before;
        }
    }
    change_thread(to, what.stored, now);
    return now;
}

asio::awaitable<result<void>>
pg_threads::commit_with(std::shared_ptr<const committing> what, commit_log& log) {
    const changes& change = what->stored.change;
    const lease_ptr& held = what->by.held;
    if (what->log && !what->log->ends.empty()) {
        log.slice.run = what->log->run_number;
        log.slice.first_sequence = what->log->first_sequence;
        log.slice.append(*what->log);
        log.is_one_row = !log.earlier.empty() && log.earlier.run == log.slice.run &&
                         log.earlier.last_sequence + 1 == log.slice.first_sequence;
        if (log.is_one_row) {
            log.earlier.append(log.slice);
        }
    }
    const bool is_one_call = can_end_at_once(*what, log);
    log.says_size = is_one_call;
    const pg_purpose purpose{.gateway = held && !is_one_call ? parts_.gateway.id() : 0};
    ending tries;
    result<void> outcome = co_await transact<result<void>>(
        parts_.shared.pool, parts_.shared.patience, purpose,
        [&](pg_transaction& in) {
            return is_one_call ? end_at_once(in, *what, log, tries) : commit_in(in, *what, log);
        }
    );
    if (outcome) {
        if (change.run && change.run->status == run_status::active) {
            parts_.logs.open(
                change.run->number, log.slice.empty() ? log.end : log.slice.last_sequence, held
            );
        }
        if (what->by.releases) {
            parts_.leases.released_by_commit(held);
        }
    }
    co_return outcome;
}

asio::awaitable<result<void>>
pg_threads::commit_in(pg_transaction& in, const committing& what, commit_log& log) {
    const changes& change = what.stored.change;
    const lease_ptr& held = what.by.held;
    const std::int64_t run = change.run ? change.run->number : 0;
    if (held && !held->is_held()) {
        co_return lease_is_lost();
    }
    pg_batch look;
    look.push_back(lock_thread(what.key));
    look.push_back(has_run(what.key, run));
    // A log that is gone has no end to compare with the run's.
    const bool has_log = ended_run(change) == 0 || change.run->last_sequence != 0;
    look.push_back(select_log_end(has_log ? log.waiting.run : 0));
    if (held) {
        look.push_back(parts_.leases.select_lease(*held));
    }
    const std::size_t queue_at = look.size();
    const bool takes_queued = !change.dequeued.empty() || !change.answered.empty();
    if (takes_queued) {
        look.push_back(count_queued(what.key, change.dequeued));
        look.push_back(is_any_run_taken(what.key, change.answered));
        look.push_back(next_run_numbers(change.answered.size()));
    }
    const std::vector<pg_rows> found = co_await in.read(std::move(look));
    if (held && !is_still_held(held, found.at(3))) {
        co_return lease_is_lost();
    }
    const std::optional<thread_position> at = position_of(found.at(0));
    if (!at) {
        co_return no_such_thread();
    }
    if (run != 0 && !found.at(1).boolean(0, 0)) {
        throw std::logic_error("a run must begin on the thread before its record changes");
    }
    if (change.run && run == 0) {
        throw std::logic_error("a run must begin on the thread before its record changes");
    }
    if (!log.continues(static_cast<std::uint64_t>(found.at(2).integer(0, 0)))) {
        co_return failure{errc::store_unavailable, "earlier entries of the run's log were lost"};
    }
    if (takes_queued && found.at(queue_at + 1).boolean(0, 0)) {
        co_return run_id_taken();
    }
    if (takes_queued && !are_queued(found.at(queue_at), change.dequeued)) {
        co_return thread_has_changed();
    }
    pg_batch writes;
    const thread_position made_at = add_change(writes, what, *at);
    if (takes_queued) {
        take_queued(
            writes, at->thread, change, found.at(queue_at + 2), parts_.shared.time.own_now()
        );
    }
    if (change.run) {
        writes.push_back(update_run(*change.run, parts_.shared.time.own_now()));
    }
    const std::vector<const pg_log_row*> rows = log.rows();
    if (!rows.empty()) {
        writes.push_back(add_log_rows(rows));
    }
    if (!rows.empty() && !change.run && log.waiting.is_journaled) {
        writes.emplace_back(
            move_journal, log.waiting.run, parts_.logs.next_journal_row(), parts_.gateway.id()
        );
    }
    if (auto note = note_log_begins(rows); note && ended_run(change) == 0) {
        writes.push_back(std::move(*note));
    }
    if (held && what.by.releases) {
        writes.push_back(parts_.leases.delete_lease(*held));
    }
    log.is_unknown = true;
    log.before = made_at;
    try {
        co_await in.commit(std::move(writes));
    } catch (const pg_error&) {
        log.is_unknown = false;
        log.before.reset();
        throw;
    }
    log.is_unknown = false;
    co_return result<void>();
}

bool pg_threads::can_end_at_once(const committing& what, const commit_log& log) const {
    const changes& change = what.stored.change;
    const std::int64_t run = ended_run(change);
    return what.by.held && what.by.releases && run != 0 && change.dequeued.empty() &&
           change.answered.empty() && log.waiting.run == run && log.waiting.is_known &&
           !log.waiting.has_failed && !unsure_.contains(what.by.held) && !change.run->sound_until &&
           (log.slice.empty() || (log.slice.run == run && log.slice.first_sequence == log.end + 1));
}

// An earlier try whose answer was lost may have taken effect: the row of the run shows that. The
// row of the thread is locked first, so that the try has ended.
asio::awaitable<result<void>> pg_threads::end_at_once(
    pg_transaction& in, const committing& what, commit_log& log, ending& tries
) {
    const lease_ptr& held = what.by.held;
    if (!held->is_held()) {
        co_return lease_is_lost();
    }
    const run_record& run = *what.stored.change.run;
    pg_statement call(
        end_run, parts_.gateway.id(), held->token(), what.key.principal, what.key.thread_id,
        std::exchange(tries.was_tried, true), tries.mark, run.number, run.parent_run_id,
        run.agent_id, pg_text{to_string(run.status)}, run.end_reason, run.started_at, run.ended_at,
        parts_.shared.time.own_now(), run.last_sequence, run.input_digest,
        texts_of(parts_.logs.known_connections()), log.end_expected(),
        log.stored_after().bytes_without_joining()
    );
    add_row_columns(call.params, log.rows());
    add_arguments(call.params, what.stored);
    pg_batch batch;
    batch.push_back(std::move(call));
    const bool was_unknown = std::exchange(log.is_unknown, true);
    std::vector<pg_rows> done;
    try {
        done = co_await in.write_at_once(std::move(batch));
    } catch (const pg_error& error) {
        log.is_unknown = was_unknown || error.is_connection_lost();
        throw;
    }
    const std::string_view answer = done.at(0).text(0, 0);
    log.is_unknown = answer == "log lost";
    if (answer == "ended") {
        co_return result<void>();
    }
    if (answer == "lease lost") {
        parts_.leases.lose(held);
        co_return lease_is_lost();
    }
    if (answer == "no thread") {
        co_return no_such_thread();
    }
    if (answer == "no run") {
        throw std::logic_error("a run must begin on the thread before its record changes");
    }
    co_return failure{errc::store_unavailable, "earlier entries of the run's log were lost"};
}

} // namespace agui::session
