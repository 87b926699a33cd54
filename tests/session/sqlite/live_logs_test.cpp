#include "session/sqlite/live_logs.hpp"
#include "tests/session/store/store_fixture.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace agui::session {
namespace {

using test::slice_of;
using test::temporary_folder;

class LiveLogs : public ::testing::Test {
protected:
    LiveLogs() {
        while (logs_.ring().can_prepare()) {
            logs_.ring().prepare();
        }
    }

    void open(std::int64_t run_number) {
        logs_.open(test::key_of("thread_" + std::to_string(run_number)), run_number, {});
    }

    [[nodiscard]] bool append(std::int64_t run_number, std::uint64_t first, std::size_t count = 1) {
        const std::vector<std::string> frames(count, "frame");
        return logs_.append(slice_of(run_number, first, frames)) != live_logs::outcome::refused;
    }

    [[nodiscard]] live_logs& logs() noexcept { return logs_; }

private:
    temporary_folder folder_;
    live_logs logs_{folder_.file("log"), 1, 0};
};

TEST_F(LiveLogs, TakesARunsEntriesInOrder) {
    open(1);
    EXPECT_TRUE(append(1, 1, 3));
    EXPECT_TRUE(append(1, 4));
    open(2);
    EXPECT_TRUE(append(2, 1));
    EXPECT_TRUE(append(1, 5));
}

TEST_F(LiveLogs, RefusesARunThatIsNotGoingOn) {
    EXPECT_FALSE(append(1, 1));
    open(1);
    EXPECT_TRUE(append(1, 1));
    logs().close(1);
    EXPECT_FALSE(append(1, 2));
}

TEST_F(LiveLogs, RefusesWhatDoesNotContinueALog) {
    open(1);
    EXPECT_FALSE(append(1, 2));
    logs().settle(1, 2, false);
    EXPECT_TRUE(append(1, 1));
    EXPECT_FALSE(append(1, 1));
    logs().settle(1, 1, false);
    EXPECT_TRUE(append(1, 2));
}

TEST_F(LiveLogs, WhileEntriesAreQueuedLaterOnesAreQueuedAsWell) {
    open(1);
    EXPECT_TRUE(append(1, 1));
    logs().note_queued(1, 3);
    EXPECT_FALSE(append(1, 4));
    logs().settle(1, 3, true);
    EXPECT_FALSE(append(1, 5));
    logs().settle(1, 5, true); // 4 and 5 were written together.
    EXPECT_TRUE(append(1, 6));
}

TEST_F(LiveLogs, GoesOnWhereTheLogEndsAfterQueuedEntriesAreLost) {
    open(1);
    EXPECT_TRUE(append(1, 1));
    logs().note_queued(1, 2);
    logs().settle(1, 2, false);
    EXPECT_FALSE(append(1, 3));
    logs().settle(1, 3, false);
    EXPECT_TRUE(append(1, 2));
}

TEST_F(LiveLogs, WhatIsTooLargeForTheRingIsQueued) {
    open(1);
    const std::string large(log_ring::segment_bytes, 'x');
    EXPECT_EQ(logs().append(slice_of(1, 1, {large})), live_logs::outcome::refused);
    EXPECT_FALSE(append(1, 2));
    logs().settle(1, 1, true);
    logs().settle(1, 2, true);
    EXPECT_TRUE(append(1, 3));
}

TEST_F(LiveLogs, SaysWhenASegmentIsFull) {
    open(1);
    const std::string half(log_ring::segment_bytes / 2, 'x');
    EXPECT_EQ(logs().append(slice_of(1, 1, {half + "a"})), live_logs::outcome::durable);
    open(2);
    EXPECT_EQ(logs().append(slice_of(2, 1, {half})), live_logs::outcome::durable_and_due);
}

TEST_F(LiveLogs, AfterACutEntriesAreWhole) {
    open(1);
    log_ring::place from = logs().ring().end();
    EXPECT_TRUE(append(1, 1));
    EXPECT_TRUE(append(1, 2));
    std::vector<live_logs::held_record> none;
    const log_ring::place cut = logs().cut(none);
    EXPECT_TRUE(append(1, 3));

    std::vector<bool> whole;
    const log_ring::place until = logs().ring().end();
    while (const auto next = logs().ring().next(from, until)) {
        whole.push_back(entry_chain::begins_with_whole_entry(next->slice.bytes));
        EXPECT_EQ(from <= cut, next->slice.first_sequence < 3);
    }
    EXPECT_EQ(whole, (std::vector<bool>{true, false, true}));
}

// Begins and commits.
class LiveCommits : public LiveLogs {
protected:
    using outcome = live_logs::outcome;

    static redo_record begin_of(const std::string& thread_id) {
        redo_record record;
        record.key = test::key_of(thread_id);
        record.begins = test::run_of("run_1");
        record.thread_exists = false;
        record.change = test::user_turn("m0", "Hello");
        return record;
    }

    static redo_record
    commit_to(const std::string& thread_id, std::string text, node_index number) {
        redo_record record;
        record.key = test::key_of(thread_id);
        record.change = test::user_turn("m", std::move(text), number);
        return record;
    }

    std::int64_t begin(const std::string& thread_id) {
        redo_record record = begin_of(thread_id);
        EXPECT_NE(logs().begin(record), outcome::refused);
        return ++last_number_;
    }

    [[nodiscard]] bool takes(redo_record record, const std::optional<log_slice>& log = {}) {
        const std::size_t messages = record.change.messages.size();
        const outcome taken = logs().commit(record, log);
        // What is refused is left as it was.
        EXPECT_EQ(record.change.messages.size(), taken == outcome::refused ? messages : 0U);
        return taken != outcome::refused;
    }

    static redo_record end_of(const std::string& thread_id, std::int64_t number) {
        redo_record record = commit_to(thread_id, "Bye", 1);
        record.change.run = test::run_of("run_1");
        record.change.run->number = number;
        record.change.run->status = run_status::finished;
        return record;
    }

private:
    std::int64_t last_number_ = 0;
};

TEST_F(LiveCommits, AreGivenInOrderWithWhatTheThreadWas) {
    const std::int64_t number = begin("a");
    EXPECT_TRUE(append(number, 1));
    EXPECT_TRUE(takes(end_of("a", number), slice_of(number, 2, {"terminal"})));

    std::vector<live_logs::held_record> records;
    const log_ring::place until = logs().take(records);

    ASSERT_EQ(records.size(), 2U);
    EXPECT_EQ(logs().commits(), 2U);
    EXPECT_EQ(records[0].record.begins->number, number);
    EXPECT_EQ(records[0].record.before, thread_size());
    EXPECT_EQ(records[1].record.run_number, number);
    EXPECT_EQ(records[1].record.before, (thread_size{.messages = 1, .branches = 1}));
    EXPECT_EQ(records[1].record.message_texts.size(), 1U);
    EXPECT_LT(records[0].behind, records[1].behind);
    EXPECT_EQ(records[1].behind, until);
    EXPECT_FALSE(append(number, 3)) << "the run has ended";
}

TEST_F(LiveCommits, AreRefusedIfTheyAreNotOfTheThreadsRun) {
    EXPECT_FALSE(takes(commit_to("a", "text", 0)));
    const std::int64_t number = begin("a");
    EXPECT_FALSE(takes(commit_to("a", "text", 1), slice_of(number + 1, 1, {"x"})));
    EXPECT_FALSE(takes(end_of("a", number + 1)));
    EXPECT_FALSE(takes(commit_to("a", "text", 1), slice_of(number, 2, {"not the next"})));
    EXPECT_TRUE(takes(end_of("a", number)));
    EXPECT_FALSE(takes(commit_to("a", "text", 2)));
}

TEST_F(LiveCommits, AreQueuedAfterWhatIsQueued) {
    const std::int64_t number = begin("a");
    const std::int64_t held = logs().hold_commit(test::key_of("a"));
    EXPECT_EQ(held, number);
    EXPECT_FALSE(takes(commit_to("a", "text", 1)));
    logs().settle_commit(held, thread_size{.messages = 3, .branches = 2});
    EXPECT_TRUE(takes(commit_to("a", "text", 4)));

    logs().note_queued(number, 5);
    EXPECT_FALSE(takes(commit_to("a", "text", 5)));
    logs().settle(number, 5, true);
    EXPECT_TRUE(takes(commit_to("a", "text", 5), slice_of(number, 6, {"x"})));

    const std::int64_t failed = logs().hold_commit(test::key_of("a"));
    logs().settle_commit(failed, std::nullopt);
    EXPECT_TRUE(takes(commit_to("a", "text", 6)));
    EXPECT_EQ(logs().hold_commit(test::key_of("unknown")), 0);
}

TEST_F(LiveCommits, AreRefusedIfTheyAreLarge) {
    begin("a");
    EXPECT_FALSE(takes(commit_to("a", std::string(20'000, 'x'), 1)));
    EXPECT_TRUE(takes(commit_to("a", std::string(10'000, 'x'), 1)));
    redo_record large = begin_of("b");
    large.change.title = std::string(20'000, 'x');
    EXPECT_EQ(logs().begin(large), outcome::refused);
    EXPECT_EQ(large.change.title->size(), 20'000U);
    EXPECT_FALSE(takes(commit_to("b", "text", 1))) << "it has not begun";
}

TEST_F(LiveCommits, ThatDoNotFitAreTheirCallersFault) {
    begin("a");
    redo_record commit = commit_to("a", "text", 5);
    EXPECT_THROW((void)logs().commit(commit, {}), std::logic_error);
    redo_record begins = begin_of("b");
    begins.change.branches[0].value.tip = 5;
    EXPECT_THROW((void)logs().begin(begins), std::logic_error);
}

TEST_F(LiveCommits, BeginsAreRefusedAsLongAsTheOwnerSaysSo) {
    const std::int64_t number = begin("a");
    logs().refuse_begins(true);
    redo_record refused = begin_of("b");
    EXPECT_EQ(logs().begin(refused), outcome::refused);
    EXPECT_EQ(refused.change.messages.size(), 1U);
    EXPECT_TRUE(takes(end_of("a", number)));
    logs().refuse_begins(false);
    redo_record taken = begin_of("b");
    EXPECT_NE(logs().begin(taken), outcome::refused);
}

TEST_F(LiveCommits, AreDueWhenAskedForOrMany) {
    redo_record first = begin_of("a");
    EXPECT_EQ(logs().begin(first), outcome::durable_and_due);
    for (int i = 1; i < 15; ++i) {
        redo_record next = begin_of("a" + std::to_string(i));
        EXPECT_EQ(logs().begin(next), outcome::durable) << i;
    }
    redo_record many = begin_of("many");
    EXPECT_EQ(logs().begin(many), outcome::durable_and_due);

    EXPECT_FALSE(logs().ask_for_next()) << "there are some";
    std::vector<live_logs::held_record> records;
    (void)logs().take(records);
    EXPECT_EQ(records.size(), 16U);
    redo_record unasked = begin_of("unasked");
    EXPECT_EQ(logs().begin(unasked), outcome::durable);
    (void)logs().cut(records);
    EXPECT_TRUE(logs().ask_for_next());
    redo_record asked = begin_of("asked");
    EXPECT_EQ(logs().begin(asked), outcome::durable_and_due);
}

TEST_F(LiveLogs, WhatIsTooLargeIsRefusedBeforeItIsWritten) {
    open(1);
    redo_record record;
    record.key = test::key_of("thread_1");
    stored_message added = test::user_message("m1", "");
    boost::json::array parts;
    parts.push_back(boost::json::object{{"type", "image"}, {"data", std::string(1U << 20U, 'x')}});
    added.message.content = parts;
    record.change.messages.push_back(added);

    EXPECT_EQ(logs().commit(record, std::nullopt), live_logs::outcome::refused);
    EXPECT_TRUE(record.message_texts.empty()) << "an attachment was serialised in vain";
    ASSERT_EQ(record.change.messages.size(), 1U);
}

} // namespace
} // namespace agui::session
