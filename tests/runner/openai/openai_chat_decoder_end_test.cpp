#include "runner/openai/openai_chat_decoder.hpp"

#include "tests/runner/openai/openai_answer_case.hpp"
#include "tests/runner/openai/recording_model_sink.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace agui::runner {
namespace {

using test::call;
using test::decode;
using test::decoder_case;
using test::decoder_case_name;
using test::delta;
using test::describe_answer;
using test::done;
using test::finish;
using test::frames;
using test::OpenaiDecoderCases;
using test::recording_model_sink;

const std::vector<decoder_case>& failure_cases() {
    static const std::vector<decoder_case> all = {
        {"CutInText", frames({delta(R"("content":"a")")}), {"text a"}, "lost"},
        {"CutInAChunk",
         frames({delta(R"("content":"a")")}) + "data: {\"choices\":[{\"del",
         {"text a"},
         "lost"},
        {"CutInAChunkOfArguments",
         frames({call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{\"x"})")}) +
             R"(data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"argu)",
         {"call 0 a f", "arguments 0 {\"x"},
         "lost"},
        {"CutBeforeTheNameOfACall",
         frames({call(R"("index":0,"id":"a","function":{"arguments":"{"})")}),
         {},
         "lost"},
        {"CutInTheFirstChunk",
         R"(data: {"choices":[{"del)",
         {},
         "unavailable 0: a chunk of the answer is not JSON"},
        {"CutInAChunkAfterTheFinishReason",
         frames({delta(R"("content":"a")"), finish("stop")}) + R"(data: {"choices":[],"us)",
         {"text a"},
         "stop"},
        {"NotJsonAfterText",
         frames({delta(R"("content":"a")"), R"({"choices":[{"del)", done}),
         {"text a"},
         "unavailable 0: a chunk of the answer is not JSON"},
        {"NoBytes", "", {}, "unavailable 0: the body holds no answer"},
        {"NoEvents", ": hello\n\n", {}, "unavailable 0: the body holds no answer"},
        {"HtmlPage",
         "<html><body>502</body></html>\n",
         {},
         "unavailable 0: the body holds no answer"},
        {"DoneAlone", frames({done}), {}, "unavailable 0: the body holds no answer"},
        {"ErrorObject",
         frames(
             {delta(R"("content":"a")"), R"({"error":{"message":"overloaded","code":529}})", done}
         ),
         {"text a"},
         "unavailable 0: the answer holds an error: overloaded"},
        {"ErrorString",
         frames({R"({"error":"no capacity"})"}),
         {},
         "unavailable 0: the answer holds an error: no capacity"},
        {"ErrorWithoutMessage",
         frames({R"({"error":{"code":5}})"}),
         {},
         "unavailable 0: the answer holds an error: {\"code\":5}"},
        {"ErrorEvent",
         "event: error\ndata: broken pipe\n\n",
         {},
         "unavailable 0: the stream holds an error: broken pipe"},
        {"ErrorByObjectName",
         frames({R"({"object":"error","message":"too long","code":400})"}),
         {},
         "rejected 400: too long"},
        {"ErrorOfAModelServerBehindAnother",
         frames({R"({"error":{"message":"no image input","code":"422"}})"}),
         {},
         "rejected 422: no image input"},
        {"ErrorThatDoesNotBlameTheMessages",
         frames({R"({"error":{"message":"slow down","code":429}})"}),
         {},
         "unavailable 0: the answer holds an error: slow down"},
        {"ErrorWithAStatusInTheMiddle",
         frames({delta(R"("content":"a")"), R"({"error":{"message":"odd","code":400}})"}),
         {"text a"},
         "unavailable 0: the answer holds an error: odd"},
        {"ErrorAsWholeBody",
         R"({"error":{"message":"bad model"}})",
         {},
         "unavailable 0: the answer holds an error: bad model"},
        {"ErrorAsFinishReason",
         frames({delta(R"("content":"a")"), finish("error"), done}),
         {"text a"},
         "unavailable 0: the finish_reason reports a failure: error"},
        {"NoJsonAtAll", frames({"hello"}), {}, "unavailable 0: the body holds no answer: hello"},
        {"NoObject", frames({"[1]"}), {}, "unavailable 0: the body holds no answer: [1]"},
        {"NotJson", frames({"{\"x\""}), {}, "unavailable 0: a chunk of the answer is not JSON"},
        {"FailureAsFinishReason",
         frames({delta(R"("content":"a")"), finish("insufficient_system_resource"), done}),
         {"text a"},
         "unavailable 0: the finish_reason reports a failure: "
         "insufficient_system_resource"},
        {"NativeReasonOfAFailure",
         frames(
             {delta(R"("content":"")"),
              R"({"choices":[{"delta":{},"finish_reason":"stop",)"
              R"("native_finish_reason":"network_error"}]})",
              done}
         ),
         {},
         "unavailable 0: the native_finish_reason reports a failure: network_error"},
        {"NativeReasonOfAFailureAfterThoughtsAndBlanks",
         frames(
             {delta(R"("reasoning_content":"hm")"), delta(R"("content":"\n")"),
              R"({"choices":[{"delta":{},"finish_reason":"stop","native_finish_reason":"error"}]})",
              done}
         ),
         {"reasoning hm", "text \n"},
         "unavailable 0: the native_finish_reason reports a failure: error",
         R"(reasoning "reasoning_content")"},
        {"NewlineDelimitedJsonWithoutItsEnd", delta(R"("content":"a")") + "\n", {"text a"}, "lost"},
        {"NewlineDelimitedJsonThatIsCut",
         delta(R"("content":"a")") + "\n{\"choices\":[{\"del",
         {"text a"},
         "lost"},
        {"OllamasOwnDialect",
         R"({"model":"m","message":{"role":"assistant","content":"a"},"done":false})"
         "\n"
         R"({"model":"m","message":{"content":""},"done":true})"
         "\n",
         {},
         "unavailable 0: the body holds no answer"},
        {"TooDeep",
         frames({R"({"x":)" + std::string(100, '[') + std::string(100, ']') + "}"}),
         {},
         "unavailable 0: a chunk of the answer is not JSON"},
        {"WholeBodyCut", R"({"choices":[{"message":{"content":"a)", {}, "lost"},
    };
    return all;
}

INSTANTIATE_TEST_SUITE_P(
    Failures, OpenaiDecoderCases, ::testing::ValuesIn(failure_cases()), decoder_case_name
);

TEST(OpenaiDecoder, TellsWhenNothingMoreIsExpected) {
    recording_model_sink sink;
    openai_decoder decoder(sink, "m", "p");

    EXPECT_TRUE(decoder.feed(frames({delta(R"("content":"a")"), finish("stop")})));
    EXPECT_FALSE(decoder.feed(frames({done})));
    EXPECT_FALSE(decoder.feed(frames({delta(R"("content":"b")")})));
}

// No case of the table: without the error, the answer is complete.
TEST(OpenaiDecoder, AnErrorAfterTheFinishReasonFailsTheAnswer) {
    const model_outcome outcome =
        decode(frames({delta(R"("content":"a")"), finish("stop"), R"({"error":{"message":"late"}})"}
        ));

    EXPECT_EQ(describe_answer(outcome), "unavailable 0: the answer holds an error: late");
}

TEST(OpenaiDecoder, NamesAReasonThatItDoesNotKnow) {
    const auto reason_of = [](const std::string& name) {
        return decode(frames({delta(R"("content":"a")"), finish(name), done}))->unknown_reason;
    };

    EXPECT_EQ(reason_of("whatever"), "whatever");
    EXPECT_EQ(reason_of("eos"), "");
    EXPECT_EQ(reason_of(std::string(1000, 'x')), std::string(200, 'x'));
}

TEST(OpenaiDecoder, KnowsWhetherTheUsageIsStillMissing) {
    const std::string usage = R"({"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}})";
    recording_model_sink sink;
    openai_decoder decoder(sink, "m", "p");

    EXPECT_TRUE(decoder.feed(frames({usage, delta(R"("content":"a")")})));
    EXPECT_FALSE(decoder.ending());
    EXPECT_TRUE(decoder.feed(frames({finish("stop")})));
    EXPECT_TRUE(decoder.ending());
    EXPECT_FALSE(decoder.complete()); // The usage of before may have been of a part.
    EXPECT_TRUE(decoder.feed(frames({usage})));
    EXPECT_TRUE(decoder.complete());
}

TEST(OpenaiDecoder, CountsNoSignsOfLife) {
    recording_model_sink sink;
    openai_decoder decoder(sink, "m", "p");

    EXPECT_TRUE(decoder.feed(": keep-alive\n\ndata: ping\n\ndata: {\"type\":\"ping\"}\n\n"));
    EXPECT_EQ(decoder.chunks(), 0U);
    EXPECT_TRUE(decoder.feed(frames({delta(R"("content":"a")")})));
    EXPECT_EQ(decoder.chunks(), 1U);
}

} // namespace
} // namespace agui::runner
