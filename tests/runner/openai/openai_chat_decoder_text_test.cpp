#include "runner/openai/openai_chat.hpp"

#include "tests/runner/openai/openai_answer_case.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace agui::runner {
namespace {

using test::decoder_case;
using test::decoder_case_name;
using test::delta;
using test::done;
using test::finish;
using test::frames;
using test::OpenaiDecoderCases;

const std::vector<decoder_case>& text_cases() {
    static const std::vector<decoder_case> all = {
        {"Text",
         frames(
             {delta(R"("role":"assistant","content":"")"), delta(R"("content":"Hel")"),
              delta(R"("content":"lo \u00e9\n")"), finish("stop"), done}
         ),
         {"text Hello \xC3\xA9\n"},
         "stop"},
        {"CommentsAndBlankLines",
         "\n\n: connected\n\n" + frames({delta(R"("content":"a")")}) + ": keep-alive\n\n" +
             frames({finish("stop"), done}),
         {"text a"},
         "stop"},
        {"CrLfLines",
         "data: " + delta(R"("content":"a")") + "\r\n\r\ndata: " + finish("stop") +
             "\r\n\r\ndata: [DONE]\r\n\r\n",
         {"text a"},
         "stop"},
        {"NoDoneAfterTheFinishReason",
         frames({delta(R"("content":"a")"), finish("stop")}),
         {"text a"},
         "stop"},
        {"NoEmptyLineAtTheEnd",
         frames({delta(R"("content":"a")")}) + "data: " + finish("stop"),
         {"text a"},
         "stop"},
        {"FinishReasonInTheLastDelta",
         frames({R"({"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]})", done}),
         {"text a"},
         "stop"},
        {"NullFinishReasonThroughout", frames({delta(R"("content":"a")"), done}), {"text a"}, "stop"
        },
        {"UnknownFinishReason",
         frames({delta(R"("content":"a")"), finish("eos"), done}),
         {"text a"},
         "stop"},
        {"FinishReasonOfAnotherDialect",
         frames({delta(R"("content":"a")"), finish("COMPLETE"), done}),
         {"text a"},
         "stop"},
        {"UnknownFinishReasonOfText",
         frames({delta(R"("content":"a")"), finish("whatever"), done}),
         {"text a"},
         "stop (whatever)"},
        {"ModelLength",
         frames({delta(R"("content":"a")"), finish("model_length"), done}),
         {"text a"},
         "length"},
        {"Safety",
         frames({delta(R"("content":"a")"), finish("SAFETY"), done}),
         {"text a"},
         "content_filter"},
        {"Ping",
         "data: ping\n\n" + frames({delta(R"("content":"a")"), "ping", finish("stop"), done}),
         {"text a"},
         "stop"},
        {"DoneAfterTwoSpaces",
         frames({delta(R"("content":"a")"), finish("stop"), "  [DONE]"}),
         {"text a"},
         "stop"},
        {"ByteOrderMark",
         "\xEF\xBB\xBF" + frames({delta(R"("content":"a")"), finish("stop"), done}),
         {"text a"},
         "stop"},
        {"ByteOrderMarkOfAWholeAnswer",
         "\xEF\xBB\xBF{\"choices\":[{\"message\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}"
         "\n",
         {"text a"},
         "stop"},
        {"PairOfEscapesInTwoDeltas",
         frames(
             {delta(R"("content":"a \ud83d")"), delta(R"("content":"\ude00 b")"), finish("stop"),
              done}
         ),
         {"text a \xF0\x9F\x98\x80 b"},
         "stop"},
        {"BytesOfACharacterInThreeDeltas",
         frames(
             {delta("\"content\":\"a \xF0\x9F\""), delta("\"content\":\"\x98\""),
              delta("\"content\":\"\x80 b\""), finish("stop"), done}
         ),
         {"text a \xF0\x9F\x98\x80 b"},
         "stop"},
        {"HalvesOfReasoning",
         frames(
             {delta(R"("reasoning_content":"\uD83D")"), delta(R"("reasoning_content":"\uDE00")"),
              delta("\"content\":\"\xC3\""), delta("\"content\":\"\xA9\""), finish("stop"), done}
         ),
         {"reasoning \xF0\x9F\x98\x80", "text \xC3\xA9"},
         "stop",
         R"(reasoning "reasoning_content")"},
        {"HalfWithoutItsOther",
         frames(
             {delta(R"("content":"a\ud83d")"), delta(R"("content":"b")"),
              delta(R"("content":"\ude00c")"), delta(R"("content":"\\ud83d")"), finish("stop"),
              done}
         ),
         {"text a\xEF\xBF\xBD"
          "b\xEF\xBF\xBD"
          "c\\ud83d"},
         "stop"},
        {"HalfAtTheEnd",
         frames({delta(R"("content":"a\ud83d")"), finish("stop"), done}),
         {"text a\xEF\xBF\xBD"},
         "stop"},
        {"InvalidUtf8",
         frames({delta("\"content\":\"\xFF\""), finish("stop"), done}),
         {"text \xEF\xBF\xBD"},
         "stop"},
        {"HalfInAWholeAnswer",
         R"({"choices":[{"message":{"content":"a\ud83d"},"finish_reason":"stop"}]})",
         {"text a\xEF\xBF\xBD"},
         "stop"},
        {"WholeMessageAfterItsDeltas",
         frames(
             {delta(R"("reasoning_content":"hm")"), delta(R"("content":"Hello")"),
              R"({"choices":[{"delta":null,"message":{"role":"assistant","content":"Hello",)"
              R"("reasoning_content":"hm"},"finish_reason":"stop"}]})",
              done}
         ),
         {"reasoning hm", "text Hello"},
         "stop",
         R"(reasoning "reasoning_content")"},
        {"WholeMessageInPlaceOfItsDeltas",
         frames(
             {R"({"choices":[{"delta":{"role":"assistant"}}]})",
              R"({"choices":[{"delta":null,"message":{"content":"Hello"},"finish_reason":"stop"}]})",
              done}
         ),
         {"text Hello"},
         "stop"},
        {"ReasoningText",
         frames({delta(R"("reasoning_text":"hm")"), delta(R"("content":"a")"), finish("stop"), done}
         ),
         {"reasoning hm", "text a"},
         "stop",
         R"(reasoning "reasoning_text")"},
        {"Thinking",
         frames({delta(R"("thinking":"hm")"), delta(R"("content":"a")"), finish("stop"), done}),
         {"reasoning hm", "text a"},
         "stop",
         R"(reasoning "thinking")"},
        {"ReasoningDetailsAlone",
         frames(
             {delta(R"("reasoning_details":[{"type":"reasoning.summary","summary":"first "}])"),
              delta(R"("content":"","reasoning":null,"reasoning_details":)"
                    R"([{"type":"reasoning.text","text":"then"},)"
                    R"({"type":"reasoning.encrypted","data":"x"}])"),
              delta(R"("content":"a")"), finish("stop"), done}
         ),
         {"reasoning first then", "text a"},
         "stop",
         R"(reasoning_details [{"type":"reasoning.summary","summary":"first "},)"
         R"({"type":"reasoning.text","text":"then"},{"type":"reasoning.encrypted","data":"x"}])"},
        {"ReasoningDetailsBesideReasoning",
         frames(
             {delta(
                  R"("reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm"}])"
              ),
              delta(R"("reasoning_details":[{"type":"reasoning.text","text":"","signature":"s"}])"),
              delta(R"("content":"a")"), finish("stop"), done}
         ),
         {"reasoning hm", "text a"},
         "stop",
         R"(reasoning "reasoning")"
         R"(reasoning_details [{"type":"reasoning.text","text":"hm","signature":"s"}])"},
        {"ReasoningDetailsCutInACharacter",
         frames(
             {delta(R"("reasoning_details":[{"type":"reasoning.text","text":"\ud83d"}])"),
              delta(R"("reasoning_details":[{"type":"reasoning.text","text":"\ude00"}])"),
              finish("stop"), done}
         ),
         {"reasoning \xF0\x9F\x98\x80"},
         "stop",
         "reasoning_details [{\"type\":\"reasoning.text\",\"text\":\"\xF0\x9F\x98\x80\"}]"},
        {"HalfOfReasoningBeforeTheText",
         frames(
             {delta(R"("reasoning":"hm\ud83d")"), delta(R"("content":"a")"), finish("stop"), done}
         ),
         {"reasoning hm\xEF\xBF\xBD", "text a"},
         "stop",
         R"(reasoning "reasoning")"},
        {"ContentPartsOfReasoning",
         frames(
             {delta(R"("content":[{"type":"thinking","thinking":"a"},)"
                    R"({"type":"reasoning","text":"b"}])"),
              delta(
                  R"("content":[{"type":"reasoning","summary":[{"type":"summary_text","text":"c"}]},)"
                  R"({"type":"reasoning_text","text":"d"},{"type":"text","text":"x"}])"
              ),
              delta(R"("content":{"type":"text","text":"y"})"), finish("stop"), done}
         ),
         {"reasoning abcd", "text xy"},
         "stop",
         R"(reasoning "content")"},
        {"NoEmptyLinesBetweenTheEvents",
         "data: " + delta(R"("content":"a")") + "\ndata: " + delta(R"("content":"b")") +
             "\ndata: " + finish("stop") + "\ndata: [DONE]\n",
         {"text ab"},
         "stop"},
        {"AnEmptyLineAtTheEndAlone",
         "data:" + delta(R"("content":"a")") + "\r\ndata:" + finish("stop") + "\r\n\r\n",
         {"text a"},
         "stop"},
        {"ChunksOnSeveralDataLines",
         "data: {\"choices\":[{\"delta\":\ndata: {\"content\":\"a\"}\ndata: }]}\n\n" +
             frames({finish("stop"), done}),
         {"text a"},
         "stop"},
        {"NewlineDelimitedJson",
         delta(R"("content":"a")") + "\n" + delta(R"("content":"}\ud83d")") + "\r\n\n" +
             delta(R"("content":"\ude00{")") + "\n" + finish("stop") + "\n",
         {"text a}\xF0\x9F\x98\x80{"},
         "stop"},
        {"NewlineDelimitedJsonWithAnEndMark",
         delta(R"("content":"a")") + "\n[DONE]\n",
         {"text a"},
         "stop"},
        {"ObjectsWithoutLineEnds",
         delta(R"("content":"a")") + delta(R"("content":"b")") + finish("stop"),
         {"text ab"},
         "stop"},
        {"NativeReasonOfAnAnswerThatSaysSomething",
         frames(
             {delta(R"("content":"a")"),
              R"({"choices":[{"delta":{},"finish_reason":"stop","native_finish_reason":"error"}]})",
              done}
         ),
         {"text a"},
         "stop"},
        {"NativeReasonOfAnEmptyAnswer",
         frames(
             {R"({"choices":[{"delta":{"content":""},"finish_reason":"stop",)"
              R"("native_finish_reason":"MAX_TOKENS"}]})",
              done}
         ),
         {},
         "length"},
        {"NativeFilterOfAnEmptyAnswer",
         frames(
             {R"({"choices":[{"delta":{},"finish_reason":"stop","native_finish_reason":"SAFETY"}]})",
              done}
         ),
         {},
         "content_filter"},
        {"NativeStopOfAnEmptyAnswer",
         frames(
             {R"({"choices":[{"delta":{},"finish_reason":"stop","native_finish_reason":"STOP"}]})",
              done}
         ),
         {},
         "stop"},
        {"NothingToSay", frames({finish("stop"), done}), {}, "stop"},
        {"Length", frames({delta(R"("content":"a")"), finish("length"), done}), {"text a"}, "length"
        },
        {"LengthIsNotTakenBack",
         frames({delta(R"("content":"a")"), finish("length"), finish("stop"), done}),
         {"text a"},
         "length"},
        {"ContentFilter", frames({finish("content_filter"), done}), {}, "content_filter"},
        {"Refusal",
         frames({delta(R"("content":null,"refusal":"I will not.")"), finish("stop"), done}),
         {"text I will not."},
         "stop"},
        {"ReasoningContent",
         frames(
             {delta(R"("role":"assistant","content":null,"reasoning_content":"h")"),
              delta(R"("reasoning_content":"m")"), delta(R"("content":"a","reasoning_content":"")"),
              finish("stop"), done}
         ),
         {"reasoning hm", "text a"},
         "stop",
         R"(reasoning "reasoning_content")"},
        {"Reasoning",
         frames(
             {delta(R"("reasoning":"hm","content":"")"), delta(R"("content":"a","reasoning":null)"),
              finish("stop"), done}
         ),
         {"reasoning hm", "text a"},
         "stop",
         R"(reasoning "reasoning")"},
        {"ReasoningUnderBothNames",
         frames({delta(R"("reasoning":"hm","reasoning_content":"hm")"), finish("stop"), done}),
         {"reasoning hm"},
         "stop",
         R"(reasoning "reasoning_content")"},
        {"ReasoningAndTextInOneDelta",
         frames({delta(R"("content":"a","reasoning_content":"hm")"), finish("stop"), done}),
         {"reasoning hm", "text a"},
         "stop",
         R"(reasoning "reasoning_content")"},
        {"ContentParts",
         frames(
             {delta(R"("content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}])"),
              delta(R"("content":[{"type":"text","text":"a"},7,{"type":"reference"}])"),
              finish("stop"), done}
         ),
         {"reasoning hm", "text a"},
         "stop",
         R"(reasoning "content")"},
        {"FiltersBeforeTheChoices",
         frames(
             {R"({"choices":[],"prompt_filter_results":[{"prompt_index":0}]})",
              delta(R"("content":"a")"), finish("stop"), done}
         ),
         {"text a"},
         "stop"},
        {"OtherAlternativesAreIgnored",
         frames(
             {delta(R"("content":"a")"),
              R"({"choices":[{"index":1,"delta":{"content":"b"},"finish_reason":"length"}]})",
              finish("stop"), done}
         ),
         {"text a"},
         "stop"},
        {"ErrorMemberThatSaysNothing",
         frames({R"({"error":null,"choices":[{"delta":{"content":"a"}}]})", finish("stop"), done}),
         {"text a"},
         "stop"},
        {"UnknownObjectsBetween",
         frames({R"({"type":"ping"})", delta(R"("content":"a")"), finish("stop"), done}),
         {"text a"},
         "stop"},
        {"EmptyDataLines",
         "data:\n\n" + frames({delta(R"("content":"a")"), finish("stop"), done}),
         {"text a"},
         "stop"},
        {"NothingCountsAfterDone",
         frames({delta(R"("content":"a")"), finish("stop"), done, delta(R"("content":"b")")}),
         {"text a"},
         "stop"},
        {"WholeAnswer",
         R"({"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant",)"
         R"("content":"Hello","reasoning_content":"hm"},"finish_reason":"stop"}]})",
         {"reasoning hm", "text Hello"},
         "stop",
         R"(reasoning "reasoning_content")"},
        {"WholeAnswerAfterSignsOfLife",
         "\n\n  {\"choices\":[{\"message\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n",
         {"text a"},
         "stop"},
        {"WholeAnswerWithCalls",
         R"({"choices":[{"message":{"content":null,"tool_calls":[)"
         R"({"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},)"
         R"({"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]},)"
         R"("finish_reason":"tool_calls"}]})",
         {"call 0 a f", "arguments 0 {}", "end 0", "call 1 b f", "arguments 1 {}"},
         "tool_calls"},
    };
    return all;
}

TEST_P(OpenaiDecoderCases, InOnePiece) { check_in_one_piece(); }
TEST_P(OpenaiDecoderCases, ByteByByte) { check_byte_by_byte(); }
TEST_P(OpenaiDecoderCases, InTwoPiecesCutAnywhere) { check_cut_anywhere(); }
// The name of the reasoning is data of a cut answer, too: its whole call may have to be answered.
TEST_P(OpenaiDecoderCases, BrokenOffAnywhere) { check_broken_off_anywhere(true); }

INSTANTIATE_TEST_SUITE_P(
    Text, OpenaiDecoderCases, ::testing::ValuesIn(text_cases()), decoder_case_name
);

} // namespace
} // namespace agui::runner
