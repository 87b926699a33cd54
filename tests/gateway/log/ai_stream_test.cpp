#include "gateway/log/ai_stream.hpp"

#include "tests/support/coroutine_test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace agui::gateway {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view ai_run_started = R"({"type":"RUN_STARTED","threadId":"t","runId":"r"})";
constexpr std::string_view ai_run_finished =
    R"({"type":"RUN_FINISHED","threadId":"t","runId":"r"})";

class AiStream : public test::coroutine_test {
protected:
    void append(event_log& to, std::string_view json, bool terminal = false) {
        to.on_event(
            {.json = json, .v1_0 = std::nullopt, .undeclared = std::nullopt, .terminal = terminal}
        );
        context().poll();
        context().restart();
    }
    void end(event_log& one) {
        append(one, ai_run_finished, true);
        (void)one.take_staged();
        one.publish_end();
    }
    std::shared_ptr<event_log> make_log() {
        return std::make_shared<event_log>(context().get_executor(), event_log::settings{});
    }
    std::unique_ptr<ai_stream> open(ai_stream_request what) {
        auto stream = std::make_unique<ai_stream>(std::move(what));
        stream->open(context().get_executor());
        return stream;
    }
    static event_source::batch read(ai_stream& stream) {
        event_source::batch batch;
        stream.read(65'536, batch);
        return batch;
    }

    std::shared_ptr<event_log> log = make_log();
};

TEST_F(AiStream, SendsChunksWithoutNumbersAndDeclaresItsForm) {
    const auto stream = open({log, nullptr, 0, {"a", {}, {}, false}, nullptr});
    EXPECT_EQ(stream->content_type(), "text/event-stream; charset=utf-8");
    EXPECT_EQ(stream->header(), "x-vercel-ai-ui-message-stream: v1");
    EXPECT_EQ(stream->heartbeat(), sse_form().heartbeat());
    EXPECT_TRUE(stream->cut_off_note().starts_with(": cut off"));

    append(*log, ai_run_started);
    EXPECT_EQ(
        read(*stream).bytes,
        "data: {\"type\":\"start\",\"messageId\":\"a\",\"messageMetadata\":{\"runId\":\"r\"}}\n\n"
        "data: {\"type\":\"start-step\"}\n\n"
    );
    EXPECT_EQ(read(*stream).bytes, "");
    end(*log);
    const event_source::batch last = read(*stream);
    EXPECT_TRUE(last.bytes.ends_with("data: [DONE]\n\n"));
    EXPECT_TRUE(last.ended);
}

TEST_F(AiStream, SendsTheStateOnceForEachRead) {
    const auto stream = open({log, nullptr, 0, {"a", {}, {}, false}, nullptr});
    append(*log, ai_run_started);
    append(*log, R"({"type":"STATE_SNAPSHOT","snapshot":{"n":0}})");
    for (int i = 0; i < 100; ++i) {
        append(*log, R"({"type":"STATE_DELTA","delta":[{"op":"replace","path":"/n","value":7}]})");
    }
    const std::string bytes = read(*stream).bytes;
    EXPECT_THAT(bytes, HasSubstr(R"("data":{"n":7})"));
    EXPECT_EQ(bytes.find("data-state"), bytes.rfind("data-state"));
}

TEST_F(AiStream, AReplayBeginsWithTheConversation) {
    const std::shared_ptr<event_log> history = make_log();
    append(*history, ai_run_started);
    append(
        *history,
        R"({"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"x"},)"
        R"({"id":"m","role":"assistant","content":"Before."}]})"
    );
    end(*history);
    append(*log, ai_run_started);
    const auto stream = open({history, log, 0, {{}, {}, {}, true}, nullptr});

    std::string bytes = read(*stream).bytes;
    bytes += read(*stream).bytes;

    EXPECT_THAT(bytes, HasSubstr(R"({"type":"start","messageId":"u-answer")"));
    EXPECT_THAT(bytes, HasSubstr(R"("delta":"Before.")"));
    end(*log);
    EXPECT_TRUE(read(*stream).ended);
}

TEST_F(AiStream, IsCutOffWithoutMemory) {
    memory_budget budget(8192);
    const auto stream = open({log, nullptr, 0, {"a", {}, {}, false}, &budget});
    append(*log, ai_run_started);
    EXPECT_FALSE(read(*stream).cut_off);
    append(*log, R"({"type":"STATE_SNAPSHOT","snapshot":")" + std::string(20'000, 'x') + "\"}");
    EXPECT_TRUE(read(*stream).cut_off);
    EXPECT_THAT(std::string(stream->cut_off_note()), HasSubstr("memory"));
    const event_source::batch after = read(*stream);
    EXPECT_TRUE(after.cut_off);
    EXPECT_FALSE(after.ended);
    EXPECT_THAT(after.bytes, Not(HasSubstr("[DONE]")));
}

} // namespace
} // namespace agui::gateway
