#include "session/postgres/pg_threads.hpp"

#include "session/postgres/pg_access.hpp"
#include "session/postgres/pg_attachments.hpp"

#include "session/conversation/change_check.hpp"
#include "session/store/store_failures.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

namespace agui::session {

namespace asio = boost::asio;

namespace {

constexpr const char* next_thread_number =
    "SELECT CASE WHEN EXISTS (SELECT FROM agui.threads WHERE principal = $1 AND thread_id = $2) "
    "THEN 0 ELSE agui.next_thread_number() END";
constexpr const char* note_removed =
    "INSERT INTO agui.removed_threads (thread) VALUES ($1) ON CONFLICT DO NOTHING";
constexpr const char* drop_thread = "DELETE FROM agui.threads WHERE id = $1";
constexpr const char* runs_of =
    "SELECT number FROM agui.runs WHERE thread = " AGUI_PG_THREAD " AND status = 'active'";
// The server may lack entries of a run of an earlier timeline that another server had
// (agui.timeline()).
#define AGUI_PG_ORPHANS(log_end)                                                                   \
    "SELECT " AGUI_PG_RUN_COLUMNS ", " log_end                                                     \
    ", r.journal_writer, (r.number >> 30) & 1023 <> agui.timeline() & 1023 FROM agui.runs r "      \
    "WHERE r.thread = " AGUI_PG_THREAD                                                             \
    " AND r.status = 'active' AND r.run_id <> $3 ORDER BY r.number"
constexpr const char* orphans_of =
    AGUI_PG_ORPHANS("coalesce((SELECT l.last_sequence FROM agui.log_rows l "
                    "WHERE l.run = r.number ORDER BY l.first_sequence DESC LIMIT 1), 0)");
constexpr const char* orphans_with_damaged_log = AGUI_PG_ORPHANS("0::bigint");
constexpr int log_end_column = 14; // The column after those of pg_run_at().
constexpr int journal_column = 15;
constexpr int failed_over_column = 16;
constexpr const char* runs_of_threads =
    "SELECT r.number FROM unnest($1, $2) AS c(principal, thread_id) "
    "JOIN agui.threads t ON t.principal = c.principal AND t.thread_id = c.thread_id "
    "JOIN agui.runs r ON r.thread = t.id AND r.status = 'active' AND r.journal_writer <> 0";
constexpr const char* begin_run =
    "SELECT answer, its_number, its_first FROM agui.begin_run($1, $2, $3, $4, $5, $6, $7, $8,"
    " $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, "
    "$26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, $42, "
    "$43, $44, $45, $46)";

asio::awaitable<std::vector<pg_rows>> list_orphans(pg_shared& shared, lease_ptr held) {
    const auto read = [&](const char* statement) {
        return read_at_once(shared, [held, statement] {
            pg_batch batch;
            batch.emplace_back(
                statement, held->key().principal, held->key().thread_id, held->run_id()
            );
            return batch;
        });
    };
    try {
        co_return co_await read(orphans_of);
    } catch (const pg_error& error) {
        if (!error.is_damage()) {
            throw;
        }
    }
    // A log is unreadable, but its run can be ended.
    co_return co_await read(orphans_with_damaged_log);
}

// The ids, or the keys, of the run and of the runs that it answers.
struct run_names {
    run_names(const run_record& run, const std::vector<run_record>& answered) {
        add(run);
        for (const run_record& each : answered) {
            add(each);
        }
    }
    void add(const run_record& run) {
        has_twins = !all.insert("i" + run.run_id).second || has_twins;
        has_twins =
            (!run.idempotency_key.empty() && !all.insert("k" + run.idempotency_key).second) ||
            has_twins;
        ids.push_back(run.run_id);
        keys.push_back(run.idempotency_key);
    }
    std::vector<std::string> ids;
    std::vector<std::string> keys;
    std::set<std::string> all;
    bool has_twins = false;
};

asio::awaitable<result<bool>>
remove_in(pg_transaction& in, const thread_key& key, std::vector<std::int64_t>& runs) {
    pg_batch look;
    look.push_back(lock_thread(key));
    look.emplace_back(runs_of, key.principal, key.thread_id);
    const std::vector<pg_rows> found = co_await in.read(std::move(look));
    const std::optional<thread_position> at = position_of(found.at(0));
    if (!at) { // It may still have attachments.
        pg_batch drop;
        drop.push_back(drop_attachments_of(key));
        co_await in.commit(std::move(drop));
        co_return false;
    }
    runs.clear();
    for (std::size_t i = 0; i < found.at(1).size(); ++i) {
        runs.push_back(found[1].integer(i, 0));
    }
    pg_batch writes;
    writes.emplace_back(note_removed, at->thread);
    writes.emplace_back(drop_thread, at->thread);
    writes.push_back(drop_attachments_of(key));
    co_await in.commit(std::move(writes));
    co_return true;
}

// The lock is a statement of its own, so that the writes see the changes that it waited for.
asio::awaitable<result<bool>> set_access_in(
    pg_transaction& in, const thread_key& key, const std::vector<access_entry>& entries,
    const std::string& new_id
) {
    pg_batch look;
    look.push_back(lock_thread(key));
    const std::vector<pg_rows> found = co_await in.read(std::move(look));
    const std::optional<thread_position> at = position_of(found.at(0));
    if (!at) {
        co_return false;
    }
    co_await in.commit(write_access(at->thread, entries, new_id));
    co_return true;
}

// Other beginnings need more than one call.
bool can_begin_at_once(const pg_threads::beginning& what) {
    const changes& change = what.stored.change;
    const run_record& run = what.run;
    return what.held && change.answered.empty() && change.dequeued.empty() && !change.run &&
           run.status == run_status::active && run.end_reason.empty() && run.answered_by.empty() &&
           run.ended_at == 0 && run.last_sequence == 0;
}

} // namespace

asio::awaitable<result<begun_run>> pg_threads::begin(std::shared_ptr<const beginning> what) {
    check_answered(what->run, what->stored.change);
    if (can_begin_at_once(*what)) {
        bool was_tried = false;
        co_return co_await transact<result<begun_run>>(
            parts_.shared.pool, parts_.shared.patience, {},
            [&](pg_transaction& in) {
                return begin_at_once(in, *what, std::exchange(was_tried, true));
            }
        );
    }
    const pg_purpose purpose{.gateway = what->held ? parts_.gateway.id() : 0};
    co_return co_await transact<result<begun_run>>(
        parts_.shared.pool, parts_.shared.patience, purpose,
        [&](pg_transaction& in) { return begin_in(in, *what, purpose.gateway); }
    );
}

bool pg_threads::is_still_held(const lease_ptr& held, const pg_rows& found) {
    if (!found.boolean(0, 0)) {
        parts_.leases.lose(held);
    }
    return held->is_held();
}

asio::awaitable<result<begun_run>>
pg_threads::begin_in(pg_transaction& in, const beginning& what, std::int64_t gateway) {
    const changes& change = what.stored.change;
    const run_names names(what.run, change.answered);
    if (what.held && !what.held->is_held()) {
        co_return lease_is_lost();
    }
    const thread_key& key = what.key;
    pg_batch look;
    look.push_back(lock_thread(key));
    look.push_back(is_run_taken(key, names.ids, names.keys));
    look.push_back(count_queued(key, change.dequeued));
    look.push_back(next_run_numbers(1 + change.answered.size()));
    look.emplace_back(next_thread_number, key.principal, key.thread_id);
    look.push_back(has_run(key, change.run ? change.run->number : 0));
    if (what.held) {
        look.push_back(parts_.leases.select_lease(*what.held));
    }
    const std::vector<pg_rows> found = co_await in.read(std::move(look));
    if (what.held && !is_still_held(what.held, found.at(6))) {
        co_return lease_is_lost();
    }
    const std::optional<thread_position> at = position_of(found.at(0));
    if (what.seen_version && *what.seen_version != seen_version_of(found.at(0))) {
        co_return thread_has_changed();
    }
    if (found.at(1).boolean(0, 0) || names.has_twins) {
        co_return run_id_taken();
    }
    if (!are_queued(found.at(2), change.dequeued)) {
        co_return thread_has_changed();
    }
    if (change.run && !found.at(5).boolean(0, 0)) {
        throw std::logic_error("a run must begin on the thread before its record changes");
    }
    const unix_ms own_now = parts_.shared.time.own_now();
    pg_batch writes;
    const std::int64_t thread = at ? at->thread : found.at(4).integer(0, 0);
    if (at) {
        change_thread(writes, what.stored, *at, what.run.started_at);
    } else {
        create_thread(writes, what.stored, thread, key, what.run.agent_id, what.run.started_at);
    }
    if (change.run) {
        writes.push_back(update_run(*change.run, own_now));
    }
    // Before the run's record, so that the run is the latest.
    take_queued(writes, thread, change, found.at(3), own_now);
    const std::int64_t number = found.at(3).integer(change.answered.size(), 0);
    const bool is_journaled = what.held && what.run.status == run_status::active;
    const pg_journal_place journal{gateway, parts_.logs.next_journal_row()};
    writes.push_back(
        add_run(thread, number, what.run, own_now, is_journaled ? journal : pg_journal_place())
    );
    const auto first_own =
        static_cast<node_index>((at ? at->size.messages : 0) + change.messages.size());
    if (what.held) {
        writes.push_back(parts_.leases.note_run(*what.held, number, first_own));
    }
    co_await in.commit(std::move(writes));
    co_return note_begun(
        what.held, number, first_own,
        is_journaled ? pg_logs::keeping::in_journal : pg_logs::keeping::in_rows
    );
}

begun_run pg_threads::note_begun(
    const lease_ptr& held, std::int64_t number, node_index first_own_message, pg_logs::keeping log
) {
    parts_.logs.open(number, 0, held, log);
    parts_.leases.set_begun(held, number, first_own_message);
    return {number};
}

asio::awaitable<result<begun_run>>
pg_threads::begin_at_once(pg_transaction& in, const beginning& what, bool is_again) {
    if (!what.held->is_held()) {
        co_return lease_is_lost();
    }
    const run_record& run = what.run;
    pg_statement call(
        begin_run, parts_.gateway.id(), what.held->token(), what.key.principal, what.key.thread_id,
        is_again, what.seen_version, run.run_id, run.parent_run_id, run.agent_id, run.input_digest,
        text_or_null(run.idempotency_key), run.protocol, run.started_at,
        parts_.logs.next_journal_row()
    );
    add_arguments(call.params, what.stored);
    pg_batch batch;
    batch.push_back(std::move(call));
    const std::vector<pg_rows> done = co_await in.write_at_once(std::move(batch));
    const std::string_view answer = done.at(0).text(0, 0);
    if (answer == "begun") {
        co_return note_begun(
            what.held, done[0].integer(0, 1), node_of(done[0].integer(0, 2)),
            pg_logs::keeping::in_journal
        );
    }
    if (answer == "lease lost") {
        parts_.leases.lose(what.held);
        co_return lease_is_lost();
    }
    co_return answer == "taken" ? run_id_taken() : thread_has_changed();
}

asio::awaitable<result<bool>> pg_threads::remove(thread_key key) {
    co_await parts_.logs.flush(0);
    std::vector<std::int64_t> runs;
    result<bool> outcome = // Must not be const: co_return would make `true` of a const one.
        co_await transact<result<bool>>(
            parts_.shared.pool, parts_.shared.patience, {},
            [&](pg_transaction& in) { return remove_in(in, key, runs); }
        );
    for (const std::int64_t run : runs) {
        parts_.logs.close(run);
    }
    co_return outcome;
}

asio::awaitable<result<bool>>
pg_threads::set_access(thread_key key, std::vector<access_entry> entries, std::string new_id) {
    co_return co_await transact<result<bool>>(
        parts_.shared.pool, parts_.shared.patience, {},
        [&](pg_transaction& in) { return set_access_in(in, key, entries, new_id); }
    );
}

asio::awaitable<result<std::vector<store::orphan>>> pg_threads::orphans(lease_ptr held) {
    if (!held->is_held()) {
        co_return lease_is_lost();
    }
    co_await parts_.logs.flush(0);
    std::vector<pg_rows> results = co_await list_orphans(parts_.shared, held);
    std::vector<std::int64_t> numbers;
    std::vector<std::int64_t> in_journals;
    for (std::size_t i = 0; i < results.at(0).size(); ++i) {
        numbers.push_back(results[0].integer(i, 0));
        if (results[0].integer(i, journal_column) != 0) {
            in_journals.push_back(results[0].integer(i, 0));
        }
    }
    if (!numbers.empty()) { // The ends of the runs go to their logs, whose partitions may be lost.
        (void)co_await write_at_once(parts_.shared, {}, [&numbers] {
            pg_batch batch;
            batch.push_back(need_days_of(numbers));
            return batch;
        });
    }
    if (!in_journals.empty()) {
        const std::int64_t gateway = number_holding(*held);
        if (gateway == 0) {
            co_return lease_is_lost();
        }
        co_await settle(std::move(in_journals), gateway);
        results = co_await list_orphans(parts_.shared, held);
    }
    const pg_rows& rows = results.at(0);
    std::vector<store::orphan> found;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        store::orphan& each = found.emplace_back();
        each.run = pg_run_at(rows, i);
        each.last_sequence = std::max(
            each.run.last_sequence, static_cast<std::uint64_t>(rows.integer(i, log_end_column))
        );
        if (rows.boolean(i, failed_over_column)) {
            // RUN_STARTED follows from the run's record: if it was lost, it is written again.
            each.run.sound_until = std::max<std::uint64_t>(each.last_sequence, 1);
        }
    }
    co_return found;
}

asio::awaitable<void> pg_threads::settle_all(std::vector<lease_ptr> claims) {
    std::erase_if(claims, [](const lease_ptr& each) { return !each->is_held(); });
    const std::int64_t gateway = claims.empty() ? 0 : number_holding(*claims.front());
    if (gateway == 0) {
        co_return;
    }
    const auto found = co_await read_at_once(parts_.shared, [&claims] {
        std::vector<std::string_view> principals;
        std::vector<std::string_view> threads;
        for (const lease_ptr& each : claims) {
            principals.emplace_back(each->key().principal);
            threads.emplace_back(each->key().thread_id);
        }
        pg_batch batch;
        batch.emplace_back(runs_of_threads, principals, threads);
        return batch;
    });
    std::vector<std::int64_t> runs;
    for (std::size_t i = 0; i < found.at(0).size(); ++i) {
        runs.push_back(found[0].integer(i, 0));
    }
    co_await settle(std::move(runs), gateway);
}

asio::awaitable<void> pg_threads::settle_released(std::vector<std::int64_t> runs) {
    const std::int64_t gateway = parts_.gateway.id();
    std::vector<std::int64_t> left = co_await parts_.logs.wait_for_writers(std::move(runs));
    // Under another number the leases are lost, and others settle the runs.
    if (gateway != 0 && gateway == parts_.gateway.id()) {
        co_await settle(std::move(left), gateway);
    }
}

// After a wait, the process may have another number, under which it must not write for a lease of
// the former one, or none. No gateway is fenced under number 0.
std::int64_t pg_threads::number_holding(const lease& held) const noexcept {
    return held.is_held() ? parts_.gateway.id() : 0;
}

asio::awaitable<void> pg_threads::settle(std::vector<std::int64_t> runs, std::int64_t gateway) {
    co_await settle_runs(parts_.shared, gateway, runs);
    parts_.logs.leave_journal(runs);
}

} // namespace agui::session
