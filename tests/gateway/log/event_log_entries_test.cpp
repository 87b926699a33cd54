#include "tests/gateway/log/event_log_fixture.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace agui::gateway {
namespace {

TEST_F(EventLog, ARestoredLogGivesTheSameBytes) {
    log_only_store store;
    const auto log = make(&store);
    log->on_event({started, {}, started_older, false});
    add(*log, text_start);
    add(*log, text_end);
    add_terminal(*log, finished);
    const session::log_slice slice = log->take_staged();
    log->publish_end();
    std::vector<session::log_entry> entries;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < slice.ends.size(); ++i) {
        entries.push_back({i + 1, slice.events.substr(begin, slice.ends[i] - begin), {}});
        begin = slice.ends[i];
    }
    ASSERT_EQ(slice.variants.size(), 1U);
    entries.at(slice.variants[0].first).variants = slice.variants[0].second;

    const auto restored = event_log::restored(context().get_executor(), entries);

    for (const projection seen : {projection::v1_1, projection::v1_0, projection::undeclared}) {
        SCOPED_TRACE(static_cast<int>(seen));
        event_log::cursor live;
        live.projection = seen;
        event_log::cursor again;
        again.projection = seen;
        EXPECT_EQ(read_all(*restored, again), read_all(*log, live));
    }
    EXPECT_TRUE(restored->ended());
}

// Entries as a store gives them back.
std::vector<session::log_entry> stored(const std::vector<std::string>& events) {
    std::vector<session::log_entry> entries;
    for (const std::string& json : events) {
        entries.push_back({entries.size() + 1, json, {}});
    }
    return entries;
}

TEST_F(EventLog, JoinsDeltasThatFollowEachOther) {
    const std::string other =
        R"({"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{\"a\":\"\\\\"})";
    const std::string more = R"({"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"\"}"})";
    const std::vector<std::string> events = {
        std::string(started),
        std::string(text_start),
        delta("One "),
        delta("tw\\\"o"),
        delta(""),
        delta("\\n three"),
        std::string(text_end),
        other,
        more,
        std::string(finished)
    };
    const auto log = event_log::restored(context().get_executor(), stored(events), true);

    event_log::cursor at;
    EXPECT_EQ(
        read_all(*log, at),
        frame(1, started) + frame(2, text_start) + frame(6, delta("One tw\\\"o\\n three")) +
            frame(7, text_end) +
            frame(9, R"({"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{\"a\":\"\\\\\"}"})") +
            frame(10, finished)
    );
    event_log::cursor inside;
    inside.after = 4;
    EXPECT_EQ(
        read_all(*log, inside).substr(0, frame(6, delta("\\n three")).size()),
        frame(6, delta("\\n three"))
    );
    // A text that is longer than a read comes in several events.
    event_log::cursor bit_by_bit;
    EXPECT_EQ(
        read_all(*log, bit_by_bit, 6), frame(1, started) + frame(2, text_start) +
                                           frame(4, delta("One tw\\\"o")) +
                                           frame(6, delta("\\n three")) + frame(7, text_end) +
                                           frame(8, other) + frame(9, more) + frame(10, finished)
    );
}

TEST_F(EventLog, JoinedDeltasStaySmallAndDoNotCountForMoreThanTheirText) {
    std::vector<std::string> events(3'000, delta("word "));
    events.insert(events.begin(), std::string(started));
    events.push_back(std::string(finished));
    const auto log = event_log::restored(context().get_executor(), stored(events), true);

    event_log::cursor at;
    EXPECT_LT(log->backlog_bytes(at, sse_form()), 3'000U * 8U);
    std::size_t largest = 0;
    bool ended = false;
    for (std::string one; !ended;) {
        one.clear();
        ended = log->read(at, sse_form(), 1, one).ended;
        EXPECT_EQ(std::ranges::count(one, '\n'), 3);
        largest = std::max(largest, one.size());
    }
    EXPECT_LT(largest, 5'000U);
    event_log::cursor again;
    std::string more;
    EXPECT_TRUE(log->read(again, sse_form(), 20'000, more).ended);
    EXPECT_LT(more.size(), 26'000U);
}

TEST_F(EventLog, JoinsNothingThatIsMoreThanATextOrOfAnotherMessage) {
    const std::string with_more =
        R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a","timestamp":1})";
    const std::string custom = R"({"type":"CUSTOM","name":"n","value":{"delta":"a"}})";
    const std::string of_another = R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"n","delta":"a"})";
    const std::vector<std::string> events = {with_more,  with_more,
                                             custom,     custom,
                                             delta("a"), of_another,
                                             delta("b"), std::string(finished)};
    std::vector<session::log_entry> entries = stored(events);
    entries.push_back({9, delta("x"), R"({"1.0":""})"});
    entries.push_back({10, delta("y"), R"({"1.0":""})"});
    std::string all;
    for (const session::log_entry& entry : entries) {
        all += frame(entry.sequence, entry.json);
    }

    const auto log = event_log::restored(context().get_executor(), entries, true);

    event_log::cursor at;
    EXPECT_EQ(read_all(*log, at), all);
}

} // namespace
} // namespace agui::gateway
