#include "runner/openai/openai_chat.hpp"

#include "tests/runner/openai/openai_answer_case.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace agui::runner {
namespace {

using test::call;
using test::decoder_case;
using test::decoder_case_name;
using test::delta;
using test::done;
using test::finish;
using test::frames;
using test::OpenaiDecoderCases;

const std::vector<decoder_case>& call_cases() {
    static const std::vector<decoder_case> all = {
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
         "unavailable 0: more arguments arrived for a tool call that had already ended"},
        {"TextAfterACallThatHasEnded",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"})"),
              call(R"("index":1,"id":"b","function":{"name":"g","arguments":"{\"y\":1}"})"),
              call(R"("index":0,"function":{"arguments":"}"})")}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}", "end 0", "call 1 b g", "arguments 1 {\"y\":1}"},
         "unavailable 0: more arguments arrived for a tool call that had already ended"},
        {"TextBeforeTheArguments",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":""})"),
              delta(R"("content":"wait")"), delta(R"("reasoning_content":"hm")"),
              call(R"("index":0,"function":{"arguments":"{\"x\":1}"})"), finish("tool_calls"), done}
         ),
         {"call 0 a f", "text wait", "reasoning hm", "arguments 0 {\"x\":1}"},
         "tool_calls",
         R"(reasoning "reasoning_content")"},
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
         "length (whatever)"},
        {"CallWithoutArgumentsAndAnUnknownReason",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":""})"),
              finish("whatever"), done}
         ),
         {"call 0 a f"},
         "length (whatever)"},
        {"WholeCallAndAnUnknownReason",
         frames(
             {call(R"("index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"})"),
              finish("whatever"), done}
         ),
         {"call 0 a f", "arguments 0 {\"x\":1}"},
         "tool_calls (whatever)"},
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
         "unavailable 0: the answer has a tool call without a name"},
    };
    return all;
}

INSTANTIATE_TEST_SUITE_P(
    Calls, OpenaiDecoderCases, ::testing::ValuesIn(call_cases()), decoder_case_name
);

} // namespace
} // namespace agui::runner
