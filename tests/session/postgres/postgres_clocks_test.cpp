// Wrong clocks, days without a partition, and two gateways that act at the same moment.
#include "session/postgres/pg_clock.hpp"
#include "tests/session/postgres/postgres_stores.hpp"

#include <chrono>
#include <cstdlib>
#include <thread>

namespace agui::session {
namespace {

using namespace std::chrono_literals;

using test::frames_of;
using test::key_of;
using test::run_of;
using test::slice_of;
using test::thread_1;
using test::thread_2;
using test::user_turn;

constexpr unix_ms day = 24LL * 60 * 60 * 1000;

TEST(PgClock, TakesOverTheDatabasesTimeIfTheClocksDiffer) {
    const manual_clock own(1'000'000'000);
    pg_clock time(own);
    EXPECT_EQ(time.shared(5'000), 5'000);

    time.note(1'000'000'000 + 59'999);
    EXPECT_EQ(time.shared(5'000), 5'000) << "they are taken to be the same";
    time.note(1'000'000'000 - 10 * day);
    EXPECT_EQ(time.shared(1'000'000'000), 1'000'000'000 - 10 * day);
    EXPECT_EQ(time.shared(0), 0) << "no time";
    time.note(1'000'000'001);
    EXPECT_EQ(time.shared(5'000), 5'000) << "the clock was set";
}

class PostgresClocks : public test::postgres_stores {
protected:
    std::unique_ptr<store> open_with(const clock& own) {
        postgres_settings given = settings();
        given.own_clock = &own;
        return make_postgres_store(given);
    }

    void drop_today() {
        sql("DO $$ BEGIN EXECUTE 'DROP TABLE agui.log_rows_' || agui.today(); END $$");
    }

    std::int64_t end_run(store& in, const thread_key& key, unix_ms at) {
        const std::int64_t number = begin(in, key, "run_1", nullptr, user_turn("m1", "Hi"));
        changes end = end_of(number, "run_1", 1);
        end.run->ended_at = at;
        done(in.commit(key, end, slice_of(number, 1, {"end"})));
        return number;
    }
};

TEST_F(PostgresClocks, AGatewayTenDaysAheadDropsNothingThatIsNeeded) {
    const auto sound = open();
    const manual_clock ahead(system_clock().now() + 10 * day);
    const auto wrong = open_with(ahead);
    const std::int64_t number = end_run(*sound, thread_1, system_clock().now());
    attachment photo{.sha256 = "a", .mime_type = "image/png", .bytes = "x"};
    photo.kept_at = system_clock().now();
    done(sound->keep_attachment(thread_1, photo, 10));

    done(wrong->drop_logs(
        {.ended_since = ahead.now() - 7 * day, .attached_since = ahead.now() - 7 * day}
    ));

    EXPECT_EQ(get(sound->read_log(number, 0, 10)).size(), 1U);
    EXPECT_TRUE(get(sound->find_attachment(thread_1, "a")));
    EXPECT_EQ(sql("SELECT to_regclass('agui.log_rows_' || agui.today()) IS NOT NULL"), "t");
    end_run(*sound, thread_2, system_clock().now());
}

TEST_F(PostgresClocks, DataOfAGatewayTenDaysBehindIsNotOld) {
    const auto sound = open();
    const manual_clock behind(system_clock().now() - 10 * day);
    const auto wrong = open_with(behind);
    const std::int64_t number = end_run(*wrong, thread_1, behind.now());
    attachment photo{.sha256 = "a", .mime_type = "image/png", .bytes = "x"};
    photo.kept_at = behind.now();
    done(wrong->keep_attachment(thread_1, photo, 10));
    const unix_ms since = system_clock().now() - 7 * day;

    done(sound->drop_logs({.ended_since = since, .attached_since = since}));

    EXPECT_EQ(get(sound->read_log(number, 0, 10)).size(), 1U);
    EXPECT_TRUE(get(sound->find_attachment(thread_1, "a")));
}

TEST_F(PostgresClocks, PartitionsFromTodayOnAreNeverDropped) {
    const auto store = open();

    done(store->drop_logs({.ended_since = system_clock().now() + 10 * day, .max_bytes = 0}));

    EXPECT_EQ(sql("SELECT to_regclass('agui.log_rows_' || agui.today()) IS NOT NULL"), "t");
    EXPECT_EQ(sql("SELECT to_regclass('agui.log_rows_' || agui.today() + 1) IS NOT NULL"), "t");
}

TEST_F(PostgresClocks, ARunOfADayWithoutAPartitionIsStored) {
    const auto store = open();
    drop_today();

    const std::int64_t number = end_run(*store, thread_1, system_clock().now());

    EXPECT_EQ(frames_of(get(store->read_log(number, 0, 10))), std::vector<std::string>{"end"});
}

TEST_F(PostgresClocks, ARunWhosePartitionIsLostCanBeEnded) {
    const auto store = open();
    const lease_ptr held = get(store->acquire(thread_1, "run_1"));
    const std::int64_t number = begin(*store, thread_1, "run_1", held);
    store->release(held);
    drop_today();

    const auto claimed = get(store->claim_orphans(10));
    ASSERT_EQ(claimed.size(), 1U);
    ASSERT_EQ(get(store->orphans(claimed[0])).size(), 1U);
    done(store->commit(
        thread_1, end_of(number, "run_1", 1), slice_of(number, 1, {"end"}), {claimed[0], true}
    ));

    EXPECT_EQ(frames_of(get(store->read_log(number, 0, 10))), std::vector<std::string>{"end"});
}

TEST_F(PostgresClocks, AStartComesBackAsItWasGivenAndAnEndInTheDatabasesTime) {
    for (const unix_ms lead : {-10 * day, 10 * day}) {
        const manual_clock wrong(system_clock().now() + lead);
        const auto store = open_with(wrong);
        const thread_key key = key_of("thread_" + std::to_string(lead));
        run_record run = run_of("run_1");
        run.started_at = wrong.now();
        const lease_ptr held = get(store->acquire(key, "run_1"));
        const std::int64_t number =
            get(store->begin(key, run, user_turn("m1", "Hi"), std::nullopt, held)).number;

        const auto orphan =
            get(store->orphans(std::make_shared<lease>(key, "", held->token(), nullptr, false)));
        ASSERT_EQ(orphan.size(), 1U);
        EXPECT_EQ(orphan[0].run.started_at, wrong.now()) << "a client may have been shown it";
        changes end = end_of(number, "run_1", 1);
        end.run->started_at = orphan[0].run.started_at;
        end.run->ended_at = wrong.now();
        done(store->commit(key, end, slice_of(number, 1, {"end"}), {held, true}));

        const auto found = get(store->find_run(key, "run_1")).value();
        EXPECT_EQ(found.started_at, wrong.now());
        EXPECT_LT(std::abs(found.ended_at - system_clock().now()), 60'000);
        EXPECT_LT(std::abs(found.ended_at - store->shared_time(wrong.now())), 60'000);
    }
}

// Each gateway writes these times anew into events.
TEST_F(PostgresClocks, GatewaysWithDifferentClocksReadTheSameTimes) {
    const manual_clock wrong(system_clock().now() - 10 * day);
    const auto sound = open();
    const auto other = open_with(wrong);
    begin(*sound, thread_1, "run_1", get(sound->acquire(thread_1, "run_1")));
    queued_request request;
    request.run_id = "run_2";
    request.queued_at = wrong.now();
    request.waits_since = other->shared_time(wrong.now());
    request.messages.push_back(test::user_message("m_2", "Hello").message);
    get(other->enqueue(thread_1, request, {.requests = 9, .bytes = 1'000'000}));

    for (const auto& store : {sound.get(), other.get()}) {
        const queued_request found = get(store->queued(thread_1)).at(0);
        EXPECT_EQ(found.queued_at, request.queued_at);
        EXPECT_LT(std::abs(found.waits_since - system_clock().now()), 60'000);
    }
    end_run(*sound, thread_2, system_clock().now());
    EXPECT_EQ(
        get(sound->latest_run(thread_2))->ended_at, get(other->latest_run(thread_2))->ended_at
    );
}

TEST_F(PostgresClocks, AClockMayJumpWithoutAnybodyNoticing) {
    manual_clock jumping(system_clock().now());
    const auto store = open_with(jumping);
    jumping.advance(std::chrono::milliseconds(-10 * day));

    end_run(*store, thread_1, jumping.now());

    EXPECT_EQ(sql("SELECT abs(ended_at - agui.now_ms()) < 60000 FROM agui.runs"), "t");
}

// Others change the lease while it is claimed.
class PostgresLeaseTaking : public PostgresClocks {
protected:
    void SetUp() override {
        PostgresClocks::SetUp();
        if (database_) {
            store_ = open();
            first_ = std::make_unique<test::sql_session>(database_->url());
            second_ = std::make_unique<test::sql_session>(database_->url());
        }
    }
    static std::string take(test::sql_session& in, int gateway, const char* attempt = "NULL") {
        return in(
            "SELECT its_token FROM agui.take_lease('p', 't', " + std::to_string(gateway) +
            ", 'r', " + attempt + ")"
        );
    }
    static void register_gateway(test::sql_session& in, int gateway) {
        in("INSERT INTO agui.gateways (id, expires, knows_version) OVERRIDING SYSTEM VALUE VALUES "
           "(" +
           std::to_string(gateway) + ", now() + interval '1 hour', 7)");
    }
    /// Returns the answer of the second gateway's take_lease(). Once that call waits, the first
    /// gateway carries out `change` and commits.
    std::string take_during(int gateway, const std::string& change) {
        const std::string backend = (*second_)("SELECT pg_backend_pid()");
        std::string taken = "?";
        std::thread other([&] { taken = take(*second_, gateway); });
        EXPECT_TRUE(happens([&] {
            return sql("SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = " + backend) !=
                   "0";
        }));
        changed_ = (*first_)(change);
        (*first_)("COMMIT");
        other.join();
        return taken;
    }

    std::string changed_;
    std::unique_ptr<store> store_;
    std::unique_ptr<test::sql_session> first_;
    std::unique_ptr<test::sql_session> second_;
};

TEST_F(PostgresLeaseTaking, AHolderThatRegistersAtThisMomentKeepsItsLease) {
    register_gateway(*second_, 12);
    (*first_)("BEGIN");
    register_gateway(*first_, 11);
    const std::string token = take(*first_, 11);

    EXPECT_EQ(take_during(12, "SELECT"), "") << "it has a holder";

    (*first_)("DELETE FROM agui.leases");
    const std::string next = take(*second_, 12);
    EXPECT_LT(std::stoll(token), std::stoll(next));
    (*first_)("UPDATE agui.gateways SET fenced = true WHERE id = 12");
    EXPECT_LT(std::stoll(next), std::stoll(take(*first_, 11)));
}

// The server may execute a call whose connection was lost after the call that repeats it, and after
// the next attempt.
TEST_F(PostgresLeaseTaking, ALateCallChangesNothing) {
    register_gateway(*first_, 11);
    register_gateway(*first_, 12);
    const std::string first = take(*first_, 11, "5");
    EXPECT_EQ(take(*first_, 11, "5"), first);
    const std::string second = take(*first_, 11, "6");
    EXPECT_LT(std::stoll(first), std::stoll(second));
    EXPECT_EQ(take(*first_, 11, "5"), second);
    EXPECT_EQ(take(*first_, 12, "7"), "") << "attempts of other gateways do not count";
    (*first_)("UPDATE agui.gateways SET fenced = true WHERE id = 11");
    EXPECT_LT(std::stoll(second), std::stoll(take(*first_, 12, "1")));
}

TEST_F(PostgresLeaseTaking, GatewaysOfVersion9DoNotNameTheirAttempts) {
    register_gateway(*first_, 11);
    const std::string old_call = "SELECT its_token FROM agui.take_lease('p', 't', 11, 'r')";
    const std::string first = (*first_)(old_call);
    EXPECT_LT(std::stoll(first), std::stoll((*first_)(old_call)));
}

// A claim first locks the row and then draws its token.
TEST_F(PostgresLeaseTaking, ATokenDoesNotFallDuringAClaim) {
    register_gateway(*second_, 11);
    register_gateway(*second_, 12);
    const auto take_during_claim = [&](int claiming) {
        (*first_)("DELETE FROM agui.leases; INSERT INTO agui.leases (principal, thread_id, "
                  "gateway, token, run_id) VALUES ('p', 't', 0, 1, '')");
        (*first_)("BEGIN; SELECT FROM agui.leases FOR UPDATE");
        return take_during(
            11, "UPDATE agui.leases SET token = agui.next_lease_token(), gateway = " +
                    std::to_string(claiming) + " RETURNING token"
        );
    };

    const std::string taken = take_during_claim(11);
    EXPECT_LT(std::stoll(changed_), std::stoll(taken)) << "its own claim";
    EXPECT_EQ(take_during_claim(12), "") << "that of the other one";
}

TEST_F(PostgresClocks, NumbersTellTheServersTimeline) {
    const auto store = open();
    const lease_ptr held = get(store->acquire(thread_1, "run_1"));
    const std::int64_t number = begin(*store, thread_1, "run_1", held);
    const std::int64_t timeline = std::stoll(sql("SELECT agui.timeline()"));

    EXPECT_GT(timeline, 0);
    EXPECT_EQ((number >> 30) & 1023, timeline & 1023);
    EXPECT_EQ(std::to_string(number >> 40), sql("SELECT agui.today()"));
    EXPECT_EQ(sql("SELECT token >> 40 FROM agui.leases"), std::to_string(timeline));
    const std::int64_t gateway = std::stoll(sql("SELECT id FROM agui.gateways"));
    EXPECT_LT(gateway, std::int64_t{1} << 47);
    EXPECT_GT(gateway, std::int64_t{1} << 20) << "drawn at random: less is one in 2^27";
}

} // namespace
} // namespace agui::session
