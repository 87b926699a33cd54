// Wrong clocks, days without a partition, and what two gateways do at the same moment.
#include "session/postgres/pg_clock.hpp"
#include "tests/session/postgres/postgres_stores.hpp"

#include <chrono>
#include <thread>

namespace agui::session {
namespace {

using namespace std::chrono_literals;

using test::frames_of;
using test::key_of;
using test::run_of;
using test::slice_of;
using test::user_turn;

const thread_key thread_1 = key_of("thread_1");
const thread_key thread_2 = key_of("thread_2");
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

TEST_F(PostgresClocks, WhatAGatewayTenDaysBehindHasKeptIsNotOld) {
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

TEST_F(PostgresClocks, ARunWhoseDayHasNoPartitionIsStored) {
    const auto store = open();
    sql("DO $$ BEGIN EXECUTE 'DROP TABLE agui.log_rows_' || agui.today(); END $$");

    const std::int64_t number = end_run(*store, thread_1, system_clock().now());

    EXPECT_EQ(frames_of(get(store->read_log(number, 0, 10))), std::vector<std::string>{"end"});
    const auto again = open(); // Makes what partitions it can.
    EXPECT_EQ(frames_of(get(again->read_log(number, 0, 10))), std::vector<std::string>{"end"});
    EXPECT_EQ(sql("SELECT to_regclass('agui.log_rows_' || agui.today()) IS NULL"), "t");
    EXPECT_EQ(sql("SELECT to_regclass('agui.log_rows_' || agui.today() + 1) IS NOT NULL"), "t");
    done(store->drop_logs({.ended_since = system_clock().now() + 2 * day, .max_bytes = 0}));
    EXPECT_EQ(failure_of(store->read_log(number, 0, 10)), errc::run_expired);
    EXPECT_EQ(sql("SELECT count(*) FROM agui.log_rows"), "0");
}

// Two gateways, one of which has just registered, want the same lease.
TEST_F(PostgresClocks, ALeaseIsNotTakenFromAGatewayThatRegistersAtThisMoment) {
    const auto store = open();
    test::sql_session first(database_->url());
    test::sql_session second(database_->url());
    const auto take = [](test::sql_session& in, int gateway) {
        return in("SELECT agui.take_lease('p', 't', " + std::to_string(gateway) + ", 'r')");
    };
    const auto register_gateway = [](test::sql_session& in, int gateway) {
        in("INSERT INTO agui.gateways (id, expires) OVERRIDING SYSTEM VALUE VALUES (" +
           std::to_string(gateway) + ", now() + interval '1 hour')");
    };
    register_gateway(second, 12);
    first("BEGIN");
    register_gateway(first, 11);
    const std::string token = take(first, 11);
    std::string stolen = "?";
    std::thread other([&] { stolen = take(second, 12); });
    while (sql("SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory'") ==
               "0" &&
           sql("SELECT count(*) FROM pg_locks WHERE NOT granted") == "0") {
        std::this_thread::yield();
    }
    first("COMMIT");
    other.join();

    EXPECT_EQ(stolen, "") << "it has a holder";
    first("DELETE FROM agui.leases");
    const std::string next = take(second, 12);
    EXPECT_LT(std::stoll(token), std::stoll(next)) << "tokens never fall";
    first("UPDATE agui.gateways SET fenced = true WHERE id = 12");
    EXPECT_LT(std::stoll(next), std::stoll(take(first, 11)));
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
