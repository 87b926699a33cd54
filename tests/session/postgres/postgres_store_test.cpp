// Details of the store in PostgreSQL: its schema, the rows of its logs, its secrets.
#include "session/postgres/pg_schema.hpp"
#include "session/postgres/pg_target.hpp"
#include "tests/session/postgres/postgres_stores.hpp"
#include "tests/support/patience.hpp"

#include <thread>

namespace agui::session {
namespace {

namespace asio = boost::asio;

using test::frames_of;
using test::key_of;
using test::recording_observer;
using test::run_of;
using test::slice_of;
using test::thread_1;
using test::user_turn;

class PostgresStore : public test::postgres_stores {
protected:
    std::string message_of_failure(const postgres_settings& given) {
        try {
            (void)make_postgres_store(given);
        } catch (const std::runtime_error& error) {
            return error.what();
        }
        return "";
    }
};

TEST_F(PostgresStore, KeepsItsDataWhenItIsOpenedAgain) {
    std::int64_t number = 0;
    {
        const auto store = open();
        number = begin(*store, thread_1, "run_1", nullptr, user_turn("m1", "Hello"));
        done(store->commit(thread_1, end_of(number, "run_1", 1), slice_of(number, 1, {"end"})));
    }
    const auto store = open();
    EXPECT_EQ(get(store->load(thread_1))->nodes.size(), 1U);
    EXPECT_EQ(frames_of(get(store->read_log(number, 0, 10))), std::vector<std::string>{"end"});
    EXPECT_LT(number, begin(*store, thread_1, "run_2", nullptr));
}

TEST_F(PostgresStore, AllGatewaysHaveTheSameSigningKey) {
    const auto one = open();
    const auto other = open();

    EXPECT_EQ(one->signing_key().size(), signing_key_bytes);
    EXPECT_EQ(one->signing_key(), other->signing_key());
}

TEST_F(PostgresStore, KeepsIdsThatAreNotText) {
    const auto store = open();
    const thread_key odd{std::string("a\0b\xff", 4), "thread \xc3\x28 \xf0\x9f\x98\x80"};
    changes change = user_turn("m1", std::string("nul \0 and \xff", 11));
    change.title = std::string("t\0\xfe", 3);
    begin(*store, odd, std::string("run\0", 4), nullptr, change);

    const auto found = get(store->load(odd)).value();
    EXPECT_EQ(found.key, odd);
    EXPECT_EQ(found.title, change.title);
    EXPECT_EQ(found.nodes.at(0).message, change.messages[0].message);
    EXPECT_TRUE(get(store->find_run(odd, std::string("run\0", 4))));
    EXPECT_FALSE(get(store->find_run(odd, "run")));
    EXPECT_EQ(get(store->list(test::query_of(odd.principal))).threads.at(0).key, odd);
}

TEST_F(PostgresStore, TextIsNotSql) {
    const auto store = open();
    const thread_key evil{"'; DROP SCHEMA agui CASCADE; --", "$1' \\"};
    begin(*store, evil, "run_1'); SELECT 1; --", nullptr, user_turn("'", "'$$"));
    EXPECT_TRUE(get(store->find_run(evil, "run_1'); SELECT 1; --")));
    EXPECT_EQ(get(store->load(evil))->nodes.size(), 1U);
}

TEST_F(PostgresStore, SeveralMayStartAtOnceOnANewDatabase) {
    std::vector<std::thread> threads;
    std::atomic<int> started = 0;
    for (int i = 0; i < 6; ++i) {
        threads.emplace_back([&] {
            const auto store = make_postgres_store(settings());
            started += store->unavailable().empty() ? 1 : 0;
        });
    }
    for (std::thread& each : threads) {
        each.join();
    }
    EXPECT_EQ(started, 6);
    EXPECT_EQ(sql("SELECT schema_version FROM agui.meta"), std::to_string(pg_newest_version()));
    EXPECT_EQ(sql("SELECT count(*) FROM agui.meta"), "1");
}

TEST_F(PostgresStore, UsesANewerSchemaThatSaysThatItCanBeRead) {
    (void)open();
    sql("UPDATE agui.meta SET schema_version = 1000");
    const auto store = open();
    EXPECT_NE(begin(*store, thread_1, "run_1", nullptr), 0);
    EXPECT_EQ(sql("SELECT schema_version FROM agui.meta"), "1000");
}

TEST_F(PostgresStore, RefusesASchemaThatIsTooNew) {
    (void)open();
    sql("UPDATE agui.meta SET schema_version = 1000, min_reader_version = 999");
    EXPECT_NE(
        message_of_failure(settings()).find("newer version of this program"), std::string::npos
    ) << message_of_failure(settings());
}

TEST_F(PostgresStore, MigratesStepByStepAndAllOrNothing) {
    (void)open();
    const char* const good[] = {"CREATE TABLE agui.added (v bigint)"};
    const char* const bad[] = {"CREATE TABLE agui.more (v bigint)", "SELECT 1/0"};
    std::vector<pg_migration> steps(pg_migrations().begin(), pg_migrations().end());
    steps.push_back({good, true});
    steps.push_back({bad, false});
    const pg_target target(database_->url(), "");
    pg_pool pool(context().get_executor(), target, {.size = 1, .prepares = true});

    EXPECT_ANY_THROW(run(open_pg_schema(pool, {}, steps)));
    EXPECT_EQ(sql("SELECT to_regclass('agui.added') IS NULL"), "t");
    EXPECT_EQ(sql("SELECT schema_version FROM agui.meta"), std::to_string(pg_newest_version()));

    steps.pop_back();
    run(open_pg_schema(pool, {}, steps));
    EXPECT_EQ(sql("SELECT to_regclass('agui.added') IS NULL"), "f");
    const std::string next = std::to_string(pg_newest_version() + 1);
    EXPECT_EQ(sql("SELECT schema_version FROM agui.meta"), next);
    EXPECT_EQ(sql("SELECT min_reader_version FROM agui.meta"), next);
    EXPECT_FALSE(message_of_failure(settings()).empty()) << "this version is too old by now";
}

TEST_F(PostgresStore, OpensTheFirstVersionAndKeepsItsLeases) {
    const pg_target target(database_->url(), "");
    pg_pool pool(context().get_executor(), target, {.size = 1, .prepares = true});
    run(open_pg_schema(pool, {}, pg_migrations().first(1)));
    EXPECT_EQ(sql("SELECT schema_version FROM agui.meta"), std::to_string(pg_first_version));
    sql("INSERT INTO agui.gateways (id, expires, knows_version) OVERRIDING SYSTEM VALUE VALUES "
        "(7, now() + interval '1 hour', 9)");
    sql("INSERT INTO agui.leases (principal, thread_id, gateway, token, run_id) VALUES "
        "('p', 't', 7, 3, 'run_1')");

    const auto store = open();

    EXPECT_EQ(failure_of(store->acquire(key_of("t", "p"), "run_2")), errc::thread_busy);
    EXPECT_EQ(sql("SELECT token FROM agui.leases"), "3");
}

TEST_F(PostgresStore, RefusesASchemaThatIsTooOld) {
    (void)open();
    const std::string old = std::to_string(pg_first_version - 1);
    sql("UPDATE agui.meta SET schema_version = " + old);
    const std::string text = message_of_failure(settings());
    EXPECT_NE(
        text.find(
            "an older version of this program (schema version " + old +
            "; known: " + std::to_string(pg_first_version)
        ),
        std::string::npos
    ) << text;
    EXPECT_EQ(sql("SELECT schema_version FROM agui.meta"), old);
}

TEST_F(PostgresStore, ProgramsThatKnowNoOtherVersionRefuseTheFirst) {
    (void)open();
    EXPECT_EQ(sql("SELECT min_reader_version FROM agui.meta"), std::to_string(pg_first_version));
}

TEST_F(PostgresStore, GatewaysThatAreTooOldForANewVersionLoseTheirLeases) {
    const std::string enroll = "INSERT INTO agui.gateways (id, expires, knows_version) "
                               "OVERRIDING SYSTEM VALUE VALUES (7, now() + interval '1 hour', " +
                               std::to_string(pg_newest_version()) + ")";
    (void)open();
    sql(enroll);
    sql("SELECT agui.take_lease('p', 't', 7, 'run_1', 1)");
    test::sql_session writer(database_->url());
    writer("BEGIN; SELECT agui.enter(7)");
    const char* const next[] = {"CREATE TABLE agui.added (v bigint)"};
    std::vector<pg_migration> steps(pg_migrations().begin(), pg_migrations().end());
    steps.push_back({next, true});
    const pg_target target(database_->url(), "");
    pg_pool pool(context().get_executor(), target, {.size = 1, .prepares = true});

    std::thread other([&] { run(open_pg_schema(pool, {}, steps)); });
    EXPECT_TRUE(happens([&] {
        return sql("SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory' "
                   "AND database = (SELECT oid FROM pg_database WHERE datname = "
                   "current_database())") == "1";
    })) << "its write comes first";
    writer("COMMIT");
    other.join();

    EXPECT_EQ(sql("SELECT count(*) FROM agui.added"), "0");
    EXPECT_THROW(sql("SELECT agui.enter(7)"), std::runtime_error);
    EXPECT_THROW(sql("DELETE FROM agui.gateways WHERE id = 7; " + enroll), std::runtime_error);
}

TEST_F(PostgresStore, AMigrationHoldsUpOtherGatewaysForALimitedTime) {
    (void)open();
    const char* const bounded[] = {
        "CREATE TABLE agui.limits AS SELECT current_setting('lock_timeout') AS of_lock, "
        "current_setting('statement_timeout') AS of_statement"
    };
    const char* const slow[] = {
        "DO $$ BEGIN RAISE EXCEPTION 'canceling statement due to statement timeout' "
        "USING ERRCODE = '57014'; END $$"
    };
    std::vector<pg_migration> steps(pg_migrations().begin(), pg_migrations().end());
    steps.push_back({bounded, false});
    const pg_target target(database_->url(), "");
    pg_pool pool(context().get_executor(), target, {.size = 1, .prepares = true});

    run(open_pg_schema(pool, {}, steps));
    EXPECT_EQ(sql("SELECT of_lock || ' ' || of_statement FROM agui.limits"), "4s 1min");

    steps.push_back({slow, false});
    std::string text;
    try {
        run(open_pg_schema(pool, {}, steps));
    } catch (const std::runtime_error& error) {
        text = error.what();
    }
    EXPECT_NE(text.find("CREATE INDEX CONCURRENTLY"), std::string::npos) << text;
    EXPECT_NE(text.find("57014"), std::string::npos) << text;
}

TEST_F(PostgresStore, DoesNotTellItsSecrets) {
    postgres_settings nowhere = settings();
    nowhere.url = "postgresql://someone:secret1@127.0.0.1:1/db";
    nowhere.password = "secret2";
    nowhere.store_wait = std::chrono::milliseconds(50);
    const std::string text = message_of_failure(nowhere);
    EXPECT_NE(text.find("refused"), std::string::npos) << text;
    EXPECT_EQ(text.find("secret"), std::string::npos) << text;
    nowhere.url = "postgresql://someone:sec%ret1@127.0.0.1:1/db";
    EXPECT_EQ(message_of_failure(nowhere), "the URL of the PostgreSQL server cannot be parsed");
    for (const std::string& line : log_.lines()) {
        EXPECT_EQ(line.find("secret"), std::string::npos) << line;
    }
}

TEST_F(PostgresStore, WorksWithoutPreparedStatementsAndWithOneConnection) {
    postgres_settings plain = settings();
    plain.prepared = false;
    plain.pool = 1;
    plain.durability = durability::relaxed;
    const auto store = make_postgres_store(plain);
    const lease_ptr held = get(store->acquire(thread_1, "run_1"));
    const std::int64_t number = begin(*store, thread_1, "run_1", held, user_turn("m1", "Hi"));
    store->append_log(slice_of(number, 1, {"a"}), nullptr, held);
    done(store->commit(
        thread_1, end_of(number, "run_1", 2), slice_of(number, 2, {"end"}), {held, true}
    ));
    EXPECT_EQ(get(store->read_log(number, 0, 10)).size(), 2U);
}

TEST_F(PostgresStore, AChangeThatDoesNotFitItsThreadIsABugAlsoWithALease) {
    const auto store = open();
    const lease_ptr held = get(store->acquire(thread_1, "run_1"));
    EXPECT_THROW(begin(*store, thread_1, "run_1", held, user_turn("m2", "x", 1)), std::logic_error);
    EXPECT_FALSE(get(store->load(thread_1)));
    const std::int64_t number = begin(*store, thread_1, "run_1", held, user_turn("m1", "Hi"));

    changes end = end_of(number, "run_1", 1);
    end.branches.push_back({7, {.tip = 0, .updated_at = 0}});
    EXPECT_THROW(
        done(store->commit(thread_1, end, slice_of(number, 1, {"end"}), {held})), std::logic_error
    );
    EXPECT_EQ(get(store->latest_run(thread_1))->status, run_status::active);
    EXPECT_THROW(
        done(store->commit(thread_1, end, slice_of(number, 1, {"end"}), {held, true})),
        std::logic_error
    );
    EXPECT_EQ(get(store->latest_run(thread_1))->status, run_status::active);
}

TEST_F(PostgresStore, TheStartAndTheEndOfARunStoreAllOfAChange) {
    const auto store = open();
    const auto whole = [](const std::string& id, node_index number) {
        changes change = user_turn(id, "text of " + id, number);
        change.calls.push_back({.id = "call " + id, .name = "f", .run_id = "run_1"});
        change.events.push_back({0, "type " + id, "run_1", 7, {{"id", id}}});
        change.state = json_text(R"({"of":")" + id + "\"}");
        change.offered_tools = boost::json::array{id};
        change.context = boost::json::array{id, id};
        change.title = "title of " + id;
        change.metadata = json_text(R"({"m":")" + id + "\"}");
        change.archived = number > 0;
        change.last_request_had_history = true;
        change.at = 1000 + number;
        return change;
    };
    const lease_ptr held = get(store->acquire(thread_1, "run_1"));
    const std::int64_t number = begin(*store, thread_1, "run_1", held, whole("m1", 0));
    const auto begun = get(store->load(thread_1)).value();
    EXPECT_EQ(begun.title, "title of m1");
    EXPECT_EQ(begun.state.view(), R"({"of":"m1"})");
    EXPECT_EQ(begun.calls.size(), 1U);
    EXPECT_EQ(begun.created_at, 1000);

    changes end = whole("m2", 1);
    end.run = end_of(number, "run_1", 1).run;
    done(store->commit(thread_1, end, slice_of(number, 1, {"end"}), {held, true}));
    const auto after = get(store->load(thread_1)).value();
    EXPECT_EQ(after.title, "title of m2");
    EXPECT_TRUE(after.archived);
    EXPECT_EQ(after.metadata.view(), R"({"m":"m2"})");
    EXPECT_EQ(after.state.view(), R"({"of":"m2"})");
    EXPECT_EQ(after.offered_tools, boost::json::array{"m2"});
    EXPECT_EQ(after.context, (boost::json::array{"m2", "m2"}));
    EXPECT_EQ(after.calls.size(), 2U);
    EXPECT_EQ(after.nodes.size(), 2U);
    EXPECT_EQ(after.branches.at(0).tip, 1U);
    EXPECT_EQ(after.version, begun.version + 1);
    EXPECT_EQ(after.bytes, begun.bytes + (begun.bytes - begun.documents.total()));
    EXPECT_EQ(get(store->events(thread_1, 0, 10)).size(), 2U);
    EXPECT_EQ(get(store->latest_run(thread_1))->status, run_status::finished);
    EXPECT_EQ(sql("SELECT log_bytes FROM agui.runs"), "7") << "few rows are not joined";
}

// --- logs

TEST_F(PostgresStore, RefusesEntriesThatDoNotFollow) {
    const auto store = open();
    const std::int64_t number = begin(*store, thread_1, "run_1", nullptr);
    const auto observer = std::make_shared<recording_observer>();
    store->append_log(slice_of(number, 1, {"a"}), observer, nullptr);
    EXPECT_TRUE(observer->wait_durable(1));

    const auto gap = std::make_shared<recording_observer>();
    store->append_log(slice_of(number, 3, {"c"}), gap, nullptr);
    EXPECT_TRUE(gap->wait_failed());
    const auto unknown = std::make_shared<recording_observer>();
    store->append_log(slice_of(4711, 1, {"a"}), unknown, nullptr);
    EXPECT_TRUE(unknown->wait_failed());
    EXPECT_EQ(
        failure_of(store->commit(thread_1, {}, slice_of(number, 3, {"c"}))), errc::store_unavailable
    );
    done(store->commit(thread_1, {}, slice_of(number, 2, {"b"})));
    store->append_log(slice_of(number, 3, {"c"}), observer, nullptr);
    EXPECT_TRUE(observer->wait_durable(3));
    EXPECT_EQ(
        frames_of(get(store->read_log(number, 0, 10))), (std::vector<std::string>{"a", "b", "c"})
    );
}

TEST_F(PostgresStore, ALogContinuesAfterItsLastDurableEntry) {
    const auto store = open();
    const std::int64_t number = begin(*store, thread_1, "run_1", nullptr);
    const std::int64_t healthy = begin(*store, thread_1, "run_2", nullptr);
    const auto observer = std::make_shared<recording_observer>();
    store->append_log(slice_of(number, 1, {"a"}), observer, nullptr);
    EXPECT_TRUE(observer->wait_durable(1));
    sql("CREATE FUNCTION agui.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE 'no' USING ERRCODE = '23514'; END $$");
    const auto refuse = [&] {
        sql("CREATE TRIGGER refuse BEFORE INSERT ON agui.log_rows EXECUTE FUNCTION agui.refuse()");
    };
    const auto accept = [&] {
        sql("DROP TRIGGER refuse ON agui.log_rows");
    };
    refuse();
    store->append_log(slice_of(number, 2, {"lost"}), observer, nullptr);
    EXPECT_TRUE(observer->wait_failed());
    const auto later = std::make_shared<recording_observer>();
    store->append_log(slice_of(number, 3, {"too late"}), later, nullptr);
    EXPECT_TRUE(later->wait_failed());
    accept();

    const auto again = std::make_shared<recording_observer>();
    store->append_log(slice_of(number, 2, {"b"}), again, nullptr);
    EXPECT_TRUE(again->wait_durable(2));

    refuse();
    store->append_log(slice_of(number, 3, {"lost"}), again, nullptr);
    EXPECT_TRUE(again->wait_failed());
    accept();
    done(store->commit(thread_1, {}, slice_of(number, 3, {"c"})));
    const auto last = std::make_shared<recording_observer>();
    store->append_log(slice_of(number, 4, {"d"}), last, nullptr);
    store->append_log(slice_of(healthy, 1, {"x"}), nullptr, nullptr);
    EXPECT_TRUE(last->wait_durable(4));
    EXPECT_EQ(
        frames_of(get(store->read_log(number, 0, 10))),
        (std::vector<std::string>{"a", "b", "c", "d"})
    );
    EXPECT_EQ(get(store->read_log(healthy, 0, 10)).size(), 1U);
}

TEST_F(PostgresStore, ACommitIncludesEarlierEntries) {
    const auto store = open();
    const std::int64_t number = begin(*store, thread_1, "run_1", nullptr);
    const auto observer = std::make_shared<recording_observer>();
    {
        // The writer waits for the table, so that more than one batch collects.
        test::sql_session blocker(database_->url());
        blocker("BEGIN; LOCK TABLE agui.log_rows IN SHARE MODE");
        for (std::uint64_t i = 1; i <= 20; ++i) {
            store->append_log(slice_of(number, i, {std::to_string(i)}), observer, nullptr);
        }
        blocker("COMMIT");
    }
    done(store->commit(thread_1, end_of(number, "run_1", 21), slice_of(number, 21, {"end"})));

    EXPECT_EQ(observer->durable(), 20U) << "before the commit completes";
    EXPECT_TRUE(observer->in_order());
    EXPECT_EQ(get(store->read_log(number, 0, 100)).size(), 21U);
}

TEST_F(PostgresStore, AFailedCommitLosesNoEntries) {
    const auto store = open();
    const std::int64_t number = begin(*store, thread_1, "run_1", nullptr, user_turn("m1", "Hi"));
    const auto observer = std::make_shared<recording_observer>();
    store->append_log(slice_of(number, 1, {"a", "b"}), observer, nullptr);
    changes wrong;
    wrong.branches.push_back({7, {}});
    EXPECT_THROW(run(store->commit(thread_1, wrong, slice_of(number, 3, {"c"}))), std::logic_error);
    EXPECT_TRUE(observer->wait_durable(2));

    store->append_log(slice_of(number, 3, {"C"}), observer, nullptr);
    EXPECT_TRUE(observer->wait_durable(3));
    EXPECT_EQ(
        frames_of(get(store->read_log(number, 0, 10))), (std::vector<std::string>{"a", "b", "C"})
    );
}

TEST_F(PostgresStore, JoinsTheRowsOfARunThatHasEnded) {
    const auto store = open();
    const std::int64_t number = begin(*store, thread_1, "run_1", nullptr);
    const auto observer = std::make_shared<recording_observer>();
    const std::string much(100'000, 'x');
    std::vector<std::string> frames;
    for (std::uint64_t i = 1; i <= 12; ++i) {
        log_slice slice = slice_of(number, i, {std::to_string(i) + much});
        slice.variants.emplace_back(0, "variant " + std::to_string(i));
        store->append_log(slice, observer, nullptr);
        ASSERT_TRUE(observer->wait_durable(i)); // Each entry has its own row.
        frames.push_back(std::to_string(i) + much);
    }
    const auto rows = [&] {
        return sql("SELECT count(*) FROM agui.log_rows WHERE run = " + std::to_string(number));
    };
    EXPECT_EQ(rows(), "12");

    done(store->commit(thread_1, end_of(number, "run_1", 13), slice_of(number, 13, {"end"})));
    const auto deadline = std::chrono::steady_clock::now() + test::patience;
    while (rows() == "13" && std::chrono::steady_clock::now() < deadline) {
    }
    EXPECT_EQ(rows(), "5") << "pieces of about 256 KB";

    const auto entries = get(store->read_log(number, 0, 100));
    frames.emplace_back("end");
    EXPECT_EQ(frames_of(entries), frames);
    EXPECT_EQ(entries.at(4).variants, "variant 5");
    EXPECT_EQ(entries.at(12).variants, "");
    for (std::uint64_t after = 0; after < 13; ++after) {
        SCOPED_TRACE(after);
        const auto page = get(store->read_log(number, after, 3));
        ASSERT_EQ(page.size(), std::min<std::size_t>(3, 13 - after));
        EXPECT_EQ(page[0].sequence, after + 1);
        EXPECT_EQ(page[0].json, frames[after]);
    }
}

TEST_F(PostgresStore, ALogWithAGapIsGone) {
    const auto store = open();
    const std::int64_t number = begin(*store, thread_1, "run_1", nullptr);
    const auto observer = std::make_shared<recording_observer>();
    for (std::uint64_t i = 1; i <= 3; ++i) {
        store->append_log(slice_of(number, i, {"x"}), observer, nullptr);
        ASSERT_TRUE(observer->wait_durable(i));
    }
    done(store->commit(thread_1, end_of(number, "run_1", 3)));
    sql("DELETE FROM agui.log_rows WHERE first_sequence = 2");
    EXPECT_EQ(failure_of(store->read_log(number, 0, 10)), errc::run_expired);
    EXPECT_EQ(get(store->read_log(number, 2, 10)).size(), 1U);
    sql("DELETE FROM agui.log_rows WHERE first_sequence = 3");
    EXPECT_EQ(failure_of(store->read_log(number, 0, 10)), errc::run_expired);
    sql("UPDATE agui.log_rows SET lengths = '\\x01' WHERE first_sequence = 1");
    EXPECT_EQ(failure_of(store->read_log(number, 0, 1)), errc::run_expired) << "damaged";
}

TEST_F(PostgresStore, TheLogOfAnActiveRunThatHasLostAllItsRowsIsGone) {
    const auto store = open();
    const std::int64_t silent = begin(*store, key_of("silent"), "run_1", nullptr);
    const std::int64_t streamed = begin(*store, thread_1, "run_1", nullptr);
    const auto observer = std::make_shared<recording_observer>();
    store->append_log(slice_of(streamed, 1, {"a", "b"}), observer, nullptr);
    ASSERT_TRUE(observer->wait_durable(2));
    const std::int64_t committed = begin(*store, key_of("committed"), "run_1", nullptr);
    done(store->commit(key_of("committed"), {}, slice_of(committed, 1, {"a"})));
    EXPECT_EQ(get(store->read_log(streamed, 0, 10)).size(), 2U);
    EXPECT_EQ(get(store->read_log(committed, 0, 10)).size(), 1U);

    sql("DELETE FROM agui.log_rows");

    EXPECT_EQ(failure_of(store->read_log(streamed, 0, 10)), errc::run_expired);
    EXPECT_EQ(failure_of(store->read_log(committed, 0, 10)), errc::run_expired);
    EXPECT_TRUE(get(store->read_log(silent, 0, 10)).empty()) << "it has said nothing";
}

// The server reports the same for a page that the disk has damaged.
TEST_F(PostgresStore, ALogThatTheServerCannotReadIsGone) {
    const auto store = open();
    const std::int64_t number = begin(*store, thread_1, "run_1", nullptr);
    done(store->commit(thread_1, end_of(number, "run_1", 1), slice_of(number, 1, {"end"})));
    sql("CREATE FUNCTION agui.damaged() RETURNS bytea LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION "
        "'invalid page' USING ERRCODE = 'XX001'; END $$;"
        "ALTER TABLE agui.log_rows RENAME TO all_rows;"
        "CREATE VIEW agui.log_rows AS SELECT run, first_sequence, last_sequence, "
        "agui.damaged() AS events, lengths, variants FROM agui.all_rows");

    EXPECT_EQ(failure_of(store->read_log(number, 0, 10)), errc::run_expired);
    EXPECT_TRUE(get(store->find_run(thread_1, "run_1"))) << "the store can be used";
}

TEST_F(PostgresStore, AnOrphanWhoseLogCannotBeReadCanBeEnded) {
    const auto store = open();
    const lease_ptr held = get(store->acquire(thread_1, ""));
    const std::int64_t number = begin(*store, thread_1, "run_1", nullptr);
    sql("CREATE FUNCTION agui.damaged() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RAISE "
        "EXCEPTION "
        "'invalid page' USING ERRCODE = 'XX001'; END $$;"
        "ALTER TABLE agui.log_rows RENAME TO all_rows;"
        "CREATE VIEW agui.log_rows AS SELECT r.number AS run, 1::bigint AS first_sequence, "
        "agui.damaged() AS last_sequence FROM agui.runs r");

    const auto orphans = get(store->orphans(held));

    ASSERT_EQ(orphans.size(), 1U);
    EXPECT_EQ(orphans[0].last_sequence, 0U);
    done(store->commit(thread_1, end_of(number, "run_1", 0), std::nullopt, {held, true}));
    EXPECT_EQ(get(store->find_run(thread_1, "run_1"))->status, run_status::finished);
}

TEST_F(PostgresStore, DropsWholeDaysAndSingleRuns) {
    const auto store = open();
    const std::int64_t old = begin(*store, thread_1, "run_1", nullptr);
    done(store->commit(thread_1, end_of(old, "run_1", 1), slice_of(old, 1, {"end"})));
    // Moves the run to the first two of all days.
    sql("SELECT agui.make_log_partitions(0, 1); "
        "UPDATE agui.log_rows SET run = 7 WHERE run = " +
        std::to_string(old) +
        "; "
        "UPDATE agui.runs SET number = 7, ended_at = 1000 WHERE number = " +
        std::to_string(old) +
        "; INSERT INTO agui.log_rows SELECT (1::bigint << 40) + 7, 1, 1, events, lengths, variants "
        "FROM agui.log_rows WHERE run = 7; "
        "INSERT INTO agui.runs SELECT (1::bigint << 40) + 7, thread, 'run_2', parent_run_id, "
        "agent_id, input_digest, NULL, protocol, 'active', end_reason, answered_by, started_at, 0, "
        "0, log, NULL FROM agui.runs WHERE number = 7");
    const std::int64_t day = 24LL * 60 * 60 * 1000;
    const std::int64_t active = (std::int64_t{1} << 40) + 7;
    EXPECT_EQ(get(store->read_log(7, 0, 10)).size(), 1U);

    done(store->drop_logs({.ended_since = 10 * day, .max_bytes = 0}));

    EXPECT_EQ(failure_of(store->read_log(7, 0, 10)), errc::run_expired);
    EXPECT_EQ(sql("SELECT to_regclass('agui.log_rows_0') IS NULL"), "t");
    EXPECT_EQ(get(store->read_log(active, 0, 10)).size(), 1U) << "it is active";
    EXPECT_TRUE(get(store->find_run(thread_1, "run_1"))) << "the record outlives the log";
}

TEST_F(PostgresStore, DropsTheOldestLogsUntilTheRestFits) {
    const auto store = open();
    std::vector<std::int64_t> numbers;
    for (int i = 0; i < 4; ++i) {
        const std::string run_id = "run_" + std::to_string(i);
        const std::int64_t number = begin(*store, thread_1, run_id, nullptr);
        changes end = end_of(number, run_id, 1);
        end.run->ended_at = 1000 + i;
        done(store->commit(thread_1, end, slice_of(number, 1, {std::string(10'000, 'x')})));
        numbers.push_back(number);
    }

    done(store->drop_logs({.ended_since = 0, .max_bytes = 25'000}));

    EXPECT_EQ(failure_of(store->read_log(numbers[0], 0, 10)), errc::run_expired);
    EXPECT_EQ(failure_of(store->read_log(numbers[1], 0, 10)), errc::run_expired);
    EXPECT_EQ(get(store->read_log(numbers[2], 0, 10)).size(), 1U);
    EXPECT_EQ(get(store->read_log(numbers[3], 0, 10)).size(), 1U);
}

TEST_F(PostgresStore, RemovesEveryRowOfAThread) {
    const auto store = open();
    changes change = user_turn("m1", "Hi");
    change.state = json_text("1");
    change.calls.push_back({"c", "f", "run_1", call_owner::external, call_status::open, 0});
    change.events.push_back({0, "run.started", "run_1", 10, {}});
    const std::int64_t number = begin(*store, thread_1, "run_1", nullptr, change);
    store->append_log(slice_of(number, 1, {"a"}), nullptr, nullptr);
    failed_attempt attempt;
    attempt.run_number = number;
    store->keep_attempt(attempt);
    queued_request request;
    request.run_id = "run_2";
    (void)get(store->enqueue(thread_1, request, {.requests = 9, .bytes = 9999}));

    EXPECT_TRUE(get(store->remove(thread_1)));

    for (const char* table :
         {"threads", "removed_threads", "thread_documents", "messages", "branches", "calls",
          "session_events", "runs", "log_rows", "failed_attempts", "queued_requests"}) {
        EXPECT_EQ(sql("SELECT count(*) FROM agui." + std::string(table)), "0") << table;
    }
}

TEST_F(PostgresStore, LeavesOutAMessageThatCannotBeRead) {
    const auto store = open();
    changes change = user_turn("m1", "one");
    change.messages.push_back(test::user_message("m2", "two", 0));
    change.messages.push_back(test::user_message("m3", "three", 1));
    change.branches[0].value.tip = 2;
    begin(*store, thread_1, "run_1", nullptr, change);
    sql("UPDATE agui.messages SET message = '{' WHERE number = 1");

    const auto thread = get(store->load(thread_1)).value();
    EXPECT_EQ(thread.nodes.at(2).parent, 0U);
    EXPECT_EQ(thread.branches.at(0).tip, 2U);
    EXPECT_EQ(get(store->branches(thread_1))->at(0).last_message_id, "m3");

    sql("UPDATE agui.messages SET message = '{' WHERE number = 2");
    EXPECT_EQ(get(store->branches(thread_1))->at(0).last_message_id, "m1");
    sql("DELETE FROM agui.messages WHERE number = 1");
    EXPECT_EQ(failure_of(store->load(thread_1)), errc::store_unavailable);
}

} // namespace
} // namespace agui::session
