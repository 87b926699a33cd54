// The logs of runs: continued logs, and missing entries.
#include "session/sqlite/sqlite_db.hpp"
#include "tests/session/sqlite/sqlite_fixture.hpp"

#include <fstream>
#include <iterator>
#include <thread>

namespace agui::session {
namespace {

using test::frames_of;
using test::key_of;
using test::recording_observer;
using test::run_of;
using test::slice_of;
using test::SqliteStore;
using test::thread_1;

class SqliteLog : public SqliteStore {};

TEST_F(SqliteLog, NoticesThatTheEndOfAnEndedRunsLogIsMissing) {
    std::int64_t number = 0;
    {
        const std::unique_ptr<store> subject = open("store.db", durability::power);
        number = begin(*subject, thread_1, "run_1");
        done(subject->commit(thread_1, {}, slice_of(number, 1, {"a", "b"})));
        changes end;
        end.run = run_of("run_1");
        end.run->number = number;
        end.run->status = run_status::finished;
        end.run->last_sequence = 3;
        done(subject->commit(thread_1, end, slice_of(number, 3, {"c"})));
    }
    {
        database db(path());
        db.execute("DELETE FROM run_logs WHERE first_sequence = 3");
    }

    const std::unique_ptr<store> subject = open();

    EXPECT_EQ(log_failure(*subject, number), errc::run_expired);
    EXPECT_EQ(
        frames_of(get(subject->read_log(number, 0, 2))), (std::vector<std::string>{"a", "b"})
    );
}

TEST_F(SqliteLog, ALogWithAPageThatCannotBeReadIsGone) {
    std::int64_t number = 0;
    {
        const std::unique_ptr<store> subject = open();
        number = begin(*subject, thread_1, "run_1");
        changes end;
        end.run = run_of("run_1");
        end.run->number = number;
        end.run->status = run_status::finished;
        end.run->last_sequence = 1;
        done(subject->commit(thread_1, end, slice_of(number, 1, {std::string(60'000, 'x')})));
    }
    constexpr std::size_t page_bytes = 2048;
    // One of the pages with the rest of the row has lost the number of its next page.
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const std::size_t page = bytes.find(std::string(1'500, 'x')) / page_bytes + 2;
    file.clear();
    file.seekp(static_cast<std::streamoff>(page * page_bytes));
    file.write("\xff\xff\xff\xff", 4);
    file.close();

    const std::unique_ptr<store> subject = open();

    EXPECT_EQ(log_failure(*subject, number), errc::run_expired);
    EXPECT_TRUE(get(subject->find_run(thread_1, "run_1"))) << "the rest can be read";
}

TEST_F(SqliteLog, EntriesThatDoNotContinueALogFail) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t number = begin(*subject, thread_1, "run_1");
    const auto gap = std::make_shared<recording_observer>();
    const auto next = std::make_shared<recording_observer>();
    changes change;
    change.title = "not stored";

    subject->append_log(slice_of(number, 2, {"b"}), gap);
    const auto commit_behind_gap =
        run(subject->commit(thread_1, change, slice_of(number, 3, {"c"})));
    subject->append_log(slice_of(number, 1, {"a"}), next);

    EXPECT_TRUE(gap->wait_failed());
    ASSERT_FALSE(commit_behind_gap);
    EXPECT_EQ(commit_behind_gap.error().code, errc::store_unavailable);
    EXPECT_TRUE(next->wait_durable(1));
    EXPECT_EQ(get(subject->load(thread_1))->title, "");
    EXPECT_EQ(get(subject->read_log(number, 0, 10)).size(), 1U);
}

TEST_F(SqliteLog, EntriesOfARunThatWasRemovedFail) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t number = begin(*subject, thread_1, "run_1");
    EXPECT_TRUE(get(subject->remove(thread_1)));
    const auto observer = std::make_shared<recording_observer>();

    subject->append_log(slice_of(number, 1, {"a"}), observer);

    EXPECT_TRUE(observer->wait_failed());
}

TEST_F(SqliteLog, TakesEntriesFromManyThreads) {
    const std::unique_ptr<store> subject = open();
    constexpr std::uint64_t entries = 400;
    std::vector<std::int64_t> numbers;
    std::vector<std::shared_ptr<recording_observer>> observers;
    for (int i = 0; i < 4; ++i) {
        numbers.push_back(begin(*subject, thread_1, "run_" + std::to_string(i)));
        observers.push_back(std::make_shared<recording_observer>());
    }
    {
        std::vector<std::jthread> writers;
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            writers.emplace_back([&, i] {
                for (std::uint64_t sequence = 1; sequence <= entries; ++sequence) {
                    subject->append_log(
                        slice_of(numbers[i], sequence, {std::to_string(sequence)}), observers[i]
                    );
                }
            });
        }
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        EXPECT_TRUE(observers[i]->wait_durable(entries));
        EXPECT_TRUE(observers[i]->in_order());
        const std::vector<log_entry> all = get(subject->read_log(numbers[i], 0, 1000));
        ASSERT_EQ(all.size(), entries);
        EXPECT_EQ(all.back().json, std::to_string(entries));
    }
}

} // namespace
} // namespace agui::session
