// The connection, the pool and transactions, against a real server.
#include "session/postgres/pg_connection.hpp"
#include "session/postgres/pg_error.hpp"
#include "session/postgres/pg_pool.hpp"
#include "session/postgres/pg_settings.hpp"
#include "session/postgres/pg_transaction.hpp"
#include "tests/session/postgres/postgres_fixture.hpp"
#include "tests/support/coroutine_test.hpp"

#include <boost/asio/co_spawn.hpp>

#include <chrono>

namespace agui::session {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace std::string_literals;
using steady = std::chrono::steady_clock;

class PgConnection : public test::coroutine_test {
protected:
    void SetUp() override {
        AGUI_NEEDS_POSTGRES();
        database_ = std::make_unique<test::postgres_database>();
        target_.emplace(database_->url(), "");
    }

    std::unique_ptr<pg_connection> open(bool prepares = true) {
        return run(pg_connection::open(*target_, prepares, steady::now() + 10s));
    }
    std::vector<pg_rows> execute(pg_connection& on, pg_batch batch, steady::duration time = 10s) {
        return run(on.execute(std::move(batch), steady::now() + time));
    }
    template <class... Args>
    pg_rows one(pg_connection& on, const char* text, const Args&... args) {
        pg_batch batch;
        batch.emplace_back(text, args...);
        return execute(on, std::move(batch)).at(0);
    }
    pg_error failure_of(pg_connection& on, pg_batch batch, steady::duration time = 10s) {
        try {
            (void)execute(on, std::move(batch), time);
        } catch (const pg_error& error) {
            return error;
        }
        throw std::runtime_error("the statement has not failed");
    }

    std::unique_ptr<test::postgres_database> database_;
    std::optional<pg_target> target_;
};

pg_batch batch_of(std::initializer_list<const char*> texts) {
    pg_batch batch;
    for (const char* const text : texts) {
        batch.emplace_back(text);
    }
    return batch;
}

TEST_F(PgConnection, ReadsBackEveryKindOfParameter) {
    const auto connection = open();
    const std::string bytes = "\xff\0'\\\""s;

    const pg_rows row =
        one(*connection, "SELECT $1, $2, $3, $4, $5, $6[2], $7[1], $8[2]", std::int64_t{-5}, true,
            pg_text{"t\xc3\xa9xt"}, bytes, std::optional<std::int64_t>(),
            std::vector<std::int64_t>{7, 8}, std::vector<std::string>{bytes},
            std::vector<pg_text>{{"a"}, {"b"}});

    EXPECT_EQ(row.integer(0, 0), -5);
    EXPECT_TRUE(row.boolean(0, 1));
    EXPECT_EQ(row.text(0, 2), "t\xc3\xa9xt");
    EXPECT_EQ(row.text(0, 3), bytes);
    EXPECT_TRUE(row.is_null(0, 4));
    EXPECT_EQ(row.integer(0, 4), 0);
    EXPECT_EQ(row.integer(0, 5), 8);
    EXPECT_EQ(row.text(0, 6), bytes);
    EXPECT_EQ(row.text(0, 7), "b");
    EXPECT_THROW((void)row.text(0, 0), std::logic_error);
    EXPECT_THROW((void)row.integer(0, 8), std::logic_error);
    EXPECT_THROW((void)row.integer(1, 0), std::logic_error);
}

TEST_F(PgConnection, ReadsTablesWithinARow) {
    const auto connection = open();

    const pg_rows row =
        one(*connection,
            "SELECT ROW($1::bigint, $2::bytea, NULL::bytea, ''::bytea, true) AS one, "
            "ARRAY(SELECT ROW(n, 'x'::text) FROM generate_series(1::bigint, 3) n) AS several, "
            "ARRAY(SELECT ROW(1) WHERE false) AS none, "
            "CASE WHEN false THEN ARRAY(SELECT ROW(1)) END AS nothing, "
            "ROW(ARRAY(SELECT ROW(9::bigint))) AS nested, 7::bigint AS number",
            std::int64_t{-5}, "\xff\0"s);

    pg_records read = row.records(0, 0);
    EXPECT_EQ(read.size(), 1);
    EXPECT_EQ(read.integer(0, 0), -5);
    EXPECT_EQ(read.text(0, 1), "\xff\0"s);
    EXPECT_TRUE(read.is_null(0, 2));
    EXPECT_FALSE(read.is_null(0, 3));
    EXPECT_EQ(read.text(0, 3), "");
    EXPECT_TRUE(read.boolean(0, 4));
    EXPECT_THROW((void)read.text(0, 0), std::logic_error) << "is a number";
    EXPECT_THROW((void)read.text(0, 5), std::logic_error) << "is not there";
    EXPECT_THROW((void)read.integer(1, 0), std::logic_error) << "is not there";

    read = row.records(0, 1);
    EXPECT_EQ(read.size(), 3);
    EXPECT_EQ(read.integer(2, 0), 3);
    EXPECT_EQ(read.text(2, 1), "x");

    EXPECT_TRUE(row.records(0, 2).empty());
    EXPECT_TRUE(row.records(0, 3).empty());
    EXPECT_EQ(row.records(0, 4).records(0, 0).integer(0, 0), 9);
    EXPECT_THROW((void)row.records(0, 5), std::logic_error) << "is a number";
}

TEST_F(PgConnection, WorksWithAndWithoutPreparedStatements) {
    for (const bool prepares : {true, false}) {
        SCOPED_TRACE(prepares);
        const auto connection = open(prepares);
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(one(*connection, "SELECT $1 + 1", i).integer(0, 0), i + 1);
        }
        const auto count = pg_statement::once("SELECT count(*) FROM pg_prepared_statements");
        EXPECT_EQ(execute(*connection, {count}).at(0).integer(0, 0), prepares ? 1 : 0);
    }
}

// PgBouncer in transaction mode gives the next transaction another connection, too.
TEST_F(PgConnection, NamesTheKeyIfAPoolerKeepsNoPreparedStatements) {
    constexpr const char* statement = "SELECT $1 + 1";
    const auto lost = open();
    (void)one(*lost, statement, 1);
    (void)execute(*lost, {pg_statement::once("DEALLOCATE ALL")});
    pg_batch batch;
    batch.emplace_back(statement, 1);
    const pg_error unknown = failure_of(*lost, std::move(batch));
    EXPECT_EQ(unknown.sqlstate(), "26000");
    EXPECT_NE(std::string(unknown.what()).find("session.prepared = false"), std::string::npos);

    const auto taken = open();
    (void)execute(*taken, {pg_statement::once("PREPARE s1 AS SELECT 1")});
    batch = {};
    batch.emplace_back(statement, 1);
    const pg_error known = failure_of(*taken, std::move(batch));
    EXPECT_EQ(known.sqlstate(), "42P05");
    EXPECT_NE(std::string(known.what()).find("session.prepared = false"), std::string::npos);
}

TEST_F(PgConnection, ContinuesAfterAStatementThatFails) {
    const auto connection = open();
    for (int i = 0; i < 2; ++i) {
        const pg_error error =
            failure_of(*connection, batch_of({"SELECT 1::bigint", "SELECT 1/0", "SELECT 3"}));
        EXPECT_EQ(error.sqlstate(), "22012");
        EXPECT_FALSE(error.is_connection_lost());
        EXPECT_TRUE(connection->is_usable());
        EXPECT_EQ(failure_of(*connection, batch_of({"SELECT no_such_column"})).sqlstate(), "42703");
    }
    EXPECT_EQ(one(*connection, "SELECT 3::bigint").integer(0, 0), 3);
}

TEST_F(PgConnection, ABatchIsOneTransaction) {
    const auto connection = open();
    (void)one(*connection, "CREATE TABLE public.t (v bigint)");
    (void)failure_of(*connection, batch_of({"INSERT INTO public.t VALUES (1)", "SELECT 1/0"}));
    EXPECT_EQ(one(*connection, "SELECT count(*) FROM public.t").integer(0, 0), 0);
    EXPECT_EQ(one(*connection, "INSERT INTO public.t VALUES (1), (2)").changed(), 2U);
}

TEST_F(PgConnection, ASessionHasItsSettingsUnlessAPoolerIsInBetween) {
    constexpr const char* settings =
        "SELECT current_setting('search_path') || ' ' || current_setting('lock_timeout')";
    const auto direct = open(true);
    EXPECT_TRUE(direct->has_settings());
    EXPECT_EQ(one(*direct, settings).text(0, 0), "pg_catalog 4s");

    const auto pooled = open(false);
    EXPECT_FALSE(pooled->has_settings());
    const std::string before(one(*pooled, settings).text(0, 0));
    // A pooler reports another number than that of the server's process.
    EXPECT_TRUE(one(*pooled, pg_settings_of_session, 0).empty());
    EXPECT_EQ(one(*pooled, settings).text(0, 0), before);
}

TEST_F(PgConnection, FollowsTheServersSynchronousCommitUnlessThatIsOff) {
    constexpr const char* setting =
        "SELECT setting || ' ' || (source = 'session') FROM pg_settings "
        "WHERE name = 'synchronous_commit'";
    EXPECT_EQ(one(*open(), setting).text(0, 0), "on false") << "a reload changes it";
    test::sql_session session(database_->url());
    session("ALTER DATABASE " + database_->name() + " SET synchronous_commit = off");
    EXPECT_EQ(one(*open(), setting).text(0, 0), "on true");
}

TEST_F(PgConnection, CompressesWithLz4UnlessTheServerIsToldHow) {
    constexpr const char* setting = "SELECT current_setting('default_toast_compression')";
    EXPECT_EQ(one(*open(), setting).text(0, 0), "lz4");
    test::sql_session session(database_->url());
    session("ALTER DATABASE " + database_->name() + " SET default_toast_compression = pglz");
    EXPECT_EQ(one(*open(), setting).text(0, 0), "pglz");
}

TEST_F(PgConnection, SendsAndReadsMoreThanTheSocketTakes) {
    const auto connection = open();
    const std::string large(8U << 20U, 'x');
    pg_batch batch;
    for (int i = 0; i < 4; ++i) {
        batch.emplace_back("SELECT $1", large);
    }
    const auto results = execute(*connection, std::move(batch));
    ASSERT_EQ(results.size(), 4U);
    EXPECT_EQ(results[3].text(0, 0), large);
}

TEST_F(PgConnection, SaysThatItWasLost) {
    const auto connection = open();
    database_->end_sessions();

    const pg_error error = failure_of(*connection, batch_of({"SELECT 1"}));

    EXPECT_TRUE(error.is_connection_lost());
    EXPECT_FALSE(connection->is_usable());
    EXPECT_TRUE(failure_of(*connection, batch_of({"SELECT 1"})).is_connection_lost());
}

TEST_F(PgConnection, GivesUpAtTheDeadline) {
    const auto connection = open();
    const pg_error error = failure_of(*connection, batch_of({"SELECT pg_sleep(60)"}), 20ms);
    EXPECT_TRUE(error.is_connection_lost());
    EXPECT_FALSE(connection->is_usable());
}

TEST_F(PgConnection, RefusesADatabaseThatIsNotUtf8) {
    test::sql_session server(test::postgres_server());
    const std::string name = database_->name() + "_latin";
    server("CREATE DATABASE " + name + " TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'");
    const pg_target latin(test::postgres_server() + "&dbname=" + name, "");
    try {
        (void)run(pg_connection::open(latin, true, steady::now() + 10s));
        ADD_FAILURE() << "it was accepted";
    } catch (const pg_error& error) {
        EXPECT_STREQ(error.what(), "the encoding of the PostgreSQL database is not UTF8");
    }
    server("DROP DATABASE " + name + " WITH (FORCE)");
}

TEST_F(PgConnection, RefusesAServerThatOnlyReads) {
    test::sql_session server(test::postgres_server());
    server("ALTER DATABASE " + database_->name() + " SET default_transaction_read_only = on");
    EXPECT_THROW((void)open(), pg_error) << "libpq looks for another host";
    const pg_target any(database_->url() + "&target_session_attrs=any", "");
    try {
        (void)run(pg_connection::open(any, true, steady::now() + 10s));
        ADD_FAILURE() << "it was accepted";
    } catch (const pg_error& error) {
        EXPECT_TRUE(std::string(error.what()).starts_with("the PostgreSQL server is read-only"));
    }
}

TEST_F(PgConnection, RefusesAnotherIsolationByDefault) {
    test::sql_session server(test::postgres_server());
    server(
        "ALTER DATABASE " + database_->name() +
        " SET default_transaction_isolation = 'repeatable read'"
    );
    try {
        (void)open();
        ADD_FAILURE() << "it was accepted";
    } catch (const pg_error& error) {
        EXPECT_NE(
            std::string(error.what()).find("default_transaction_isolation"), std::string::npos
        ) << error.what();
    }
}

TEST_F(PgConnection, SaysWhyItCannotConnectWithoutThePassword) {
    const pg_target nowhere("postgresql://someone@127.0.0.1:1/none", "secret");
    try {
        (void)run(pg_connection::open(nowhere, true, steady::now() + 10s));
        ADD_FAILURE() << "it was accepted";
    } catch (const pg_error& error) {
        EXPECT_TRUE(error.is_connection_lost());
        EXPECT_NE(std::string(error.what()).find("refused"), std::string::npos) << error.what();
        EXPECT_EQ(std::string(error.what()).find("secret"), std::string::npos);
    }
}

TEST_F(PgConnection, LooksUpHostNamesItself) {
    const pg_target named("postgresql:///db?host=localhost,/folder&port=4711,4712", "");
    const pg_target::options options = run(named.resolve(steady::now() + 10s));
    const auto value = [&](const std::string& name) {
        for (const auto& [key, found] : options) {
            if (key == name) {
                return found;
            }
        }
        return ""s;
    };
    EXPECT_NE(value("hostaddr").find("127.0.0.1"), std::string::npos) << value("hostaddr");
    EXPECT_TRUE(value("hostaddr").ends_with(",")) << "the socket has no address";
    EXPECT_TRUE(value("host").ends_with("localhost,/folder")) << value("host");
    EXPECT_TRUE(value("port").ends_with("4711,4712")) << value("port");
    const pg_target unknown("postgresql://no-such-host.invalid/db", "");
    EXPECT_THROW((void)run(unknown.resolve(steady::now() + 10s)), pg_error);
}

TEST_F(PgConnection, ConnectsWithTheLatestPassword) {
    const auto password = [this](const pg_target& target) {
        std::string all;
        for (const auto& [key, value] : run(target.resolve(steady::now() + 10s))) {
            all += key == "password" ? value + ";" : "";
        }
        return all;
    };
    pg_target with_url("postgresql://a:first@127.0.0.1/db", "");
    EXPECT_EQ(password(with_url), "first;");
    with_url.use_password("second");
    EXPECT_EQ(password(with_url), "second;");
    with_url.use_password("");
    EXPECT_EQ(password(with_url), "first;");
    pg_target without("postgresql://a@127.0.0.1/db", "one");
    EXPECT_EQ(password(without), "one;");
    without.use_password("two");
    EXPECT_EQ(password(without), "two;");
}

TEST_F(PgConnection, WaitsForAHostNameOnlyUntilTheDeadline) {
    const pg_target named("postgresql://localhost/db", "");
    EXPECT_THROW((void)run(named.resolve(steady::now() - 1s)), pg_error);
    const pg_target numeric("postgresql://127.0.0.1/db", "");
    EXPECT_FALSE(run(numeric.resolve(steady::now() - 1s)).empty()) << "nothing to look up";
}

// --- the pool

TEST_F(PgConnection, APoolLendsConnectionsInTurn) {
    pg_pool pool(context().get_executor(), *target_, {.size = 1, .prepares = true});
    std::optional<pg_pool::loan> first(run(pool.take(steady::now() + 10s)));
    const pg_connection* const only = &**first;
    std::vector<int> order;
    for (int i = 0; i < 3; ++i) {
        asio::co_spawn(
            context(), pool.take(steady::now() + 10s),
            [&order, &only, i](std::exception_ptr error, pg_pool::loan got) {
                EXPECT_FALSE(error);
                EXPECT_EQ(&*got, only);
                order.push_back(i);
            }
        );
    }
    context().restart();
    context().poll();
    EXPECT_TRUE(order.empty());

    first.reset();
    context().restart();
    context().run_for(1s);
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

TEST_F(PgConnection, APoolHasAnExtraConnectionForUrgentCallers) {
    pg_pool pool(context().get_executor(), *target_, {.size = 1, .prepares = true});
    const pg_connection* first = nullptr;
    {
        const auto lent = run(pool.take(steady::now() + 10s));
        first = &*lent;
        const auto urgent = run(pool.take(steady::now() + 10s, pg_pool::urgency::at_once));
        EXPECT_EQ(one(*urgent, "SELECT 1::bigint").integer(0, 0), 1);
        EXPECT_THROW((void)run(pool.take(steady::now() + 20ms)), pg_unavailable);
    }
    const auto again = run(pool.take(steady::now() + 10s));
    EXPECT_EQ(&*again, first) << "the other one is closed";
    EXPECT_THROW((void)run(pool.take(steady::now() + 20ms)), pg_unavailable);
}

TEST_F(PgConnection, APoolWithoutAServerSaysWhy) {
    const pg_target nowhere("postgresql://someone@127.0.0.1:1/none", "");
    pg_pool pool(context().get_executor(), nowhere, {.size = 1, .prepares = true});
    EXPECT_THROW((void)run(pool.take(steady::now() + 20ms)), pg_unavailable);
    EXPECT_NE(pool.unavailable().find("refused"), std::string::npos) << pool.unavailable();
}

TEST_F(PgConnection, APoolThatCannotGrowIsNotAnOutageWhileAConnectionWorks) {
    test::sql_session server(test::postgres_server());
    const std::string role = database_->name() + "_limited";
    server("CREATE ROLE " + role + " LOGIN CONNECTION LIMIT 1");
    {
        const pg_target limited(database_->url() + "&user=" + role, "");
        pg_pool pool(context().get_executor(), limited, {.size = 2, .prepares = true});
        std::optional<pg_pool::loan> lent(run(pool.take(steady::now() + 10s)));
        EXPECT_THROW((void)run(pool.take(steady::now() + 200ms)), pg_unavailable);
        EXPECT_EQ(pool.unavailable(), "");
        (*lent)->abandon();
        lent.reset();
        database_->end_sessions();
        test::sql_session other(database_->url() + "&user=" + role);
        EXPECT_THROW((void)run(pool.take(steady::now() + 200ms)), pg_unavailable);
        EXPECT_NE(pool.unavailable().find("too many connections"), std::string::npos)
            << pool.unavailable();
    }
    server("DROP ROLE " + role);
}

TEST_F(PgConnection, APoolMakesANewConnectionForALostOne) {
    pg_pool pool(context().get_executor(), *target_, {.size = 1, .prepares = true});
    {
        const auto lent = run(pool.take(steady::now() + 10s));
        database_->end_sessions();
        (void)failure_of(*lent, batch_of({"SELECT 1"}));
    }
    const auto next = run(pool.take(steady::now() + 10s));
    EXPECT_EQ(one(*next, "SELECT 1::bigint").integer(0, 0), 1);
}

TEST_F(PgConnection, APoolThatIsClosedLetsNobodyWait) {
    pg_pool pool(context().get_executor(), *target_, {.size = 1, .prepares = true});
    const auto lent = run(pool.take(steady::now() + 10s));
    bool refused = false;
    asio::co_spawn(
        context(), pool.take(steady::now() + 10s),
        [&](std::exception_ptr error, const pg_pool::loan&) { refused = error != nullptr; }
    );
    context().restart();
    context().poll();
    pool.close();
    context().restart();
    context().run_for(1s);
    EXPECT_TRUE(refused);
    EXPECT_THROW((void)run(pool.take(steady::now() + 10s)), pg_unavailable);
}

// --- transactions

class PgTransaction : public PgConnection {
protected:
    void SetUp() override {
        PgConnection::SetUp();
        if (database_) {
            sql_.emplace(database_->url());
            (*sql_)("CREATE TABLE public.t (v bigint UNIQUE)");
            (*sql_)("CREATE SCHEMA agui");
            (*sql_)("CREATE TABLE agui.commit_marks (writer bigint, slot bigint, mark bigint, "
                    "at timestamptz DEFAULT now(), PRIMARY KEY (writer, slot))");
            pool_.emplace(
                context().get_executor(), *target_, pg_pool::settings{.size = 1, .prepares = true}
            );
        }
    }

    /// Inserts 1 by a read, `between` and a commit.
    int insert(std::function<void(int)> between) {
        int tries = 0;
        std::function<asio::awaitable<int>(pg_transaction&)> work =
            [&tries, between = std::move(between)](pg_transaction& in) -> asio::awaitable<int> {
            (void)co_await in.read(batch_of({"SELECT count(*) FROM public.t"}));
            between(++tries);
            co_await in.commit(batch_of({"INSERT INTO public.t VALUES (1)"}));
            co_return tries;
        };
        return run(transact(*pool_, {.store_wait = 5s}, {}, std::move(work)));
    }

    std::optional<test::sql_session> sql_;
    std::optional<pg_pool> pool_;
};

TEST_F(PgTransaction, CommitsItsWork) {
    EXPECT_EQ(insert([](int) {}), 1);
    EXPECT_EQ((*sql_)("SELECT count(*) FROM t"), "1");
}

TEST_F(PgTransaction, IsTriedAgainWhenItsConnectionIsLostBeforeTheCommit) {
    const int tries = insert([&](int count) {
        if (count == 1) {
            database_->end_sessions();
        }
    });
    EXPECT_EQ((*sql_)("SELECT count(*) FROM t"), "1");
    EXPECT_EQ(tries, 2);
}

TEST_F(PgTransaction, IsRolledBackWhenItsWorkThrows) {
    EXPECT_THROW(insert([&](int) { throw std::logic_error("a bug"); }), std::logic_error);
    EXPECT_EQ(insert([](int) {}), 1) << "the connection is free, and has no open transaction";
}

TEST_F(PgTransaction, IsNotTriedForEver) {
    (*sql_)("INSERT INTO t VALUES (1)");
    int tries = 0;
    EXPECT_THROW(insert([&](int count) { tries = count; }), pg_error);
    EXPECT_EQ(tries, 10);
}

TEST_F(PgTransaction, IsUnavailableIfTheServerNeedsMoreTimeThanThereIs) {
    int tries = 0;
    std::function<asio::awaitable<int>(pg_transaction&)> work = [&tries](pg_transaction& in
                                                                ) -> asio::awaitable<int> {
        ++tries;
        (void)co_await in.write_at_once(
            batch_of({"DO $$BEGIN RAISE EXCEPTION USING ERRCODE = '53100'; END$$"})
        );
        co_return tries;
    };
    EXPECT_THROW(
        (void)run(transact(*pool_, {.store_wait = 300ms}, {}, std::move(work))), pg_unavailable
    );
    EXPECT_GE(tries, 2);
    EXPECT_LE(tries, 3) << "after pauses of 50 and 100 ms";
}

TEST_F(PgTransaction, ReadsASnapshot) {
    std::function<asio::awaitable<int>(pg_transaction&)> work = [](pg_transaction& in
                                                                ) -> asio::awaitable<int> {
        const auto rows = co_await in.read_at_once(batch_of(
            {"SELECT current_setting('transaction_isolation'), "
             "current_setting('search_path'), current_setting('statement_timeout')",
             "SELECT 1"}
        ));
        EXPECT_EQ(rows.at(0).text(0, 0), "repeatable read");
        EXPECT_EQ(rows.at(0).text(0, 1), "pg_catalog");
        EXPECT_EQ(rows.at(0).text(0, 2), "20s");
        co_return 1;
    };
    EXPECT_EQ(run(transact(*pool_, {}, {}, std::move(work))), 1);
}

TEST_F(PgTransaction, WaitsForTheDiskUnlessItIsRelaxed) {
    const auto setting = [&](bool relaxed) {
        std::function<asio::awaitable<std::string>(pg_transaction&)> work =
            [](pg_transaction& in) -> asio::awaitable<std::string> {
            const auto rows =
                co_await in.write_at_once(batch_of({"SELECT current_setting('synchronous_commit')"})
                );
            co_return std::string(rows.at(0).text(0, 0));
        };
        return run(transact(*pool_, {}, {.gateway = 0, .relaxed = relaxed}, std::move(work)));
    };
    EXPECT_EQ(setting(false), "on");
    EXPECT_EQ(setting(true), "off");
    (*sql_)("ALTER DATABASE " + database_->name() + " SET synchronous_commit = off");
    pool_->drop_idle();
    EXPECT_EQ(setting(false), "on");
}

} // namespace
} // namespace agui::session
