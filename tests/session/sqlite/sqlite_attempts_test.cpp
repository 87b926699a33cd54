// Failed attempts in the SQLite store: their bounds, and attempts that it cannot write.
#include "session/base/failpoint.hpp"
#include "tests/session/sqlite/sqlite_fixture.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <stdexcept>

namespace agui::session {
namespace {

using test::run_of;
using test::SqliteStore;
using test::thread_1;

class SqliteAttempts : public SqliteStore {
protected:
    std::int64_t begin(store& subject) {
        return get(subject.begin(thread_1, run_of("run_1"), {})).number;
    }

    static failed_attempt attempt_of(std::int64_t run, int at) {
        failed_attempt attempt;
        attempt.run_number = run;
        attempt.at = at;
        attempt.body = std::string(attempt_body_max, 'x');
        return attempt;
    }

    // The number that the query finds among attempts that were kept before.
    std::int64_t find(store& subject, const std::string& what) {
        (void)get(subject.latest_run(thread_1)); // This call ends after the attempts were written.
        copy_files("copy.db");
        return database(path("copy.db")).integer("SELECT " + what + " FROM failed_attempts");
    }

    std::size_t warnings() {
        const std::vector<std::string> all = log().lines();
        return static_cast<std::size_t>(std::ranges::count_if(all, [](const std::string& line) {
            return line.find("a failed model call could not be recorded") != std::string::npos;
        }));
    }
};

TEST_F(SqliteAttempts, TakeAnEighthOfTheSizeOfLogs) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t number = begin(*subject);
    for (int i = 0; i < 100; ++i) {
        subject->keep_attempt(attempt_of(number, i));
    }

    done(subject->drop_logs({.ended_since = 0, .max_bytes = 8 * 10 * attempt_body_max}));

    EXPECT_EQ(find(*subject, "count(*)"), 10);
    EXPECT_EQ(find(*subject, "min(at)"), 90) << "the oldest are dropped";
    done(subject->drop_logs({.ended_since = 0, .max_bytes = 0}));
    EXPECT_EQ(find(*subject, "count(*)"), 10) << "without a limit";
}

#ifdef AGUI_FAILPOINTS

TEST_F(SqliteAttempts, OnesThatCannotBeWrittenAreWarnings) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t number = begin(*subject);
    {
        const failpoint_hook hook([](std::string_view place) {
            if (place == "store.job_executed") {
                throw std::runtime_error("the disk is full");
            }
        });
        subject->keep_attempt(attempt_of(number, 1));
        (void)get(subject->latest_run(thread_1)); // This call ends after that write.
    }

    EXPECT_EQ(warnings(), 1U);
    EXPECT_EQ(find(*subject, "count(*)"), 0);
    subject->keep_attempt(attempt_of(number, 2));
    EXPECT_EQ(find(*subject, "count(*)"), 1);
}

TEST_F(SqliteAttempts, OnlySoManyWaitForTheDisk) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t number = begin(*subject);
    std::promise<void> stalled;
    std::promise<void> go_on;
    std::atomic<bool> first{true};
    {
        const failpoint_hook hook([&](std::string_view place) {
            if (place == "store.job_executed" && first.exchange(false)) {
                stalled.set_value();
                go_on.get_future().wait();
            }
        });
        subject->keep_attempt(attempt_of(number, 0));
        stalled.get_future().wait();
        for (int i = 1; i < 400; ++i) {
            subject->keep_attempt(attempt_of(number, i));
        }
        go_on.set_value();
        const auto kept = static_cast<std::size_t>(find(*subject, "count(*)"));
        EXPECT_GT(kept, 200U);
        EXPECT_LE(kept, 256U) << "4 MB";
        EXPECT_EQ(kept + warnings(), 400U);
    }
    subject->keep_attempt(attempt_of(number, 400));
    EXPECT_EQ(find(*subject, "max(at)"), 400) << "there is room again";
}

#endif

} // namespace
} // namespace agui::session
