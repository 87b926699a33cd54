#include "runner/openai/openai_chat_decoder.hpp"

#include "tests/runner/openai/openai_answer_case.hpp"
#include "tests/runner/openai/recording_model_sink.hpp"

#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

using test::call;
using test::delta;
using test::done;
using test::finish;
using test::frames;
using test::recording_model_sink;

/// Keeps what is to be sent back.
class data_sink final : public model_sink {
public:
    void on_text(std::string_view) override {}
    void on_reasoning(std::string_view) override {}
    void on_call(std::size_t, std::string_view, std::string_view) override {}
    void on_call_arguments(std::size_t, std::string_view) override {}
    void on_turn_data(std::string_view key, const boost::json::value& value) override {
        turn[key] = value;
    }
    void on_call_data(std::size_t call, const boost::json::value& value) override {
        calls[std::to_string(call)] = value;
    }

    boost::json::object turn;
    boost::json::object calls;
};

data_sink data_of(const std::string& body) {
    data_sink sink;
    openai_decoder decoder(sink, "m", "p");
    (void)decoder.feed(body);
    (void)decoder.finish();
    return sink;
}

TEST(OpenaiDecoder, TellsUnderWhichNameTheReasoningCame) {
    EXPECT_EQ(
        data_of(frames({delta(R"("reasoning_content":"hm","reasoning":"hm")"), finish("stop")}))
            .turn,
        (boost::json::object{{"reasoning", "reasoning_content"}})
    );
    // Also of an answer that is cut: its call may have to be answered.
    EXPECT_EQ(
        data_of(frames({delta(R"("reasoning":"hm")")})).turn,
        (boost::json::object{{"reasoning", "reasoning"}})
    );
    EXPECT_TRUE(data_of(frames({delta(R"("content":"a")"), finish("stop"), done})).turn.empty());
}

TEST(OpenaiDecoder, KeepsEachNameOfReasoning) {
    const std::vector<std::pair<std::string, std::string>> names = {
        {R"("reasoning_text":"hm")", "reasoning_text"},
        {R"("thinking":"hm")", "thinking"},
        {R"("content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}])", "content"},
    };
    for (const auto& [members, name] : names) {
        EXPECT_EQ(
            data_of(frames({delta(members), finish("stop")})).turn,
            (boost::json::object{{"reasoning", name}})
        );
    }
    EXPECT_FALSE(
        data_of(frames({delta(R"("reasoning_details":[{"type":"reasoning.text","text":"hm"}])")}))
            .turn.contains("reasoning")
    );
}

TEST(OpenaiDecoder, TakesThoughtsOutOfTheText) {
    recording_model_sink sink;
    openai_decoder decoder(sink, "m", "p", "<think>");
    (void)decoder.feed(frames(
        {delta(R"("content":" <th")"), delta(R"("content":"ink>\nhm \ud83d")"),
         delta(R"("content":"\ude00\n</think>\n\nHel")"), delta(R"("content":"lo")"),
         R"({"choices":[{"delta":null,"message":{"content":"<think>\nhm</think>Hello"},"finish_reason":"stop"}]})",
         done}
    ));

    EXPECT_TRUE(decoder.finish());
    EXPECT_EQ(
        sink.lines, (std::vector<std::string>{"reasoning hm \xF0\x9F\x98\x80", "text Hello"})
    );
}

TEST(OpenaiDecoder, TakesThoughtsWithoutAnOpeningTagOutOfTheText) {
    recording_model_sink sink;
    openai_decoder decoder(sink, "m", "p", "</think>");
    (void)decoder.feed(frames(
        {delta(R"("content":"hm")"),
         call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"})"),
         delta(R"("content":"</think>")"), finish("tool_calls"), done}
    ));

    EXPECT_TRUE(decoder.finish());
    EXPECT_EQ(
        sink.lines,
        (std::vector<std::string>{"reasoning hm", "call 0 a f", "arguments 0 {\"x\":1}"})
    );
}

TEST(OpenaiDecoder, KnowsWhenTheModelHasBegunToSpeak) {
    const auto begun = [](const std::string& body) {
        recording_model_sink sink;
        openai_decoder decoder(sink, "m", "p");
        (void)decoder.feed(body);
        return decoder.begun();
    };

    for (const std::string& body :
         {std::string(": keep-alive\n\n"), frames({"ping"}),
          frames({delta(R"("role":"assistant","content":"","reasoning":null,"tool_calls":[])")}),
          frames({R"({"choices":[],"usage":{"prompt_tokens":1}})"}), std::string("\n\n"),
          delta(R"("role":"assistant","content":"")") + "\n",
          delta(R"("role":"assistant")") + "\n{\"choices\""}) {
        EXPECT_FALSE(begun(body)) << body;
    }
    for (const std::string& body :
         {frames({delta(R"("content":"a")")}), frames({delta(R"("thinking":"a")")}),
          frames({delta(R"("reasoning_details":[{"type":"reasoning.text","text":"a"}])")}),
          frames({call(R"("index":0,"id":"a")")}), std::string("\n{\"choices\"")}) {
        EXPECT_TRUE(begun(body)) << body;
    }
}

TEST(OpenaiDecoder, JoinsThePiecesOfReasoningDetails) {
    const auto piece = [](const std::string& members) {
        return delta(R"("reasoning_details":[{)" + members + "}]");
    };
    const data_sink sink = data_of(frames(
        {piece(R"("type":"reasoning.summary","summary":"a","index":0)"),
         piece(R"("type":"reasoning.summary","summary":"b","index":0)"),
         piece(R"("type":"reasoning.text","text":"c","index":1)"),
         piece(R"("type":"reasoning.text","text":"d","index":1,"signature":null)"),
         piece(R"("type":"reasoning.text","index":1,"signature":"s")"),
         piece(R"("type":"reasoning.text","text":"e","index":2)"),
         piece(R"("type":"reasoning.encrypted","data":"x","index":3)"),
         piece(R"("type":"reasoning.encrypted","data":"y","index":3)"), finish("stop"), done}
    ));

    EXPECT_EQ(
        boost::json::serialize(sink.turn.at("reasoning_details")),
        R"([{"type":"reasoning.summary","summary":"ab","index":0},)"
        R"({"type":"reasoning.text","text":"cd","index":1,"signature":"s"},)"
        R"({"type":"reasoning.text","text":"e","index":2},)"
        R"({"type":"reasoning.encrypted","data":"x","index":3},)"
        R"({"type":"reasoning.encrypted","data":"y","index":3}])"
    );
}

TEST(OpenaiDecoder, BoundsReasoningDetailsAsAWhole) {
    const auto answer_with = [](std::size_t bytes) {
        const std::string piece =
            R"({"type":"reasoning.encrypted","data":")" + std::string(bytes, 'x') + "\"}";
        return data_of(frames({delta("\"reasoning_details\":[" + piece + "]"), finish("stop"), done}
        ));
    };
    const std::size_t rest = std::string(R"({"type":"reasoning.encrypted","data":""})").size();

    EXPECT_TRUE(answer_with((1U << 20U) - rest).turn.contains("reasoning_details"));
    EXPECT_FALSE(answer_with((1U << 20U) - rest + 1).turn.contains("reasoning_details"));
}

TEST(OpenaiDecoder, KeepsTheExtraContentOfTheTurnAndOfItsCalls) {
    const data_sink sink = data_of(frames(
        {delta(R"("extra_content":{"google":{"thought":true}})"),
         call(
             R"("index":0,"id":"a","function":{"name":"f","arguments":"{}"},"extra_content":{"s":1})"
         ),
         call(R"("index":1,"id":"b","function":{"name":"g","arguments":"{}"})"),
         finish("tool_calls"), done}
    ));

    EXPECT_EQ(
        boost::json::serialize(sink.turn), R"({"extra_content":{"google":{"thought":true}}})"
    );
    EXPECT_EQ(boost::json::serialize(sink.calls), R"({"0":{"extra_content":{"s":1}}})");
}

TEST(OpenaiDecoder, KeepsACharacterThatWasCut) {
    const data_sink sink = data_of(frames(
        {delta(R"("reasoning_details":[{"type":"reasoning.text","text":"a\ud83d"}])"),
         delta(R"("reasoning_details":[{"type":"reasoning.text","text":"\ude00b","signature":"s"}])"
         ),
         delta(R"("extra_content":{"s\ud83d":"\ud83d"})"),
         call(
             R"("index":0,"id":"a","function":{"name":"f","arguments":"{}"},"extra_content":{"s":"\ude00"})"
         ),
         finish("tool_calls"), done}
    ));

    EXPECT_EQ(
        boost::json::serialize(sink.turn),
        "{\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"a\xF0\x9F\x98\x80"
        "b\",\"signature\":\"s\"}],"
        "\"extra_content\":{\"s\xEF\xBF\xBD\":\"\xEF\xBF\xBD\"}}"
    );
    EXPECT_EQ(
        boost::json::serialize(sink.calls), "{\"0\":{\"extra_content\":{\"s\":\"\xEF\xBF\xBD\"}}}"
    );
}

TEST(OpenaiDecoder, KeepsNothingThatCannotBeWrittenAgain) {
    const data_sink sink = data_of(frames(
        {delta(R"("extra_content":{"n":[1,-1e999]})"),
         delta(R"("reasoning_details":[{"type":"reasoning.encrypted","data":"x"}])"),
         delta(R"("reasoning_details":[{"type":"reasoning.encrypted","n":{"m":1e999}}])"),
         call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{}"},)"
              R"("extra_content":{"s":1e999})"),
         finish("tool_calls"), done}
    ));

    EXPECT_EQ(boost::json::serialize(sink.turn), "{}");
    EXPECT_EQ(boost::json::serialize(sink.calls), "{}");
}

} // namespace
} // namespace agui::runner
