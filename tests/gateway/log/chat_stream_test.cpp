#include "gateway/log/chat_stream.hpp"

#include "tests/support/coroutine_test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::gateway {
namespace {

using ::testing::HasSubstr;
using translator::chat_mode;

constexpr std::string_view chat_run_started =
    R"({"type":"RUN_STARTED","timestamp":1,"threadId":"s","runId":"m"})";
constexpr std::string_view begun =
    R"({"type":"TEXT_MESSAGE_START","timestamp":2,"messageId":"a","role":"assistant"})";
constexpr std::string_view ended = R"({"type":"TEXT_MESSAGE_END","timestamp":3,"messageId":"a"})";
constexpr std::string_view chat_run_finished =
    R"({"type":"RUN_FINISHED","timestamp":3,"threadId":"s","runId":"m"})";

std::string delta(std::string_view text) {
    return R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":")" + std::string(text) +
           "\"}";
}

std::size_t count_of(std::string_view text, std::string_view part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string_view::npos;
         at = text.find(part, at + 1)) {
        ++count;
    }
    return count;
}

class ChatStreamSource : public test::coroutine_test {
protected:
    void append(std::string_view json, bool terminal = false) {
        log->on_event(
            {.json = json, .v1_0 = std::nullopt, .undeclared = std::nullopt, .terminal = terminal}
        );
        context().poll();
        context().restart();
    }
    void end() {
        append(ended);
        append(chat_run_finished, true);
        (void)log->take_staged();
        log->publish_end();
    }

    chat_stream_request request(chat_mode mode, std::uint64_t after = 0) {
        chat_stream_request what;
        what.log = log;
        what.session_id = "s";
        what.message_id = "m";
        what.mode = mode;
        what.after = after;
        return what;
    }
    std::unique_ptr<chat_stream> open(chat_stream_request what) {
        auto stream = std::make_unique<chat_stream>(what);
        stream->open(context().get_executor());
        return stream;
    }
    static std::string read(chat_stream& stream, std::size_t max_bytes = 65'536) {
        event_source::batch batch;
        stream.read(max_bytes, batch);
        return batch.bytes;
    }
    static std::string read_all(chat_stream& stream, std::size_t max_bytes) {
        std::string all;
        event_source::batch batch;
        while (!batch.ended) {
            stream.read(max_bytes, batch);
            all += batch.bytes;
        }
        return all;
    }

    std::shared_ptr<event_log> log =
        std::make_shared<event_log>(context().get_executor(), event_log::settings{});
};

TEST_F(ChatStreamSource, AFrameHasTheNumberOfItsEvent) {
    const auto stream = open(request(chat_mode::incremental));
    append(chat_run_started);
    append(begun);
    append(delta("x"));

    const std::string bytes = read(*stream);

    EXPECT_TRUE(bytes.starts_with("id: 1\ndata: {\"sessionId\":\"s\",")) << bytes;
    EXPECT_THAT(bytes, HasSubstr("}\n\nid: 3\ndata: {"));
    EXPECT_EQ(read(*stream), "");
    EXPECT_EQ(stream->content_type(), "text/event-stream; charset=utf-8");
    EXPECT_EQ(stream->heartbeat(), sse_form().heartbeat());
    EXPECT_EQ(stream->cut_off_note(), sse_form().cut_off_note());
}

TEST_F(ChatStreamSource, EachDeltaOfALiveRunIsAFrame) {
    const auto stream = open(request(chat_mode::incremental));
    append(chat_run_started);
    append(begun);
    EXPECT_EQ(count_of(read(*stream), "data: "), 1U);
    for (int i = 0; i < 10; ++i) {
        append(delta("word "));
        EXPECT_EQ(count_of(read(*stream), R"("value":"word ")"), 1U);
    }
    for (int i = 0; i < 10; ++i) {
        append(delta("word "));
    }
    EXPECT_EQ(count_of(read(*stream), R"("value":"word ")"), 10U) << "also of a slow reader";
}

TEST_F(ChatStreamSource, ABatchIsNoLongerThanAskedForWhateverTheIds) {
    constexpr std::size_t most = 16'384;
    for (const std::size_t id_bytes : {1U, 36U, 512U}) {
        SCOPED_TRACE(id_bytes);
        log = std::make_shared<event_log>(context().get_executor(), event_log::settings{});
        append(chat_run_started);
        append(begun);
        for (int i = 0; i < 500; ++i) {
            append(delta("word "));
        }
        chat_stream_request what = request(chat_mode::incremental);
        what.session_id = std::string(id_bytes, 's');
        what.message_id = std::string(id_bytes, 'm');
        const auto stream = open(what);
        const double behind = static_cast<double>(stream->backlog_bytes());
        const std::string first = read(*stream, 1);
        std::size_t sent = first.size();
        for (std::string bytes = read(*stream, most); !bytes.empty(); bytes = read(*stream, most)) {
            EXPECT_LT(bytes.size(), most + 4 * id_bytes + 512);
            sent += bytes.size();
        }

        EXPECT_EQ(count_of(first, "data: "), 1U);
        EXPECT_NEAR(behind / static_cast<double>(sent), 1, 0.2);
    }
}

TEST_F(ChatStreamSource, InFullAFrameThatIsNotSentYetIsReplaced) {
    const auto stream = open(request(chat_mode::full));
    append(chat_run_started);
    append(begun);
    for (int i = 0; i < 100; ++i) {
        append(delta("word "));
    }

    EXPECT_EQ(stream->backlog_bytes(), 0U) << "it is never behind by more than one frame";
    const std::string bytes = read(*stream);
    EXPECT_EQ(count_of(bytes, "data: "), 1U);
    EXPECT_TRUE(bytes.starts_with("id: 102\n")) << bytes;
    end();
    EXPECT_EQ(count_of(read(*stream), "data: "), 1U);
}

TEST_F(ChatStreamSource, InFullALongLogIsReadInPartsAndSentOnce) {
    append(chat_run_started);
    append(begun);
    for (int i = 0; i < 1000; ++i) {
        append(delta("word "));
    }
    end();
    const auto stream = open(request(chat_mode::full));

    EXPECT_EQ(read(*stream, 1000), "") << "the rest is to be read first";
    const std::string bytes = read_all(*stream, 1000);

    EXPECT_EQ(count_of(bytes, "data: "), 1U);
    EXPECT_EQ(count_of(bytes, "word "), 1000U);
    EXPECT_THAT(bytes, HasSubstr("finished"));
}

TEST_F(ChatStreamSource, SmallReadsGiveTheSameFrames) {
    append(chat_run_started);
    append(begun);
    for (int i = 0; i < 100; ++i) {
        append(delta("word "));
    }
    end();
    const std::string whole = read_all(*open(request(chat_mode::incremental)), 1U << 20U);

    for (const std::size_t size : {1U, 100U, 5000U}) {
        EXPECT_EQ(read_all(*open(request(chat_mode::incremental)), size), whole);
    }
}

TEST_F(ChatStreamSource, ACursorBetweenJoinedDeltasNeverRepeatsText) {
    std::vector<session::log_entry> entries;
    std::vector<std::string> events{std::string(chat_run_started), std::string(begun)};
    for (int i = 0; i < 8; ++i) {
        events.push_back(delta(std::to_string(i)));
    }
    events.emplace_back(ended);
    events.emplace_back(chat_run_finished);
    for (const std::string& event : events) {
        entries.push_back({entries.size() + 1, event, {}});
    }
    log = event_log::restored(context().get_executor(), entries, true);

    EXPECT_THAT(
        read_all(*open(request(chat_mode::incremental)), 65'536), HasSubstr(R"("value":"01234567")")
    );
    for (std::uint64_t after = 3; after < 10; ++after) {
        SCOPED_TRACE(after);
        const std::string rest = std::string("01234567").substr(after - 2);
        EXPECT_THAT(
            read_all(*open(request(chat_mode::incremental, after)), 65'536),
            HasSubstr(R"("value":")" + rest + '"')
        );
        EXPECT_THAT(
            read_all(*open(request(chat_mode::full, after)), 65'536),
            HasSubstr(R"("value":"01234567")")
        );
    }
}

TEST_F(ChatStreamSource, TheEndThatIsNotStoredHasNoNumber) {
    append(chat_run_started);
    (void)log->freeze();
    log->end_without_store(
        {R"({"type":"RUN_ERROR","timestamp":9,"message":"lost","code":"store_unavailable"})"}
    );

    for (const chat_mode mode : {chat_mode::incremental, chat_mode::full}) {
        const std::string bytes = read_all(*open(request(mode)), 65'536);
        const std::size_t last = bytes.rfind("data: ");
        EXPECT_THAT(bytes.substr(last), HasSubstr("finished"));
        EXPECT_THAT(bytes.substr(last), HasSubstr("store_unavailable"));
        EXPECT_TRUE(last == 0 || bytes.substr(0, last).ends_with("\n\n")) << "an id before it";
    }
}

TEST_F(ChatStreamSource, InFullTextAndFrameCountAsMemory) {
    memory_budget budget(10U << 20U, 0);
    chat_stream_request what = request(chat_mode::full);
    what.budget = &budget;
    {
        const auto stream = open(what);
        append(chat_run_started);
        append(begun);
        for (int i = 0; i < 100; ++i) {
            append(delta(std::string(1000, 'x')));
        }
        while (read(*stream).empty()) {
        }
        EXPECT_GE(budget.used(), 200'000U);
        EXPECT_EQ(read(*stream), "");
        EXPECT_GE(budget.used(), 100'000U);
        EXPECT_LT(budget.used(), 110'000U) << "the frame is sent";
    }
    EXPECT_EQ(budget.used(), 0U);
}

TEST_F(ChatStreamSource, InFullAReaderIsCutOffIfThereIsNoMemoryForItsFrame) {
    memory_budget budget(150'000, 0);
    chat_stream_request what = request(chat_mode::full);
    what.budget = &budget;
    const auto stream = open(what);
    append(chat_run_started);
    append(begun);
    append(delta(std::string(100'000, 'x')));
    end();
    event_source::batch batch;
    while (!batch.cut_off && batch.bytes.empty()) {
        stream->read(65'536, batch);
    }

    EXPECT_TRUE(batch.cut_off);
    EXPECT_FALSE(batch.ended);
    EXPECT_EQ(batch.bytes, "");
    EXPECT_THAT(std::string(stream->cut_off_note()), HasSubstr("not enough memory"));
    EXPECT_LE(budget.used(), 150'000U);
    what.mode = chat_mode::incremental;
    EXPECT_THAT(read_all(*open(what), 65'536), HasSubstr("finished"));
}

TEST_F(ChatStreamSource, WaitsForTheLog) {
    const auto stream = open(request(chat_mode::incremental));
    EXPECT_EQ(log->reader_count(), 1U);
    std::string bytes;
    boost::asio::co_spawn(
        context(),
        [&]() -> boost::asio::awaitable<void> {
            co_await stream->wait();
            bytes = read(*stream);
        },
        boost::asio::detached
    );
    context().poll();
    EXPECT_EQ(bytes, "");
    context().restart();

    append(chat_run_started);

    EXPECT_THAT(bytes, HasSubstr("generating"));
}

} // namespace
} // namespace agui::gateway
