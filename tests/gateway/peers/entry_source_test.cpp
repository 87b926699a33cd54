#include "gateway/peers/entry_source.hpp"

#include "gateway/peers/entry_frames.hpp"
#include "tests/gateway/log/event_log_fixture.hpp"

#include <memory>
#include <optional>
#include <string>

namespace agui::gateway {
namespace {

class EntrySource : public EventLog {
protected:
    std::unique_ptr<entry_source>
    open(const std::shared_ptr<event_log>& log, std::uint64_t after = 0) {
        auto source = std::make_unique<entry_source>(log, after, streams, name);
        source->open(context().get_executor());
        return source;
    }
    // Reads everything that is there at the moment.
    run_entries read(entry_source& from, entry_frame_reader& frames) {
        run_entries all;
        event_source::batch batch;
        do {
            from.read(1, batch);
            EXPECT_TRUE(frames.add(batch.bytes, all));
        } while (!batch.bytes.empty() && !batch.ended);
        ended = batch.ended;
        return all;
    }
    void tell_last_reader(event_log& log) {
        log.set_last_reader_handler([this](event_log::leaving how) { left = how; });
    }

    const peer_streams::name name{2, 1};
    peer_streams streams;
    bool ended = false;
    std::optional<event_log::leaving> left;
};

TEST_F(EntrySource, GivesTheEntriesThatAreVisible) {
    log_only_store store;
    const auto log = make(&store);
    log->on_event({started, {}, started_older, false});
    add(*log, text_start);
    settle();
    const auto source = open(log);
    entry_frame_reader frames(0);
    EXPECT_TRUE(read(*source, frames).entries.empty()) << "nothing is durable";

    log->on_durable(1);
    const run_entries first = read(*source, frames);
    ASSERT_EQ(first.entries.size(), 1U);
    EXPECT_EQ(first.entries[0].json, started);
    EXPECT_EQ(
        first.entries[0].variants, run_events::write_variants({}, std::string(started_older))
    );
    EXPECT_FALSE(ended);

    add(*log, text_end);
    add_terminal(*log, finished);
    (void)log->take_staged();
    log->publish_end();
    const run_entries rest = read(*source, frames);
    ASSERT_EQ(rest.entries.size(), 3U);
    EXPECT_EQ(rest.entries[0].json, text_start);
    EXPECT_EQ(rest.entries[2].json, finished);
    EXPECT_EQ(rest.end, entries_end::ended);
    EXPECT_TRUE(ended);
}

TEST_F(EntrySource, BeginsAfterAnEntry) {
    const auto log = make();
    add(*log, started);
    add(*log, text_start);
    settle();
    const auto source = open(log, 1);
    entry_frame_reader frames(1);

    const run_entries read_now = read(*source, frames);

    ASSERT_EQ(read_now.entries.size(), 1U);
    EXPECT_EQ(read_now.entries[0].sequence, 2U);
}

TEST_F(EntrySource, GivesAnEndThatTheStoreDoesNotHave) {
    log_only_store store;
    const auto log = make(&store);
    add(*log, started);
    settle();
    log->on_durable(1);
    (void)log->freeze();
    log->end_without_store({std::string(finished)});
    const auto source = open(log);
    entry_frame_reader frames(0);

    const run_entries all = read(*source, frames);

    EXPECT_EQ(all.entries.size(), 1U);
    EXPECT_EQ(all.unnumbered, std::vector<std::string>{std::string(finished)});
    EXPECT_EQ(all.end, entries_end::ended);
}

// Its readers are sent to the other gateway before this one has noticed the loss.
TEST_F(EntrySource, SaysThatARunIsLost) {
    log_only_store store;
    const auto log = make(&store);
    const auto term = std::make_shared<session::lease_term>();
    term->set_end(std::chrono::nanoseconds::max());
    log->set_run(
        7, std::make_shared<session::lease>(session::thread_key{"", "t"}, "r", 1, term, true)
    );
    add(*log, started);
    settle();
    log->on_durable(1);
    const auto source = open(log);
    entry_frame_reader frames(0);
    (void)read(*source, frames);
    bool woken = false;
    boost::asio::co_spawn(
        context(), [&]() -> boost::asio::awaitable<void> { co_await source->wait(); },
        [&](const std::exception_ptr&) { woken = true; }
    );
    settle();
    EXPECT_FALSE(woken);

    term->set_end(std::chrono::nanoseconds(0));
    (void)log->freeze();

    settle();
    EXPECT_TRUE(woken);
    EXPECT_EQ(read(*source, frames).end, entries_end::moved);
    EXPECT_TRUE(ended);
}

TEST_F(EntrySource, CountsAsCutOffIfItsConnectionBreaks) {
    const auto log = make();
    tell_last_reader(*log);
    auto source = open(log);
    EXPECT_EQ(log->reader_count(), 1U);

    source.reset();

    settle();
    EXPECT_EQ(left, event_log::leaving::cut_off);
}

TEST_F(EntrySource, EndsAsLeftIfItsReadersHaveLeft) {
    const auto log = make();
    tell_last_reader(*log);
    auto source = open(log);
    entry_frame_reader frames(0);

    EXPECT_TRUE(streams.leave(name));
    settle();
    (void)read(*source, frames);
    EXPECT_TRUE(ended);
    source.reset();

    settle();
    EXPECT_EQ(left, event_log::leaving::left);
}

} // namespace
} // namespace agui::gateway
