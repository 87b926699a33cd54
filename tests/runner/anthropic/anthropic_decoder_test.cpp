#include "runner/anthropic/anthropic_chat_decoder.hpp"

#include "runner/base/utf8.hpp"
#include "tests/runner/anthropic/anthropic_answer_case.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {
namespace {

using test::block_delta;
using test::block_start;
using test::block_stop;
using test::call_block;
using test::call_start;
using test::decode_pieces;
using test::decoded;
using test::decoder_case;
using test::describe_answer;
using test::end_events;
using test::ended_calls;
using test::event;
using test::json_delta;
using test::message_delta;
using test::message_start;
using test::message_stop;
using test::numbers;
using test::ping;
using test::signature_delta;
using test::text_block;
using test::text_delta;
using test::text_start;
using test::thinking_block;
using test::thinking_delta;
using test::thinking_start;
using test::turn_data_sink;
using test::with;
using test::without;
using test::without_names;

const std::string plain = message_start() + ping + text_block(0, "Hi.") + end_events("end_turn");
const std::string round_of_tools =
    message_start() + thinking_block(0, "Hm.", "c2ln") + text_block(1, "Let me look.") +
    call_block(2, "toolu_1", "look", R"({\"a\":1})") + end_events("tool_use");
const std::vector<std::string> lines_of_tools = {
    "reasoning Hm.", "text Let me look.", "call 0 toolu_1 look", "arguments 0 {\"a\":1}", "end 0"
};
const std::string blocks_of_tools =
    R"([{"is":"thinking","bytes":3,"members":{"signature":"c2ln"}},)"
    R"({"is":"text","bytes":12},{"is":"call"}])";

const std::vector<decoder_case>& text_cases() {
    static const std::vector<decoder_case> all = {
        {"Text", plain, {"text Hi."}, "stop"},
        {"TextInTwoDeltas",
         message_start() + text_start(0) + text_delta(0, "Hi") + ping + text_delta(0, " you") +
             block_stop(0) + end_events("end_turn"),
         {"text Hi you"},
         "stop"},
        {"TextInItsStart",
         message_start() + block_start(0, R"({"type":"text","text":"Hi"})") + block_stop(0) +
             end_events("end_turn"),
         {"text Hi"},
         "stop"},
        {"TwoTexts",
         message_start() + text_block(0, "a") + text_block(1, "b") + end_events("end_turn"),
         {"text ab"},
         "stop",
         R"([{"is":"text","bytes":1},{"is":"text","bytes":1}])"},
        {"Nothing", message_start() + end_events("end_turn"), {}, "stop"},
        {"HalvesOfACharacter",
         message_start() + text_start(0) + text_delta(0, R"(a\ud83d)") +
             text_delta(0, R"(\ude00b)") + block_stop(0) + end_events("end_turn"),
         {"text a\xF0\x9F\x98\x80"
          "b"},
         "stop"},
        {"HalfOfACharacter",
         message_start() + text_start(0) + text_delta(0, R"(a\ud83d)") + block_stop(0) +
             text_block(1, "b") + end_events("end_turn"),
         {"text a\xEF\xBF\xBD"
          "b"},
         "stop",
         R"([{"is":"text","bytes":4},{"is":"text","bytes":1}])"},
        {"CitedText",
         message_start() + block_start(0, R"({"type":"text","text":"","citations":[]})") +
             text_delta(0, "So.") +
             event(
                 "content_block_delta",
                 R"("index":0,"delta":{"type":"citations_delta","citation":{"n":1}})"
             ) +
             event(
                 "content_block_delta",
                 R"("index":0,"delta":{"type":"citations_delta","citation":{"n":2}})"
             ) +
             block_stop(0) + end_events("end_turn"),
         {"text So."},
         "stop",
         R"([{"is":"text","bytes":3,"members":{"citations":[{"n":1},{"n":2}]}}])"},
    };
    return all;
}

const std::vector<decoder_case>& thinking_cases() {
    static const std::vector<decoder_case> all = {
        {"ThinkingTextAndCall", round_of_tools, lines_of_tools, "tool_calls", blocks_of_tools},
        {"OmittedThinking",
         message_start() + thinking_block(0, "", "c2ln") + ping +
             call_block(1, "toolu_1", "look", "{}") + end_events("tool_use"),
         {"call 0 toolu_1 look", "arguments 0 {}", "end 0"},
         "tool_calls",
         R"([{"is":"thinking","members":{"signature":"c2ln"}},{"is":"call"}])"},
        {"OmittedThinkingAlone",
         message_start() + thinking_block(0, "", "c2ln") + end_events("end_turn"),
         {},
         "stop",
         R"([{"is":"thinking","members":{"signature":"c2ln"}}])"},
        {"ThinkingBetweenCalls",
         message_start() + call_block(0, "a", "f", "{}") + thinking_block(1, "So", "eA==") +
             call_block(2, "b", "g", "{}") + end_events("tool_use"),
         {"call 0 a f", "arguments 0 {}", "end 0", "reasoning So", "call 1 b g", "arguments 1 {}",
          "end 1"},
         "tool_calls",
         R"([{"is":"call"},{"is":"thinking","bytes":2,"members":{"signature":"eA=="}},)"
         R"({"is":"call"}])"},
        {"TwoThoughtsInARow",
         message_start() + thinking_block(0, "a", "x") + thinking_block(1, "bc", "y") +
             text_block(2, "d") + end_events("end_turn"),
         {"reasoning abc", "text d"},
         "stop",
         R"([{"is":"thinking","bytes":1,"members":{"signature":"x"}},)"
         R"({"is":"thinking","bytes":2,"members":{"signature":"y"}},{"is":"text","bytes":1}])"},
        {"RedactedThinking",
         message_start() + block_start(0, R"({"type":"redacted_thinking","data":"Z+/="})") +
             block_stop(0) + text_block(1, "d") + end_events("end_turn"),
         {"text d"},
         "stop",
         R"([{"is":"other","members":{"type":"redacted_thinking","data":"Z+/="}},)"
         R"({"is":"text","bytes":1}])"},
        {"ThinkingWithoutSignature",
         message_start() + thinking_start(0) + thinking_delta(0, "Hm.") + block_stop(0) +
             text_block(1, "Hi.") + end_events("end_turn"),
         {"reasoning Hm.", "text Hi."},
         "stop"},
        {"WholeThinkingInItsStart",
         message_start() +
             block_start(0, R"({"type":"thinking","thinking":"Hm.","signature":"c2ln"})") +
             block_stop(0) + text_block(1, "Hi.") + end_events("end_turn"),
         {"reasoning Hm.", "text Hi."},
         "stop",
         R"([{"is":"thinking","bytes":3,"members":{"signature":"c2ln"}},{"is":"text","bytes":3}])"},
        {"UnknownMemberOfThinking",
         message_start() +
             block_start(0, R"({"type":"thinking","thinking":"","signature":"","v":{"k":[1]}})") +
             signature_delta(0, "s") + block_stop(0) + end_events("end_turn"),
         {},
         "stop",
         R"([{"is":"thinking","members":{"v":{"k":[1]},"signature":"s"}}])"},
        {"UnknownDeltaOfThinking",
         message_start() + thinking_start(0) + block_delta(0, "other_delta", "x", "y") +
             signature_delta(0, "s") + block_stop(0) + text_block(1, "a") + end_events("end_turn"),
         {"text a"},
         "stop"},
    };
    return all;
}

const std::vector<decoder_case>& call_cases() {
    static const std::vector<decoder_case> all = {
        {"ParallelCalls",
         message_start() + call_block(0, "a", "f", R"({\"x\":1})") +
             call_block(1, "b", "f", R"({\"x\":2})") + end_events("tool_use"),
         {"call 0 a f", R"(arguments 0 {"x":1})", "end 0", "call 1 b f", R"(arguments 1 {"x":2})",
          "end 1"},
         "tool_calls"},
        {"ArgumentsInManyDeltas",
         message_start() + call_start(0, "a", "f") + json_delta(0, "") + json_delta(0, R"({\"x)") +
             json_delta(0, R"(\": \")") + json_delta(0, R"(}\"}\n)") + block_stop(0) +
             end_events("tool_use"),
         {"call 0 a f", "arguments 0 {\"x\": \"}\"}\n", "end 0"},
         "tool_calls"},
        {"NoArguments",
         message_start() + call_start(0, "a", "f") + block_stop(0) + call_start(1, "b", "g") +
             json_delta(1, "") + block_stop(1) + end_events("tool_use"),
         {"call 0 a f", "arguments 0 {}", "end 0", "call 1 b g", "arguments 1 {}", "end 1"},
         "tool_calls"},
        {"InputInTheStart",
         message_start() +
             block_start(0, R"({"type":"tool_use","id":"a","name":"f","input":{"x":[1]}})") +
             block_stop(0) + end_events("tool_use"),
         {"call 0 a f", R"(arguments 0 {"x":[1]})", "end 0"},
         "tool_calls"},
        {"CallerOfACall",
         message_start() +
             block_start(
                 0, R"({"type":"tool_use","id":"a","name":"f","input":{},)"
                    R"("caller":{"type":"direct"}})"
             ) +
             block_stop(0) + end_events("tool_use"),
         {"call 0 a f", "arguments 0 {}", "end 0"},
         "tool_calls",
         R"([{"is":"call","members":{"caller":{"type":"direct"}}}])"},
        {"TextAfterACall",
         message_start() + call_block(0, "a", "f", "{}") + text_block(1, "Wait.") +
             end_events("tool_use"),
         {"call 0 a f", "arguments 0 {}", "end 0", "text Wait."},
         "tool_calls",
         R"([{"is":"call"},{"is":"text","bytes":5}])"},
        {"InvalidArguments", // As eager streaming may make them.
         message_start() + call_block(0, "a", "f", R"({\"x\": <)") + end_events("tool_use"),
         {"call 0 a f", R"(arguments 0 {"x": <)"},
         "tool_calls"},
        {"HalfEscapeInArguments",
         message_start() + call_start(0, "a", "f") + json_delta(0, R"({\"x\":\"\\ud83d)") +
             json_delta(0, R"(\\ude00\\ud83d\"})") + block_stop(0) + end_events("tool_use"),
         {"call 0 a f", R"(arguments 0 {"x":"\ud83d\ude00\ufffd"})", "end 0"},
         "tool_calls"},
        {"CutByTheTokenLimit",
         message_start() + call_block(0, "a", "f", R"({\"x\":)") + end_events("max_tokens"),
         {"call 0 a f", R"(arguments 0 {"x":)"},
         "length"},
        {"ThoughtBeforeACallThatTheTokenLimitCut", // It is whole, so it goes back.
         message_start() + thinking_block(0, "Hm.", "c2ln") +
             call_block(1, "a", "f", R"({\"x\":)") + end_events("max_tokens"),
         {"reasoning Hm.", "call 0 a f", R"(arguments 0 {"x":)"},
         "length",
         R"([{"is":"thinking","bytes":3,"members":{"signature":"c2ln"}},{"is":"call"}])"},
        {"CutByTheTokenLimitBeforeItsArguments",
         message_start() + call_start(0, "a", "f") + block_stop(0) + end_events("max_tokens"),
         {"call 0 a f"},
         "length"},
        {"ToolOfTheServer",
         message_start() +
             block_start(
                 0, R"({"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}})"
             ) +
             json_delta(0, R"({\"query\":)") + json_delta(0, R"( \"x\"})") + block_stop(0) + ping +
             block_start(
                 1, R"({"type":"web_search_tool_result","tool_use_id":"srvtoolu_1",)"
                    R"("content":[{"type":"web_search_result","encrypted_content":"E"}]})"
             ) +
             block_stop(1) + text_block(2, "Found.") + end_events("end_turn"),
         {"hosted srvtoolu_1 web_search", "hosted srvtoolu_1 completed", "text Found."},
         "stop",
         R"([{"is":"other","members":{"type":"server_tool_use","id":"srvtoolu_1",)"
         R"("name":"web_search","input":{"query":"x"}}},)"
         R"({"is":"other","members":{"type":"web_search_tool_result",)"
         R"("tool_use_id":"srvtoolu_1",)"
         R"("content":[{"type":"web_search_result","encrypted_content":"E"}]}},)"
         R"({"is":"text","bytes":6}])"},
        {"ToolOfTheServerThatTheTokenLimitCut", // Its call would have no result.
         message_start() + thinking_block(0, "", "c2ln") +
             block_start(1, R"({"type":"server_tool_use","id":"s","name":"n","input":{}})") +
             json_delta(1, "{}") + block_stop(1) + end_events("max_tokens"),
         {"hosted s n"},
         "length"},
        {"ToolOfTheServerBeforeTheTokenLimitCutTheText",
         message_start() +
             block_start(0, R"({"type":"server_tool_use","id":"s","name":"n","input":{}})") +
             block_stop(0) +
             block_start(1, R"({"type":"web_search_tool_result","tool_use_id":"s","content":[]})") +
             block_stop(1) + text_block(2, "a") + end_events("max_tokens"),
         {"hosted s n", "hosted s completed", "text a"},
         "length",
         R"([{"is":"other","members":{"type":"server_tool_use","id":"s","name":"n","input":{}}},)"
         R"({"is":"other","members":{"type":"web_search_tool_result","tool_use_id":"s",)"
         R"("content":[]}},{"is":"text","bytes":1}])"},
        {"CutInputOfAToolOfTheServer",
         message_start() +
             block_start(0, R"({"type":"server_tool_use","id":"s","name":"n","input":{}})") +
             json_delta(0, R"({\"query\":)") + block_stop(0) + text_block(1, "a") +
             end_events("end_turn"),
         {"hosted s n", "text a"},
         "stop"},
        {"ToolsOfTheServerThatFail",
         message_start() +
             block_start(0, R"({"type":"server_tool_use","id":"s","name":"n","input":{}})") +
             block_stop(0) +
             block_start(1, R"({"type":"mcp_tool_use","id":"m","name":"f","input":{}})") +
             block_stop(1) +
             block_start(
                 2, R"({"type":"web_search_tool_result","tool_use_id":"s",)"
                    R"("content":{"type":"web_search_tool_result_error","error_code":"e"}})"
             ) +
             block_stop(2) +
             block_start(
                 3, R"({"type":"mcp_tool_result","tool_use_id":"m","is_error":true,"content":[]})"
             ) +
             block_stop(3) + text_block(4, "a") + end_events("end_turn"),
         {"hosted s n", "hosted m f", "hosted s failed", "hosted m failed", "text a"},
         "stop",
         R"([{"is":"other","members":{"type":"server_tool_use","id":"s","name":"n","input":{}}},)"
         R"({"is":"other","members":{"type":"mcp_tool_use","id":"m","name":"f","input":{}}},)"
         R"({"is":"other","members":{"type":"web_search_tool_result","tool_use_id":"s",)"
         R"("content":{"type":"web_search_tool_result_error","error_code":"e"}}},)"
         R"({"is":"other","members":{"type":"mcp_tool_result","tool_use_id":"m","is_error":true,)"
         R"("content":[]}},{"is":"text","bytes":1}])"},
        {"NamelessCall",
         message_start() + block_start(0, R"({"type":"tool_use","id":"a","input":{}})") +
             json_delta(0, "{}") + block_stop(0) + end_events("tool_use"),
         {},
         "unavailable 0: a call of the answer has no name"},
        {"ArgumentsOfNoCall",
         message_start() + json_delta(0, "{}") + end_events("tool_use"),
         {},
         "unavailable 0: the answer has arguments outside of a call"},
        {"ArgumentsAfterTheEndOfTheirCall",
         message_start() + call_block(0, "a", "f", "{}") + json_delta(0, "x") +
             end_events("tool_use"),
         {"call 0 a f", "arguments 0 {}", "end 0"},
         "unavailable 0: the answer has arguments after the end of a call"},
    };
    return all;
}

const std::vector<decoder_case>& imitation_cases() {
    static const std::vector<decoder_case> all = {
        {"NoEventNames", without_names(round_of_tools), lines_of_tools, "tool_calls",
         blocks_of_tools},
        {"NoTypes", without(plain, R"("type":"content_block_delta",)"), {"text Hi."}, "stop"},
        {"CarriageReturns", with(round_of_tools, "\n", "\r\n"), lines_of_tools, "tool_calls",
         blocks_of_tools},
        {"CarriageReturnsAlone", with(round_of_tools, "\n", "\r"), lines_of_tools, "tool_calls",
         blocks_of_tools},
        {"NoEmptyLines", with(without_names(round_of_tools), "\n\n", "\n"), lines_of_tools,
         "tool_calls", blocks_of_tools},
        {"Comments",
         ": hello\n\n" + with(plain, "\n\n", "\n\n: keep-alive\n\n"),
         {"text Hi."},
         "stop"},
        {"UnknownEvents",
         message_start() + event("input_transformations", R"("list":[])") + text_start(0) +
             event("content_block_note", R"("index":0)") + text_delta(0, "a") +
             block_delta(0, "other_delta", "x", "y") + block_stop(0) + end_events("end_turn"),
         {"text a"},
         "stop"},
        {"NoMessageStart", without(plain, message_start()), {"text Hi."}, "stop"},
        {"NoMessageDelta", without(plain, message_delta("end_turn")), {"text Hi."}, "stop"},
        {"NoMessageStop", without(plain, message_stop), {"text Hi."}, "stop"},
        {"DoneMark", plain + "data: [DONE]\n\n", {"text Hi."}, "stop"},
        {"NoStarts",
         message_start() + thinking_delta(0, "Hm") + text_delta(1, "Hi") + end_events("end_turn"),
         {"reasoning Hm", "text Hi"},
         "stop"},
        {"NoStops",
         message_start() + thinking_start(0) + thinking_delta(0, "Hm") + text_start(1) +
             text_delta(1, "Hi") + call_start(2, "a", "f") + json_delta(2, "{}") +
             end_events("tool_use"),
         {"reasoning Hm", "text Hi", "call 0 a f", "arguments 0 {}", "end 0"},
         "tool_calls"},
        {"AllStopsAtTheEnd", // As llama.cpp sends them.
         message_start() + text_start(0) + text_delta(0, "Hi") + call_start(1, "a", "f") +
             json_delta(1, "{") + json_delta(1, "}") + call_start(2, "b", "g") +
             json_delta(2, "{}") + block_stop(0) + block_stop(1) + block_stop(2) +
             end_events("tool_use"),
         {"text Hi", "call 0 a f", "arguments 0 {}", "call 1 b g", "arguments 1 {}", "end 0",
          "end 1"},
         "tool_calls"},
        {"MixedBlocks",
         message_start() + text_start(0) + text_delta(0, "a") + text_start(1) + text_delta(1, "b") +
             text_delta(0, "c") + block_stop(0) + block_stop(1) + thinking_block(2, "", "sig") +
             end_events("end_turn"),
         {"text abc"},
         "stop"},
        {"OneIndexForAll",
         message_start() + thinking_block(0, "Hm", "s") + text_block(0, "Hi") +
             call_block(0, "a", "f", "{}") + end_events("tool_use"),
         {"reasoning Hm", "text Hi", "call 0 a f", "arguments 0 {}", "end 0"},
         "tool_calls",
         R"([{"is":"thinking","bytes":2,"members":{"signature":"s"}},{"is":"text","bytes":2},)"
         R"({"is":"call"}])"},
        {"NoIndexes",
         without(
             without(without(round_of_tools, R"("index":0,)"), R"("index":1,)"), R"("index":2,)"
         ),
         lines_of_tools, "tool_calls", blocks_of_tools},
        {"WholeMessage",
         R"({"id":"msg_1","type":"message","role":"assistant","content":[)"
         R"({"type":"thinking","thinking":"Hm.","signature":"c2ln"},)"
         R"({"type":"text","text":"Let me look."},)"
         R"({"type":"tool_use","id":"toolu_1","name":"look","input":{"a":1}}],)"
         R"("stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}})",
         lines_of_tools, "tool_calls", blocks_of_tools},
    };
    return all;
}

const std::vector<decoder_case>& end_cases() {
    static const std::string begun = message_start() + text_block(0, "a");
    static const std::vector<decoder_case> all = {
        {"StopSequence", begun + end_events("stop_sequence"), {"text a"}, "stop"},
        {"ToolUseWithoutACall", begun + end_events("tool_use"), {"text a"}, "stop"},
        {"MaxTokens", begun + end_events("max_tokens"), {"text a"}, "length"},
        {"ContextWindow", begun + end_events("model_context_window_exceeded"), {"text a"}, "length"
        },
        {"Refusal",
         message_start() + thinking_block(0, "", "s") + text_block(1, "a") +
             event(
                 "message_delta",
                 R"("delta":{"stop_reason":"refusal","stop_details":{"type":"refusal",)"
                 R"("category":"bio"}},"usage":{"output_tokens":1})"
             ) +
             message_stop,
         {"text a"},
         "refusal"},
        {"RefusalBeforeOutput", message_start() + end_events("refusal"), {}, "refusal"},
        {"RefusalWithinACall",
         message_start() + call_start(0, "a", "f") + json_delta(0, R"({\"x)") +
             end_events("refusal"),
         {"call 0 a f", R"(arguments 0 {"x)"},
         "refusal"},
        {"PauseTurn",
         begun + end_events("pause_turn"),
         {"text a"},
         "pause",
         R"([{"is":"text","bytes":1}])"},
        {"PauseInAToolOfTheServer",
         message_start() +
             block_start(0, R"({"type":"server_tool_use","id":"s","name":"n","input":{}})") +
             json_delta(0, R"({\"query\":\"x\"})") + block_stop(0) + end_events("pause_turn"),
         {"hosted s n"},
         "pause",
         R"([{"is":"other","members":{"type":"server_tool_use","id":"s","name":"n",)"
         R"("input":{"query":"x"}}}])"},
        {"PauseWithACall",
         message_start() + call_block(0, "a", "f", "{}") + end_events("pause_turn"),
         {"call 0 a f", "arguments 0 {}", "end 0"},
         "tool_calls"},
        {"PauseInACall",
         message_start() + call_block(0, "a", "f", "{") + end_events("pause_turn"),
         {"call 0 a f", "arguments 0 {"},
         "length"},
        {"UnknownReason", begun + end_events("tired"), {"text a"}, "stop (tired)"},
        {"UnknownReasonInACall",
         message_start() + call_block(0, "a", "f", "{") + end_events("tired"),
         {"call 0 a f", "arguments 0 {"},
         "length (tired)"},
        {"NoReasonAtTheEnd",
         begun +
             event("message_delta", R"("delta":{"stop_reason":null},"usage":{"output_tokens":1})") +
             message_stop,
         {"text a"},
         "lost"},
        {"StopWithinACall",
         message_start() + call_start(0, "a", "f") + json_delta(0, R"({\"x)") + message_stop,
         {"call 0 a f", R"(arguments 0 {"x)"},
         "lost"},
        {"Cut", begun, {"text a"}, "lost"},
        {"Overloaded",
         message_start() +
             event("error", R"("error":{"type":"overloaded_error","message":"Overloaded"})"),
         {},
         "unavailable 529: the stream holds an error: overloaded_error: Overloaded"},
        {"OverloadedAfterText",
         begun + event("error", R"("error":{"type":"overloaded_error","message":"Overloaded"})") +
             text_block(1, "b"),
         {"text a"},
         "unavailable 529: the stream holds an error: overloaded_error: Overloaded"},
        {"RefusedInTheStream",
         event("error", R"("error":{"type":"invalid_request_error","message":"messages.1: no"})"),
         {},
         "rejected 400: invalid_request_error: messages.1: no"},
        {"ErrorWithoutJson",
         "event: error\ndata: broken pipe\n\n",
         {},
         "unavailable 0: the stream holds an error: broken pipe"},
        {"ErrorAsWholeBody",
         R"({"type":"error","error":{"type":"api_error","message":"Oops"},"request_id":"r"})",
         {},
         "unavailable 500: the stream holds an error: api_error: Oops"},
        {"ErrorOfAnotherDialect",
         R"({"error":{"message":"no such route"}})",
         {},
         "unavailable 0: the stream holds an error: no such route"},
        {"NoBytes", "", {}, "unavailable 0: the body holds no answer"},
        {"HtmlPage", "<html>502</html>\n", {}, "unavailable 0: the body holds no answer"},
        {"NoEvent", "data: hello\n\n", {}, "unavailable 0: the body holds no answer: hello"},
        {"NotJson", "data: {\"x\"\n\n", {}, "unavailable 0: an event of the answer is not JSON"},
    };
    return all;
}

using AnthropicDecoderCases = test::DecoderCases<anthropic_decoder>;

TEST_P(AnthropicDecoderCases, InOnePiece) { check_in_one_piece(); }
TEST_P(AnthropicDecoderCases, ByteByByte) { check_byte_by_byte(); }
TEST_P(AnthropicDecoderCases, InTwoPiecesCutAnywhere) { check_cut_anywhere(); }
TEST_P(AnthropicDecoderCases, BrokenOffAnywhere) { check_broken_off_anywhere(); }

INSTANTIATE_TEST_SUITE_P(
    Text, AnthropicDecoderCases, ::testing::ValuesIn(text_cases()), test::decoder_case_name
);
INSTANTIATE_TEST_SUITE_P(
    Thinking, AnthropicDecoderCases, ::testing::ValuesIn(thinking_cases()), test::decoder_case_name
);
INSTANTIATE_TEST_SUITE_P(
    Calls, AnthropicDecoderCases, ::testing::ValuesIn(call_cases()), test::decoder_case_name
);
INSTANTIATE_TEST_SUITE_P(
    Imitations, AnthropicDecoderCases, ::testing::ValuesIn(imitation_cases()),
    test::decoder_case_name
);
INSTANTIATE_TEST_SUITE_P(
    Ends, AnthropicDecoderCases, ::testing::ValuesIn(end_cases()), test::decoder_case_name
);

model_outcome outcome_of(std::string_view body) {
    turn_data_sink sink;
    anthropic_decoder decoder(sink, "the-model", "the-provider");
    (void)decoder.feed(body);
    return decoder.finish();
}

TEST(AnthropicDecoder, CountsInputWithTheCacheAndTotalsOnce) {
    const model_outcome answer = outcome_of(
        message_start() + text_block(0, "a") +
        event(
            "message_delta", R"("delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":9,)"
                             R"("cache_creation_input_tokens":20,"cache_read_input_tokens":100,)"
                             R"("output_tokens":50,"output_tokens_details":{"thinking_tokens":30}})"
        ) +
        message_stop
    );

    ASSERT_TRUE(answer && answer->usage);
    EXPECT_EQ(answer->usage->provider, "the-provider");
    EXPECT_EQ(answer->usage->model, "the-model");
    EXPECT_EQ(answer->usage->input_tokens, 129);
    EXPECT_EQ(answer->usage->cached_input_tokens, 100);
    EXPECT_EQ(answer->usage->cache_write_input_tokens, 20);
    EXPECT_EQ(answer->usage->output_tokens, 50);
    EXPECT_EQ(answer->usage->reasoning_tokens, 30);
}

TEST(AnthropicDecoder, KeepsCountsThatTheEndDoesNotRepeat) {
    const model_outcome answer = outcome_of(plain);

    ASSERT_TRUE(answer && answer->usage);
    EXPECT_EQ(answer->usage->input_tokens, 109);
    EXPECT_EQ(answer->usage->output_tokens, 7);
    EXPECT_EQ(answer->usage->reasoning_tokens, std::nullopt);
}

TEST(AnthropicDecoder, HasNoUsageIfTheServerDoesNotCount) {
    const model_outcome answer = outcome_of(
        event("message_start", R"("message":{"content":[]})") + text_block(0, "a") +
        event("message_delta", R"("delta":{"stop_reason":"end_turn"})") + message_stop
    );

    ASSERT_TRUE(answer);
    EXPECT_FALSE(answer->usage);
}

TEST(AnthropicDecoder, CountsTheBlocksOfTheRequestThatTheServerLeftOut) {
    const std::string list =
        R"("input_transformations":[{"type":"thinking_dropped","path":"messages.1.content.0",)"
        R"("reason":"prefix_binding_mismatch"},{"type":"of a later version"}])";
    const std::string begin =
        event("message_start", R"("message":{"content":[],)" + list + "}") + text_block(0, "a");
    const std::string end =
        event("message_delta", R"("delta":{"stop_reason":"end_turn"},)" + list) + message_stop;

    for (const std::string& body :
         {begin + end_events("end_turn"), begin + end, message_start() + text_block(0, "a") + end
         }) {
        const model_outcome answer = outcome_of(body);
        ASSERT_TRUE(answer);
        EXPECT_EQ(answer->invalid_blocks, 2U);
        EXPECT_EQ(
            answer->invalid_block, "messages.1.content.0 thinking_dropped prefix_binding_mismatch"
        );
    }
    EXPECT_EQ(outcome_of(plain)->invalid_blocks, 0U);
}

TEST(AnthropicDecoder, PingsCountOnlyWhileAThoughtIsNotShown) {
    turn_data_sink sink;
    anthropic_decoder decoder(sink, "m", "p");
    const auto chunks_of = [&](const std::string& bytes) {
        const std::size_t before = decoder.chunks();
        (void)decoder.feed(bytes);
        return decoder.chunks() - before;
    };

    EXPECT_EQ(chunks_of(message_start()), 1U);
    EXPECT_EQ(chunks_of(ping), 0U);
    EXPECT_EQ(chunks_of(thinking_start(0)), 1U);
    EXPECT_EQ(chunks_of(ping), 1U);
    EXPECT_FALSE(decoder.begun());
    EXPECT_EQ(chunks_of(signature_delta(0, "s") + block_stop(0)), 2U);
    EXPECT_TRUE(decoder.begun());
    EXPECT_EQ(chunks_of(ping), 0U);
}

TEST(AnthropicDecoder, IsCompleteWithMessageStop) {
    turn_data_sink sink;
    anthropic_decoder decoder(sink, "m", "p");

    EXPECT_TRUE(decoder.feed(message_start() + text_block(0, "a")));
    EXPECT_FALSE(decoder.ending());
    EXPECT_TRUE(decoder.feed(message_delta("end_turn")));
    EXPECT_TRUE(decoder.ending());
    EXPECT_FALSE(decoder.complete());
    EXPECT_FALSE(decoder.feed(message_stop));
    EXPECT_TRUE(decoder.complete());
    EXPECT_FALSE(decoder.feed(text_block(1, "b")));
    EXPECT_EQ(sink.lines, std::vector<std::string>{"text a"});
}

TEST(AnthropicDecoder, EndsACallWhenItsBlockStops) {
    turn_data_sink sink;
    anthropic_decoder decoder(sink, "m", "p");

    (void)decoder.feed(message_start() + call_block(0, "a", "f", "{}"));

    EXPECT_EQ(sink.lines.back(), "end 0");
}

TEST(AnthropicDecoder, LetsLargeEventsBeParsedElsewhere) {
    const std::string data(400'000, 'x');
    turn_data_sink sink;
    anthropic_decoder decoder(sink, "m", "p");

    (void)decoder.feed(
        message_start() + block_start(0, R"({"type":"redacted_thinking","data":")" + data + "\"}") +
        block_stop(0)
    );
    EXPECT_GT(decoder.large(), data.size());
    (void)decoder.feed(text_block(1, "a") + end_events("end_turn"));
    EXPECT_TRUE(sink.lines.empty());
    decoder.parse_large(nullptr);
    EXPECT_EQ(decoder.large(), 0U);
    (void)decoder.deliver_large();

    EXPECT_EQ(sink.lines, std::vector<std::string>{"text a"});
    EXPECT_TRUE(decoder.complete());
    const model_outcome outcome = decoder.finish();
    EXPECT_EQ(describe_answer(outcome), "stop");
    EXPECT_FALSE(outcome->has_lost_data);
    EXPECT_NE(sink.data.find(data), std::string::npos);
}

TEST(AnthropicDecoder, DropsARecordThatIsTooLarge) {
    const std::string data(700'000, 'x');
    std::string body = message_start();
    for (int index = 0; index < 2; ++index) {
        body += block_start(index, R"({"type":"redacted_thinking","data":")" + data + "\"}") +
                block_stop(index);
    }
    turn_data_sink sink;
    anthropic_decoder decoder(sink, "m", "p");

    (void)decoder.feed(body + text_block(2, "a") + end_events("end_turn"));

    const model_outcome outcome = decoder.finish();
    EXPECT_EQ(describe_answer(outcome), "stop");
    EXPECT_TRUE(outcome->has_lost_data);
    EXPECT_EQ(sink.data, "");
    EXPECT_EQ(sink.lines, std::vector<std::string>{"text a"});
}

TEST(AnthropicDecoder, EndsAnAnswerThatNeverStops) {
    std::string many_calls = message_start();
    std::string many_blocks = message_start();
    std::string many_changes = message_start();
    for (int index = 0; index < 200; ++index) {
        many_calls += call_block(index, "c" + std::to_string(index), "f", "{}");
    }
    for (int index = 0; index < 1100; ++index) {
        many_blocks += text_block(index, "a");
    }
    many_changes += text_start(0) + thinking_start(1);
    for (int change = 0; change < 600; ++change) {
        many_changes += text_delta(0, "a") + thinking_delta(1, "b");
    }

    EXPECT_EQ(
        describe_answer(outcome_of(many_calls)), "unavailable 0: the answer has too many calls"
    );
    EXPECT_EQ(
        describe_answer(outcome_of(many_blocks)), "unavailable 0: the answer has too many blocks"
    );
    EXPECT_EQ(
        describe_answer(outcome_of(many_changes)),
        "unavailable 0: the answer changes between text and reasoning too often"
    );
}

// No server sends these, but none must end the process or make a call of half of its arguments.
TEST(AnthropicDecoder, SurvivesEventsInAnyOrderWithAnyByteChanged) {
    const std::vector<std::string> events = {
        message_start(),
        ping,
        text_start(0),
        text_delta(0, "a"),
        text_delta(1, R"(\ud83d)"),
        thinking_start(1),
        thinking_delta(1, R"(\ude00)"),
        signature_delta(1, "s"),
        call_start(2, "a", "f"),
        call_start(0, "b", "g"),
        json_delta(2, R"({\"x\":)"),
        json_delta(2, R"(\"\\ud83d\"})"),
        json_delta(0, "{}"),
        block_start(3, R"({"type":"server_tool_use","id":"s","input":{}})"),
        json_delta(3, R"({\"q\":1})"),
        block_delta(1, "other_delta", "x", "y"),
        block_stop(0),
        block_stop(1),
        block_stop(2),
        block_stop(3),
        message_delta("tool_use"),
        message_delta("end_turn"),
        message_delta("max_tokens"),
        message_stop,
        event("error", R"("error":{"type":"api_error","message":"m"})"),
        without_names(
            event("message", R"("content":[{"type":"text","text":"w"}],"stop_reason":null)")
        ),
    };
    std::size_t complete = 0;
    for (std::uint64_t seed = 1; seed <= 20'000; ++seed) {
        numbers random(seed);
        std::string body;
        for (std::size_t count = random.below(20); count > 0; --count) {
            body += events[random.below(events.size())];
        }
        if (!body.empty() && random.below(3) == 0) {
            body[random.below(body.size())] = static_cast<char>(random.below(256));
        }
        const std::size_t half = body.empty() ? 0 : random.below(body.size());
        const std::string_view text = body;
        const decoded result =
            decode_pieces<anthropic_decoder>({text.substr(0, half), text.substr(half)});

        ASSERT_FALSE(result.contract_broken) << body;
        ASSERT_FALSE(result.outcome.empty());
        complete += result.outcome == "stop" || result.outcome == "tool_calls" ? 1 : 0;
        for (const std::string& line : result.lines) {
            ASSERT_TRUE(is_utf8(line)) << line;
        }
        for (const auto& [call, arguments] : ended_calls(result.lines)) {
            ASSERT_TRUE(arguments.starts_with('{') && arguments.ends_with('}')) << body;
        }
    }
    EXPECT_GT(complete, 1000U);
}

} // namespace
} // namespace agui::runner
