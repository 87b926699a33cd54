#include "runner/openai/openai_chat.hpp"

#include "tests/runner/openai/recording_model_sink.hpp"

#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

using test::recording_model_sink;

std::string describe(const model_outcome& outcome) {
    if (!outcome) {
        switch (outcome.error().what) {
        case model_failure::kind::unavailable:
            return "unavailable: " + outcome.error().detail +
                   (outcome.error().upstream.empty() ? "" : ": " + outcome.error().upstream);
        case model_failure::kind::lost:
            return "lost";
        case model_failure::kind::rejected:
            return "rejected " + std::to_string(outcome.error().status) + ": " +
                   outcome.error().upstream;
        case model_failure::kind::timeout:
        case model_failure::kind::memory:
        case model_failure::kind::cancelled:
            return "not the decoder's business";
        }
    }
    switch (outcome->reason) {
    case finish_reason::stop:
        return "stop";
    case finish_reason::tool_calls:
        return "tool_calls";
    case finish_reason::length:
        return "length";
    case finish_reason::content_filter:
        return "content_filter";
    }
    return "";
}

struct answer_case {
    const char* name;
    std::string body;
    std::vector<std::string> lines;
    std::string outcome;
};

void PrintTo(const answer_case& value, std::ostream* out) { *out << value.name; }

/// `data:` frames of the given texts.
std::string frames(const std::vector<std::string>& chunks) {
    std::string body;
    for (const std::string& each : chunks) {
        body += "data: " + each + "\n\n";
    }
    return body;
}

/// A chunk with this delta.
std::string delta(const std::string& members) {
    return R"({"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{)" +
           members + R"(},"finish_reason":null}]})";
}

std::string call(const std::string& members) {
    return delta(R"("tool_calls":[{)" + members + "}]");
}

std::string finish(const std::string& reason) {
    return R"({"choices":[{"index":0,"delta":{},"finish_reason":")" + reason + "\"}]}";
}

const std::string done = "[DONE]";

const std::vector<answer_case>& text_cases() {
    static const std::vector<answer_case> all = {
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
         "stop"},
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
         "stop"},
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
         "stop"},
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
         "stop"},
        {"Thinking",
         frames({delta(R"("thinking":"hm")"), delta(R"("content":"a")"), finish("stop"), done}),
         {"reasoning hm", "text a"},
         "stop"},
        {"ReasoningDetailsAlone",
         frames(
             {delta(R"("reasoning_details":[{"type":"reasoning.summary","summary":"first "}])"),
              delta(R"("content":"","reasoning":null,"reasoning_details":)"
                    R"([{"type":"reasoning.text","text":"then"},)"
                    R"({"type":"reasoning.encrypted","data":"x"}])"),
              delta(R"("content":"a")"), finish("stop"), done}
         ),
         {"reasoning first then", "text a"},
         "stop"},
        {"ReasoningDetailsBesideReasoning",
         frames(
             {delta(
                  R"("reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm"}])"
              ),
              delta(R"("reasoning_details":[{"type":"reasoning.text","text":"","signature":"s"}])"),
              delta(R"("content":"a")"), finish("stop"), done}
         ),
         {"reasoning hm", "text a"},
         "stop"},
        {"ReasoningDetailsCutInACharacter",
         frames(
             {delta(R"("reasoning_details":[{"type":"reasoning.text","text":"\ud83d"}])"),
              delta(R"("reasoning_details":[{"type":"reasoning.text","text":"\ude00"}])"),
              finish("stop"), done}
         ),
         {"reasoning \xF0\x9F\x98\x80"},
         "stop"},
        {"HalfOfReasoningBeforeTheText",
         frames(
             {delta(R"("reasoning":"hm\ud83d")"), delta(R"("content":"a")"), finish("stop"), done}
         ),
         {"reasoning hm\xEF\xBF\xBD", "text a"},
         "stop"},
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
         "stop"},
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
         "stop"},
        {"Reasoning",
         frames(
             {delta(R"("reasoning":"hm","content":"")"), delta(R"("content":"a","reasoning":null)"),
              finish("stop"), done}
         ),
         {"reasoning hm", "text a"},
         "stop"},
        {"ReasoningUnderBothNames",
         frames({delta(R"("reasoning":"hm","reasoning_content":"hm")"), finish("stop"), done}),
         {"reasoning hm"},
         "stop"},
        {"ReasoningAndTextInOneDelta",
         frames({delta(R"("content":"a","reasoning_content":"hm")"), finish("stop"), done}),
         {"reasoning hm", "text a"},
         "stop"},
        {"ContentParts",
         frames(
             {delta(R"("content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}])"),
              delta(R"("content":[{"type":"text","text":"a"},7,{"type":"reference"}])"),
              finish("stop"), done}
         ),
         {"reasoning hm", "text a"},
         "stop"},
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
         "stop"},
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

const std::vector<answer_case>& call_cases() {
    static const std::vector<answer_case> all = {
        {"Call",
         frames(
             {call(R"("index":0,"id":"a","type":"function","function":{"name":"f","arguments":""})"
              ),
              call(R"("index":0,"function":{"arguments":"{\"x\""})"),
              call(R"("index":0,"function":{"arguments":":1}"})"), finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}"},
         "tool_calls"},
        {"TextThenCall",
         frames(
             {delta(R"("content":"Look: ")"),
              call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"})"),
              delta(R"("content":"done")"), finish("tool_calls"), done}
         ),
         {"text Look: ", "call 0 a f", "arguments 0 {\"x\":1}", "text done"},
         "tool_calls"},
        {"ParallelCallsInterleaved",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":""})"),
              call(R"("index":1,"id":"b","function":{"name":"g","arguments":""})"),
              delta(R"("tool_calls":[{"index":0,"function":{"arguments":"{\"x\":"}},)"
                    R"({"index":1,"function":{"arguments":"{\"y\":"}}])"),
              call(R"("index":1,"function":{"arguments":"2}"})"),
              call(R"("index":0,"function":{"arguments":"1}"})"), finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}", "end 0", "call 1 b g", "arguments 1 {\"y\":2}"},
         "tool_calls"},
        {"ParallelCallsAnnouncedFirst",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":""})"),
              call(R"("index":1,"id":"b","function":{"name":"g","arguments":""})"),
              call(R"("index":2,"id":"c","function":{"name":"h","arguments":"{}"})"),
              call(R"("index":1,"function":{"arguments":"{\"y\":1}"})"),
              call(R"("index":0,"function":{"arguments":"{\"x\":1}"})"), finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}", "end 0", "call 1 b g", "arguments 1 {\"y\":1}",
          "end 1", "call 2 c h", "arguments 2 {}"},
         "tool_calls"},
        {"EmptyObjectThenText",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{}"})"),
              delta(R"("content":"done")"), finish("tool_calls"), done}
         ),
         {"call 0 a f", "text done", "arguments 0 {}"},
         "tool_calls"},
        {"EmptyObjectThenTheNextCall",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{}"})"),
              call(R"("index":1,"id":"b","function":{"name":"g","arguments":"{\"y\":"})"),
              call(R"("index":1,"function":{"arguments":"1}"})"), finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 {}", "end 0", "call 1 b g", "arguments 1 {\"y\":1}"},
         "tool_calls"},
        {"PlaceholderThenTextThenTheArguments",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{}"})"),
              delta(R"("content":"done")"),
              call(R"("index":0,"function":{"arguments":"{\"x\":1}"})"), finish("tool_calls"), done}
         ),
         {"call 0 a f", "text done", "arguments 0 {\"x\":1}"},
         "tool_calls"},
        {"ArgumentsAfterWhatWasTakenForThem",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{}"})"),
              call(R"("index":1,"id":"b","function":{"name":"g","arguments":"{\"y\":"})"),
              call(R"("index":0,"function":{"arguments":"{\"x\":1}"})")}
         ),
         {"call 0 a f", "arguments 0 {}", "end 0", "call 1 b g", "arguments 1 {\"y\":"},
         "unavailable: more arguments arrived for a tool call that had already ended"},
        {"TextAfterACallThatHasEnded",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"})"),
              call(R"("index":1,"id":"b","function":{"name":"g","arguments":"{\"y\":1}"})"),
              call(R"("index":0,"function":{"arguments":"}"})")}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}", "end 0", "call 1 b g", "arguments 1 {\"y\":1}"},
         "unavailable: more arguments arrived for a tool call that had already ended"},
        {"TextBeforeTheArguments",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":""})"),
              delta(R"("content":"wait")"), delta(R"("reasoning_content":"hm")"),
              call(R"("index":0,"function":{"arguments":"{\"x\":1}"})"), finish("tool_calls"), done}
         ),
         {"call 0 a f", "text wait", "reasoning hm", "arguments 0 {\"x\":1}"},
         "tool_calls"},
        {"TextInTheMiddleOfCalls",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"})"),
              call(R"("index":1,"id":"b","function":{"name":"g","arguments":""})"),
              delta(R"("content":"wait")"), call(R"("index":0,"function":{"arguments":"1}"})"),
              finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":", "text wait", "arguments 0 1}", "end 0", "call 1 b g",
          "arguments 1 {}"},
         "tool_calls"},
        {"CallsBeginAtAnyIndex",
         frames(
             {call(R"("index":1,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"})"),
              call(R"("index":2,"id":"b","function":{"name":"g","arguments":"{\"y\":1}"})"),
              finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}", "end 0", "call 1 b g", "arguments 1 {\"y\":1}"},
         "tool_calls"},
        {"NoIndex",
         frames(
             {call(R"("id":"a","function":{"name":"f","arguments":"{\"x\":"})"),
              call(R"("function":{"arguments":"1}"})"),
              call(R"("id":"b","function":{"name":"f","arguments":"{\"y\":"})"),
              call(R"("id":"b","function":{"arguments":"2}"})"), finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}", "end 0", "call 1 b f", "arguments 1 {\"y\":2}"},
         "tool_calls"},
        {"IndexMinusOne",
         frames(
             {call(R"("index":-1,"id":"a","function":{"name":"f","arguments":"{\"x\":"})"),
              call(R"("index":-1,"function":{"arguments":"1}"})"), finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}"},
         "tool_calls"},
        {"EveryCallHasIndexZero",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"})"),
              call(R"("index":0,"id":"b","function":{"name":"f","arguments":"{\"x\":2}"})"),
              call(R"("index":0,"id":"c","function":{"name":"g","arguments":"{\"x\":3}"})"),
              finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}", "end 0", "call 1 b f", "arguments 1 {\"x\":2}",
          "end 1", "call 2 c g", "arguments 2 {\"x\":3}"},
         "tool_calls"},
        {"EveryCallHasIndexZeroAndNoId",
         frames(
             {call(R"("index":0,"function":{"name":"f","arguments":"{\"x\":\"}\"}"})"),
              call(R"("index":0,"function":{"name":"f","arguments":"{\"x\":2}"})"),
              call(R"("index":0,"function":{"name":"g","arguments":"{}"})"), finish("stop"), done}
         ),
         {"call 0  f", "arguments 0 {\"x\":\"}\"}", "end 0", "call 1  f", "arguments 1 {\"x\":2}",
          "end 1", "call 2  g", "arguments 2 {}"},
         "tool_calls"},
        {"NewIndexForEachFragmentOfACall",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"})"),
              call(R"("index":1,"id":"a","function":{"arguments":"1}"})"), finish("tool_calls"),
              done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}"},
         "tool_calls"},
        {"OneIdForTwoCalls",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"})"),
              call(R"("index":1,"id":"a","function":{"name":"g","arguments":"{\"y\":1}"})"),
              finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}", "end 0", "call 1 a g", "arguments 1 {\"y\":1}"},
         "tool_calls"},
        {"NewIdForEachFragment",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"})"),
              call(R"("index":0,"id":"b","function":{"arguments":"1}"})"), finish("tool_calls"),
              done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}"},
         "tool_calls"},
        {"NameRepeatedInEachFragment",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":""})"),
              call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":{}"})"),
              call(R"("index":0,"function":{"name":"f","arguments":"}"})"), finish("tool_calls"),
              done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":{}}"},
         "tool_calls"},
        {"NameComesLate",
         frames(
             {call(R"("index":0,"id":"a","function":{"arguments":""})"),
              call(R"("index":0,"function":{"arguments":"{\"x\":"})"),
              call(R"("index":0,"function":{"name":"f","arguments":"1}"})"), finish("tool_calls"),
              done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}"},
         "tool_calls"},
        {"NoId",
         frames(
             {call(R"("index":0,"function":{"name":"f","arguments":"{\"x\":1}"})"),
              finish("tool_calls"), done}
         ),
         {"call 0  f", "arguments 0 {\"x\":1}"},
         "tool_calls"},
        {"NoArguments",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f"})"),
              call(R"("index":1,"id":"b","function":{"name":"g","arguments":null})"),
              finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 {}", "end 0", "call 1 b g", "arguments 1 {}"},
         "tool_calls"},
        {"ArgumentsAsAnObject",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":{"x":[1]}})"),
              finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":[1]}"},
         "tool_calls"},
        {"EmptyObjectIsArguments",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{}"})"),
              finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 {}"},
         "tool_calls"},
        {"EmptyObjectBeforeTheArguments",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{}"})"),
              call(R"("index":0,"function":{"arguments":"{\"x\":"})"),
              call(R"("index":0,"function":{"arguments":"1}"})"), finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}"},
         "tool_calls"},
        {"TwoObjectsGluedInOnePiece",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1} {\"x\":2}"})"
              ),
              finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}", "end 0", "call 1  f", "arguments 1 {\"x\":2}"},
         "tool_calls"},
        {"ThreeObjectsGluedAcrossPieces",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1"})"),
              call(R"("index":0,"function":{"arguments":"}{\"x\":\"}"})"),
              call(R"("index":0,"function":{"arguments":"{\"}\n{\"x\":3}"})"), finish("tool_calls"),
              done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}", "end 0", "call 1  f", "arguments 1 {\"x\":\"}{\"}",
          "end 1", "call 2  f", "arguments 2 {\"x\":3}"},
         "tool_calls"},
        {"AnotherObjectUnderTheIndexOfACompleteCall",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"})"),
              call(R"("index":0,"id":"b","function":{"arguments":"{\"x\":2}"})"),
              call(R"("index":1,"id":"c","function":{"name":"g","arguments":"{\"y\":1}"})"),
              finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}", "end 0", "call 1 b f", "arguments 1 {\"x\":2}",
          "end 1", "call 2 c g", "arguments 2 {\"y\":1}"},
         "tool_calls"},
        {"AnotherObjectIsCut",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}{\"x\":"})"),
              finish("length"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}", "call 1  f", "arguments 1 {\"x\":"},
         "length"},
        {"TheWholeArgumentsRepeatedAfterTheirPieces",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"})"),
              call(R"("index":0,"function":{"arguments":"1}"})"),
              call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{ \"x\": 1 }"})"),
              finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}"},
         "tool_calls"},
        {"APlaceholderAfterTheArguments",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"})"),
              call(R"("index":0,"function":{"arguments":"{}"})"), finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}"},
         "tool_calls"},
        {"GarbageAfterTheObjectMakesItText",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"})"),
              call(R"("index":0,"function":{"arguments":"}"})"), finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}}"},
         "tool_calls"},
        {"ArgumentsEncodedTwice",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"\"{\\\"x\\\":"})"),
              call(R"("index":0,"function":{"arguments":" \\\"\\\\u00e9\\\"}\" \n"})"),
              finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\": \"\\u00e9\"}"},
         "tool_calls"},
        {"ArgumentsEncodedThreeTimes",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f",)"
                   R"("arguments":" \"\\\"{\\\\\\\"x\\\\\\\":1}\\\"\""})"),
              finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}"},
         "tool_calls"},
        {"TwoObjectsThatAreEncodedTwice",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"\"{\\\"x\\\":1}\""})"),
              call(
                  R"("index":0,"function":{"arguments":" \"\\\"{\\\\\\\"x\\\\\\\":2}\\\"\"{\"x\":3}"})"
              ),
              finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}", "end 0", "call 1  f", "arguments 1 {\"x\":2}",
          "end 1", "call 2  f", "arguments 2 {\"x\":3}"},
         "tool_calls"},
        {"TwoObjectsInOneString",
         frames(
             {call(
                  R"("index":0,"id":"a","function":{"name":"f","arguments":"\"{\\\"x\\\":1}{\\\"x\\\":2}\""})"
              ),
              call(R"("index":0,"function":{"arguments":"\"null\""})"), finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}", "end 0", "call 1  f", "arguments 1 {\"x\":2}"},
         "tool_calls"},
        {"AStringOfPlainTextAfterAnObjectMakesItText",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}\"lo\""})"),
              call(R"("index":1,"id":"b","function":{"name":"f","arguments":"{\"x\":1}\"{\\\"x"})"),
              finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}\"lo\"", "end 0", "call 1 b f",
          "arguments 1 {\"x\":1}\"{\\\"x"},
         "tool_calls"},
        {"AStringOfPlainTextStaysAsItCame",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"\"lo\\\"ud\""})"),
              call(R"("index":1,"id":"b","function":{"name":"f","arguments":"\"[1]\""})"),
              call(R"("index":2,"id":"c","function":{"name":"f","arguments":"\"{\""})"),
              finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 \"lo\\\"ud\"", "end 0", "call 1 b f", "arguments 1 \"[1]\"",
          "end 1", "call 2 c f", "arguments 2 \"{\""},
         "tool_calls"},
        {"AnArrayStaysAsItCame",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"[{\"x\":1}]"})"),
              finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 [{\"x\":1}]"},
         "tool_calls"},
        {"NullAsArguments",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"null"})"),
              call(R"("index":1,"id":"b","function":{"name":"f","arguments":"\"null\""})"),
              call(R"("index":2,"id":"c","function":{"name":"f","arguments":"\"\""})"),
              finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 {}", "end 0", "call 1 b f", "arguments 1 {}", "end 1",
          "call 2 c f", "arguments 2 {}"},
         "tool_calls"},
        {"NullBeforeTheArguments",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"null"})"),
              call(R"("index":0,"function":{"arguments":"{\"x\":1}"})"), finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}"},
         "tool_calls"},
        {"AWordThatBeginsLikeNull",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"nullable"})"),
              call(R"("index":1,"id":"b","function":{"name":"f","arguments":"nu"})"),
              finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 nullable", "end 0", "call 1 b f", "arguments 1 nu"},
         "tool_calls"},
        {"APlaceholderInTwoPieces",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{"})"),
              call(R"("index":0,"function":{"arguments":" }"})"),
              call(R"("index":0,"function":{"arguments":"{\"x\":1}"})"), finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}"},
         "tool_calls"},
        {"UnpairedSurrogatesInsideTheArguments",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":\"\\ud8"})"),
              call(R"("index":0,"function":{"arguments":"3d\\ude00 \\ud83d"})"),
              call(R"("index":0,"function":{"arguments":" \\\\ud83d \\ude00\"}"})"),
              finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":\"\\ud83d\\ude00 \\ufffd \\\\ud83d \\ufffd\"}"},
         "tool_calls"},
        {"UnpairedSurrogatesOfBothLevels",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"\"{\\\"x\\\":)"
                   R"(\\\"\\\\ud83d \\ud83d\\\"}\""})"),
              call(R"("index":0,"function":{"arguments":"{\"x\":\"\ud83d\\ud83d"})"),
              finish("length"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":\"\\ufffd \xEF\xBF\xBD\"}", "call 1  f",
          "arguments 1 {\"x\":\"\xEF\xBF\xBD\\ufffd"},
         "length"},
        {"FinishReasonStopWithCalls",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"})"),
              finish("stop"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}"},
         "tool_calls"},
        {"FinishReasonToolCallsWithoutCalls",
         frames({delta(R"("content":"a")"), finish("tool_calls"), done}),
         {"text a"},
         "stop"},
        {"FinishReasonNullWithWholeCalls",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"})"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}"},
         "tool_calls"},
        {"FinishReasonNullWithACutCall",
         frames({call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"})"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":"},
         "lost"},
        {"CallCutByLength",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"})"),
              finish("length"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":"},
         "length"},
        {"CallCutByModelLength",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"})"),
              finish("model_length"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":"},
         "length"},
        {"CallCutByAnUnknownReason",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"})"),
              finish("whatever"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":"},
         "length"},
        {"CallWithoutArgumentsAndAnUnknownReason",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":""})"),
              finish("whatever"), done}
         ),
         {"call 0 a f"},
         "length"},
        {"WholeCallAndAnUnknownReason",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"})"),
              finish("whatever"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}"},
         "tool_calls"},
        {"HalvesInArguments",
         frames(
             {call("\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{"
                   "\\\"x\\\":\\\"\xF0\x9F\"}"),
              call("\"index\":0,\"function\":{\"arguments\":\"\x98\x80\\ud83d\"}"),
              call("\"index\":0,\"function\":{\"arguments\":\"\\ude00\\\"}\"}"),
              finish("tool_calls"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":\"\xF0\x9F\x98\x80\xF0\x9F\x98\x80\"}"},
         "tool_calls"},
        {"HalfOfTextBeforeACall",
         frames(
             {delta(R"("content":"a\ud83d")"),
              call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{}"})"),
              finish("tool_calls"), done}
         ),
         {"text a", "call 0 a f", "text \xEF\xBF\xBD", "arguments 0 {}"},
         "tool_calls"},
        {"HalvesOfTextAroundACall",
         frames(
             {delta(R"("content":"a\ud83d")"),
              call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{}"})"),
              delta(R"("content":"\ude00")"), finish("tool_calls"), done}
         ),
         {"text a", "call 0 a f", "text \xF0\x9F\x98\x80", "arguments 0 {}"},
         "tool_calls"},
        {"WholeMessageWithItsCalls",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"})"),
              R"({"choices":[{"delta":null,"message":{"content":null,"tool_calls":[{"id":"a",)"
              R"("function":{"name":"f","arguments":"{\"x\":1}"}}]},"finish_reason":"tool_calls"}]})",
              done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}"},
         "tool_calls"},
        {"LegacyFunctionCall",
         frames(
             {delta(R"("function_call":{"name":"f","arguments":""})"),
              delta(R"("function_call":{"arguments":"{\"x\":1}"})"), finish("function_call"), done}
         ),
         {"call 0  f", "arguments 0 {\"x\":1}"},
         "tool_calls"},
        {"EmptyEntryIsNoCall",
         frames(
             {call(R"("index":0,"id":"","function":{"name":"","arguments":""})"),
              delta(R"("content":"a","tool_calls":[])"), finish("stop"), done}
         ),
         {"text a"},
         "stop"},
        {"CallWithoutAName",
         frames(
             {call(R"("index":0,"id":"a","function":{"arguments":"{}"})"), finish("tool_calls"),
              done}
         ),
         {},
         "unavailable: the answer has a tool call without a name"},
    };
    return all;
}

const std::vector<answer_case>& failure_cases() {
    static const std::vector<answer_case> all = {
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
         "unavailable: a chunk of the answer is not JSON"},
        {"CutInAChunkAfterTheFinishReason",
         frames({delta(R"("content":"a")"), finish("stop")}) + R"(data: {"choices":[],"us)",
         {"text a"},
         "stop"},
        {"NotJsonAfterText",
         frames({delta(R"("content":"a")"), R"({"choices":[{"del)", done}),
         {"text a"},
         "unavailable: a chunk of the answer is not JSON"},
        {"NoBytes", "", {}, "unavailable: the body holds no answer"},
        {"NoEvents", ": hello\n\n", {}, "unavailable: the body holds no answer"},
        {"HtmlPage", "<html><body>502</body></html>\n", {}, "unavailable: the body holds no answer"
        },
        {"DoneAlone", frames({done}), {}, "unavailable: the body holds no answer"},
        {"ErrorObject",
         frames(
             {delta(R"("content":"a")"), R"({"error":{"message":"overloaded","code":529}})", done}
         ),
         {"text a"},
         "unavailable: the answer holds an error: overloaded"},
        {"ErrorString",
         frames({R"({"error":"no capacity"})"}),
         {},
         "unavailable: the answer holds an error: no capacity"},
        {"ErrorWithoutMessage",
         frames({R"({"error":{"code":5}})"}),
         {},
         "unavailable: the answer holds an error: {\"code\":5}"},
        {"ErrorEvent",
         "event: error\ndata: broken pipe\n\n",
         {},
         "unavailable: the stream holds an error: broken pipe"},
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
         "unavailable: the answer holds an error: slow down"},
        {"ErrorWithAStatusInTheMiddle",
         frames({delta(R"("content":"a")"), R"({"error":{"message":"odd","code":400}})"}),
         {"text a"},
         "unavailable: the answer holds an error: odd"},
        {"ErrorAsWholeBody",
         R"({"error":{"message":"bad model"}})",
         {},
         "unavailable: the answer holds an error: bad model"},
        {"ErrorAsFinishReason",
         frames({delta(R"("content":"a")"), finish("error"), done}),
         {"text a"},
         "unavailable: the finish_reason reports a failure: error"},
        {"ErrorAfterTheFinishReason",
         frames({delta(R"("content":"a")"), finish("stop"), R"({"error":{"message":"late"}})"}),
         {"text a"},
         "unavailable: the answer holds an error: late"},
        {"NoJsonAtAll", frames({"hello"}), {}, "unavailable: the body holds no answer: hello"},
        {"NoObject", frames({"[1]"}), {}, "unavailable: the body holds no answer: [1]"},
        {"NotJson", frames({"{\"x\""}), {}, "unavailable: a chunk of the answer is not JSON"},
        {"FailureAsFinishReason",
         frames({delta(R"("content":"a")"), finish("insufficient_system_resource"), done}),
         {"text a"},
         "unavailable: the finish_reason reports a failure: "
         "insufficient_system_resource"},
        {"NativeReasonOfAFailure",
         frames(
             {delta(R"("content":"")"),
              R"({"choices":[{"delta":{},"finish_reason":"stop",)"
              R"("native_finish_reason":"network_error"}]})",
              done}
         ),
         {},
         "unavailable: the native_finish_reason reports a failure: network_error"},
        {"NativeReasonOfAFailureAfterThoughtsAndBlanks",
         frames(
             {delta(R"("reasoning_content":"hm")"), delta(R"("content":"\n")"),
              R"({"choices":[{"delta":{},"finish_reason":"stop","native_finish_reason":"error"}]})",
              done}
         ),
         {"reasoning hm", "text \n"},
         "unavailable: the native_finish_reason reports a failure: error"},
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
         "unavailable: the body holds no answer"},
        {"TooDeep",
         frames({R"({"x":)" + std::string(100, '[') + std::string(100, ']') + "}"}),
         {},
         "unavailable: a chunk of the answer is not JSON"},
        {"WholeBodyCut", R"({"choices":[{"message":{"content":"a)", {}, "lost"},
    };
    return all;
}

class OpenaiDecoderCases : public ::testing::TestWithParam<answer_case> {
protected:
    /// Feeds the body as pieces of these lengths, the rest as one.
    void check(const std::vector<std::size_t>& pieces) {
        const answer_case& param = GetParam();
        recording_model_sink sink;
        openai_decoder decoder(sink, "model", "provider");
        std::string_view rest = param.body;
        std::size_t at = 0;
        while (!rest.empty()) {
            const std::size_t wanted = at < pieces.size() ? pieces[at++] : rest.size();
            const std::size_t length = std::min(wanted, rest.size());
            const std::vector<char> piece(
                rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(length)
            );
            (void)decoder.feed({piece.data(), piece.size()}); // Goes on after the end on purpose.
            rest.remove_prefix(length);
        }
        const model_outcome outcome = decoder.finish();

        EXPECT_EQ(sink.lines, param.lines);
        EXPECT_FALSE(sink.contract_broken);
        EXPECT_EQ(describe(outcome), param.outcome);
    }
};

TEST_P(OpenaiDecoderCases, WholeBody) { check({}); }

TEST_P(OpenaiDecoderCases, ByteByByte) {
    check(std::vector<std::size_t>(GetParam().body.size(), 1));
}

TEST_P(OpenaiDecoderCases, CutAtEveryByte) {
    for (std::size_t first = 1; first < GetParam().body.size(); ++first) {
        SCOPED_TRACE(first);
        check({first});
    }
}

const auto name_of = [](const auto& param) {
    return std::string(param.param.name);
};

INSTANTIATE_TEST_SUITE_P(Text, OpenaiDecoderCases, ::testing::ValuesIn(text_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Calls, OpenaiDecoderCases, ::testing::ValuesIn(call_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(
    Failures, OpenaiDecoderCases, ::testing::ValuesIn(failure_cases()), name_of
);

model_outcome decode(std::string_view body) {
    recording_model_sink sink;
    openai_decoder decoder(sink, "the-model", "the-provider");
    (void)decoder.feed(body);
    return decoder.finish();
}

TEST(OpenaiDecoder, ReadsUsageOfAChunkWithoutChoices) {
    const model_outcome outcome = decode(frames(
        {delta(R"("content":"a")"), finish("stop"),
         R"({"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":20,"total_tokens":30,)"
         R"("prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":5}}})",
         done}
    ));

    ASSERT_TRUE(outcome && outcome->usage);
    const token_usage& usage = *outcome->usage;
    EXPECT_EQ(usage.provider, "the-provider");
    EXPECT_EQ(usage.model, "the-model");
    EXPECT_EQ(usage.input_tokens, 10);
    EXPECT_EQ(usage.output_tokens, 20);
    EXPECT_EQ(usage.cached_input_tokens, 4);
    EXPECT_EQ(usage.reasoning_tokens, 5);
    EXPECT_EQ(usage.cache_write_input_tokens, std::nullopt);
}

TEST(OpenaiDecoder, TakesTheLastOfRepeatedUsage) {
    const auto with_usage = [](int output) {
        return R"({"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":1,"completion_tokens":)" +
               std::to_string(output) + "}}";
    };

    const model_outcome outcome =
        decode(frames({with_usage(1), with_usage(2), with_usage(3), finish("stop"), done}));

    ASSERT_TRUE(outcome && outcome->usage);
    EXPECT_EQ(outcome->usage->output_tokens, 3);
    EXPECT_EQ(outcome->usage->input_tokens, 1);
}

TEST(OpenaiDecoder, ReadsUsageWhereverServersPutIt) {
    const std::string counts = R"({"prompt_tokens":19,"completion_tokens":13})";
    const std::vector<std::string> bodies = {
        frames({R"({"choices":[{"delta":{},"finish_reason":"stop","usage":)" + counts + "}]}"}),
        frames({R"({"choices":[{"delta":{"content":"a","usage":)" + counts + "}}]}", done}),
        frames(
            {delta(R"("content":"a")"), R"({"choices":[],"x_groq":{"usage":)" + counts + "}}",
             finish("stop")}
        ),
        frames({R"({"usage":)" + counts + "}", delta(R"("content":"a")"), finish("stop")}),
        R"({"choices":[{"message":{"content":"a","usage":)" + counts +
            R"(},"finish_reason":"stop"}]})",
        frames({R"({"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],)"
                R"("prompt_eval_count":19,"eval_count":13})"}),
        frames(
            {delta(R"("content":"a")"), R"({"usage":{"input_tokens":19}})", finish("stop"),
             R"({"usage":{"output_tokens":13}})"}
        ),
    };
    for (const std::string& body : bodies) {
        SCOPED_TRACE(body);
        const model_outcome outcome = decode(body);
        ASSERT_TRUE(outcome && outcome->usage);
        EXPECT_EQ(outcome->usage->input_tokens, 19);
        EXPECT_EQ(outcome->usage->output_tokens, 13);
    }
}

TEST(OpenaiDecoder, ReadsUsageUnderAnyOfItsNames) {
    const std::vector<std::string> usages = {
        R"({"prompt_tokens":19,"completion_tokens":13,"prompt_tokens_details":{"cached_tokens":4},)"
        R"("completion_tokens_details":{"reasoning_tokens":5}})",
        R"({"input_tokens":19,"output_tokens":13,"input_tokens_details":{"cached_tokens":4},)"
        R"("output_tokens_details":{"reasoning_tokens":5}})",
        R"({"inputTokens":15,"outputTokens":13,"cacheReadInputTokens":4,"reasoningTokens":5})",
        R"({"input_tokens":12,"cache_read_input_tokens":4,"cache_creation_input_tokens":3,)"
        R"("output_tokens":13,"reasoning_tokens":5})",
        R"({"prompt_tokens":19,"completion_tokens":13,"prompt_cache_hit_tokens":4,)"
        R"("completion_tokens_details":{"reasoning_tokens":5}})",
        R"({"promptTokenCount":19,"candidatesTokenCount":13,"cachedContentTokenCount":4,)"
        R"("thoughtsTokenCount":5})",
        R"({"promptTokens":19.0,"completionTokens":13.0,"cachedTokens":4,"reasoningTokens":5})",
    };
    for (const std::string& usage : usages) {
        SCOPED_TRACE(usage);
        const model_outcome outcome =
            decode(frames({finish("stop"), R"({"choices":[],"usage":)" + usage + "}"}));
        ASSERT_TRUE(outcome && outcome->usage);
        EXPECT_EQ(outcome->usage->input_tokens, 19);
        EXPECT_EQ(outcome->usage->output_tokens, 13);
        EXPECT_EQ(outcome->usage->cached_input_tokens, 4);
        EXPECT_EQ(outcome->usage->reasoning_tokens, 5);
    }
}

TEST(OpenaiDecoder, ReportsNoUsageWhereThereIsNone) {
    const model_outcome outcome = decode(frames(
        {R"({"choices":[{"delta":{"content":"a"}}],"usage":null})",
         R"({"choices":[],"usage":{"prompt_tokens":"many"}})", finish("stop"), done}
    ));

    ASSERT_TRUE(outcome);
    EXPECT_FALSE(outcome->usage);
}

TEST(OpenaiDecoder, TellsWhenNothingMoreIsExpected) {
    recording_model_sink sink;
    openai_decoder decoder(sink, "m", "p");

    EXPECT_TRUE(decoder.feed(frames({delta(R"("content":"a")"), finish("stop")})));
    EXPECT_FALSE(decoder.feed(frames({done})));
    EXPECT_FALSE(decoder.feed(frames({delta(R"("content":"b")")})));
}

TEST(OpenaiDecoder, NamesAReasonThatItDoesNotKnow) {
    const auto reason_of = [](const std::string& name) {
        return decode(frames({delta(R"("content":"a")"), finish(name), done}))->unknown_reason;
    };

    EXPECT_EQ(reason_of("whatever"), "whatever");
    EXPECT_EQ(reason_of("eos"), "");
    EXPECT_EQ(reason_of(std::string(1000, 'x')), std::string(200, 'x'));
}

TEST(OpenaiDecoder, KnowsWhatIsStillMissingAfterTheReason) {
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

TEST(OpenaiDecoder, BoundsTheNumberOfCalls) {
    const auto answer = [](int calls) {
        std::vector<std::string> chunks;
        for (int i = 0; i < calls; ++i) {
            chunks.push_back(call("\"index\":" + std::to_string(i) + R"(,"function":{"name":"f"})")
            );
        }
        chunks.push_back(finish("tool_calls"));
        return describe(decode(frames(chunks)));
    };

    EXPECT_EQ(answer(128), "tool_calls");
    EXPECT_EQ(answer(129), "unavailable: the answer holds too many tool calls");
}

// Each change makes a message and several events, so that a small chunk could make megabytes.
TEST(OpenaiDecoder, BoundsHowOftenTextAndReasoningFollowEachOther) {
    const auto answer = [](int changes) {
        std::string choices;
        for (int i = 0; i < changes; ++i) {
            choices += i == 0 ? "" : ",";
            choices +=
                i % 2 == 0 ? R"({"delta":{"content":"a"}})" : R"({"delta":{"reasoning":"b"}})";
        }
        recording_model_sink sink;
        openai_decoder decoder(sink, "m", "p");
        decoder.feed(frames({R"({"choices":[)" + choices + R"(,{"finish_reason":"stop"}]})"}));
        return describe(decoder.finish()) + ", " + std::to_string(sink.lines.size());
    };

    EXPECT_EQ(answer(1000), "stop, 1000");
    EXPECT_EQ(
        answer(5000), "unavailable: the answer changes between text and reasoning too often, 1000"
    );
}

// The inputs that cost the most of thousands (tests/bench/shape_search.cpp), by what they make.

TEST(OpenaiDecoder, EmptyObjectsMakeNothing) {
    std::string body;
    for (int i = 0; i < 50'000; ++i) {
        body += "{}";
    }
    recording_model_sink sink;
    openai_decoder decoder(sink, "m", "p");

    decoder.feed(body);

    EXPECT_EQ(decoder.chunks(), 0U);
    EXPECT_EQ(describe(decoder.finish()), "unavailable: the body holds no answer");
    EXPECT_EQ(sink.lines, std::vector<std::string>());
}

TEST(OpenaiDecoder, EmptyTextsAfterArgumentsMakeNoCalls) {
    std::string arguments = R"({\"a\":1})";
    for (int i = 0; i < 20'000; ++i) {
        arguments += R"(\"\")";
    }
    recording_model_sink sink;
    openai_decoder decoder(sink, "m", "p");

    decoder.feed(frames(
        {call(R"("index":0,"id":"a","function":{"name":"f","arguments":")" + arguments + "\"}"),
         R"({"choices":[{"delta":{},"finish_reason":"tool_calls"}]})"}
    ));

    EXPECT_EQ(describe(decoder.finish()), "tool_calls");
    EXPECT_EQ(sink.lines, (std::vector<std::string>{"call 0 a f", R"(arguments 0 {"a":1})"}));
}

TEST(OpenaiDecoder, ManyBlocksOfReasoningAreHandedOverOnce) {
    struct : recording_model_sink {
        void on_turn_data(std::string_view key, const boost::json::value& value) override {
            if (key == "reasoning_details") {
                blocks.push_back(value.as_array().size());
            }
        }
        std::vector<std::size_t> blocks;
    } sink;
    std::string pieces;
    for (int i = 0; i < 2000; ++i) {
        pieces += R"({"type":"reasoning.text","text":"a"},{"type":"x"},)";
    }
    openai_decoder decoder(sink, "m", "p");

    decoder.feed(frames(
        {delta(R"("reasoning_details":[)" + pieces + "{}]"),
         R"({"choices":[{"delta":{},"finish_reason":"stop"}]})"}
    ));

    EXPECT_EQ(describe(decoder.finish()), "stop");
    EXPECT_EQ(sink.blocks, std::vector<std::size_t>{4001});
}

TEST(OpenaiDecoder, BoundsTheArgumentsOfAllCallsTogether) {
    recording_model_sink sink;
    openai_decoder decoder(sink, "m", "p");
    const std::string piece(64U << 10U, 'x');
    const std::string chunk =
        frames({call(R"("index":0,"id":"a","function":{"name":"f","arguments":")" + piece + "\"}")}
        );
    int fed = 0;
    while (fed < 1000 && decoder.feed(chunk)) {
        ++fed;
    }

    EXPECT_EQ(fed, 128);
    EXPECT_EQ(
        describe(decoder.finish()),
        "unavailable: the arguments of the answer's tool calls are too long"
    );
}

TEST(OpenaiDecoder, BoundsAnEventThatNeverEnds) {
    recording_model_sink sink;
    openai_decoder decoder(sink, "m", "p");
    const std::string piece(1U << 20U, 'x');
    bool going_on = decoder.feed("data: ");
    int fed = 0;
    while (going_on && fed < 100) {
        going_on = decoder.feed(piece);
        ++fed;
    }

    EXPECT_EQ(fed, 16);
    EXPECT_EQ(describe(decoder.finish()), "unavailable: an event of the answer is too long");
}

TEST(OpenaiDecoder, KeepsOnlyTheBeginOfALongErrorText) {
    const model_outcome outcome =
        decode(frames({R"({"error":{"message":")" + std::string(30'000, 'x') + "\"}}"}));

    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().upstream, std::string(error_text_max, 'x'));
}

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

TEST(OpenaiDecoder, KeepsWhatWasCutInACharacter) {
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
