#include "tests/gateway/log/event_log_fixture.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace agui::gateway {
namespace {

TEST_F(EventLog, ShowsEventsOnceTheHandlerThatAppendedThemHasReturned) {
    const auto log = make();
    event_log::cursor at;
    add(*log, started);

    EXPECT_EQ(read_all(*log, at), "");
    settle();
    EXPECT_EQ(read_all(*log, at), frame(1, started));
}

TEST_F(EventLog, ShowsABatchAtItsEnd) {
    const auto log = make();
    event_log::cursor at;
    log->begin_batch();
    add(*log, started);
    add(*log, text_start);
    settle();
    EXPECT_EQ(read_all(*log, at), "") << "nothing was posted";

    log->end_batch();
    EXPECT_EQ(read_all(*log, at), frame(1, started) + frame(2, text_start));
    add(*log, delta("a"));
    settle();
    EXPECT_EQ(read_all(*log, at), frame(3, delta("a")));
}

TEST_F(EventLog, HandsABatchToTheStoreOnce) {
    log_only_store store;
    const auto log = make(&store);
    add(*log, started);
    log->begin_batch();
    add(*log, text_start);
    log->end_batch();
    settle();
    log->begin_batch();
    log->end_batch();

    ASSERT_EQ(store.log.size(), 1U);
    EXPECT_EQ(store.log[0].slice.ends.size(), 2U);
}

TEST_F(EventLog, StoresHeldBackEventsOnceItHasANumber) {
    log_only_store store;
    const auto log = make(&store);
    event_log::cursor at;
    log->hold_back();
    add(*log, started);
    settle();
    EXPECT_EQ(read_all(*log, at), frame(1, started)) << "visible at once";
    EXPECT_TRUE(store.log.empty());

    log->set_run(9, nullptr);
    add(*log, text_start);
    settle();

    ASSERT_EQ(store.log.size(), 1U);
    EXPECT_EQ(store.log[0].slice.run_number, 9);
    EXPECT_EQ(store.log[0].slice.first_sequence, 1U);
    EXPECT_EQ(store.log[0].slice.ends.size(), 2U);
    EXPECT_EQ(read_all(*log, at), "") << "what follows must be durable first";
    store.log[0].observer->on_durable(2);
    EXPECT_EQ(read_all(*log, at), frame(2, text_start));
}

TEST_F(EventLog, ABatchWithTheTerminalWaitsForItsCommit) {
    const auto log = make();
    event_log::cursor at;
    log->begin_batch();
    add(*log, started);
    add_terminal(*log, finished);
    log->end_batch();

    EXPECT_EQ(read_all(*log, at), "");
}

TEST_F(EventLog, KeepsTheTerminalUntilItIsPublished) {
    const auto log = make();
    event_log::cursor at;
    add(*log, started);
    add_terminal(*log, finished);
    settle();

    std::string rest;
    EXPECT_FALSE(log->read(at, sse_form(), 100, rest).ended);
    EXPECT_EQ(read_all(*log, at), "");

    log->publish_end();
    EXPECT_EQ(read_all(*log, at), frame(1, started) + frame(2, finished));
    EXPECT_TRUE(log->read(at, sse_form(), 100, rest).ended);
}

TEST_F(EventLog, TellsAReaderThatItHasCaughtUp) {
    const auto log = make();
    event_log::cursor at;
    add(*log, started);
    add(*log, text_start);
    settle();

    std::string out;
    EXPECT_FALSE(log->read(at, sse_form(), 1, out).caught_up) << "the second event is there";
    EXPECT_TRUE(log->read(at, sse_form(), 1, out).caught_up);
    EXPECT_EQ(out, frame(1, started) + frame(2, text_start));
    EXPECT_TRUE(log->read(at, sse_form(), 1, out).caught_up) << "still";

    log->publish_end();
    EXPECT_FALSE(log->read(at, sse_form(), 1, out).caught_up) << "nothing more is to come";
}

TEST_F(EventLog, ShowsNothingBeforeItIsDurable) {
    log_only_store store;
    const auto log = make(&store);
    event_log::cursor at;
    add(*log, started);
    add(*log, text_start);
    settle();

    ASSERT_EQ(store.log.size(), 1U);
    EXPECT_EQ(read_all(*log, at), "");
    store.log[0].observer->on_durable(1);
    EXPECT_EQ(read_all(*log, at), frame(1, started));
    store.log[0].observer->on_durable(2);
    EXPECT_EQ(read_all(*log, at), frame(2, text_start));
}

TEST_F(EventLog, RelaxedShowsDeltasBeforeTheyAreDurable) {
    log_only_store store;
    const auto log = make(&store, true);
    event_log::cursor at;
    add(*log, started);
    settle();

    EXPECT_EQ(read_all(*log, at), frame(1, started));
}

TEST_F(EventLog, HandsTheStoreEachEntryOnce) {
    log_only_store store;
    const auto log = make(&store);
    add(*log, started);
    settle();
    add(*log, text_start);
    add(*log, delta("a"));
    settle();
    add(*log, text_end);
    add_terminal(*log, finished);
    const session::log_slice terminal = log->take_staged();

    ASSERT_EQ(store.log.size(), 2U);
    EXPECT_EQ(store.log[0].slice.first_sequence, 1U);
    EXPECT_EQ(store.log[1].slice.first_sequence, 2U);
    EXPECT_EQ(store.log[1].slice.run_number, 7);
    EXPECT_EQ(store.log[1].slice.events, std::string(text_start) + delta("a"));
    EXPECT_EQ(
        store.log[1].slice.ends,
        (std::vector<std::uint32_t>{
            static_cast<std::uint32_t>(text_start.size()),
            static_cast<std::uint32_t>(text_start.size() + delta("a").size())
        })
    );
    EXPECT_EQ(terminal.first_sequence, 4U);
    EXPECT_EQ(terminal.events, std::string(text_end) + std::string(finished));
    settle();
    EXPECT_EQ(store.log.size(), 2U) << "what take_staged returned is not queued again";
}

TEST_F(EventLog, OnlyDeltasAfterTheFirstOfAMessageMayWaitInTheStore) {
    log_only_store store;
    const auto log = make(&store);
    for (const std::string& event :
         {std::string(started), std::string(text_start), delta("a"), delta("b"), delta("c"),
          std::string(text_end)}) {
        add(*log, event);
        settle();
    }

    std::vector<bool> may_wait;
    for (const appended_slice& each : store.log) {
        may_wait.push_back(each.slice.may_wait);
    }
    EXPECT_EQ(may_wait, (std::vector<bool>{false, false, false, true, true, false}));
}

TEST_F(EventLog, GivesOlderReadersTheirOwnEvents) {
    const auto log = make();
    log->on_event({started, {}, started_older, false});
    add(*log, text_start);
    add(*log, text_end);
    add_terminal(*log, finished);
    log->publish_end();

    event_log::cursor newest;
    event_log::cursor oldest;
    oldest.projection = projection::undeclared;
    const std::string rest = frame(2, text_start) + frame(3, text_end) + frame(4, finished);
    EXPECT_EQ(read_all(*log, newest), frame(1, started) + rest);
    EXPECT_EQ(read_all(*log, oldest), frame(1, started_older) + rest);
}

TEST_F(EventLog, ReadsFromAnySequence) {
    const auto log = make();
    add(*log, started);
    add(*log, text_start);
    for (int i = 0; i < 300; ++i) {
        add(*log, delta(std::to_string(i) + std::string(100, 'x')));
    }
    add(*log, text_end);
    add_terminal(*log, finished);
    log->publish_end();
    event_log::cursor whole;
    const std::string all = read_all(*log, whole, 900);

    for (std::uint64_t after = 0; after <= 304; ++after) {
        SCOPED_TRACE(after);
        event_log::cursor at;
        at.after = after;
        const std::string rest = read_all(*log, at);
        ASSERT_TRUE(all.ends_with(rest));
        ASSERT_EQ(rest.empty(), after == 304);
        if (!rest.empty()) {
            ASSERT_TRUE(rest.starts_with("id: " + std::to_string(after + 1) + "\n"));
        }
    }
}

TEST_F(EventLog, EndsWithUnnumberedEventsWhenTheStoreIsLost) {
    log_only_store store;
    const auto log = make(&store);
    event_log::cursor at;
    add(*log, started);
    settle();
    store.log.at(0).observer->on_durable(1);
    add(*log, text_start);
    settle();

    EXPECT_EQ(log->freeze(), std::vector<std::string>{std::string(started)});
    store.log.at(1).observer->on_durable(2);
    log->end_without_store({R"({"type":"X"})", R"({"type":"RUN_ERROR","message":"x"})"});

    EXPECT_EQ(
        read_all(*log, at), frame(1, started) +
                                "data: {\"type\":\"X\"}\n\n"
                                "data: {\"type\":\"RUN_ERROR\",\"message\":\"x\"}\n\n"
    );
    std::string rest;
    EXPECT_TRUE(log->read(at, sse_form(), 100, rest).ended);
}

TEST_F(EventLog, WakesReadersOnTheirOwnExecutors) {
    const auto log = make();
    boost::asio::io_context elsewhere{1};
    event_log::waiter waiter(elsewhere.get_executor());
    event_log::cursor at;
    auto woken = boost::asio::co_spawn(elsewhere, log->wait(at, waiter), boost::asio::use_future);
    std::thread other([&] { elsewhere.run(); });

    add(*log, started);
    settle();
    woken.get();
    other.join();

    EXPECT_EQ(read_all(*log, at), frame(1, started));
}

TEST_F(EventLog, AWaitWithSomethingToReadEndsAtOnce) {
    const auto log = make();
    event_log::waiter waiter(context().get_executor());
    const event_log::cursor at;
    add(*log, started);
    settle();

    run(log->wait(at, waiter));
}

TEST_F(EventLog, WakeEndsAWaitWithoutAReason) {
    const auto log = make();
    event_log::waiter waiter(context().get_executor());
    const event_log::cursor at;
    auto woken = boost::asio::co_spawn(context(), log->wait(at, waiter), boost::asio::use_future);
    settle();
    ASSERT_EQ(woken.wait_for(std::chrono::seconds(0)), std::future_status::timeout);

    log->wake(waiter);
    settle();

    EXPECT_EQ(woken.wait_for(std::chrono::seconds(0)), std::future_status::ready);
    log->wake(waiter); // Without a waiting reader it has no effect.
}

// Reads one frame each time that its reader is woken, and waits again until it has read `most`.
class frame_reader final : public woken_step {
public:
    frame_reader(event_log& log, event_log::waiter& waiter, std::size_t most)
        : log_(log), waiter_(waiter), most_(most) {
        waiter.set_step(*this);
    }

    void run(resumption& here) noexcept override {
        while (runs_.size() < most_) {
            std::string frames;
            (void)log_.read(at, sse_form(), 1, frames);
            if (!frames.empty()) {
                runs_.push_back(frames);
            } else if (log_.wait_again(at, waiter_, here)) {
                return;
            }
        }
    }

    [[nodiscard]] const std::vector<std::string>& runs() const noexcept { return runs_; }

    event_log::cursor at;

private:
    event_log& log_;
    event_log::waiter& waiter_;
    const std::size_t most_;
    std::vector<std::string> runs_;
};

TEST_F(EventLog, AReadersStepRunsInsteadOfItsCoroutineAsLongAsItWaitsAgain) {
    const auto log = make();
    event_log::waiter waiter(context().get_executor());
    frame_reader reader(*log, waiter, 3);
    auto woken =
        boost::asio::co_spawn(context(), log->wait(reader.at, waiter), boost::asio::use_future);
    settle();

    std::vector<std::string> frames;
    for (const std::string& event : {std::string(started), std::string(text_start), delta("a")}) {
        ASSERT_EQ(woken.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
        add(*log, event);
        settle();
        frames.push_back(frame(frames.size() + 1, event));
        EXPECT_EQ(reader.runs(), frames);
    }

    EXPECT_EQ(woken.wait_for(std::chrono::seconds(0)), std::future_status::ready);
}

TEST_F(EventLog, AReadersStepRunsOnItsOwnExecutorAndAfterAWake) {
    const auto log = make();
    boost::asio::io_context elsewhere{1};
    event_log::waiter waiter(elsewhere.get_executor());
    frame_reader reader(*log, waiter, 2);
    auto woken =
        boost::asio::co_spawn(elsewhere, log->wait(reader.at, waiter), boost::asio::use_future);
    std::thread other([&] { elsewhere.run(); });

    log->wake(waiter); // Nothing to read: it waits again.
    add(*log, started);
    settle();
    add(*log, text_start);
    settle();
    woken.get();
    other.join();

    EXPECT_EQ(reader.runs(), (std::vector{frame(1, started), frame(2, text_start)}));
}

TEST_F(EventLog, AReaderThatGoesOnInAnotherLogDoesNotKeepTheFirst) {
    class mover final : public woken_step {
    public:
        mover(event_log::waiter& waiter, std::shared_ptr<event_log> next)
            : waiter_(waiter), next_(std::move(next)) {
            waiter.set_step(*this);
        }
        void run(resumption& here) noexcept override {
            moved = next_->wait_again(at, waiter_, here);
        }
        const event_log::cursor at;
        bool moved = false;

    private:
        event_log::waiter& waiter_;
        const std::shared_ptr<event_log> next_;
    };
    auto first = make();
    const auto next = make();
    event_log::waiter waiter(context().get_executor());
    mover reader(waiter, next);
    boost::asio::co_spawn(context(), first->wait(reader.at, waiter), boost::asio::detached);
    settle();

    first->continue_in(next);
    settle();
    EXPECT_TRUE(reader.moved);
    const std::weak_ptr<event_log> gone = first;
    first.reset();

    EXPECT_TRUE(gone.expired());
    next->publish_end();
    settle();
}

TEST_F(EventLog, NobodyWaitsAgainWhereThereIsSomethingToRead) {
    const auto log = make();
    event_log::waiter waiter(context().get_executor());
    int resumed = 0;
    resumption here = waiter.resumption_of([&resumed] { ++resumed; });
    const event_log::cursor at;
    add(*log, started);
    settle();

    EXPECT_FALSE(log->wait_again(at, waiter, here));
    log->publish_end();
    const event_log::cursor at_its_end{.after = 1};
    EXPECT_FALSE(log->wait_again(at_its_end, waiter, here)) << "the end is something to read";
    std::move(here).post();
    settle();

    EXPECT_EQ(resumed, 1) << "it was not moved from";
}

TEST_F(EventLog, TellsWhenTheLastReaderHasLeft) {
    const auto log = make();
    int told = 0;
    log->set_last_reader_handler([&](event_log::leaving) { ++told; });
    {
        const event_log::reader_token first(log);
        {
            const event_log::reader_token second(log);
            EXPECT_EQ(log->reader_count(), 2U);
        }
        settle();
        EXPECT_EQ(told, 0);
    }
    settle();
    EXPECT_EQ(told, 1);
}

// A log is kept for minutes after its run.
TEST_F(EventLog, OnceEndedKeepsNothingOfItsRun) {
    const auto log = make();
    const auto run = std::make_shared<int>();
    log->set_last_reader_handler([run](event_log::leaving) {});
    log->set_failure_handler([run] {});
    ASSERT_EQ(run.use_count(), 3);

    log->publish_end();

    EXPECT_EQ(run.use_count(), 1);
}

TEST_F(EventLog, TellsHowTheLastReaderHasEnded) {
    const auto log = make();
    std::vector<event_log::leaving> told;
    log->set_last_reader_handler([&](event_log::leaving how) { told.push_back(how); });
    {
        const event_log::reader_token reader(log);
    }
    {
        event_log::reader_token reader(log);
        reader.set_cut_off();
    }
    settle();

    EXPECT_EQ(told, (std::vector{event_log::leaving::left, event_log::leaving::cut_off}));
}

TEST_F(EventLog, TellsOnceThatTheStoreHasLostIt) {
    const auto log = make();
    int told = 0;
    log->set_failure_handler([&] { ++told; });

    log->on_failed();
    log->on_failed();

    EXPECT_EQ(told, 1);
}

} // namespace
} // namespace agui::gateway
