// The entries of active runs in the journal of their gateway, until they are rows.
#include "session/postgres/pg_journal.hpp"
#include "session/postgres/postgres_store.hpp"
#include "tests/session/postgres/postgres_stores.hpp"

#include <algorithm>

namespace agui::session {
namespace {

using namespace std::chrono_literals;

using test::frames_of;
using test::key_of;
using test::recording_observer;
using test::slice_of;
using test::thread_1;
using test::thread_2;
using test::user_turn;

std::string delta(int number) {
    return R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"0123456789abcdef","delta":")" +
           std::to_string(number) + "\"}";
}

pg_log_row row_from(std::uint64_t first, const std::vector<std::string>& frames) {
    pg_log_row row;
    row.run = 7;
    row.first_sequence = first;
    row.append(slice_of(7, first, frames));
    return row;
}

std::vector<std::string> texts(const std::vector<log_entry>& entries) {
    std::vector<std::string> all;
    for (const log_entry& each : entries) {
        all.push_back(std::to_string(each.sequence) + " " + each.json + each.variants);
    }
    return all;
}

TEST(PgChain, PartsAreReadAsTheRowsThatTheyWereMadeOf) {
    pg_chain chain;
    const std::string one = chain.append(row_from(4, {delta(1), delta(2)}));
    const std::string two = chain.append(row_from(6, {delta(3)}));

    pg_parts_reader reader(3);
    std::vector<log_entry> entries;
    EXPECT_TRUE(reader.read(one, entries));
    EXPECT_TRUE(reader.read(one, entries)) << "written twice";
    EXPECT_TRUE(reader.read(two, entries));
    const std::vector<std::string> expected{"4 " + delta(1), "5 " + delta(2), "6 " + delta(3)};
    EXPECT_EQ(texts(entries), expected);
    EXPECT_EQ(reader.end(), 6U);
    EXPECT_EQ(texts(entries_of(chain.as_row(7))), expected);
    EXPECT_EQ(chain.first(), 4U);
    EXPECT_LT(two.size(), 10U) << "a delta takes its text and a few bytes";
}

TEST(PgChain, KeepsTheFormsForOlderProtocols) {
    log_slice slice = slice_of(7, 1, {"a", "b"});
    slice.variants.emplace_back(1, "older");
    pg_log_row row;
    row.first_sequence = 1;
    row.append(slice);
    pg_chain chain;
    std::vector<log_entry> entries;
    EXPECT_TRUE(pg_parts_reader(0).read(chain.append(row), entries));
    EXPECT_EQ(texts(entries), (std::vector<std::string>{"1 a", "2 bolder"}));
    EXPECT_EQ(texts(entries_of(chain.as_row(7))), texts(entries));
}

TEST(PgChain, GapsAndDamageAreNoticed) {
    pg_chain chain;
    std::vector<log_entry> entries;
    const std::string one = chain.append(row_from(1, {delta(1)}));
    const std::string two = chain.append(row_from(2, {delta(2)}));
    EXPECT_FALSE(pg_parts_reader(0).read(two, entries)) << "the first is missing";
    EXPECT_FALSE(pg_parts_reader(1).read(two, entries)) << "it goes on after one that is unknown";
    EXPECT_FALSE(pg_parts_reader(0).read("", entries));
    for (std::size_t size = 0; size < one.size(); ++size) {
        EXPECT_FALSE(pg_parts_reader(0).read(std::string_view(one).substr(0, size), entries));
    }
}

TEST(PgChain, APartThatWasNotWrittenIsTakenBack) {
    pg_chain chain;
    (void)chain.append(row_from(1, {delta(1)}));
    const pg_chain::mark before = chain.position();
    (void)chain.append(row_from(2, {"lost", "lost too"}));
    chain.roll_back(before);
    (void)chain.append(row_from(2, {delta(2)}));
    EXPECT_EQ(
        texts(entries_of(chain.as_row(7))),
        (std::vector<std::string>{"1 " + delta(1), "2 " + delta(2)})
    );
}

class PostgresJournal : public test::postgres_stores {
protected:
    void SetUp() override {
        postgres_stores::SetUp();
        if (database_) {
            store_ = open();
        }
    }
    void TearDown() override { store_.reset(); }

    std::unique_ptr<store>
    open_with(std::chrono::milliseconds longest, std::chrono::milliseconds sweeps) {
        return std::make_unique<postgres_store>(
            settings(), pg_logs::settings{.longest_in_journal = longest, .between_sweeps = sweeps}
        );
    }
    std::string rows() { return sql("SELECT count(*) FROM agui.log_rows"); }
    std::vector<std::string> log_of(store& on, std::int64_t run) {
        return frames_of(get(on.read_log(run, 0, 1000)));
    }
    void
    say(std::int64_t run, std::uint64_t first, const std::vector<std::string>& frames,
        const lease_ptr& held) {
        const auto observer = std::make_shared<recording_observer>();
        store_->append_log(slice_of(run, first, frames), observer, held);
        EXPECT_TRUE(observer->wait_durable(first + frames.size() - 1));
    }
    /// The journal's rows that a reader of an active run has to read.
    std::string earlier_rows_needed() {
        return sql("SELECT count(*) FROM agui.journal j JOIN agui.runs r "
                   "ON j.writer = r.journal_writer AND j.batch >= r.journal_from");
    }
    std::string oldest_row() { return sql("SELECT min(batch) FROM agui.journal"); }
    /// The first row of the journal that has entries of the run.
    std::string row_of(std::int64_t run) {
        return sql(
            "SELECT min(batch) FROM agui.journal WHERE " + std::to_string(run) + " = ANY (runs)"
        );
    }
    /// Claims the leases of a store whose gateway is dead for the others.
    std::vector<lease_ptr> claim_all(store& by) {
        sql("UPDATE agui.gateways SET expires = now() - interval '1 s' WHERE id IN "
            "(SELECT gateway FROM agui.leases)");
        return get(by.claim_orphans(10));
    }
    lease_ptr claim(store& by) {
        const auto claims = claim_all(by);
        EXPECT_EQ(claims.size(), 1U);
        return claims.at(0);
    }
    /// From here on, the server cannot read the columns where `condition` is true.
    void damage(const std::string& table, const std::string& columns, const std::string& what) {
        sql("CREATE FUNCTION agui.damaged() RETURNS bytea[] LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'invalid page' USING ERRCODE = 'XX001'; END $$;"
            "ALTER TABLE agui." +
            table + " RENAME TO whole; CREATE VIEW agui." + table + " AS SELECT " + columns + ", " +
            what + " FROM agui.whole");
    }

    std::unique_ptr<store> store_;
};

TEST_F(PostgresJournal, ARunThatEndsHasRowsAndNothingInTheJournal) {
    const lease_ptr held = get(store_->acquire(thread_1, "run_1"));
    const std::int64_t run = begin(*store_, thread_1, "run_1", held);
    say(run, 1, {"a", "b"}, held);
    say(run, 3, {"c"}, held);
    EXPECT_EQ(rows(), "0");
    EXPECT_EQ(log_of(*store_, run), (std::vector<std::string>{"a", "b", "c"}));
    EXPECT_EQ(get(store_->read_log(run, 1, 1)).at(0).json, "b");
    EXPECT_EQ(get(store_->read_log(run, 3, 10)).size(), 0U);

    done(store_->commit(thread_1, end_of(run, "run_1", 4), slice_of(run, 4, {"end"}), {held, true})
    );
    EXPECT_EQ(sql("SELECT journal_writer FROM agui.runs"), "0");
    EXPECT_EQ(log_of(*store_, run), (std::vector<std::string>{"a", "b", "c", "end"}));
    EXPECT_EQ(sql("SELECT log_bytes IS NULL FROM agui.runs"), "f") << "nothing is left to join";
}

TEST_F(PostgresJournal, ACommitMovesTheLogIntoRowsAndTheJournalContinues) {
    const lease_ptr held = get(store_->acquire(thread_1, "run_1"));
    const std::int64_t run = begin(*store_, thread_1, "run_1", held, user_turn("m1", "Hi"));
    say(run, 1, {delta(1), delta(2)}, held);
    done(store_->commit(thread_1, user_turn("m2", "x", 1), slice_of(run, 3, {"call"}), {held}));
    EXPECT_EQ(sql("SELECT max(last_sequence) FROM agui.log_rows"), "3");
    EXPECT_EQ(earlier_rows_needed(), "0") << "a reader need not look at them";
    say(run, 4, {delta(4)}, held);
    say(run, 5, {delta(5)}, held);
    EXPECT_EQ(
        log_of(*store_, run),
        (std::vector<std::string>{delta(1), delta(2), "call", delta(4), delta(5)})
    );
    EXPECT_EQ(log_of(*open(), run).size(), 5U) << "also for another gateway";
}

TEST_F(PostgresJournal, ATakenOverRunHasAllThatItsGatewayHasShown) {
    const lease_ptr held = get(store_->acquire(thread_1, "run_1"));
    const std::int64_t run = begin(*store_, thread_1, "run_1", held);
    say(run, 1, {delta(1), delta(2)}, held);
    say(run, 3, {delta(3)}, held);

    const auto other = open();
    const lease_ptr claimed = claim(*other);
    EXPECT_EQ(sql("SELECT journal_writer FROM agui.runs"), "0");
    const auto orphans = get(other->orphans(claimed));
    ASSERT_EQ(orphans.size(), 1U);
    EXPECT_EQ(orphans[0].last_sequence, 3U);

    done(
        other->commit(thread_1, end_of(run, "run_1", 4), slice_of(run, 4, {"end"}), {claimed, true})
    );
    EXPECT_EQ(log_of(*other, run), (std::vector<std::string>{delta(1), delta(2), delta(3), "end"}));
}

TEST_F(PostgresJournal, ScrubbingTakesOutErasedRunsOnly) {
    store_ = open_with(1h, 1h); // Nothing else cleans the journal.
    const lease_ptr other = get(store_->acquire(thread_2, "other"));
    const std::int64_t kept = begin(*store_, thread_2, "other", other);
    const lease_ptr held = get(store_->acquire(thread_1, "run_1"));
    const std::int64_t run = begin(*store_, thread_1, "run_1", held);
    say(kept, 1, {delta(1)}, other);
    say(run, 1, {"secret"}, held);
    const std::string rows_before = sql("SELECT count(*) FROM agui.journal");
    done(store_->commit(thread_1, end_of(run, "run_1", 2), slice_of(run, 2, {"end"}), {held, true})
    );
    EXPECT_TRUE(get(store_->remove(thread_1)));
    EXPECT_NE(row_of(run), "");
    const std::string late = std::to_string(run);
    sql("INSERT INTO agui.failed_attempts (run, at, model, status, request_id, bytes, body) VALUES "
        "(" +
        late + ", 1, '', 0, '', 6, 'secret')");

    done(store_->scrub());

    EXPECT_EQ(row_of(run), "");
    EXPECT_EQ(sql("SELECT count(*) FROM agui.failed_attempts"), "0");
    EXPECT_EQ(sql("SELECT count(*) FROM agui.journal"), rows_before) << "a missing row is a loss";
    say(kept, 2, {delta(2)}, other);
    EXPECT_EQ(log_of(*open(), kept), (std::vector<std::string>{delta(1), delta(2)}));
}

TEST_F(PostgresJournal, ALongRunGetsRowsFromTimeToTime) {
    const lease_ptr held = get(store_->acquire(thread_1, "run_1"));
    const std::int64_t run = begin(*store_, thread_1, "run_1", held);
    const std::string large(10'000, 'x');
    say(run, 1, {delta(1)}, held);
    say(run, 2, {large + "1"}, held);
    EXPECT_EQ(rows(), "0");
    say(run, 3, {large + "2"}, held);
    EXPECT_EQ(sql("SELECT last_sequence FROM agui.log_rows"), "3");
    EXPECT_EQ(earlier_rows_needed(), "0");
    say(run, 4, {delta(4)}, held);
    EXPECT_EQ(
        log_of(*store_, run),
        (std::vector<std::string>{delta(1), large + "1", large + "2", delta(4)})
    );
}

// A server that lags behind takes over, so the gateway writes the acknowledged entries again.
TEST_F(PostgresJournal, LostJournalEntriesAreWrittenAgain) {
    const lease_ptr held = get(store_->acquire(thread_1, "run_1"));
    const lease_ptr other_held = get(store_->acquire(thread_2, "run_2"));
    const std::int64_t run = begin(*store_, thread_1, "run_1", held);
    const std::int64_t other_run = begin(*store_, thread_2, "run_2", other_held);
    say(run, 1, {delta(1), delta(2)}, held);
    say(other_run, 1, {"x"}, other_held);
    sql("DELETE FROM agui.journal");
    database_->end_sessions();

    say(run, 3, {delta(3)}, held);
    const auto reader = open();
    EXPECT_TRUE(happens([&] {
        return failure_of(reader->read_log(other_run, 0, 10)) == errc::internal;
    })) << "also what a run has said that is silent now";
    say(other_run, 2, {"y"}, other_held);
    EXPECT_EQ(log_of(*reader, run), (std::vector<std::string>{delta(1), delta(2), delta(3)}));
    EXPECT_EQ(log_of(*reader, other_run), (std::vector<std::string>{"x", "y"}));
}

TEST_F(PostgresJournal, LostEntriesAreWrittenAgainHoweverMany) {
    constexpr int runs = 40; // Their chains, as rows, exceed the size of a batch.
    std::vector<std::int64_t> numbers;
    std::vector<lease_ptr> held;
    const std::string large(14'000, 'x');
    for (int i = 0; i < runs; ++i) {
        const thread_key key = key_of("thread_" + std::to_string(i));
        held.push_back(get(store_->acquire(key, "run_1")));
        numbers.push_back(begin(*store_, key, "run_1", held.back()));
        say(numbers.back(), 1, {large}, held.back());
    }
    sql("DELETE FROM agui.journal");
    database_->end_sessions();

    say(numbers.front(), 2, {delta(2)}, held.front());
    EXPECT_TRUE(happens([&] {
        return sql("SELECT count(DISTINCT run) FROM agui.log_rows") == std::to_string(runs);
    }));
    EXPECT_EQ(log_of(*open(), numbers.back()), std::vector<std::string>{large});
}

TEST_F(PostgresJournal, ALogThatHasLostARowOfTheJournalIsGone) {
    const lease_ptr held = get(store_->acquire(thread_1, "run_1"));
    const std::int64_t run = begin(*store_, thread_1, "run_1", held);
    say(run, 1, {delta(1)}, held);
    say(run, 2, {delta(2)}, held);
    sql("DELETE FROM agui.journal WHERE batch = (SELECT min(batch) FROM agui.journal)");
    EXPECT_EQ(failure_of(store_->read_log(run, 0, 10)), errc::run_expired);

    const auto other = open();
    const lease_ptr claimed = claim(*other);
    (void)get(other->orphans(claimed));
    EXPECT_EQ(failure_of(other->read_log(run, 0, 10)), errc::run_expired) << "also from rows";
}

TEST_F(PostgresJournal, AnAbandonedRunHasAllThatWasShown) {
    const lease_ptr held = get(store_->acquire(thread_1, "run_1"));
    const std::int64_t run = begin(*store_, thread_1, "run_1", held);
    say(run, 1, {delta(1)}, held);
    const auto observer = std::make_shared<recording_observer>();
    const auto other = open();
    {
        test::sql_session blocker(database_->url());
        blocker("BEGIN; LOCK TABLE agui.journal IN SHARE MODE");
        store_->append_log(slice_of(run, 2, {delta(2)}), observer, held);
        EXPECT_TRUE(happens([&] {
            return sql("SELECT count(*) FROM pg_locks WHERE NOT granted AND "
                       "relation = 'agui.journal'::regclass") != "0";
        }));
        store_->release(held);
        // The release completes its waiting work, but nothing reports that it has not.
        const auto until = std::chrono::steady_clock::now() + 300ms;
        while (std::chrono::steady_clock::now() < until) {
            EXPECT_EQ(sql("SELECT gateway <> 0 FROM agui.leases"), "t")
                << "its last entries are being written";
        }
        blocker("COMMIT");
    }
    EXPECT_TRUE(observer->wait_durable(2));
    std::vector<lease_ptr> claims;
    EXPECT_TRUE(happens([&] {
        if (claims.empty()) {
            claims = get(other->claim_orphans(10));
        }
        return !claims.empty();
    }));
    EXPECT_EQ(log_of(*other, run), (std::vector<std::string>{delta(1), delta(2)}));
}

TEST_F(PostgresJournal, AGatewayTakesOverARunThatItAbandonedItself) {
    const lease_ptr held = get(store_->acquire(thread_1, "run_1"));
    const std::int64_t run = begin(*store_, thread_1, "run_1", held);
    say(run, 1, {delta(1), delta(2)}, held);
    store_->release(held);
    const lease_ptr again = acquire_soon(*store_, thread_1, "");
    EXPECT_EQ(get(store_->orphans(again)).at(0).last_sequence, 2U);
    done(store_->commit(thread_1, end_of(run, "run_1", 3), slice_of(run, 3, {"end"}), {again, true})
    );
    EXPECT_EQ(log_of(*store_, run), (std::vector<std::string>{delta(1), delta(2), "end"}));
}

TEST_F(PostgresJournal, EntriesThatAreOldBecomeARow) {
    store_ = open_with(1ms, 1ms);
    const lease_ptr held = get(store_->acquire(thread_1, "run_1"));
    const std::int64_t run = begin(*store_, thread_1, "run_1", held);
    say(run, 1, {delta(1)}, held);
    EXPECT_TRUE(happens([&] { return rows() == "1"; })) << "the run is silent";
    EXPECT_EQ(earlier_rows_needed(), "0");
    say(run, 2, {delta(2)}, held);
    EXPECT_EQ(log_of(*open(), run), (std::vector<std::string>{delta(1), delta(2)}));
}

TEST_F(PostgresJournal, RowsThatNoRunNeedsAreDeleted) {
    store_ = open_with(1h, 1ms);
    const lease_ptr held = get(store_->acquire(thread_1, "run_1"));
    const lease_ptr other_held = get(store_->acquire(thread_2, "run_2"));
    const std::int64_t run = begin(*store_, thread_1, "run_1", held);
    const std::int64_t other_run = begin(*store_, thread_2, "run_2", other_held);
    say(run, 1, {"a"}, held);
    say(other_run, 1, {"x"}, other_held);
    say(run, 2, {"b"}, held);
    const std::string needed =
        sql("SELECT min(batch) FROM agui.journal WHERE " + std::to_string(other_run) +
            " = ANY (runs)");

    done(store_->commit(thread_1, end_of(run, "run_1", 3), slice_of(run, 3, {"end"}), {held, true})
    );

    EXPECT_TRUE(happens([&] { return oldest_row() == needed; }));
    EXPECT_EQ(log_of(*store_, other_run), std::vector<std::string>{"x"});
}

// A standby that was behind has the run as active, and its rows, although its gateway has ended it.
TEST_F(PostgresJournal, RowsOfARunThatAFailoverBroughtBackStay) {
    postgres_settings given = settings();
    // The lease is renewed each third of that, and then the gateway notices the failover.
    given.lease = 6s;
    store_ = std::make_unique<postgres_store>(
        given, pg_logs::settings{.longest_in_journal = 1h, .between_sweeps = 1ms}
    );
    const lease_ptr held = get(store_->acquire(thread_1, "run_1"));
    const lease_ptr other_held = get(store_->acquire(thread_2, "run_2"));
    const std::int64_t run = begin(*store_, thread_1, "run_1", held);
    const std::int64_t other_run = begin(*store_, thread_2, "run_2", other_held);
    say(run, 1, {"a"}, held);
    say(run, 2, {"b"}, held);
    sql("CREATE TABLE behind AS SELECT * FROM agui.runs");
    sql("CREATE TABLE its_lease AS SELECT * FROM agui.leases WHERE thread_id = 'thread_1'");
    sql("CREATE OR REPLACE FUNCTION agui.timeline() RETURNS bigint LANGUAGE sql AS "
        "'SELECT 1000::bigint'");
    done(store_->commit(thread_1, end_of(run, "run_1", 3), slice_of(run, 3, {"end"}), {held, true})
    );
    sql("DELETE FROM agui.log_rows WHERE run = " + std::to_string(run));
    sql("DELETE FROM agui.runs; INSERT INTO agui.runs SELECT * FROM behind");
    sql("INSERT INTO agui.leases SELECT * FROM its_lease");
    say(other_run, 1, {"x"}, other_held);

    std::vector<lease_ptr> claims;
    EXPECT_TRUE(happens([&] {
        if (claims.empty()) {
            claims = get(store_->claim_orphans(10));
        }
        return !claims.empty();
    }));

    ASSERT_EQ(claims.size(), 1U);
    EXPECT_EQ(get(store_->orphans(claims[0])).at(0).last_sequence, 2U);
    EXPECT_EQ(log_of(*store_, run), (std::vector<std::string>{"a", "b"}));
    EXPECT_TRUE(happens([&] { return oldest_row() == row_of(other_run); }))
        << "then nobody needs them";
}

TEST_F(PostgresJournal, TheNextOwnerOfAReleasedRunHasAllThatWasShown) {
    store_ = open_with(1h, 1ms);
    const auto other = open();
    const lease_ptr held = get(store_->acquire(thread_1, "run_1"));
    const lease_ptr other_held = get(store_->acquire(thread_2, "run_2"));
    const std::int64_t run = begin(*store_, thread_1, "run_1", held);
    const std::int64_t other_run = begin(*store_, thread_2, "run_2", other_held);
    say(run, 1, {"a"}, held);
    say(run, 2, {"b"}, held);

    store_->release(held);

    EXPECT_TRUE(happens([&] { return sql("SELECT min(gateway) FROM agui.leases") == "0"; }));
    say(other_run, 1, {"x"}, other_held);
    EXPECT_TRUE(happens([&] { return oldest_row() == row_of(other_run); }))
        << "the gateway needs no earlier rows";
    const auto claims = get(other->claim_orphans(10));
    ASSERT_EQ(claims.size(), 1U);
    EXPECT_EQ(get(other->orphans(claims[0])).at(0).last_sequence, 2U);
    EXPECT_EQ(log_of(*other, run), (std::vector<std::string>{"a", "b"}));
}

TEST_F(PostgresJournal, ARunThatWasTakenOverKeepsNoRowsOfTheJournal) {
    store_ = open_with(1h, 1ms);
    const auto other = open();
    const lease_ptr held = get(store_->acquire(thread_1, "run_1"));
    const lease_ptr other_held = get(store_->acquire(thread_2, "run_2"));
    const std::int64_t run = begin(*store_, thread_1, "run_1", held);
    const std::int64_t other_run = begin(*store_, thread_2, "run_2", other_held);
    say(run, 1, {"a"}, held);
    // Simulates a failover that lost the lease, after which another gateway took over the run.
    sql("DELETE FROM agui.leases WHERE run_id = 'run_1'; "
        "UPDATE agui.runs SET journal_writer = 0 WHERE run_id = 'run_1'");
    EXPECT_EQ(
        failure_of(store_->commit(thread_1, {}, slice_of(run, 2, {"b"}), {held})), errc::lease_lost
    );

    say(other_run, 1, {"x"}, other_held);
    EXPECT_TRUE(happens([&] { return oldest_row() == row_of(other_run); }));
}

TEST_F(PostgresJournal, AnOrphanWhoseRowsCannotBeReadCanBeEnded) {
    const lease_ptr held = get(store_->acquire(thread_1, "run_1"));
    const std::int64_t run = begin(*store_, thread_1, "run_1", held);
    say(run, 1, {"a"}, held);
    const auto other = open();
    damage(
        "log_rows", "run, first_sequence, events, lengths, variants",
        "cardinality(agui.damaged())::bigint AS last_sequence"
    );
    sql("INSERT INTO agui.whole VALUES (" + std::to_string(run) + ", 1, 1, '', '', '')");

    const lease_ptr claimed = claim(*other);
    ASSERT_EQ(get(other->orphans(claimed)).size(), 1U);
    EXPECT_EQ(failure_of(other->read_log(run, 0, 10)), errc::run_expired);
    done(other->commit(thread_1, end_of(run, "run_1", 0), std::nullopt, {claimed, true}));
    EXPECT_EQ(get(other->find_run(thread_1, "run_1"))->status, run_status::finished);
}

TEST_F(PostgresJournal, ADamagedPageOfTheJournalTakesOneLogAlong) {
    const lease_ptr held = get(store_->acquire(thread_1, "run_1"));
    const lease_ptr other_held = get(store_->acquire(thread_2, "run_2"));
    const std::int64_t run = begin(*store_, thread_1, "run_1", held);
    const std::int64_t other_run = begin(*store_, thread_2, "run_2", other_held);
    say(run, 1, {"a"}, held);
    say(other_run, 1, {"x"}, other_held);
    const auto other = open();
    damage(
        "journal", "writer, batch, runs",
        "CASE batch WHEN " + row_of(run) + " THEN agui.damaged() ELSE entries END AS entries"
    );

    const auto claims = claim_all(*other);

    ASSERT_EQ(claims.size(), 2U);
    EXPECT_EQ(sql("SELECT count(*) FROM agui.runs WHERE journal_writer <> 0"), "0");
    for (const lease_ptr& each : claims) {
        EXPECT_EQ(get(other->orphans(each)).size(), 1U);
    }
    EXPECT_EQ(failure_of(other->read_log(run, 0, 10)), errc::run_expired);
    EXPECT_EQ(log_of(*other, other_run), std::vector<std::string>{"x"});
}

TEST_F(PostgresJournal, ARunWhosePartitionIsLostIsTakenOverWithTheOthers) {
    const lease_ptr held = get(store_->acquire(thread_1, "run_1"));
    const std::int64_t run = begin(*store_, thread_1, "run_1", held);
    say(run, 1, {"a"}, held);
    const auto other = open();
    sql("DO $$ BEGIN EXECUTE 'DROP TABLE agui.log_rows_' || agui.today(); END $$");

    (void)claim(*other);

    EXPECT_EQ(sql("SELECT journal_writer FROM agui.runs"), "0");
    EXPECT_EQ(log_of(*other, run), std::vector<std::string>{"a"});
}

TEST_F(PostgresJournal, ARunThatAnswersAQueuedRequestIsInTheJournal) {
    (void)begin(*store_, thread_1, "run_0", nullptr);
    queued_request request;
    request.run_id = "run_1";
    const std::int64_t queued =
        get(store_->enqueue(thread_1, request, {.requests = 10, .bytes = 1000}));
    const lease_ptr held = get(store_->acquire(thread_1, "run_1"));
    changes change;
    change.dequeued = {queued};
    const std::int64_t run = begin(*store_, thread_1, "run_1", held, change);
    say(run, 1, {"a"}, held);
    EXPECT_EQ(rows(), "0");
    EXPECT_EQ(log_of(*open(), run), std::vector<std::string>{"a"});
}

TEST_F(PostgresJournal, EntriesThatNeedNotReachTheDiskAreReadAsOthers) {
    postgres_settings relaxed = settings();
    relaxed.durability = durability::relaxed;
    store_ = make_postgres_store(relaxed);
    const lease_ptr held = get(store_->acquire(thread_1, "run_1"));
    const std::int64_t run = begin(*store_, thread_1, "run_1", held);
    say(run, 1, {"a"}, held);
    EXPECT_EQ(log_of(*open(), run), std::vector<std::string>{"a"});
    EXPECT_EQ(sql("SELECT count(*) FROM agui.journal"), "1");
}

TEST_F(PostgresJournal, JournalsOfGatewaysThatAreGoneAreDropped) {
    const lease_ptr held = get(store_->acquire(thread_1, "run_1"));
    const std::int64_t run = begin(*store_, thread_1, "run_1", held);
    say(run, 1, {delta(1)}, held);
    store_.reset();
    const auto other = open();
    done(other->drop_logs({}));
    EXPECT_EQ(log_of(*other, run), std::vector<std::string>{delta(1)}) << "the run is active";

    const auto claims = get(other->claim_orphans(10));
    ASSERT_EQ(claims.size(), 1U);
    done(other->drop_logs({}));
    EXPECT_EQ(sql("SELECT count(*) FROM agui.journal"), "0");
    EXPECT_EQ(log_of(*other, run), std::vector<std::string>{delta(1)});
}

} // namespace
} // namespace agui::session
