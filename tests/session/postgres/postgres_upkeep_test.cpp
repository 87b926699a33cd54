// Logs are dropped by days, which must not block other calls.
#include "tests/session/postgres/postgres_stores.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace agui::session {
namespace {

using namespace std::chrono_literals;

using test::frames_of;
using test::key_of;
using test::slice_of;
using test::thread_1;

constexpr std::int64_t a_day = 24LL * 60 * 60 * 1000;

class PostgresUpkeep : public test::postgres_stores {
protected:
    void SetUp() override {
        postgres_stores::SetUp();
        if (database_) {
            store_ = open();
            sql("SELECT agui.make_log_partitions(1, 4)");
        }
    }
    void TearDown() override { store_.reset(); }

    /// Stores a run that began on that day since 1970 and ended then.
    std::int64_t ended_run(std::int64_t day, std::int64_t ended_at) {
        const std::string run_id = "run_" + std::to_string(++count_);
        const std::int64_t now = begin(*store_, thread_1, run_id, nullptr);
        const std::int64_t number = (day << 40) + count_;
        changes end = end_of(now, run_id, 1);
        end.run->ended_at = ended_at;
        done(store_->commit(thread_1, end, slice_of(now, 1, {"end"})));
        const std::string change = " = " + std::to_string(number) + " WHERE ";
        // In one statement, because the store may be counting the run's bytes.
        sql("UPDATE agui.log_rows SET run" + change + "run = " + std::to_string(now) +
            "; UPDATE agui.runs SET number" + change + "number = " + std::to_string(now));
        return number;
    }
    bool is_kept(std::int64_t number) { return run(store_->read_log(number, 0, 10)).has_value(); }
    bool has_partition(std::int64_t day) {
        return sql("SELECT to_regclass('agui.log_rows_" + std::to_string(day) + "')") != "";
    }
    void drop(std::int64_t ended_since, std::uint64_t max_bytes = 0) {
        done(store_->drop_logs({.ended_since = ended_since, .max_bytes = max_bytes}));
    }

    std::unique_ptr<store> store_;
    std::int64_t count_ = 0;
};

TEST_F(PostgresUpkeep, LogsWaitForTheEndOfTheirDay) {
    const std::int64_t early = ended_run(1, a_day + 1000);
    const std::int64_t late = ended_run(1, 2 * a_day + 1000); // The run ended after midnight.

    drop(a_day + a_day / 2);
    EXPECT_TRUE(is_kept(early));
    drop(2 * a_day + 500);
    EXPECT_TRUE(is_kept(early)) << "the other can be dropped soon";
    EXPECT_TRUE(is_kept(late));
    EXPECT_TRUE(has_partition(1));

    drop(2 * a_day + 2000);
    EXPECT_FALSE(has_partition(1));
    EXPECT_FALSE(is_kept(early));
    EXPECT_FALSE(is_kept(late));
    EXPECT_EQ(sql("SELECT count(*) FROM agui.runs WHERE log = 'dropped'"), "2");
}

TEST_F(PostgresUpkeep, LogsOfADayThatStaysAreDroppedOneByOne) {
    const std::int64_t early = ended_run(1, a_day + 1000);
    const std::int64_t late = ended_run(1, 5 * a_day);

    drop(2 * a_day + 1000);

    EXPECT_FALSE(is_kept(early));
    EXPECT_TRUE(is_kept(late));
}

TEST_F(PostgresUpkeep, ALongReaderHoldsUpNothingElse) {
    const std::int64_t old = ended_run(1, a_day + 1000);
    const std::int64_t large = ended_run(4, 4 * a_day + 1000);
    test::sql_session reader(database_->url());
    reader("BEGIN; SELECT count(*) FROM agui.log_rows");

    const auto begun = std::chrono::steady_clock::now();
    drop(3 * a_day, 1);
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 3s) << "it does not wait for the reader";
    EXPECT_TRUE(has_partition(1));
    EXPECT_FALSE(is_kept(old));
    EXPECT_FALSE(is_kept(large)) << "beyond the limit";

    reader("COMMIT");
    drop(3 * a_day, 1);
    EXPECT_FALSE(has_partition(1));
}

// --- rows of ended runs

class PostgresJoining : public PostgresUpkeep {
protected:
    /// Stores ended runs of six entries each, whose rows have not been joined.
    void leave_ended_runs(int count) {
        store_.reset();
        sql("INSERT INTO agui.runs SELECT agui.next_run_number(), 1, convert_to('run_' || i, "
            "'UTF8'), '', '', '', NULL, '', 'finished', '', '', 1000, 2000 + i, 6, 'kept', NULL "
            "FROM generate_series(1, " +
            std::to_string(count) +
            ") i; INSERT INTO agui.log_rows SELECT r.number, e, e, convert_to('e' || e, 'UTF8'), "
            "'\\x02000000', '' FROM agui.runs r, generate_series(1, 6) e");
    }
    void wait_until_joined() {
        const auto deadline = std::chrono::steady_clock::now() + 20s;
        while (sql("SELECT count(*) FROM agui.runs WHERE log_bytes IS NULL") != "0" &&
               std::chrono::steady_clock::now() < deadline) {
        }
    }
    std::string number_of(const std::string& run_id) {
        return sql("SELECT number FROM agui.runs WHERE run_id = '" + run_id + "'");
    }
};

TEST_F(PostgresJoining, RowsOfRunsThatAnEarlierProcessEndedAreJoinedInBatches) {
    leave_ended_runs(250);

    store_ = open();
    wait_until_joined();

    EXPECT_EQ(sql("SELECT count(*) FROM agui.log_rows"), "250");
    EXPECT_EQ(sql("SELECT count(DISTINCT xmin::text) FROM agui.log_rows"), "3") << "transactions";
    EXPECT_EQ(sql("SELECT DISTINCT log_bytes FROM agui.runs"), std::to_string(6 * (2 + 4)));
    EXPECT_EQ(
        frames_of(get(store_->read_log(std::stoll(number_of("run_200")), 0, 100))),
        (std::vector<std::string>{"e1", "e2", "e3", "e4", "e5", "e6"})
    );
}

TEST_F(PostgresJoining, RowsThatOthersAreJoiningAreLeftToThem) {
    leave_ended_runs(20);
    test::sql_session other(database_->url());
    other("BEGIN; SELECT FROM agui.runs WHERE run_id = 'run_1' FOR UPDATE");

    store_ = open();
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (sql("SELECT count(*) FROM agui.runs WHERE log_bytes IS NULL") != "1" &&
           std::chrono::steady_clock::now() < deadline) {
    }

    EXPECT_EQ(sql("SELECT count(*) FROM agui.log_rows"), std::to_string(6 + 19));
}

TEST_F(PostgresJoining, ALogThatCannotBeJoinedHoldsUpNoOther) {
    leave_ended_runs(20);
    sql("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN RAISE EXCEPTION USING ERRCODE = 'XX001'; END$$; "
        "CREATE TRIGGER refuse BEFORE DELETE ON agui.log_rows FOR EACH ROW "
        "WHEN (OLD.run = " +
        number_of("run_5") + ") EXECUTE FUNCTION refuse()");

    store_ = open();
    wait_until_joined();

    EXPECT_EQ(sql("SELECT count(*) FROM agui.runs WHERE log_bytes IS NULL"), "0");
    EXPECT_EQ(sql("SELECT count(*) FROM agui.log_rows"), std::to_string(6 + 19));
    EXPECT_EQ(sql("SELECT count(*) FROM agui.log_rows WHERE run = " + number_of("run_5")), "6");
}

} // namespace
} // namespace agui::session
