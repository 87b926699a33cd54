#include "tests/gateway/log/event_log_fixture.hpp"

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

namespace agui::gateway {
namespace {

constexpr int batches = 500;

class EventLogThreads : public EventLog {
protected:
    // Writes a run as live_run does, with one batch for each read from the model server.
    void write(event_log& log) {
        add(log, started);
        add(log, text_start);
        settle();
        for (int i = 0; i < batches; ++i) {
            log.begin_batch();
            add(log, delta(std::to_string(i)));
            EXPECT_FALSE(log.outgrown(1U << 20U));
            log.end_batch();
            EXPECT_TRUE(log.has_room());
            written_ = static_cast<std::uint64_t>(i) + 3;
        }
        add(log, text_end);
        add_terminal(log, finished);
        settle();
        (void)log.take_staged();
        log.publish_end();
        ended_ = true;
    }

    static std::string read(const event_log& log) {
        std::string text;
        event_log::cursor at;
        while (!log.read(at, sse_form(), 1000, text).ended) {
            std::this_thread::yield();
        }
        return text;
    }

    static std::string expected() {
        std::string text = frame(1, started) + frame(2, text_start);
        for (int i = 0; i < batches; ++i) {
            text += frame(static_cast<std::uint64_t>(i) + 3, delta(std::to_string(i)));
        }
        return text + frame(batches + 3, text_end) + frame(batches + 4, finished);
    }

    std::atomic<std::uint64_t> written_{0};
    std::atomic<bool> ended_{false};
};

TEST_F(EventLogThreads, AReaderGetsEachEventOnceWhileTheWriterAppends) {
    const auto log = make();
    std::string text;
    std::thread reader([&] { text = read(*log); });

    write(*log);
    reader.join();

    EXPECT_EQ(text, expected());
}

TEST_F(EventLogThreads, AReaderGetsEachEventOnceWhileTheStoreReports) {
    log_only_store store;
    const auto log = make(&store);
    std::string text;
    std::thread reader([&] { text = read(*log); });
    std::thread durable([&] {
        while (!ended_) {
            log->on_durable(written_);
            std::this_thread::yield();
        }
    });

    write(*log);
    reader.join();
    durable.join();

    EXPECT_EQ(text, expected());
    EXPECT_EQ(log->last_sequence(), batches + 4U);
}

TEST_F(EventLogThreads, TheWriterGoesOnWhileTheStoreFails) {
    log_only_store store;
    const auto log = make(&store);
    std::atomic<bool> told{false};
    log->set_failure_handler([&] { told = true; });
    std::thread failing([&] {
        while (written_ < batches / 2) {
            std::this_thread::yield();
        }
        log->on_failed();
    });

    write(*log);
    failing.join();

    EXPECT_EQ(read(*log), expected());
    EXPECT_LE(store.log.size(), static_cast<std::size_t>(batches) + 1);
}

} // namespace
} // namespace agui::gateway
