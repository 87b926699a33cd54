#include "runner/loop/reply_reader.hpp"

#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {
namespace {

using lines = std::vector<std::string>;

/// Records what is shown.
class shown_events final : public run_sink {
public:
    lines shown;

    void emit(const runner_event& event) override {
        if (const auto* const text = std::get_if<text_delta>(&event)) {
            shown.push_back("text " + std::string(text->text));
        } else if (const auto* const thought = std::get_if<reasoning_delta>(&event)) {
            shown.push_back("reasoning " + std::string(thought->text));
        } else if (const auto* const segment = std::get_if<reply_segment>(&event)) {
            shown.push_back("segment " + boost::json::serialize(*segment->segment));
        } else if (const auto* const call = std::get_if<call_started>(&event)) {
            shown.push_back("call " + std::string(call->name));
        } else if (const auto* const arguments = std::get_if<call_arguments>(&event)) {
            shown.push_back("arguments " + std::string(arguments->delta));
        }
    }
    void keep_attempt(session::failed_attempt) noexcept override {}
    boost::asio::awaitable<result<void>> commit(session::changes) override {
        co_return result<void>();
    }
    boost::asio::awaitable<result<session::thread_record>> load_thread() override {
        co_return session::thread_record();
    }
    boost::asio::awaitable<void> finish(session::changes, run_end) override { co_return; }
};

class ReplyReader : public ::testing::Test {
protected:
    void say(std::string_view text) {
        for (const char& c : text) {
            reader_.on_text(std::string_view(&c, 1));
        }
    }

    sequential_ids ids_;
    shown_events out_;
    model_turn turn_{
        out_, ids_,
        [](std::string_view id, std::string_view name) {
            model_turn::call call;
            call.id = id;
            call.name = name;
            return call;
        },
        "main", "m"
    };
    reply_reader reader_{turn_};
};

TEST_F(ReplyReader, ShowsNothingBeforeTheAnswerIsComplete) {
    const std::string raw =
        R"([{"type":"thought","content":"Hm."},{"type":"chat","content":"Hi"}])";
    say(raw);
    EXPECT_EQ(out_.shown, lines());
    EXPECT_TRUE(turn_.empty()) << "another model may still be asked";
    EXPECT_EQ(reader_.bytes(), raw.size());

    EXPECT_EQ(reader_.finish(), "");

    EXPECT_EQ(out_.shown, (lines{"reasoning Hm.", "text Hi"}));
    const auto messages = turn_.take_messages();
    ASSERT_EQ(messages.size(), 2U);
    EXPECT_EQ(messages[0].role, session::role::reasoning);
    EXPECT_EQ(session::text_of(messages[0].content), "Hm.");
    EXPECT_EQ(session::text_of(messages[1].content), "Hi");
    ASSERT_NE(messages[1].for_model, nullptr);
    EXPECT_EQ(session::text_of(*messages[1].for_model), raw);
}

TEST_F(ReplyReader, ThoughtsAreNotReasoningThatAProviderWantsBack) {
    reader_.on_reasoning("native");
    say(R"([{"type":"thought","content":"Hm."},{"type":"chat","content":"Hi"}])");
    EXPECT_EQ(reader_.finish(), "");

    const auto messages = turn_.take_messages();
    ASSERT_EQ(messages.size(), 3U);
    ASSERT_NE(messages[2].origin, nullptr);
    std::vector<std::string> named;
    for (const session::turn_block& block : messages[2].origin->blocks) {
        if (block.what == session::turn_block::kind::reasoning) {
            named.push_back(block.id);
        }
    }
    EXPECT_EQ(named, std::vector<std::string>{messages[0].id});
    EXPECT_EQ(session::text_of(messages[0].content), "native");
}

TEST_F(ReplyReader, OtherSegmentsKeepTheirPlace) {
    say(R"([{"type":"chat","content":["a",{"type":"image","url":"x"},"b"]}])");

    EXPECT_EQ(reader_.finish(), "");

    EXPECT_EQ(out_.shown, (lines{"text a", R"(segment {"type":"image","url":"x"})", "text b"}));
    EXPECT_EQ(session::text_of(turn_.take_messages().at(0).content), "ab");
}

TEST_F(ReplyReader, CallsAreShownAtOnce) {
    say(R"([{"type":"chat",)");
    reader_.on_call(0, "c1", "look");
    reader_.on_call_arguments(0, "{}");
    EXPECT_EQ(out_.shown, (lines{"call look", "arguments {}"}));
    EXPECT_TRUE(turn_.last_is_call());

    say(R"("content":"Wait"}])");
    EXPECT_FALSE(turn_.last_is_call());
    EXPECT_EQ(reader_.finish(), "");

    EXPECT_EQ(out_.shown.back(), "text Wait");
}

TEST_F(ReplyReader, AnAnswerThatOnlyCallsHasNoReply) {
    reader_.on_call(0, "c1", "look");
    say("\n ");

    EXPECT_EQ(reader_.finish(), "");

    EXPECT_EQ(out_.shown, lines{"call look"});
    EXPECT_EQ(turn_.take_messages().at(0).for_model, nullptr);
}

TEST_F(ReplyReader, AnInvalidReplyIsNotShown) {
    say("Hello!");

    EXPECT_EQ(reader_.finish(), "a model's reply is not the JSON that its agent expects");

    EXPECT_EQ(out_.shown, lines());
    EXPECT_TRUE(turn_.take_messages().empty());
}

TEST_F(ReplyReader, ASilentReplyIsKept) {
    say("[]");

    EXPECT_EQ(reader_.finish(), "");

    EXPECT_EQ(out_.shown, lines());
    const auto messages = turn_.take_messages();
    ASSERT_EQ(messages.size(), 1U);
    EXPECT_EQ(session::text_of(*messages[0].for_model), "[]");
}

TEST_F(ReplyReader, WarnsOfItemsThatItLeavesOut) {
    say(R"([{"type":"chat","content":"a"},{"type":"chat","content":"b"}])");
    EXPECT_EQ(reader_.finish(), "a model's reply has several chat items: only the first was shown");
    EXPECT_EQ(out_.shown, lines{"text a"});
}

TEST_F(ReplyReader, WarnsOfOddItems) {
    say(R"([{"type":"chat","content":"a"},5])");
    EXPECT_EQ(reader_.finish(), "a model's reply has items that are neither thoughts nor chat");
    EXPECT_EQ(out_.shown, lines{"text a"});
}

TEST_F(ReplyReader, HoldsABoundedLength) {
    const std::string around = R"([{"type":"chat","content":""}])";
    const std::string text(reply_bytes_max - around.size(), 'x');
    reader_.on_text(R"([{"type":"chat","content":")");
    reader_.on_text(text);
    reader_.on_text(R"("}])");
    EXPECT_EQ(reader_.finish(), "");
    EXPECT_EQ(out_.shown, lines{"text " + text});

    reply_reader too_long(turn_);
    out_.shown.clear();
    too_long.on_text(R"([{"type":"chat","content":"x)");
    too_long.on_text(text);
    too_long.on_text(R"("}])");
    EXPECT_EQ(too_long.finish(), "a model's reply is too long and was not shown");
    EXPECT_EQ(out_.shown, lines());
}

} // namespace
} // namespace agui::runner
