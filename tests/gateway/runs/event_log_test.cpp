#include "gateway/runs/event_log.hpp"

#include "gateway/runs/run_stream.hpp"
#include "tests/support/coroutine_test.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace agui::gateway {
namespace {

using translator::projection;
using translator::wire_event;

constexpr std::string_view started =
    R"({"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.1"})";
constexpr std::string_view started_older = R"({"type":"RUN_STARTED","threadId":"t","runId":"r"})";
constexpr std::string_view text_start =
    R"({"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"})";
constexpr std::string_view text_end = R"({"type":"TEXT_MESSAGE_END","messageId":"m"})";
constexpr std::string_view finished = R"({"type":"RUN_FINISHED","threadId":"t","runId":"r"})";

std::string delta(std::string_view text) {
    return R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":")" + std::string(text) +
           "\"}";
}

std::string frame(std::uint64_t sequence, std::string_view json) {
    return "id: " + std::to_string(sequence) + "\ndata: " + std::string(json) + "\n\n";
}

struct appended_slice {
    session::log_slice slice;
    std::shared_ptr<session::log_observer> observer;
};

// A store that only takes logs, and makes them durable when the test says so.
class log_only_store final : public session::store {
public:
    std::vector<appended_slice> log;

    void
    append_log(const session::log_slice& slice, const std::shared_ptr<session::log_observer>& observer, const session::lease_ptr&)
        override {
        log.push_back({slice, observer});
    }
    bool keeps_logs() const noexcept override { return true; }
    void close() override {}
    void release(const session::lease_ptr&) noexcept override {}
    boost::asio::awaitable<result<std::optional<session::thread_holder>>> holder(session::thread_key
    ) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<session::lease_ptr>>
    acquire(session::thread_key, std::string) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::optional<session::thread_record>>> load(session::thread_key
    ) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::optional<session::thread_summary>>>
    summary(session::thread_key) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::optional<json_text>>> state(session::thread_key) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::optional<std::vector<session::pending_call>>>>
    pending_calls(session::thread_key) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::optional<std::vector<session::branch_summary>>>>
    branches(session::thread_key) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<view>> look_up(session::thread_key, std::string) override {
        co_return failure{};
    }
    boost::asio::awaitable<result<std::optional<session::run_record>>>
    find_run_by_key(session::thread_key, std::string) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<session::begun_run>> begin(
        session::thread_key, session::run_record, session::changes, std::optional<std::uint64_t>,
        session::lease_ptr
    ) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<void>> commit(
        session::thread_key, session::changes, std::optional<session::log_slice>, session::held_by
    ) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::vector<session::log_entry>>>
    read_log(std::int64_t, std::uint64_t, std::size_t) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::int64_t>>
    enqueue(session::thread_key, session::queued_request, session::queue_limits) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::vector<session::queued_request>>> queued(session::thread_key
    ) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<bool>> withdraw(session::thread_key, std::int64_t) override {
        throw std::logic_error("not used");
    }
    void keep_attempt(session::failed_attempt) override { throw std::logic_error("not used"); }
    boost::asio::awaitable<result<std::vector<session::failed_attempt>>>
    failed_attempts(std::int64_t) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::optional<session::run_record>>>
    find_run(session::thread_key, std::string) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::optional<session::run_record>>>
    latest_run(session::thread_key) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<session::thread_page>> list(session::thread_query) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::vector<session::session_event>>>
    events(session::thread_key, std::uint64_t, std::size_t) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<bool>> remove(session::thread_key) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::vector<orphan>>> orphans(session::lease_ptr) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::vector<session::lease_ptr>>> claim_orphans(std::size_t
    ) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<void>> drop_logs(log_limits) override {
        throw std::logic_error("not used");
    }
};

class EventLog : public test::coroutine_test {
protected:
    std::shared_ptr<event_log> make(session::store* store = nullptr, bool relaxed = false) {
        return std::make_shared<event_log>(
            context().get_executor(), event_log::settings{store, 7, relaxed}
        );
    }

    // Lets what was posted happen.
    void settle() {
        context().restart();
        context().poll();
    }

    static void add(event_log& log, std::string_view json) { log.on_event({json, {}, {}, false}); }
    static void add_terminal(event_log& log, std::string_view json) {
        log.on_event({json, {}, {}, true});
    }

    static std::string
    read_all(event_log& log, event_log::cursor& at, std::size_t most = 1U << 20U) {
        std::string text;
        for (std::string next = " "; !next.empty();) {
            next.clear();
            (void)log.read(at, sse_form(), most, next);
            text += next;
        }
        return text;
    }
};

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

TEST_F(EventLog, StoresWhatWasHeldBackOnceItHasANumber) {
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
    EXPECT_FALSE(log->read(at, sse_form(), 100, rest));
    EXPECT_EQ(read_all(*log, at), "");

    log->publish_end();
    EXPECT_EQ(read_all(*log, at), frame(1, started) + frame(2, finished));
    EXPECT_TRUE(log->read(at, sse_form(), 100, rest));
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

class FullEventLog : public EventLog {
protected:
    /// Appends until there is no room, one handler for each event; gives up after 10 MB.
    std::size_t fill(event_log& log) {
        std::size_t bytes = 0;
        open(log);
        while (log.has_room() && bytes < 10'000'000) {
            add(log, delta(std::string(1000, 'x')));
            settle();
            bytes += 1000;
        }
        return bytes;
    }

    static void open(event_log& log) {
        add(log, started);
        add(log, text_start);
    }

    void wait_for_room(event_log& log) {
        const auto wait = [](event_log& full, bool& done) -> boost::asio::awaitable<void> {
            co_await full.room();
            done = true;
        };
        boost::asio::co_spawn(
            context(), wait(log, has_room_),
            boost::asio::bind_cancellation_slot(
                stop_.slot(), [this](const std::exception_ptr& thrown) { thrown_ = thrown; }
            )
        );
        settle();
    }

    log_only_store store_;
    boost::asio::cancellation_signal stop_;
    std::exception_ptr thrown_;
    bool has_room_ = false;
};

TEST_F(FullEventLog, HasRoomForAQuarterOfAMegabyteThatIsNotStored) {
    const auto log = make(&store_);

    const std::size_t bytes = fill(*log);

    EXPECT_GT(bytes, 200U * 1024);
    EXPECT_LT(bytes, 300U * 1024);
}

TEST_F(FullEventLog, HasRoomForWhatIsStoredAndWhereNothingIs) {
    const auto stored = make(&store_);
    const auto unstored = make();
    open(*stored);
    open(*unstored);
    for (int i = 0; i < 1000; ++i) {
        add(*stored, delta(std::string(1000, 'x')));
        add(*unstored, delta(std::string(1000, 'x')));
        settle();
        stored->on_durable(stored->last_sequence());
    }

    EXPECT_TRUE(stored->has_room());
    EXPECT_TRUE(unstored->has_room());
}

TEST_F(FullEventLog, VisibleIsNotStored) {
    const auto log = make(&store_, true);

    EXPECT_LT(fill(*log), 300U * 1024);
}

TEST_F(FullEventLog, RoomComesOnceHalfOfItIsStored) {
    const auto log = make(&store_);
    fill(*log);
    wait_for_room(*log);
    EXPECT_FALSE(has_room_);

    log->on_durable(10);
    settle();
    EXPECT_FALSE(has_room_);
    log->on_durable(log->last_sequence() * 2 / 3);
    settle();
    EXPECT_TRUE(has_room_);
}

TEST_F(FullEventLog, RoomThatIsThereEndsTheWaitAtOnce) {
    const auto log = make(&store_);
    fill(*log);
    log->on_durable(log->last_sequence());
    wait_for_room(*log);

    EXPECT_TRUE(has_room_);
}

TEST_F(FullEventLog, AStoreThatFailsLeavesNobodyWaiting) {
    const auto log = make(&store_);
    fill(*log);
    wait_for_room(*log);

    log->on_failed();
    settle();
    EXPECT_TRUE(has_room_);
}

TEST_F(FullEventLog, TheWaitCanBeCancelled) {
    const auto log = make(&store_);
    fill(*log);
    wait_for_room(*log);

    stop_.emit(boost::asio::cancellation_type::terminal);
    settle();
    EXPECT_FALSE(has_room_);
    EXPECT_TRUE(thrown_);
    log->on_durable(log->last_sequence()); // The wait is gone.
    settle();
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
    EXPECT_TRUE(log->read(at, sse_form(), 100, rest));
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
    log->wake(waiter); // Nobody waits: no effect.
}

constexpr std::string_view failed = R"({"type":"RUN_ERROR","message":"m","code":"internal"})";

class LostEventLog : public EventLog {
protected:
    LostEventLog() {
        log_->set_run(7, held_);
        add(*log_, started);
        add(*log_, text_start);
        settle();
    }

    // What the store has: one event more, and the end.
    std::shared_ptr<event_log> stored() {
        auto log = make();
        for (const auto& json :
             {std::string(started), std::string(text_start), delta("a"), std::string(text_end)}) {
            add(*log, json);
        }
        add_terminal(*log, failed);
        settle();
        log->publish_end();
        return log;
    }

    run_stream_request all_of_it() {
        run_stream_request what;
        what.log = log_;
        return what;
    }

    static bool read_to_end(run_stream& stream, std::string& text) {
        run_stream::batch batch;
        do {
            stream.read(1U << 20U, batch);
            text += batch.bytes;
        } while (!batch.bytes.empty() && !batch.ended);
        return batch.ended;
    }

    session::lease_ptr held_ = std::make_shared<session::lease>(session::thread_key{}, "r", 1);
    std::shared_ptr<event_log> log_ = make();
};

TEST_F(LostEventLog, ShowsNothingAndItsReadersWait) {
    event_log::waiter waiter(context().get_executor());
    event_log::cursor at;
    held_->set_lost();

    EXPECT_EQ(read_all(*log_, at), "");
    std::string out;
    EXPECT_FALSE(log_->read(at, sse_form(), 100, out)) << "there is more to come";
    EXPECT_EQ(log_->continuation(), nullptr);
    auto woken = boost::asio::co_spawn(context(), log_->wait(at, waiter), boost::asio::use_future);
    settle();
    ASSERT_EQ(woken.wait_for(std::chrono::seconds(0)), std::future_status::timeout);

    const auto next = stored();
    EXPECT_TRUE(log_->continue_in(next));
    settle();

    EXPECT_EQ(woken.wait_for(std::chrono::seconds(0)), std::future_status::ready);
    EXPECT_EQ(log_->continuation(), next);
    EXPECT_EQ(read_all(*log_, at), "") << "the rest is there, not here";
}

TEST_F(LostEventLog, AReaderThatHasReadOnGetsTheRestOfTheOther) {
    run_stream stream(all_of_it());
    stream.open(context().get_executor());
    std::string text;
    EXPECT_FALSE(read_to_end(stream, text));
    ASSERT_EQ(text, frame(1, started) + frame(2, text_start));
    held_->set_lost();
    EXPECT_FALSE(read_to_end(stream, text));

    const auto next = stored();
    EXPECT_TRUE(log_->continue_in(next));
    stream.wake();
    EXPECT_FALSE(read_to_end(stream, text));
    EXPECT_EQ(log_->reader_count(), 0U);
    EXPECT_EQ(next->reader_count(), 1U) << "whoever has the run now counts it";
    EXPECT_TRUE(read_to_end(stream, text));

    EXPECT_EQ(
        text, frame(1, started) + frame(2, text_start) + frame(3, delta("a")) + frame(4, text_end) +
                  frame(5, failed)
    );
}

// With relaxed durability: what it has seen may be something else in the store.
TEST_F(LostEventLog, AReaderThatMayHaveSeenMoreThanIsStoredIsNotSentOn) {
    log_only_store store;
    const auto log = make(&store, true);
    log->set_run(7, held_);
    add(*log, started);
    add(*log, text_start);
    settle();
    held_->set_lost();
    const auto next = stored();

    EXPECT_FALSE(log->continue_in(next));
    EXPECT_EQ(log->continuation(), nullptr);

    store.log.front().observer->on_durable(2);
    EXPECT_TRUE(log->continue_in(next));
    EXPECT_EQ(log->continuation(), next);
}

TEST_F(LostEventLog, ShowsTheEndThatIsNotStoredIfThereIsNothingElse) {
    event_log::cursor at;
    EXPECT_NE(read_all(*log_, at), "");
    held_->set_lost();
    (void)log_->freeze();

    log_->end_without_store({std::string(text_end), std::string(failed)});

    const std::string end = "data: " + std::string(text_end) + "\n\ndata: " + std::string(failed);
    EXPECT_EQ(read_all(*log_, at), end + "\n\n");
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

TEST_F(EventLog, ReadsTheOlderFormsThatStoresUpToSchema5Have) {
    std::vector<session::log_entry> entries = stored({std::string(started), std::string(finished)});
    entries[0].variants = boost::json::serialize(
        boost::json::object{{"1.0", ""}, {"undeclared", frame(1, started_older)}}
    );
    const auto log = event_log::restored(context().get_executor(), entries);

    event_log::cursor at;
    at.projection = projection::undeclared;
    EXPECT_EQ(read_all(*log, at), frame(1, started_older) + frame(2, finished));
    event_log::cursor other;
    other.projection = projection::v1_0;
    EXPECT_EQ(read_all(*log, other), frame(2, finished));
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
        ended = log->read(at, sse_form(), 1, one);
        EXPECT_EQ(std::ranges::count(one, '\n'), 3);
        largest = std::max(largest, one.size());
    }
    EXPECT_LT(largest, 5'000U);
    event_log::cursor again;
    std::string more;
    EXPECT_TRUE(log->read(again, sse_form(), 20'000, more));
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
