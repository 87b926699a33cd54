// Usage in the SQLite store: what its rows say while most calls write nothing, and what a killed
// process leaves.
#include "session/sqlite/sqlite_usage.hpp"

#include "session/sqlite/sqlite_schema.hpp"
#include "tests/session/sqlite/sqlite_fixture.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <utility>

namespace agui::session {
namespace {

constexpr unix_ms noon = 1'795'953'600'000; // 2026-11-29
constexpr unix_ms next_day = noon + 86'400'000;
constexpr std::int64_t no_limit = 1'000'000'000;

usage_claim claim_of(std::string subject, std::int64_t day, std::int64_t month = no_limit) {
    return {
        std::move(subject),
        {.input_tokens = {}, .output_tokens = day, .micro_cost = {}},
        {.input_tokens = {}, .output_tokens = month, .micro_cost = {}}
    };
}

usage_amount output(std::int64_t tokens) { return {0, tokens, 0}; }

class SqliteUsage : public test::SqliteStore {
protected:
    SqliteUsage() : db_(path()) {
        db_.execute("PRAGMA synchronous = OFF");
        db_.execute("CREATE TABLE usage (subject TEXT, period INTEGER, input_tokens INTEGER, "
                    "output_tokens INTEGER, micro_cost INTEGER, PRIMARY KEY (subject, period))");
        db_.execute("CREATE TABLE threads (principal TEXT, bytes INTEGER)");
        db_.execute("CREATE TABLE attachments (principal TEXT, size INTEGER)");
        restart();
    }

    // As after a kill: what is only in memory is gone.
    void restart() { usage_.emplace(db_); }

    template <class Work>
    void write(Work work, bool commits = true) {
        ++transactions_;
        transaction all(db_);
        work();
        if (commits) {
            all.commit();
            usage_->committed();
        } else {
            usage_->rolled_back();
        }
    }

    bool reserve(const std::vector<usage_claim>& claims, usage_amount amount, unix_ms now = noon) {
        auto reserved = usage_->try_reserve(claims, amount, now);
        if (!reserved) {
            write([&] { reserved = usage_->reserve(claims, amount, now); });
        }
        return !reserved->refused;
    }
    void settle(std::vector<std::string> subjects, usage_amount reserved, usage_amount used) {
        const usage_settlement what{std::move(subjects), noon, reserved, used};
        if (!usage_->try_settle(what)) {
            write([&] { usage_->settle(what); });
        }
    }
    std::int64_t used(const std::string& subject, unix_ms now = noon) {
        return usage_->read({subject}, now).subjects.at(0).day.output_tokens;
    }
    std::int64_t row(const std::string& subject, std::int64_t period) {
        return db_.integer(
            "SELECT output_tokens FROM usage WHERE subject = '" + subject +
            "' AND period = " + std::to_string(period)
        );
    }

    database db_;
    std::optional<sqlite_usage> usage_;
    int transactions_ = 0;
};

TEST_F(SqliteUsage, MostCallsNeedNoTransaction) {
    const std::vector<usage_claim> claims{claim_of("a", 1'000'000), claim_of("b", no_limit)};
    for (int i = 0; i < 1'000; ++i) {
        ASSERT_TRUE(reserve(claims, output(100)));
        settle({"a", "b"}, output(100), output(10));
    }

    EXPECT_EQ(used("a"), 10'000);
    EXPECT_EQ(used("b"), 10'000);
    EXPECT_EQ(transactions_, 7) << "one for each 160 calls: 16 of 100 tokens, of which 90 return";
}

TEST_F(SqliteUsage, AKilledProcessLeavesAFewCallsTooMany) {
    ASSERT_TRUE(reserve({claim_of("a", 1'000'000)}, output(100)));
    ASSERT_TRUE(reserve({claim_of("a", 1'000'000)}, output(100)));

    restart();

    EXPECT_EQ(used("a"), 100 * (1 + sqlite_usage::calls_ahead_max));
}

TEST_F(SqliteUsage, AKilledProcessLeavesMostOfWhatWasLeft) {
    ASSERT_TRUE(reserve({claim_of("a", 6'500)}, output(100)));
    restart();
    EXPECT_EQ(used("a"), 200) << "a 64th of 6 400 is one call";

    ASSERT_TRUE(reserve({claim_of("b", 6'399)}, output(100)));
    restart();
    EXPECT_EQ(used("b"), 100) << "a 64th of what is left is less than a call";

    ASSERT_TRUE(reserve({claim_of("c", no_limit, 6'399)}, output(100)));
    restart();
    EXPECT_EQ(used("c"), 100) << "the month has less left than the day";
}

TEST_F(SqliteUsage, WhatIsOnlyInTheRowIsNoReasonToRefuse) {
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(reserve({claim_of("a", 10'000)}, output(100))) << i;
    }
    EXPECT_FALSE(reserve({claim_of("a", 10'000)}, output(1)));
    EXPECT_EQ(used("a"), 10'000);
}

TEST_F(SqliteUsage, ARefusalNeedsNoTransaction) {
    ASSERT_TRUE(reserve({claim_of("a", 100)}, output(100)));
    const int before = transactions_;
    EXPECT_FALSE(reserve({claim_of("a", 100)}, output(1)));
    EXPECT_EQ(transactions_, before);
}

TEST_F(SqliteUsage, WhatIsUndoneIsNotCounted) {
    ASSERT_TRUE(reserve({claim_of("a", no_limit)}, output(100)));
    write([this] { usage_->store_all(); });

    write([this] { (void)usage_->reserve({claim_of("a", no_limit)}, output(500), noon); }, false);
    EXPECT_EQ(used("a"), 100);
    write([this] { usage_->settle({{"a"}, noon, output(100), output(700)}); }, false);
    EXPECT_EQ(used("a"), 100);

    ASSERT_TRUE(reserve({claim_of("a", no_limit)}, output(10)));
    EXPECT_EQ(used("a"), 110);
}

TEST_F(SqliteUsage, IdleSubjectsAreStoredAsTheyAre) {
    ASSERT_TRUE(reserve({claim_of("a", no_limit)}, output(100)));
    ASSERT_TRUE(reserve({claim_of("b", no_limit)}, output(100)));
    write([this] { EXPECT_FALSE(usage_->store_idle()); });
    EXPECT_EQ(row("a", 20'261'129), 1'700) << "it was used since the call before";
    ASSERT_TRUE(reserve({claim_of("b", no_limit)}, output(100)));

    write([this] { EXPECT_FALSE(usage_->store_idle()); });

    EXPECT_EQ(row("a", 20'261'129), 100);
    EXPECT_EQ(row("a", 202'611), 100);
    EXPECT_EQ(row("b", 20'261'129), 1'700);
    EXPECT_EQ(used("a"), 100);
    EXPECT_EQ(used("b"), 200);

    write([this] { usage_->store_all(); });
    EXPECT_EQ(row("b", 20'261'129), 200);
}

TEST_F(SqliteUsage, AYesterdayThatIsIdleIsStoredThoughItsSubjectIsNot) {
    ASSERT_TRUE(reserve({claim_of("a", no_limit)}, output(100)));
    write([this] { EXPECT_FALSE(usage_->store_idle()); });
    ASSERT_TRUE(reserve({claim_of("a", no_limit)}, output(100), next_day));

    write([this] { EXPECT_FALSE(usage_->store_idle()); });

    EXPECT_EQ(row("a", 20'261'129), 100);
    EXPECT_EQ(row("a", 20'261'130), 1'700);
    EXPECT_EQ(used("a", next_day), 100);
}

TEST_F(SqliteUsage, WhatASettlementGivesBackIsFreeOnceItIsCommitted) {
    ASSERT_TRUE(reserve({claim_of("a", 1'000)}, output(1'000)));
    const usage_settlement settled{{"a", "b"}, noon, output(300), output(0)};
    const auto is_free = [this] {
        const auto reserved = usage_->try_reserve({claim_of("a", 1'000)}, output(300), noon);
        return reserved && !reserved->refused;
    };

    write(
        [&] {
            usage_->settle(settled);
            EXPECT_FALSE(is_free());
        },
        false
    );
    write([&] { usage_->settle(settled); });

    EXPECT_EQ(used("a"), 700);
    EXPECT_TRUE(is_free());
}

class ManySubjects : public SqliteUsage {
protected:
    static std::string name(std::size_t i) { return "s" + std::to_string(i); }
    void use(std::size_t first, std::size_t end) {
        write([&] {
            for (std::size_t i = first; i < end; ++i) {
                const auto made = usage_->reserve({claim_of(name(i), no_limit)}, output(10), noon);
                ASSERT_FALSE(made.refused);
            }
        });
    }
    // Rows that say what was used, without room.
    std::size_t exact(std::size_t first, std::size_t end) {
        std::size_t found = 0;
        for (std::size_t i = first; i < end; ++i) {
            EXPECT_EQ(used(name(i)), 10);
            found += row(name(i), 20'261'129) == 10 ? 1 : 0;
        }
        return found;
    }
};

TEST_F(ManySubjects, ThatDoNotFitAreStoredAsTheyAreTheIdleOnesFirst) {
    const std::size_t half = sqlite_usage::subjects_max / 2;
    const std::size_t all = sqlite_usage::subjects_max + 100;
    use(0, half);
    write([this] { EXPECT_FALSE(usage_->store_idle()); });

    use(half, all);

    // Two rows of each.
    EXPECT_EQ(exact(0, half), sqlite_usage::rows_at_once / 2);
    EXPECT_EQ(exact(half, all), 0U);
}

TEST_F(ManySubjects, ThatDoNotFitAreStoredAlsoIfNoneIsIdle) {
    use(0, sqlite_usage::subjects_max + 100);
    EXPECT_EQ(exact(0, sqlite_usage::subjects_max + 100), sqlite_usage::rows_at_once / 2);
}

TEST_F(ManySubjects, AreStoredByAndBy) {
    const std::size_t all = sqlite_usage::rows_at_once; // Two rows of each.
    use(0, all);
    write([this] { EXPECT_FALSE(usage_->store_idle()); });

    write([this] { EXPECT_TRUE(usage_->store_idle()); });
    EXPECT_EQ(exact(0, all), all / 2);
    bool has_more = true;
    write([&] { has_more = usage_->store_more_idle(); });
    write([&] { has_more = has_more && usage_->store_more_idle(); });

    EXPECT_FALSE(has_more);
    EXPECT_EQ(exact(0, all), all);
}

// The rows never say less than was used, whatever is committed, undone, forgotten or lost.
TEST_F(SqliteUsage, RowsSayAtLeastWhatWasUsed) {
    struct call {
        std::vector<std::string> subjects;
        usage_amount reserved;
    };
    std::mt19937 random(35); // NOLINT(cert-msc51-cpp): the same in each run.
    const auto draw = [&random](int below) {
        return static_cast<int>(random() % static_cast<unsigned>(below));
    };
    std::map<std::string, std::int64_t> truth;
    std::vector<call> open;
    const std::vector<std::int64_t> limits{5'000, 300'000, no_limit};
    int refused = 0;
    for (int step = 0; step < 5'000; ++step) {
        switch (const int what = draw(100); what) {
        case 0:
            restart();
            break;
        case 1:
        case 2:
            write([this] { (void)usage_->store_idle(); }, what == 1);
            break;
        case 3: // Undone, with others in the transaction.
            write(
                [&] {
                    (void)usage_->reserve({claim_of("a", no_limit)}, output(50), noon);
                    usage_->store_all();
                    (void)usage_->reserve({claim_of("a", no_limit)}, output(500), noon);
                },
                false
            );
            break;
        default:
            if (what < 60 || open.empty()) {
                std::vector<usage_claim> claims{
                    claim_of("a", limits[static_cast<std::size_t>(draw(3))])
                };
                if (draw(2) == 0) {
                    claims.push_back(claim_of(draw(2) == 0 ? "b" : "c", no_limit));
                }
                const usage_amount amount = output(1 + draw(300));
                if (reserve(claims, amount)) {
                    call& made = open.emplace_back(call{{}, amount});
                    for (const usage_claim& each : claims) {
                        made.subjects.push_back(each.subject);
                        truth[each.subject] += amount.output_tokens;
                    }
                } else {
                    ++refused;
                }
            } else {
                std::swap(
                    open[static_cast<std::size_t>(draw(static_cast<int>(open.size())))], open.back()
                );
                const call done = open.back();
                open.pop_back();
                const usage_amount used = output(draw(400)); // Sometimes more than was reserved.
                settle(done.subjects, done.reserved, used);
                for (const std::string& each : done.subjects) {
                    truth[each] += used.output_tokens - done.reserved.output_tokens;
                }
            }
        }
        for (const auto& [subject, tokens] : truth) {
            ASSERT_GE(row(subject, 20'261'129), tokens) << subject << " after step " << step;
            ASSERT_GE(row(subject, 202'611), tokens) << subject << " after step " << step;
            ASSERT_GE(used(subject), tokens) << subject << " after step " << step;
        }
    }
    EXPECT_GT(refused, 0);
}

TEST_F(SqliteUsage, TheStoreStoresItAtItsEnd) {
    {
        const std::unique_ptr<store> subject = open("whole.db");
        ASSERT_FALSE(
            get(subject->reserve_usage({claim_of("a", no_limit)}, output(100), noon)).refused
        );
    }
    EXPECT_EQ(database(path("whole.db")).integer("SELECT max(output_tokens) FROM usage"), 100);
}

} // namespace
} // namespace agui::session
