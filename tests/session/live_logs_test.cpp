#include "session/live_logs.hpp"
#include "tests/session/store_fixture.hpp"

#include <gtest/gtest.h>

#include <string>
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

TEST_F(LiveLogs, WhileEntriesAreQueuedThoseBehindThemAreQueuedAsWell) {
    open(1);
    EXPECT_TRUE(append(1, 1));
    logs().hold(1, 3);
    EXPECT_FALSE(append(1, 4));
    logs().settle(1, 3, true);
    EXPECT_FALSE(append(1, 5));
    logs().settle(1, 5, true); // 4 and 5 were written together.
    EXPECT_TRUE(append(1, 6));
}

TEST_F(LiveLogs, GoesOnWhereTheLogEndsAfterQueuedEntriesAreLost) {
    open(1);
    EXPECT_TRUE(append(1, 1));
    logs().hold(1, 2);
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

TEST_F(LiveLogs, BehindACutEntriesAreWhole) {
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

} // namespace
} // namespace agui::session
