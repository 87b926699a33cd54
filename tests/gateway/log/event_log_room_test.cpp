#include "tests/gateway/log/event_log_fixture.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>

#include <exception>

namespace agui::gateway {
namespace {

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

TEST_F(FullEventLog, AWaitEndsAtOnceIfThereIsRoom) {
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
    log->on_durable(log->last_sequence()); // The wait has been cancelled.
    settle();
}

} // namespace
} // namespace agui::gateway
