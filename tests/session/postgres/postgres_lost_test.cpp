// Logs whose last entries are lost or of unknown outcome: the entries that readers were shown are
// there.
#include "tests/session/postgres/proxied_stores.hpp"

#include <thread>

namespace agui::session {
namespace {

using namespace std::chrono_literals;

using test::cutting_proxy;
using test::frames_of;
using test::key_of;
using test::recording_observer;
using test::slice_of;
using test::thread_1;
using test::user_turn;

class PostgresLost : public test::proxied_stores {};

// A commit takes entries with it, and its outcome is unknown. Entries that are appended meanwhile
// must not be joined with them.
TEST_F(PostgresLost, EntriesThatFollowACommitOfUnknownOutcomeAreNotShown) {
    postgres_settings given = settings_through_proxy();
    given.store_wait = 1500ms;
    const auto store = make_postgres_store(given);
    const lease_ptr held = get(store->acquire(thread_1, "run_1"));
    const std::int64_t number = begin(*store, thread_1, "run_1", held, user_turn("m1", "Hi"));
    const auto observer = std::make_shared<recording_observer>();
    proxy_->set(cutting_proxy::cut::away, 1, "UPDATE agui.threads");
    std::thread meanwhile;
    {
        // The writer waits with the first entry, so the commit takes the others.
        test::sql_session blocker(database_->url());
        blocker("BEGIN; LOCK TABLE agui.journal IN SHARE MODE");
        store->append_log(slice_of(number, 1, {"1"}), observer, held);
        EXPECT_TRUE(happens([&] {
            return sql("SELECT count(*) FROM pg_locks WHERE NOT granted") != "0";
        }));
        store->append_log(slice_of(number, 2, {"2", "3"}), observer, held);
        meanwhile = std::thread([&] {
            std::this_thread::sleep_for(300ms); // The commit is sent meanwhile.
            blocker("COMMIT");
            EXPECT_TRUE(happens([&] { return proxy_->cuts() == 1; }));
            store->append_log(slice_of(number, 4, {"4"}), observer, held);
        });
        EXPECT_EQ(
            failure_of(store->commit(thread_1, user_turn("m2", "more", 1), std::nullopt, {held})),
            errc::store_unavailable
        );
        meanwhile.join();
    }
    EXPECT_EQ(sql("SELECT max(last_sequence) FROM agui.log_rows"), "3") << "it has taken effect";
    proxy_->set(cutting_proxy::cut::never, 0);

    const auto later = std::make_shared<recording_observer>();
    store->append_log(slice_of(number, 5, {"5"}), later, held);
    EXPECT_TRUE(later->wait_told(5));
    EXPECT_TRUE(observer->wait_failed());
    EXPECT_EQ(later->durable(), 0U);
    EXPECT_LE(observer->durable(), 3U) << "what is shown is stored";
    EXPECT_TRUE(happens([&] { return store->unavailable().empty(); }));
    EXPECT_EQ(get(store->read_log(number, 0, 10)).size(), 3U);

    done(store->commit(
        thread_1, end_of(number, "run_1", 4), slice_of(number, 4, {"end"}), {held, true}
    ));
    EXPECT_EQ(
        frames_of(get(store->read_log(number, 0, 10))),
        (std::vector<std::string>{"1", "2", "3", "end"})
    );
}

// Between a turn whose outcome is unknown and the end of its run, which stores it again, tools and
// PATCH may change the state under the same lease.
enum class in_between { nothing, state_is_stored, state_is_unknown };
class PostgresRepeatedTurn : public PostgresLost,
                             public ::testing::WithParamInterface<in_between> {};

INSTANTIATE_TEST_SUITE_P(
    States, PostgresRepeatedTurn,
    ::testing::Values(
        in_between::nothing, in_between::state_is_stored, in_between::state_is_unknown
    ),
    [](const auto& of) {
        return of.param == in_between::nothing           ? "Alone"
               : of.param == in_between::state_is_stored ? "AfterAStoredState"
                                                         : "AfterAStateOfUnknownOutcome";
    }
);

TEST_P(PostgresRepeatedTurn, IsStoredOnce) {
    postgres_settings given = settings_through_proxy();
    given.store_wait = 500ms;
    const auto store = make_postgres_store(given);
    const lease_ptr held = get(store->acquire(thread_1, "run_1"));
    const std::int64_t number = begin(*store, thread_1, "run_1", held, user_turn("m1", "Hi"));
    changes turn = user_turn("m2", "answer", 1);
    turn.events.push_back({0, "assistant.message", "run_1", 10, {{"messageId", "m2"}}});
    const auto commit_without_answer = [&](const changes& change) {
        proxy_->set(cutting_proxy::cut::away, 1, "UPDATE agui.threads");
        EXPECT_EQ(
            failure_of(store->commit(thread_1, change, std::nullopt, {held})),
            errc::store_unavailable
        );
        proxy_->set(cutting_proxy::cut::never, 0);
        EXPECT_TRUE(happens([&] { return run(store->load(thread_1)).has_value(); }));
    };
    commit_without_answer(turn);
    EXPECT_EQ(sql("SELECT count(*) FROM agui.messages"), "2") << "it has taken effect";
    changes state;
    state.at = 1500;
    state.state = json_text(R"({"a":1})");
    state.events.push_back({0, "state.changed", "run_1", 15, {}});
    if (GetParam() == in_between::state_is_stored) {
        done(store->commit(thread_1, state, std::nullopt, {held}));
    } else if (GetParam() == in_between::state_is_unknown) {
        commit_without_answer(state);
    }
    const auto before = get(store->load(thread_1)).value();

    changes end = end_of(number, "run_1", 1);
    end.messages = turn.messages;
    end.branches = turn.branches;
    end.events = turn.events;
    end.events.push_back({0, "run.finished", "run_1", 20, {}});
    end.at = 2000;
    done(store->commit(thread_1, end, slice_of(number, 1, {"end"}), {held, true}));

    const auto after = get(store->load(thread_1)).value();
    EXPECT_EQ(after.nodes.size(), 2U);
    EXPECT_EQ(after.bytes, before.bytes);
    EXPECT_EQ(after.version, before.version + 1);
    EXPECT_EQ(after.branches.at(0).tip, 1U);
    std::vector<std::string> types;
    for (const session_event& each : get(store->events(thread_1, 0, 10))) {
        types.push_back(each.type);
    }
    std::erase(types, "state.changed");
    EXPECT_EQ(types, (std::vector<std::string>{"assistant.message", "run.finished"}));
}

// A refusal that is not about one of the runs is not retried for each run.
TEST_F(PostgresLost, RunsThatFailTogetherAreNotTriedOneByOne) {
    const auto store = open();
    std::vector<std::int64_t> numbers;
    std::vector<std::shared_ptr<recording_observer>> observers;
    for (int i = 0; i < 5; ++i) {
        numbers.push_back(begin(*store, thread_1, "run_" + std::to_string(i), nullptr));
        observers.push_back(std::make_shared<recording_observer>());
    }
    // A sequence counts, whether the transaction commits or not.
    sql("CREATE SEQUENCE agui.tries; "
        "CREATE FUNCTION agui.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "PERFORM nextval('agui.tries'); RAISE 'not now' USING ERRCODE = '57014'; END $$; "
        "CREATE TRIGGER refuse BEFORE INSERT ON agui.log_rows EXECUTE FUNCTION agui.refuse()");
    {
        test::sql_session blocker(database_->url());
        blocker("BEGIN; LOCK TABLE agui.log_rows IN SHARE MODE");
        store->append_log(slice_of(numbers[0], 1, {"1"}), observers[0], nullptr);
        EXPECT_TRUE(happens([&] {
            return sql("SELECT count(*) FROM pg_locks WHERE NOT granted") != "0";
        }));
        for (std::size_t i = 1; i < numbers.size(); ++i) {
            store->append_log(slice_of(numbers[i], 1, {"1"}), observers[i], nullptr);
        }
        blocker("COMMIT");
    }
    for (const auto& each : observers) {
        EXPECT_TRUE(each->wait_failed());
    }
    EXPECT_EQ(sql("SELECT last_value FROM agui.tries"), "2") << "one for each batch";
}

// A batch is refused under a number that the gateway has lost. Meanwhile the gateway has got
// another number.
TEST_F(PostgresLost, ABatchThatIsRefusedLateLosesNoLeasesOfTheNextNumber) {
    postgres_settings given = settings();
    given.lease = 3000ms;
    const auto store = make_postgres_store(given);
    const lease_ptr held = get(store->acquire(thread_1, "run_1"));
    const std::int64_t number = begin(*store, thread_1, "run_1", held);
    const auto observer = std::make_shared<recording_observer>();
    sql("CREATE OR REPLACE FUNCTION agui.enter(gateway bigint) RETURNS void LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM 1 FROM agui.gateways g WHERE g.id = enter.gateway AND NOT g.fenced; "
        "IF NOT FOUND THEN PERFORM pg_sleep(4); RAISE EXCEPTION 'the gateway has lost its leases' "
        "USING ERRCODE = 'AG001'; END IF; END $$");
    sql("UPDATE agui.gateways SET fenced = true");

    store->append_log(slice_of(number, 1, {"late"}), observer, held);
    const thread_key thread_2 = key_of("thread_2");
    EXPECT_TRUE(happens([&] { return held->is_lost(); }));
    const lease_ptr next = acquire_soon(*store, thread_2, "run_2");
    EXPECT_TRUE(observer->wait_failed());

    EXPECT_TRUE(next->is_held());
    EXPECT_EQ(store->unavailable(), "");
}

TEST_F(PostgresLost, ALeaseOfAFormerNumberSettlesNoRunUnderTheNextOne) {
    std::unique_ptr<store> dead = open();
    const lease_ptr its = get(dead->acquire(thread_1, "run_1"));
    const std::int64_t number = begin(*dead, thread_1, "run_1", its);
    const auto observer = std::make_shared<recording_observer>();
    dead->append_log(slice_of(number, 1, {"1"}), observer, its);
    ASSERT_TRUE(observer->wait_durable(1));
    sql("UPDATE agui.gateways SET fenced = true");
    dead.reset();
    postgres_settings given = settings_through_proxy();
    given.lease = 3000ms;
    const auto store = make_postgres_store(given);
    const lease_ptr held = acquire_soon(*store, thread_1, "run_2");
    ASSERT_TRUE(held->found_orphans());

    proxy_->set(cutting_proxy::cut::held, 1, "l.first_sequence DESC", "ORDER BY r.number");
    std::thread meanwhile([&] {
        EXPECT_TRUE(happens([&] { return proxy_->cuts() == 1; }));
        sql("UPDATE agui.gateways SET fenced = true");
        EXPECT_TRUE(happens([&] {
            const bool has_next = sql("SELECT count(*) FROM agui.gateways WHERE NOT fenced") == "1";
            return has_next && held->is_lost();
        }));
        proxy_->let_go();
    });
    EXPECT_EQ(failure_of(store->orphans(held)), errc::lease_lost);
    meanwhile.join();
    EXPECT_NE(sql("SELECT journal_writer FROM agui.runs WHERE run_id = 'run_1'"), "0");
}

// This happens with durability::relaxed, and after a failover to a standby that was behind.
TEST_F(PostgresLost, ALogEndsWhereTheServerHasLostEntriesThatItHadAcknowledged) {
    const auto store = open();
    const std::int64_t number = begin(*store, thread_1, "run_1", nullptr);
    const std::int64_t healthy = begin(*store, thread_1, "run_2", nullptr);
    const auto observer = std::make_shared<recording_observer>();
    const auto other = std::make_shared<recording_observer>();
    for (std::uint64_t i = 1; i <= 3; ++i) {
        store->append_log(slice_of(number, i, {std::to_string(i)}), observer, nullptr);
        store->append_log(slice_of(healthy, i, {std::to_string(i)}), other, nullptr);
        ASSERT_TRUE(observer->wait_durable(i));
        ASSERT_TRUE(other->wait_durable(i));
    }
    sql("DELETE FROM agui.log_rows WHERE first_sequence > 1 AND run = " + std::to_string(number));
    database_->end_sessions();

    store->append_log(slice_of(number, 4, {"4"}), observer, nullptr);
    store->append_log(slice_of(healthy, 4, {"4"}), other, nullptr);
    EXPECT_TRUE(observer->wait_failed());
    EXPECT_TRUE(other->wait_durable(4));

    EXPECT_EQ(frames_of(get(store->read_log(number, 0, 10))), std::vector<std::string>{"1"});
    done(store->commit(thread_1, end_of(number, "run_1", 2), slice_of(number, 2, {"end"})));
    EXPECT_EQ(
        frames_of(get(store->read_log(number, 0, 10))), (std::vector<std::string>{"1", "end"})
    );
    EXPECT_EQ(get(store->read_log(healthy, 0, 10)).size(), 4U);
}

// A standby that was behind does not even have their records.
TEST_F(PostgresLost, RunsThatTheServerDoesNotKnowAcceptNoEntries) {
    const auto store = open();
    const std::int64_t lost = begin(*store, thread_1, "run_1", nullptr);
    const std::int64_t silent = begin(*store, thread_1, "run_2", nullptr);
    const std::int64_t healthy = begin(*store, thread_1, "run_3", nullptr);
    sql("DELETE FROM agui.runs WHERE run_id IN ('run_1', 'run_2')");
    database_->end_sessions();

    const auto observer = std::make_shared<recording_observer>();
    store->append_log(slice_of(lost, 1, {"1"}), observer, nullptr);
    EXPECT_TRUE(observer->wait_told(1));
    EXPECT_EQ(observer->durable(), 0U);
    const auto other = std::make_shared<recording_observer>();
    store->append_log(slice_of(healthy, 1, {"1"}), other, nullptr);
    EXPECT_TRUE(other->wait_durable(1));
    const auto later = std::make_shared<recording_observer>();
    store->append_log(slice_of(silent, 1, {"1"}), later, nullptr);
    EXPECT_TRUE(later->wait_told(1));
    EXPECT_EQ(later->durable(), 0U) << "also one that had said nothing when this was noticed";
}

TEST_F(PostgresLost, NoCommitLeavesAGapInALog) {
    const auto store = open();
    const std::int64_t number = begin(*store, thread_1, "run_1", nullptr);
    const auto observer = std::make_shared<recording_observer>();
    store->append_log(slice_of(number, 1, {"1"}), observer, nullptr);
    ASSERT_TRUE(observer->wait_durable(1));
    // Simulates a crash that loses the transaction.
    sql("DELETE FROM agui.log_rows; UPDATE agui.runs SET last_sequence = 0");

    EXPECT_EQ(
        failure_of(store->commit(thread_1, {}, slice_of(number, 2, {"2"}))), errc::store_unavailable
    );
    EXPECT_TRUE(get(store->read_log(number, 0, 10)).empty());
    done(store->commit(thread_1, end_of(number, "run_1", 1), slice_of(number, 1, {"end"})));
    EXPECT_EQ(frames_of(get(store->read_log(number, 0, 10))), std::vector<std::string>{"end"});
}

} // namespace
} // namespace agui::session
