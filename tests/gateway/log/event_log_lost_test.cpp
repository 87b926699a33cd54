#include "tests/gateway/log/event_log_fixture.hpp"

#include "gateway/log/run_stream.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <string>

namespace agui::gateway {
namespace {

constexpr std::string_view failed = R"({"type":"RUN_ERROR","message":"m","code":"internal"})";

class LostEventLog : public EventLog {
protected:
    LostEventLog() {
        log_->set_run(7, held_);
        add(*log_, started);
        add(*log_, text_start);
        settle();
    }

    // The log in the store, which has one more event and the end.
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
    const event_log::rest rest = log_->read(at, sse_form(), 100, out);
    EXPECT_FALSE(rest.ended) << "there is more to come";
    EXPECT_EQ(rest.next, nullptr);
    auto woken = boost::asio::co_spawn(context(), log_->wait(at, waiter), boost::asio::use_future);
    settle();
    ASSERT_EQ(woken.wait_for(std::chrono::seconds(0)), std::future_status::timeout);

    const auto next = stored();
    log_->continue_in(next);
    settle();

    EXPECT_EQ(woken.wait_for(std::chrono::seconds(0)), std::future_status::ready);
    EXPECT_EQ(log_->read(at, sse_form(), 100, out).next, next);
    EXPECT_EQ(out, "") << "the rest is there, not here";
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
    log_->continue_in(next);
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

TEST_F(LostEventLog, ShowsTheEndThatIsNotStoredIfThereIsNothingElse) {
    event_log::cursor at;
    EXPECT_NE(read_all(*log_, at), "");
    held_->set_lost();
    (void)log_->freeze();

    log_->end_without_store({std::string(text_end), std::string(failed)});

    const std::string end = "data: " + std::string(text_end) + "\n\ndata: " + std::string(failed);
    EXPECT_EQ(read_all(*log_, at), end + "\n\n");
}

TEST_F(LostEventLog, SaysThatAReaderIsCutOffOnlyOnceItHasNothingMore) {
    event_log::cursor at;
    std::string out;
    log_->cut_off_readers();

    const event_log::rest first = log_->read(at, sse_form(), 1, out);
    const event_log::rest second = log_->read(at, sse_form(), 1, out);
    EXPECT_EQ(out, frame(1, started) + frame(2, text_start));
    EXPECT_FALSE(first.cut_off);
    EXPECT_FALSE(second.cut_off);
    const event_log::rest third = log_->read(at, sse_form(), 1, out);

    EXPECT_TRUE(third.cut_off);
    EXPECT_FALSE(third.ended);
    EXPECT_EQ(third.next, nullptr);
}

TEST_F(LostEventLog, ReadersAreCutOffAfterAllThatItHas) {
    run_stream stream(all_of_it());
    stream.open(context().get_executor());
    run_stream::batch batch;

    log_->cut_off_readers();
    stream.read(1U << 20U, batch);
    EXPECT_FALSE(batch.bytes.empty());
    EXPECT_FALSE(batch.cut_off);
    stream.read(1U << 20U, batch);

    EXPECT_TRUE(batch.cut_off);
    EXPECT_FALSE(batch.ended) << "there is more, but not here";
}

} // namespace
} // namespace agui::gateway
