// Entries on their way to the database, without a database: what becomes of them when a commit
// takes them, at each of its outcomes, and whatever happens meanwhile.
#include "session/postgres/pg_logs.hpp"
#include "tests/session/store/store_fixture.hpp"

#include <boost/asio/co_spawn.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace agui::session {
namespace {

using namespace std::chrono_literals;

using test::key_of;
using test::recording_observer;
using test::slice_of;

struct deaf final : pg_gateway::listener {
    void on_lost() override {}
    void on_registered(std::int64_t /*id*/) override {}
    void on_renewed() override {}
    void on_not_renewed(const std::string&) override {}
};

class PgLogs : public test::coroutine_test {
protected:
    std::shared_ptr<recording_observer>
    append(std::int64_t run, std::uint64_t first, std::size_t count = 1) {
        auto observer = std::make_shared<recording_observer>();
        logs.append(slice_of(run, first, std::vector<std::string>(count, "{}")), observer, held);
        return observer;
    }

    /// Does what is ready to be done.
    void poll() {
        context().restart();
        context().poll();
    }

    const pg_target nowhere{"postgresql://127.0.0.1:1/db", ""};
    pg_pool pool{context().get_executor(), nowhere, {.size = 1, .prepares = true}};
    pg_clock time{system_clock()};
    pg_shared shared{context(), pool, {}, null_logger(), time};
    deaf listener;
    pg_gateway gateway{shared, 1000ms, listener};
    pg_logs logs{shared, gateway, {}};
    const lease_ptr held = std::make_shared<lease>(key_of("thread_1"), "run", 1);
};

// The entries of one run in the database, which has all from the first one to `end`.
struct stored_log {
    std::uint64_t end = 0;

    void add(const pg_logs::taken& entries, std::uint64_t last_of_slice) {
        if (!entries.row.empty()) {
            EXPECT_EQ(entries.row.first_sequence, end + 1) << "a gap, or written twice";
            const std::uint64_t count = entries.row.last_sequence - end;
            EXPECT_EQ(entries.row.lengths.size(), 4 * count) << "a gap within the row";
            end = entries.row.last_sequence;
        }
        end = std::max(end, last_of_slice);
    }
};

struct commit_step {
    std::size_t before = 0; ///< Entries that the commit takes.
    bool has_slice = false; ///< It writes an entry of its own.
    bool meanwhile = false; ///< An entry is appended while it is under way.
    enum class loss : std::uint8_t { none, of_leases, of_run } lost = loss::none; ///< The same.
    pg_logs::outcome outcome = pg_logs::outcome::committed;
    bool takes_effect = true; ///< Whether the database applies the commit.
};

std::vector<commit_step> all_steps() {
    using loss = commit_step::loss;
    std::vector<commit_step> all;
    for (const std::size_t before : {0U, 2U}) {
        for (const bool has_slice : {false, true}) {
            for (const bool meanwhile : {false, true}) {
                for (const loss lost : {loss::none, loss::of_leases, loss::of_run}) {
                    const commit_step step{before, has_slice, meanwhile, lost, {}, {}};
                    const auto add = [&](pg_logs::outcome outcome, bool takes_effect) {
                        all.push_back(step);
                        all.back().outcome = outcome;
                        all.back().takes_effect = takes_effect;
                    };
                    add(pg_logs::outcome::committed, true);
                    add(pg_logs::outcome::refused, false);
                    add(pg_logs::outcome::unknown, false);
                    add(pg_logs::outcome::unknown, true);
                }
            }
        }
    }
    return all;
}

class PgLogsCommits : public PgLogs {
protected:
    void try_step(std::int64_t number, const commit_step& step) {
        using loss = commit_step::loss;
        logs.open(number, 0, held);
        stored_log stored;
        const auto early = append(number, 1, step.before);
        const std::uint64_t last = step.has_slice ? step.before + 1 : 0;
        pg_logs::taken entries = run(logs.take(number, last));
        EXPECT_TRUE(entries.is_known);
        EXPECT_FALSE(entries.has_failed);
        const std::uint64_t next = std::max<std::uint64_t>(step.before, last) + 1;
        const auto late = step.meanwhile ? append(number, next) : nullptr;
        if (step.lost == loss::of_leases) {
            logs.lose_all();
        } else if (step.lost == loss::of_run) {
            logs.close(number);
        }
        if (step.takes_effect) {
            stored.add(entries, last);
        }
        const std::uint64_t durable = std::max(last, entries.row.last_sequence);
        logs.give_back(std::move(entries), step.outcome, durable);
        EXPECT_LE(early->durable(), stored.end) << "what is shown is stored";

        end_run(number, stored);

        const bool goes_on = step.lost == loss::none && step.outcome != pg_logs::outcome::unknown;
        const bool is_gap = step.outcome == pg_logs::outcome::refused && step.has_slice;
        if (step.before > 0) {
            EXPECT_TRUE(early->wait_told(step.before));
            EXPECT_LE(early->durable(), stored.end) << "what is shown is stored";
            EXPECT_TRUE(!goes_on || early->durable() == step.before) << "nothing failed";
        }
        if (late) {
            EXPECT_TRUE(late->wait_told(next));
            EXPECT_LE(late->durable(), stored.end) << "what is shown is stored";
            EXPECT_EQ(late->durable() == next, goes_on && !is_gap);
        }
    }

    // Commits what is left, as the end of a run does, and checks that the log could continue.
    void end_run(std::int64_t number, stored_log& stored) {
        pg_logs::taken rest = run(logs.take(number, 0));
        if (!rest.is_known) {
            return;
        }
        EXPECT_TRUE(!rest.has_failed || rest.row.empty()) << "nobody knows where it continues";
        stored.add(rest, 0);
        logs.give_back(std::move(rest), pg_logs::outcome::committed, stored.end);
        const auto next = append(number, stored.end + 1);
        pg_logs::taken more = run(logs.take(number, 0));
        // An empty log does not show whether a commit of unknown outcome is still under way.
        EXPECT_TRUE(!more.row.empty() || stored.end == 0);
        EXPECT_TRUE(!more.row.empty() || next->wait_failed());
        logs.give_back(std::move(more), pg_logs::outcome::refused, 0);
        logs.close(number);
        EXPECT_TRUE(next->wait_failed());
    }
};

TEST_F(PgLogsCommits, WhatIsShownIsStoredAndNobodyWaitsForever) {
    std::int64_t number = 0;
    for (const commit_step& step : all_steps()) {
        SCOPED_TRACE(
            ::testing::Message() << "before " << step.before << ", slice " << step.has_slice
                                 << ", meanwhile " << step.meanwhile << ", lost "
                                 << static_cast<int>(step.lost) << ", outcome "
                                 << static_cast<int>(step.outcome) << ", takes effect "
                                 << step.takes_effect
        );
        try_step(++number, step);
    }
    EXPECT_EQ(number, 96);
}

TEST_F(PgLogs, ASecondWriterWaitsUntilTheFirstHasGivenEntriesBack) {
    logs.open(1, 0, held);
    const auto observer = append(1, 1);
    pg_logs::taken first = run(logs.take(1, 0));
    std::optional<pg_logs::taken> second;
    boost::asio::co_spawn(
        context(), logs.take(1, 0),
        [&](const std::exception_ptr&, pg_logs::taken got) { second = std::move(got); }
    );
    poll();
    EXPECT_FALSE(second);
    const auto later = append(1, 2);

    logs.give_back(std::move(first), pg_logs::outcome::refused, 0);
    poll();

    ASSERT_TRUE(second);
    EXPECT_EQ(second->row.first_sequence, 1U);
    EXPECT_EQ(second->row.last_sequence, 2U);
    logs.give_back(std::move(*second), pg_logs::outcome::committed, 2);
    EXPECT_EQ(observer->durable(), 1U);
    EXPECT_EQ(later->durable(), 2U);
}

TEST_F(PgLogs, AFlushEndsOnceTheEntriesAreDurableOrLost) {
    std::int64_t number = 0;
    for (const auto outcome : {pg_logs::outcome::committed, pg_logs::outcome::unknown}) {
        SCOPED_TRACE(static_cast<int>(outcome));
        logs.open(++number, 0, held);
        (void)append(number, 1);
        pg_logs::taken entries = run(logs.take(number, 0));
        bool is_flushed = false;
        boost::asio::co_spawn(context(), logs.flush(number), [&](const std::exception_ptr&) {
            is_flushed = true;
        });
        poll();
        EXPECT_FALSE(is_flushed);

        logs.give_back(std::move(entries), outcome, 1);
        poll();

        EXPECT_TRUE(is_flushed);
    }
}

TEST_F(PgLogs, ForgetRunsWhoseLeasesWereLost) {
    logs.open(1, 0, held);
    for (std::int64_t i = 2; i <= 1000; ++i) {
        const auto lost = std::make_shared<lease>(key_of("thread_1"), "run", 2);
        logs.open(i, 0, lost);
        (void)lost->set_lost();
    }
    EXPECT_LE(logs.size(), 130U);
    const auto observer = append(1, 1);
    logs.finish();
    logs.close(1);
    EXPECT_TRUE(observer->wait_failed()) << "it was accepted, and not written";
}

} // namespace
} // namespace agui::session
