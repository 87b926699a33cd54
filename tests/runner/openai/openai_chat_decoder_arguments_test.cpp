#include "runner/openai/openai_chat.hpp"

#include "tests/runner/openai/openai_answer_case.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace agui::runner {
namespace {

using test::call;
using test::decoder_case;
using test::decoder_case_name;
using test::done;
using test::finish;
using test::frames;
using test::OpenaiDecoderCases;

const std::vector<decoder_case>& argument_cases() {
    static const std::vector<decoder_case> all = {
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
    };
    return all;
}

INSTANTIATE_TEST_SUITE_P(
    Arguments, OpenaiDecoderCases, ::testing::ValuesIn(argument_cases()), decoder_case_name
);

} // namespace
} // namespace agui::runner
