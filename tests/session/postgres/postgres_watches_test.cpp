// Who follows whose runs, while the database refuses or is away.
#include "tests/session/postgres/proxied_stores.hpp"

#include <algorithm>
#include <thread>

namespace agui::session {
namespace {

using namespace std::chrono_literals;

using test::cutting_proxy;
using test::key_of;
using test::recording_peer;

const thread_key thread_1 = key_of("thread_1");

class PostgresFollowers : public test::proxied_stores {
protected:
    std::ptrdiff_t lines(const std::string& wanted) {
        const auto all = log_.lines();
        return std::ranges::count_if(all, [&](const std::string& line) {
            return line.find(wanted) != std::string::npos;
        });
    }

    /// A run of the first one, which has told peer_ of a reader at the second one.
    std::unique_ptr<run_watch> read_a_run(store& first, store& second) {
        first.set_peer_handler(&peer_);
        const std::int64_t number =
            begin(first, thread_1, "run_1", get(first.acquire(thread_1, "run_1")));
        auto watch = second.watch(number, context().get_executor());
        watch->set_readers(1, leaving::left);
        EXPECT_TRUE(peer_.told.wait([&] { return peer_.last().readers == 1; }));
        return watch;
    }

    recording_peer peer_;
};

TEST_F(PostgresFollowers, NoRowIsWrittenWithoutANumber) {
    const auto first = open();
    (void)new_gateway();
    const auto second = open();
    const std::string former = new_gateway();
    const std::int64_t number =
        begin(*first, thread_1, "run_1", get(first->acquire(thread_1, "run_1")));
    sql("CREATE SEQUENCE agui.tries; "
        "CREATE FUNCTION agui.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "PERFORM nextval('agui.tries'); RAISE 'full' USING ERRCODE = '53100'; END $$; "
        "CREATE TRIGGER refuse BEFORE INSERT ON agui.run_watches EXECUTE FUNCTION agui.refuse()");
    const auto watch = second->watch(number, context().get_executor());
    EXPECT_TRUE(happens([&] { return sql("SELECT is_called FROM agui.tries") == "t"; }));

    sql("CREATE TRIGGER refuse BEFORE INSERT ON agui.gateways EXECUTE FUNCTION agui.refuse(); "
        "UPDATE agui.gateways SET fenced = true WHERE id = " +
        former);
    EXPECT_FALSE(run(second->acquire(key_of("thread_2"), "run_2")));
    EXPECT_FALSE(second->unavailable().empty());
    sql("DROP TRIGGER refuse ON agui.run_watches");
    std::this_thread::sleep_for(1500ms); // Longer than its pause after a failure.
    EXPECT_EQ(sql("SELECT count(*) FROM agui.run_watches"), "0");

    sql("DROP TRIGGER refuse ON agui.gateways");
    EXPECT_TRUE(happens([&] {
        return sql("SELECT count(*) FROM agui.run_watches WHERE gateway <> " + former) == "1";
    }));
}

TEST_F(PostgresFollowers, RowsOfNumbersThatAreGoneAreDropped) {
    const auto store = open();
    const std::string number = new_gateway();
    sql("INSERT INTO agui.run_watches VALUES (1, 0, 1), (1, " + number + ", 1), (1, 99, 1)");
    done(store->drop_logs({}));
    EXPECT_EQ(sql("SELECT string_agg(gateway::text, ' ') FROM agui.run_watches"), number);
}

TEST_F(PostgresFollowers, AreToldLaterOfAnEndThatTheyCouldNotBeToldOf) {
    postgres_settings given = settings_through_proxy();
    given.store_wait = 300ms;
    const auto first = make_postgres_store(given);
    (void)new_gateway();
    const auto second = open();
    const lease_ptr held = get(first->acquire(thread_1, "run_1"));
    const std::int64_t number = begin(*first, thread_1, "run_1", held);
    const auto watch = second->watch(number, context().get_executor());
    EXPECT_TRUE(happens([&] { return sql("SELECT count(*) FROM agui.run_watches") == "1"; }));
    std::this_thread::sleep_for(200ms); // Until the first one has heard of it.
    test::sql_session listener(database_->url());
    listener("LISTEN agui_gw_" + new_gateway());

    proxy_->set(cutting_proxy::cut::before, 1'000'000, "pg_notify(channel", "");
    done(first->commit(thread_1, end_of(number, "run_1", 0), std::nullopt, {held, true}));
    EXPECT_TRUE(happens([&] { return proxy_->cuts() > 0; }));
    std::this_thread::sleep_for(500ms); // It has given up for now.
    proxy_->set(cutting_proxy::cut::never, 0);

    const std::string told = "log " + std::to_string(number);
    std::vector<std::string> heard;
    EXPECT_TRUE(happens([&] {
        std::ranges::move(listener.heard(), std::back_inserter(heard));
        return std::ranges::count(heard, told) == 2;
    })) << "by the commit, and after it";
}

TEST_F(PostgresFollowers, ReadersOfAProcessThatEndsAreCutOff) {
    postgres_settings given = settings();
    given.lease = 3000ms; // Renewed each second.
    const auto first = make_postgres_store(given);
    const auto second = open();
    const auto watch = read_a_run(*first, *second);

    sql("DELETE FROM agui.run_watches"); // As others do, for a process that was killed.

    EXPECT_TRUE(peer_.told.wait([&] {
        return peer_.last().readers == 0 && peer_.last().how == leaving::cut_off;
    }));
    first->set_peer_handler(nullptr);
}

TEST_F(PostgresFollowers, AProcessThatShutsDownTellsOfItsLastReader) {
    postgres_settings given = settings();
    given.lease = 600s; // Nobody looks at the rows before it is renewed.
    const auto first = make_postgres_store(given);
    auto second = make_postgres_store(given);
    const auto watch = read_a_run(*first, *second);

    watch->set_readers(0, leaving::cut_off);
    second.reset();

    EXPECT_TRUE(peer_.told.wait([&] {
        return peer_.last().readers == 0 && peer_.last().how == leaving::cut_off;
    }));
    first->set_peer_handler(nullptr);
}

TEST_F(PostgresFollowers, WhatIsHeardIsNewerThanWhatWasReadMeanwhile) {
    postgres_settings given = settings_through_proxy();
    given.lease = 6000ms; // Renewed each two seconds.
    const auto first = make_postgres_store(given);
    const auto second = open();
    const auto watch = read_a_run(*first, *second);

    proxy_->set(cutting_proxy::cut::held, 1, "JOIN agui.run_watches", "");
    ASSERT_TRUE(happens([&] { return proxy_->cuts() == 1; }));
    watch->set_readers(0, leaving::left);
    ASSERT_TRUE(peer_.told.wait([&] { return peer_.last().readers == 0; }));
    EXPECT_EQ(peer_.last().how, leaving::left);
    const std::size_t before = peer_.reports.size();
    proxy_->let_go();
    done(second->request_stop({thread_1, "run_1", "later"}));
    ASSERT_TRUE(peer_.told.wait([&] { return peer_.stops.size() == 1; }));

    first->set_peer_handler(nullptr);
    EXPECT_EQ(peer_.reports.size(), before) << "not once more what was read before";
}

TEST_F(PostgresFollowers, ThatTheyCannotBeHeardIsSaidOnce) {
    postgres_settings given = settings();
    given.listen_url = settings_through_proxy().url;
    given.password = "secret";
    proxy_->set(cutting_proxy::cut::before, 1'000'000, "LISTEN", "");
    const auto store = make_postgres_store(given);
    EXPECT_TRUE(happens([&] { return proxy_->cuts() >= 3; }));
    EXPECT_EQ(lines("session.listen must lead to"), 1);
    EXPECT_EQ(store->unavailable(), "");
    proxy_->set(cutting_proxy::cut::never, 0);
    EXPECT_TRUE(happens([&] { return lines("are heard again") == 1; }));
    EXPECT_EQ(lines("secret"), 0);
}

TEST_F(PostgresFollowers, ThatNothingIsHeardIsSaid) {
    const auto hearing = open();
    postgres_settings given = settings();
    given.listen_url = test::postgres_server(); // Another database.
    const auto deaf = make_postgres_store(given);
    EXPECT_TRUE(happens([&] { return lines("no notification of the database is heard") > 0; }));
    std::this_thread::sleep_for(500ms); // The other one would have said it by now too.
    EXPECT_EQ(lines("no notification of the database is heard"), 1) << "the other one hears";
}

} // namespace
} // namespace agui::session
