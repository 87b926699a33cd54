// Logs of several runs that are published together.
#include "gateway/log/log_turn.hpp"
#include "tests/gateway/log/event_log_fixture.hpp"

#include <boost/asio/post.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace agui::gateway {
namespace {

using time_point = log_turn::clock::time_point;

time_point clock_now{std::chrono::hours(1)};

// Records the calls with which logs reach the store, and reports at once, as SQLite's store does.
class together_store final : public log_only_store {
public:
    bool fails = false;
    bool throws = false;
    std::vector<std::size_t> calls; ///< The number of logs in each call.

    void append_logs(std::span<const log_append> all) override {
        calls.push_back(all.size());
        if (throws) {
            throw std::runtime_error("on purpose");
        }
        log_only_store::append_logs(all);
        for (const log_append& each : all) {
            if (fails) {
                each.observer->on_failed();
            } else {
                each.observer->on_durable(each.slice->first_sequence + each.slice->ends.size() - 1);
            }
        }
    }
};

class LogTurn : public EventLog {
protected:
    static void wait(std::chrono::microseconds time) { clock_now += time; }

    static void batch(event_log& log, std::string_view json) {
        log.begin_batch();
        add(log, json);
        log.end_batch();
    }

    // Logs whose first two events are visible.
    std::vector<std::shared_ptr<event_log>> make_logs(std::size_t count) {
        std::vector<std::shared_ptr<event_log>> logs;
        for (std::size_t i = 0; i < count; ++i) {
            logs.push_back(make(&store_));
            add(*logs.back(), started);
            add(*logs.back(), text_start);
        }
        settle();
        wait(std::chrono::seconds(1));
        store_.calls.clear();
        return logs;
    }

    together_store store_;
    log_turn turn_{context().get_executor(), [] {
                       return clock_now;
                   }};
};

TEST_F(LogTurn, ABatchOfAnIdleThreadIsPublishedAtItsEnd) {
    const auto logs = make_logs(2);
    batch(*logs[0], delta("a"));
    EXPECT_EQ(logs[0]->visible_sequence(), 3U);
    wait(std::chrono::milliseconds(1));
    batch(*logs[1], delta("b"));
    EXPECT_EQ(logs[1]->visible_sequence(), 3U);
    EXPECT_EQ(store_.calls, (std::vector<std::size_t>{1, 1}));
}

TEST_F(LogTurn, BatchesThatFollowAreOneCallOfTheStoreAfterTheReadyHandlers) {
    const auto logs = make_logs(4);
    for (const auto& log : logs) {
        boost::asio::post(context(), [&log] { batch(*log, delta("a")); });
    }
    boost::asio::post(context(), [&] {
        EXPECT_EQ(logs[0]->visible_sequence(), 3U) << "the thread was idle";
        for (std::size_t i = 1; i < logs.size(); ++i) {
            EXPECT_EQ(logs[i]->visible_sequence(), 2U);
        }
    });
    settle();

    EXPECT_EQ(store_.calls, (std::vector<std::size_t>{1, 3}));
    for (const auto& log : logs) {
        EXPECT_EQ(log->visible_sequence(), 3U);
    }
}

TEST_F(LogTurn, TwoBatchesOfALogAreOneSlice) {
    const auto logs = make_logs(2);
    batch(*logs[0], delta("a"));
    batch(*logs[1], delta("b"));
    batch(*logs[1], delta("c"));
    settle();

    EXPECT_EQ(store_.calls, (std::vector<std::size_t>{1, 1}));
    EXPECT_EQ(store_.log.back().slice.ends.size(), 2U);
    event_log::cursor at{.after = 2};
    EXPECT_EQ(read_all(*logs[1], at), frame(3, delta("b")) + frame(4, delta("c")));
}

TEST_F(LogTurn, ManyLogsAreAFewCalls) {
    const auto logs = make_logs(101);
    for (const auto& log : logs) {
        batch(*log, delta("a"));
    }
    settle();

    EXPECT_EQ(store_.calls, (std::vector<std::size_t>{1, 32, 32, 32, 4}));
}

TEST_F(LogTurn, LogsOfAnotherStoreAreACallOfTheirOwn) {
    together_store other;
    const auto logs = make_logs(2);
    const auto elsewhere = make(&other);
    const auto unstored = make();
    batch(*logs[0], delta("a"));
    batch(*elsewhere, started);
    batch(*unstored, started);
    batch(*logs[1], delta("a"));
    settle();

    EXPECT_EQ(store_.calls, (std::vector<std::size_t>{1, 1}));
    EXPECT_EQ(other.calls, std::vector<std::size_t>{1});
    EXPECT_EQ(unstored->visible_sequence(), 1U);
    EXPECT_EQ(logs[1]->visible_sequence(), 3U);
}

TEST_F(LogTurn, AFailedCallFailsEachOfItsRuns) {
    for (const bool throws : {false, true}) {
        SCOPED_TRACE(throws);
        store_.fails = store_.throws = false;
        const auto logs = make_logs(3);
        std::vector<std::size_t> failed;
        for (std::size_t i = 0; i < logs.size(); ++i) {
            logs[i]->set_failure_handler([&failed, i] { failed.push_back(i); });
        }
        batch(*logs[0], delta("a"));
        batch(*logs[1], delta("a"));
        batch(*logs[2], delta("a"));
        (throws ? store_.throws : store_.fails) = true;
        settle();

        EXPECT_EQ(failed, (std::vector<std::size_t>{1, 2}));
        EXPECT_EQ(logs[0]->visible_sequence(), 3U);
        EXPECT_EQ(logs[1]->visible_sequence(), 2U);
        EXPECT_EQ(logs[2]->visible_sequence(), 2U);
    }
}

TEST_F(LogTurn, ABatchThatWaitsIsShownBeforeTheEndIsStored) {
    const auto logs = make_logs(2);
    batch(*logs[0], delta("a"));
    batch(*logs[1], delta("a"));
    add(*logs[1], text_end);
    EXPECT_EQ(logs[1]->visible_sequence(), 2U);
    add_terminal(*logs[1], finished);
    EXPECT_EQ(logs[1]->visible_sequence(), 4U);

    const session::log_slice end = logs[1]->take_staged();
    EXPECT_EQ(end.first_sequence, 5U);
    EXPECT_EQ(end.ends.size(), 1U);
    settle();
    EXPECT_EQ(store_.calls, (std::vector<std::size_t>{1, 1})) << "each entry once";
    logs[1]->publish_end();
    EXPECT_EQ(logs[1]->visible_sequence(), 5U);
}

TEST_F(LogTurn, ARunThatEndsWhileItsBatchWaitsKeepsTheOthersGoing) {
    using end_of = void (*)(event_log&);
    const std::vector<end_of> ends{
        [](event_log& log) { log.on_failed(); },
        [](event_log& log) {
            (void)log.freeze();
            log.end_without_store({});
        },
        [](event_log& log) { log.cut_off_readers(); }, [](event_log& log) { log.publish_end(); },
        [](event_log& log) {
            (void)log.take_staged();
        }
    };
    for (const end_of end : ends) {
        const auto logs = make_logs(3);
        const std::size_t before = store_.log.size();
        batch(*logs[0], delta("a"));
        batch(*logs[1], delta("a"));
        batch(*logs[2], delta("a"));
        end(*logs[1]);
        settle();

        EXPECT_EQ(store_.calls, (std::vector<std::size_t>{1, 1}))
            << "nothing of the one that ended";
        EXPECT_EQ(store_.log.size(), before + 2);
        EXPECT_EQ(logs[2]->visible_sequence(), 3U);
    }
}

TEST_F(LogTurn, ALogThatNobodyKeepsIsPublished) {
    auto logs = make_logs(2);
    batch(*logs[0], delta("a"));
    batch(*logs[1], delta("a"));
    logs.clear();
    settle();

    EXPECT_EQ(store_.calls, (std::vector<std::size_t>{1, 1}));
}

TEST_F(LogTurn, AThreadHasOneWhileItExists) {
    EXPECT_EQ(log_turn::of_this_thread(), &turn_);
    {
        const log_turn inner(context().get_executor());
        EXPECT_EQ(log_turn::of_this_thread(), &inner);
    }
    EXPECT_EQ(log_turn::of_this_thread(), &turn_);
}

} // namespace
} // namespace agui::gateway
