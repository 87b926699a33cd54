// Servers that give answers that no server should give, or none at all.
#include "tests/session/postgres/proxied_stores.hpp"

#include <chrono>
#include <thread>

namespace agui::session {
namespace {

using namespace std::chrono_literals;

using test::cutting_proxy;
using test::key_of;
using test::no_limits;
using test::request_of;
using test::thread_1;

class PostgresOutages : public test::proxied_stores {
protected:
    /// The server refuses the next `count` rows for `table` that fit `condition`.
    void refuse(
        const std::string& table, const std::string& condition, const std::string& state, int count
    ) {
        sql("CREATE SEQUENCE public.refused; "
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN "
            "IF pg_catalog.nextval('public.refused') <= " +
            std::to_string(count) + " THEN RAISE EXCEPTION USING ERRCODE = '" + state +
            "'; END IF; RETURN NEW; END$$; CREATE TRIGGER refuse BEFORE INSERT ON " + table +
            " FOR EACH ROW WHEN (" + condition + ") EXECUTE FUNCTION refuse()");
    }
    int refused() { return std::stoi(sql("SELECT last_value FROM public.refused")); }
};

// The query about a commit, as a standby or a busy server answers it.
class PostgresOutcomes : public PostgresOutages,
                         public ::testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(
    Answers, PostgresOutcomes, ::testing::Values("25006", "40001", "26000", "57014"),
    [](const auto& of) { return std::string("Of") + of.param; }
);

TEST_P(PostgresOutcomes, ACommitIsNotRepeatedBecauseTheQuestionAboutItIsRefused) {
    const auto store = make_postgres_store(settings_through_proxy());
    begin(*store, thread_1, "run_1", nullptr);
    refuse("agui.commit_marks", "NEW.mark = 0", GetParam(), 2);
    proxy_->set(cutting_proxy::cut::after, 1, "agui.queued_requests");

    get(store->enqueue(thread_1, request_of("run_2"), no_limits));

    EXPECT_EQ(proxy_->cuts(), 1);
    EXPECT_EQ(refused(), 3);
    EXPECT_EQ(get(store->queued(thread_1)).size(), 1U);
}

TEST_F(PostgresOutages, ACommitOfWhichNothingIsKnownIsNotRepeated) {
    postgres_settings given = settings_through_proxy();
    given.store_wait = 500ms;
    const auto store = make_postgres_store(given);
    begin(*store, thread_1, "run_1", nullptr);
    refuse("agui.commit_marks", "NEW.mark = 0", "25006", 1'000'000);
    proxy_->set(cutting_proxy::cut::after, 1, "agui.queued_requests");

    EXPECT_EQ(
        failure_of(store->enqueue(thread_1, request_of("run_2"), no_limits)),
        errc::store_unavailable
    );
    EXPECT_EQ(get(store->queued(thread_1)).size(), 1U);
}

// Errors of a standby before its promotion, and of a server whose disk is full for a while.
class PostgresUnready : public PostgresOutages,
                        public ::testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(
    Answers, PostgresUnready, ::testing::Values("25006", "53100", "57P03"),
    [](const auto& of) { return std::string("Of") + of.param; }
);

TEST_P(PostgresUnready, ACallWaitsForAServerThatNeedsTime) {
    const auto store = open();
    begin(*store, thread_1, "run_1", nullptr);
    sql("CREATE TABLE public.ready AS SELECT clock_timestamp() + interval '2 s' AS at; "
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN "
        "IF (SELECT at FROM public.ready) > clock_timestamp() THEN RAISE EXCEPTION USING ERRCODE "
        "= '" +
        std::string(GetParam()) +
        "'; END IF; RETURN NEW; END$$; CREATE TRIGGER refuse BEFORE INSERT ON "
        "agui.queued_requests FOR EACH ROW EXECUTE FUNCTION refuse()");

    get(store->enqueue(thread_1, request_of("run_2"), no_limits));

    EXPECT_EQ(sql("SELECT at < clock_timestamp() FROM public.ready"), "t");
}

TEST_F(PostgresOutages, ACallContinuesOnANewConnectionWhenItsOwnIsSilent) {
    postgres_settings given = settings_through_proxy();
    given.store_wait = 7s;
    const auto store = make_postgres_store(given);
    begin(*store, thread_1, "run_1", nullptr);
    proxy_->fall_silent();

    get(store->enqueue(thread_1, request_of("run_2"), no_limits));

    EXPECT_EQ(get(store->queued(thread_1)).size(), 1U);
}

TEST_F(PostgresOutages, ALeaseIsRenewedOnANewConnectionWhenTheOldOnesAreSilent) {
    postgres_settings given = settings_through_proxy();
    given.lease = 6s; // It is relied on for 4 s and renewed each 2 s.
    const auto store = make_postgres_store(given);
    const lease_ptr held = get(store->acquire(thread_1, "run_1"));
    std::this_thread::sleep_for(500ms); // By now, no other query of the start waits for an answer.
    proxy_->fall_silent();

    const auto end = std::chrono::steady_clock::now() + 7s;
    while (held->is_held() && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(50ms);
    }

    EXPECT_TRUE(held->is_held());
    EXPECT_EQ(sql("SELECT count(*) FROM agui.gateways WHERE expires > now()"), "1");
}

TEST_F(PostgresOutages, AThreadWhoseAcquisitionHasNoAnswerIsFreeForOthers) {
    const thread_key thread_2 = key_of("thread_2");
    postgres_settings given = settings_through_proxy();
    given.store_wait = 500ms;
    const auto store = make_postgres_store(given);
    proxy_->set(cutting_proxy::cut::after, 1'000'000, "agui.take_lease(", "");
    EXPECT_EQ(failure_of(store->acquire(thread_1, "run_1")), errc::store_unavailable);
    EXPECT_EQ(failure_of(store->acquire(thread_2, "run_2")), errc::store_unavailable);
    proxy_->set(cutting_proxy::cut::never, 0);

    const lease_ptr again = acquire_soon(*store, thread_2, "run_2");

    const auto other = open();
    EXPECT_TRUE(acquire_soon(*other, thread_1, "run_3")->is_held());
    EXPECT_EQ(
        sql("SELECT token FROM agui.leases WHERE thread_id = 'thread_2'"),
        std::to_string(again->token())
    );
}

TEST_F(PostgresOutages, ACallThatIsExecutedAfterTheReleaseBlocksOthersForAWhileOnly) {
    postgres_settings given = settings_through_proxy();
    given.store_wait = 500ms;
    const auto store = make_postgres_store(given);
    const auto other = open();
    proxy_->set(cutting_proxy::cut::after, 1, "agui.take_lease(", "");
    const lease_ptr held = get(store->acquire(thread_1, "run_1"));
    EXPECT_EQ(proxy_->cuts(), 1);
    const std::string gateway = sql("SELECT gateway FROM agui.leases");
    store->release(held);
    EXPECT_TRUE(happens([&] { return sql("SELECT count(*) FROM agui.leases") == "0"; }));

    sql("SELECT agui.take_lease('', 'thread_1', " + gateway + ", 'run_1', 1)");

    EXPECT_EQ(failure_of(other->acquire(thread_1, "run_2")), errc::thread_busy);
    EXPECT_TRUE(happens([&] {
        (void)get(store->claim_orphans(10));
        return sql("SELECT count(*) FROM agui.leases") == "0";
    }));
}

} // namespace
} // namespace agui::session
