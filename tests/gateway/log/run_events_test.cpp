#include "gateway/log/run_events.hpp"

#include "tests/gateway/log/event_log_fixture.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace agui::gateway {
namespace {

constexpr std::string_view earlier_result =
    R"({"type":"TOOL_CALL_RESULT","messageId":"x","toolCallId":"c","content":"1"})";

wire_event event(std::string_view json) { return {json, {}, {}, false}; }

run_events three_events() {
    run_events events({});
    for (const std::string_view json : {started, text_start, text_end}) {
        events.append(event(json));
    }
    return events;
}

std::string read(
    const run_events& events, run_events::cursor& at, std::uint64_t visible,
    std::size_t most = 1U << 20U
) {
    std::string out;
    events.read(at, sse_form(), visible, most, out);
    return out;
}

TEST(RunEvents, AreReadUpToTheVisibleOneOnly) {
    const run_events events = three_events();
    run_events::cursor at;

    EXPECT_EQ(read(events, at, 0), "");
    EXPECT_EQ(read(events, at, 2), frame(1, started) + frame(2, text_start));
    EXPECT_EQ(read(events, at, 2), "");
    EXPECT_EQ(read(events, at, 3), frame(3, text_end));
}

TEST(RunEvents, AreReadAtLeastOneAtATime) {
    const run_events events = three_events();
    run_events::cursor at;

    EXPECT_EQ(read(events, at, 3, 1), frame(1, started));
    EXPECT_EQ(read(events, at, 3, frame(2, text_start).size()), frame(2, text_start));
}

TEST(RunEvents, EndWithTheUnnumberedOnesOnce) {
    run_events events = three_events();
    events.end_with({"{}", "[]"});
    run_events::cursor at;

    EXPECT_EQ(read(events, at, 2, 1), frame(1, started)) << "a visible event comes first";
    EXPECT_EQ(read(events, at, 2), frame(2, text_start) + "data: {}\n\ndata: []\n\n");
    EXPECT_EQ(read(events, at, 2), "");
}

TEST(RunEvents, HaveTheirFormForEachProjection) {
    run_events events({});
    events.append({started, std::nullopt, started_older, false});
    events.append({text_start, std::string_view(), std::nullopt, false});
    events.append(event(text_end));
    run_events::cursor newest;
    run_events::cursor first;
    first.projection = projection::v1_0;
    run_events::cursor undeclared;
    undeclared.projection = projection::undeclared;

    EXPECT_EQ(
        read(events, newest, 3), frame(1, started) + frame(2, text_start) + frame(3, text_end)
    );
    EXPECT_EQ(read(events, first, 3), frame(1, started) + frame(3, text_end)) << "left out";
    EXPECT_EQ(
        read(events, undeclared, 3),
        frame(1, started_older) + frame(2, text_start) + frame(3, text_end)
    );
}

TEST(RunEvents, SkipResultsOfEarlierCallsForAReaderThatKnowsThem) {
    run_events events({});
    for (const std::string_view json :
         {started, earlier_result, text_start, text_end, earlier_result}) {
        events.append(event(json));
    }
    run_events::cursor at;
    at.knows_earlier_results = true;

    EXPECT_EQ(
        read(events, at, 5),
        frame(1, started) + frame(3, text_start) + frame(4, text_end) + frame(5, earlier_result)
    ) << "the last is a result of the run's own call";
}

TEST(RunEvents, AreTheSameAfterTheStore) {
    run_events events({});
    events.append({started, std::string_view(), started_older, false});
    events.append(event(text_start));
    events.append(event(text_end));
    session::log_slice slice;
    run_events::cursor place;
    events.read_entries(place, 3, 1U << 20U, slice);
    ASSERT_EQ(slice.ends.size(), 3U);
    ASSERT_EQ(slice.variants.size(), 1U);

    run_events again({});
    again.restore({1, std::string(started), slice.variants[0].second});
    again.restore({2, std::string(text_start), {}});
    again.restore({3, std::string(text_end), {}});

    for (const projection seen : {projection::v1_1, projection::v1_0, projection::undeclared}) {
        SCOPED_TRACE(static_cast<int>(seen));
        run_events::cursor at;
        at.projection = seen;
        run_events::cursor other = at;
        EXPECT_EQ(read(again, at, 3), read(events, other, 3));
    }
}

TEST(RunEvents, AreReadAsEntriesUpToTheVisibleOne) {
    const run_events events = three_events();
    run_events::cursor at;
    at.after = 1;
    session::log_slice slice;

    events.read_entries(at, 2, 1U << 20U, slice);

    EXPECT_EQ(at.after, 2U);
    EXPECT_EQ(slice.first_sequence, 2U);
    EXPECT_EQ(slice.events, text_start);
    EXPECT_EQ(
        slice.ends, (std::vector<std::uint32_t>{static_cast<std::uint32_t>(text_start.size())})
    );
}

TEST(RunEvents, AreNotReadFromADamagedEntry) {
    run_events events({});

    EXPECT_THROW(events.restore({1, std::string(started), "no JSON"}), std::runtime_error);
    EXPECT_THROW(events.restore({1, std::string(started), R"({"1.0":1})"}), std::runtime_error);
}

TEST(RunEvents, KnowTheirBacklog) {
    const run_events events = three_events();
    run_events::cursor at;

    EXPECT_EQ(events.backlog_bytes(at, sse_form(), 0), 0U);
    EXPECT_GE(events.backlog_bytes(at, sse_form(), 2), started.size() + text_start.size());
    at.after = 2;
    EXPECT_EQ(events.backlog_bytes(at, sse_form(), 2), 0U);
    EXPECT_EQ(run_events({}).backlog_bytes({}, sse_form(), 0), 0U);
}

TEST(RunEvents, CountTheirMemoryAsOftenAsThereAreCopies) {
    memory_budget budget(1U << 20U);
    {
        run_events events({.budget = &budget, .copies = 6});
        for (int i = 0; i < 100; ++i) {
            events.append(event(delta(std::string(100, 'x'))));
        }
        const std::size_t counted = budget.used();
        EXPECT_GT(counted, 6U * 100U * 100U);
        EXPECT_FALSE(events.over_budget());

        events.release_copies();

        EXPECT_LT(budget.used(), counted / 3);
        EXPECT_GT(budget.used(), 100U * 100U);
    }
    EXPECT_EQ(budget.used(), 0U);
}

TEST(RunEvents, AreKeptIfTheBudgetHasNoRoom) {
    memory_budget budget(1000);
    run_events events({.budget = &budget});

    events.append(event(delta(std::string(2000, 'x'))));

    EXPECT_TRUE(events.over_budget());
    EXPECT_GT(budget.used(), 2000U);
    run_events::cursor at;
    EXPECT_EQ(read(events, at, 1), frame(1, delta(std::string(2000, 'x'))));
}

TEST(RunEvents, LeaveTheReserveToShortLogs) {
    memory_budget budget(200'000, 150'000);
    run_events small({.budget = &budget});
    run_events large({.budget = &budget});

    small.append(event(delta(std::string(50'000, 'x'))));
    EXPECT_FALSE(small.over_budget()) << "more than the ordinary limit, but a short log";
    large.append(event(delta(std::string(70'000, 'x'))));

    EXPECT_TRUE(large.over_budget());
}

} // namespace
} // namespace agui::gateway
