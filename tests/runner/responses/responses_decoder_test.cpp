#include "runner/responses/responses_chat_decoder.hpp"

#include "runner/base/utf8.hpp"
#include "tests/runner/responses/responses_answer_case.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

using namespace test::responses;
using test::decode_pieces;
using test::decoded;
using test::decoder_case;
using test::describe_answer;
using test::ended_calls;
using test::numbers;
using test::turn_data_sink;
using test::with;
using test::without;
using test::without_names;

const std::string plain = created + message(0, "Hi.") + end();
const std::string round_of_tools = created + reasoning(0, "rs_1", "Hm.") +
                                   message(1, "Let me look.", R"(,"phase":"commentary")") +
                                   call(2, "call_1", "look", R"({\"a\":1})") + end();
const std::vector<std::string> lines_of_tools = {
    "reasoning Hm.", "text Let me look.", "call 0 call_1 look", "arguments 0 {\"a\":1}", "end 0"
};
const std::string blocks_of_tools =
    R"([{"is":"other","members":{"type":"reasoning","id":"rs_1",)"
    R"("summary":[{"type":"summary_text","text":"Hm."}],"encrypted_content":"ENC"}},)"
    R"({"is":"text","bytes":12,"members":{"id":"msg_1","status":"completed","phase":"commentary"}},)"
    R"({"is":"call","members":{"id":"fc_call_1","status":"completed"}}])";
const std::string reasoning_record =
    R"({"is":"other","members":{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"ENC"}})";
const std::string text_record =
    R"({"is":"text","bytes":1,"members":{"id":"msg_1","status":"completed"}})";

std::string without_indexes(std::string events) {
    for (int index = 0; index < 4; ++index) {
        events = without(std::move(events), at(index) + ",");
    }
    return events;
}

const std::vector<decoder_case>& text_cases() {
    static const std::vector<decoder_case> all = {
        {"Text", plain, {"text Hi."}, "stop"},
        {"AsOpenaiStreamsIt",
         event("created", R"("sequence_number":0,"response":{"id":"resp_1"})") +
             event(
                 "output_item.added",
                 R"("sequence_number":1,"output_index":0,"item":)" + message_begun
             ) +
             event(
                 "content_part.added",
                 R"("sequence_number":2,"item_id":"m","output_index":0,"content_index":0,"part":)" +
                     part_of("")
             ) +
             event(
                 "output_text.delta",
                 R"("sequence_number":3,"item_id":"m","output_index":0,"content_index":0,)"
                 R"("delta":"Hi","logprobs":[],"obfuscation":"x9")"
             ) +
             event(
                 "output_text.annotation.added",
                 R"("sequence_number":4,"output_index":0,"content_index":0,"annotation":{})"
             ) +
             event(
                 "content_part.done",
                 R"("sequence_number":5,"output_index":0,"content_index":0,"part":)" + part_of("Hi")
             ) +
             done(0, message_item(part_of("Hi"))) +
             end("completed", ",\"output\":[" + message_item(part_of("Hi")) + "]"),
         {"text Hi"},
         "stop"},
        {"TwoDeltas",
         created + added(0, message_begun) + text_delta(0, "Hi") + text_delta(0, " you") +
             done(0, message_item(part_of("Hi you"))) + end(),
         {"text Hi you"},
         "stop"},
        {"OnlyAtTheEndOfItsPart",
         created + added(0, message_begun) +
             event("output_text.done", at(0) + R"(,"content_index":0,"text":"Hi")") +
             done(0, message_item(part_of("Hi"))) + end(),
         {"text Hi"},
         "stop"},
        {"OnlyAtTheEndOfItsItem",
         created + added(0, message_begun) + done(0, message_item(part_of("Hi"))) + end(),
         {"text Hi"},
         "stop"},
        {"OnlyAtTheEndOfTheAnswer",
         created + end("completed", ",\"output\":[" + message_item(part_of("Hi")) + "]"),
         {"text Hi"},
         "stop"},
        {"TwoParts",
         created + added(0, message_begun) + text_delta(0, "a", 0) +
             event("output_text.done", at(0) + R"(,"content_index":0,"text":"a")") +
             event("output_text.done", at(0) + R"(,"content_index":1,"text":"b")") +
             done(0, message_item(part_of("a") + "," + part_of("b"))) + end(),
         {"text ab"},
         "stop"},
        {"EndOfAPartAfterTheNextMessageHasBegun",
         created + added(0, message_begun) + text_delta(0, "a") + added(1, message_begun) +
             event("output_text.done", at(0) + R"(,"content_index":0,"text":"a")") +
             done(0, message_item(part_of("a"))) +
             event("output_text.done", at(1) + R"(,"content_index":0,"text":"b")") +
             done(1, message_item(part_of("b"))) + end(),
         {"text ab"},
         "stop",
         R"([{"is":"text","bytes":1},{"is":"text","bytes":1}])"},
        {"RefusalOfTheModel",
         created + added(0, message_begun) +
             event("refusal.delta", at(0) + R"(,"content_index":0,"delta":"No.")") +
             event("refusal.done", at(0) + R"(,"content_index":0,"refusal":"No.")") +
             done(0, message_item(R"({"type":"refusal","refusal":"No."})")) + end(),
         {"text No."},
         "stop"},
        {"Phases",
         created + message(0, "a", R"(,"phase":"commentary")") +
             message(1, "b", R"(,"phase":"final_answer")") + end(),
         {"text ab"},
         "stop",
         R"([{"is":"text","bytes":1,"members":{"phase":"commentary"}},)"
         R"({"is":"text","bytes":1,"members":{"phase":"final_answer"}}])"},
        {"HalvesOfACharacter",
         created + added(0, message_begun) + text_delta(0, R"(a\ud83d)") +
             text_delta(0, R"(\ude00b)") + done(0, message_item("")) + end(),
         {"text a\xF0\x9F\x98\x80"
          "b"},
         "stop"},
        {"Nothing", created + end(), {}, "stop"},
    };
    return all;
}

const std::vector<decoder_case>& reasoning_cases() {
    static const std::vector<decoder_case> all = {
        {"ReasoningTextAndCall", round_of_tools, lines_of_tools, "tool_calls", blocks_of_tools},
        {"HiddenReasoning",
         created + reasoning(0, "rs_1") + message(1, "a") + end(),
         {"text a"},
         "stop",
         "[" + reasoning_record + "," + text_record + "]"},
        {"EncryptedContentOfItsEnd", // The one of its start may be incomplete.
         created + added(0, reasoning_item("rs_1", "", "EN")) + done(0, reasoning_item("rs_1")) +
             message(1, "a") + end(),
         {"text a"},
         "stop",
         "[" + reasoning_record + "," + text_record + "]"},
        {"SummaryOfTwoParts",
         created + added(0, reasoning_item("rs_1", "", "")) + summary_delta(0, "a", 0) +
             summary_delta(0, "b", 0) + summary_delta(0, "c", 1) + done(0, reasoning_item("rs_1")) +
             message(1, "a") + end(),
         {"reasoning ab\n\nc", "text a"},
         "stop",
         "[" + reasoning_record + "," + text_record + "]"},
        {"SummaryThatGoesOnAfterTheNextItemHasBegun",
         created + added(0, reasoning_item("rs_1", "", "")) + summary_delta(0, "a") +
             added(1, reasoning_item("rs_2", "", "")) + summary_delta(0, "b") +
             done(0, reasoning_item("rs_1")) + done(1, reasoning_item("rs_2")) + message(2, "a") +
             end(),
         {"reasoning ab", "text a"},
         "stop",
         "[" + reasoning_record + "," + with(reasoning_record, "rs_1", "rs_2") + "," + text_record +
             "]"},
        {"SummaryOnlyAtItsEnd",
         created +
             done(
                 0, R"({"type":"reasoning","id":"r","encrypted_content":"E","summary":[)"
                    R"({"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}]})"
             ) +
             message(1, "a") + end(),
         {"reasoning a\n\nb", "text a"},
         "stop",
         R"([{"is":"other","members":{"type":"reasoning","id":"r","encrypted_content":"E",)"
         R"("summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}]}},)" +
             text_record + "]"},
        {"RawReasoningOfAnOpenModel", // Cannot be sent back, so no id of the answer is.
         created + added(0, R"({"type":"reasoning","id":"rs_1","summary":[]})") +
             event("reasoning_text.delta", at(0) + R"(,"content_index":0,"delta":"Hm")") +
             event("reasoning_text.done", at(0) + R"(,"content_index":0,"text":"Hm")") +
             done(
                 0, R"({"type":"reasoning","id":"rs_1","summary":[],)"
                    R"("content":[{"type":"reasoning_text","text":"Hm"}]})"
             ) +
             message(1, "a") + call(2, "c", "f", "{}") + end(),
         {"reasoning Hm", "text a", "call 0 c f", "arguments 0 {}", "end 0"},
         "tool_calls"},
        {"ReasoningBetweenCalls",
         created + call(0, "a", "f", "{}") + reasoning(1, "rs_1") + call(2, "b", "g", "{}") + end(),
         {"call 0 a f", "arguments 0 {}", "end 0", "call 1 b g", "arguments 1 {}", "end 1"},
         "tool_calls",
         R"([{"is":"call","members":{"id":"fc_a","status":"completed"}},)" + reasoning_record +
             R"(,{"is":"call","members":{"id":"fc_b","status":"completed"}}])"},
        {"UnknownItem",
         created + added(0, R"({"type":"compaction","id":"c"})") +
             done(0, R"({"type":"compaction","id":"c","encrypted_content":"E","n":null})") +
             message(1, "a") + end(),
         {"text a"},
         "stop",
         R"([{"is":"other","members":{"type":"compaction","id":"c","encrypted_content":"E",)"
         R"("n":null}},)" +
             text_record + "]"},
        {"ToolOfTheServer",
         created + added(0, R"({"type":"web_search_call","id":"ws_1","status":"in_progress"})") +
             event("web_search_call.in_progress", at(0)) +
             event("web_search_call.searching", at(0)) + event("web_search_call.completed", at(0)) +
             done(0, R"({"type":"web_search_call","id":"ws_1","status":"completed"})") +
             message(1, "a") + end(),
         {"hosted 0 web_search", "hosted 0 completed", "text a"},
         "stop",
         R"([{"is":"other","members":{"type":"web_search_call","id":"ws_1",)"
         R"("status":"completed"}},)" +
             text_record + "]"},
        {"CallOfACustomTool", // Without its output, it cannot go back.
         created + reasoning(0, "rs_1") +
             added(1, R"({"type":"custom_tool_call","id":"c","call_id":"cc","input":""})") +
             event("custom_tool_call_input.delta", at(1) + R"(,"delta":"x")") +
             done(1, R"({"type":"custom_tool_call","id":"c","call_id":"cc","input":"x"})") +
             reasoning(2, "rs_1") + message(3, "a") + end(),
         {"text a"},
         "stop",
         "[" + reasoning_record + R"(,{"is":"text","bytes":1}])"},
        {"AnsweredCallOfAShell",
         created + done(0, R"({"type":"shell_call","id":"s","call_id":"sc"})") +
             done(1, R"({"type":"shell_call_output","call_id":"sc","output":[]})") +
             message(2, "a") + end(),
         {"text a"},
         "stop",
         R"([{"is":"other","members":{"type":"shell_call","id":"s","call_id":"sc"}},)"
         R"({"is":"other","members":{"type":"shell_call_output","call_id":"sc","output":[]}},)" +
             text_record + "]"},
        {"McpToolOfTheServer",
         created + added(0, R"({"type":"mcp_call","id":"m","name":"f","arguments":""})") +
             event("mcp_call_arguments.delta", at(0) + R"(,"delta":"{}")") +
             event("mcp_call_arguments.done", at(0) + R"(,"arguments":"{}")") +
             done(0, R"({"type":"mcp_call","id":"m","name":"f","arguments":"{}","output":"o"})") +
             message(1, "a") + end(),
         {"hosted 0 f", "hosted 0 completed", "text a"},
         "stop",
         R"([{"is":"other","members":{"type":"mcp_call","id":"m","name":"f","arguments":"{}",)"
         R"("output":"o"}},)" +
             text_record + "]"},
        {"ToolsOfTheServerThatFail",
         created + added(0, R"({"type":"mcp_call","id":"m","name":"f","arguments":""})") +
             added(1, R"({"type":"file_search_call","id":"w","status":"in_progress"})") +
             done(1, R"({"type":"file_search_call","id":"w","status":"failed"})") +
             done(0, R"({"type":"mcp_call","id":"m","name":"f","error":{"code":1}})") +
             message(2, "a") + end(),
         {"hosted 0 f", "hosted 1 file_search", "hosted 1 failed", "hosted 0 failed", "text a"},
         "stop",
         R"([{"is":"other","members":{"type":"mcp_call","id":"m","name":"f","error":{"code":1}}},)"
         R"({"is":"other","members":{"type":"file_search_call","id":"w","status":"failed"}},)" +
             text_record + "]"},
    };
    return all;
}

const std::vector<decoder_case>& call_cases() {
    static const std::string begun = created + added(0, call_item("a", "f", ""));
    static const std::vector<std::string> lines = {"call 0 a f", R"(arguments 0 {"x":1})", "end 0"};
    static const std::vector<decoder_case> all = {
        {"Call", created + call(0, "a", "f", R"({\"x\":1})") + end(), lines, "tool_calls"},
        {"ParallelCallsMixed",
         created + added(0, call_item("a", "f", "")) + added(1, call_item("b", "g", "")) +
             arguments_delta(1, R"({\"y\")") + arguments_delta(0, R"({\"x\")") +
             arguments_delta(1, ":2}") + arguments_delta(0, ":1}") +
             done(1, call_item("b", "g", R"({\"y\":2})")) +
             done(0, call_item("a", "f", R"({\"x\":1})")) + end(),
         {"call 0 a f", "call 1 b g", R"(arguments 1 {"y")", R"(arguments 0 {"x")",
          "arguments 1 :2}", "arguments 0 :1}", "end 1", "end 0"},
         "tool_calls"},
        {"ArgumentsOnlyAtTheirEnd", // LM Studio.
         begun + arguments_done(0, R"({\"x\":1})") + done(0, call_item("a", "f", R"({\"x\":1})")) +
             end(),
         lines, "tool_calls"},
        {"ArgumentsOnlyInTheItem", begun + done(0, call_item("a", "f", R"({\"x\":1})")) + end(),
         lines, "tool_calls"},
        {"OnlyTheEndOfTheItem", created + done(0, call_item("a", "f", R"({\"x\":1})")) + end(),
         lines, "tool_calls"},
        {"OnlyInTheAnswer",
         created + end("completed", ",\"output\":[" + call_item("a", "f", R"({\"x\":1})") + "]"),
         lines, "tool_calls"},
        {"ArgumentsInTheStart",
         created + added(0, call_item("a", "f", R"({\"x\":1})")) +
             done(0, call_item("a", "f", R"({\"x\":1})")) + end(),
         lines, "tool_calls"},
        {"ArgumentsAsAnObject",
         created +
             done(0, R"({"type":"function_call","call_id":"a","name":"f","arguments":{"x":1}})") +
             end(),
         lines, "tool_calls"},
        {"BlanksThatDiffer",
         begun + arguments_delta(0, R"({\"x\":1})") + arguments_done(0, R"({ \"x\": 1 })") +
             done(0, call_item("a", "f", R"({\"x\": 1})")) + end(),
         lines, "tool_calls"},
        {"ArgumentsThatDiffer",
         begun + arguments_delta(0, R"({\"x\":1})") + arguments_done(0, R"({\"x\":2})") + end(),
         {"call 0 a f", R"(arguments 0 {"x":1})"},
         "unavailable 0: the arguments of a call differ between their pieces and their end"},
        {"ArgumentsWithAHole",
         begun + arguments_delta(0, R"({\"x\")") + arguments_done(0, R"({\"x\":2})") + end(),
         {"call 0 a f", R"(arguments 0 {"x")"},
         "unavailable 0: the arguments of a call differ between their pieces and their end"},
        {"NameOnlyAtTheEnd",
         created + added(0, R"({"type":"function_call","call_id":"a"})") +
             arguments_delta(0, R"({\"x\":1})") + done(0, call_item("a", "f", R"({\"x\":1})")) +
             end(),
         lines, "tool_calls"},
        {"NoName",
         created + added(0, R"({"type":"function_call","call_id":"a"})") + arguments_done(0, "{}") +
             end(),
         {},
         "unavailable 0: a call of the answer has no name"},
        {"NoArguments",
         created + call(0, "a", "f", "") + call(1, "b", "g", "") + end(),
         {"call 0 a f", "arguments 0 {}", "end 0", "call 1 b g", "arguments 1 {}", "end 1"},
         "tool_calls"},
        {"InvalidArguments",
         created + call(0, "a", "f", "<x>") + end(),
         {"call 0 a f", "arguments 0 <x>"},
         "tool_calls"},
        {"CutByTheTokenLimit",
         begun + arguments_delta(0, R"({\"x)") +
             done(0, call_item("a", "f", R"({\"x)", "incomplete")) +
             incomplete("max_output_tokens"),
         {"call 0 a f", R"(arguments 0 {"x)"},
         "length",
         ""},
        {"CutByTheTokenLimitBeforeItsArguments",
         begun + done(0, call_item("a", "f", "", "incomplete")) + incomplete("max_output_tokens"),
         {"call 0 a f"},
         "length"},
        {"ReasoningBeforeACallThatTheLimitCut", // It is whole, so it goes back.
         created + reasoning(0, "rs_1") + added(1, call_item("a", "f", "", "in_progress")) +
             arguments_delta(1, R"({\"x\":)") +
             done(1, call_item("a", "f", R"({\"x\":)", "incomplete")) +
             incomplete("max_output_tokens"),
         {"call 0 a f", R"(arguments 0 {"x":)"},
         "length",
         "[" + reasoning_record + R"(,{"is":"call","members":{"id":"fc_a","status":"incomplete"}}])"
        },
        {"ArgumentsOfNoCall",
         created + arguments_delta(0, "{}") + end(),
         {},
         "unavailable 0: the answer has arguments outside of a call"},
        {"ArgumentsAfterTheEndOfTheirCall",
         created + call(0, "a", "f", "{}") + arguments_delta(0, "x") + end(),
         {"call 0 a f", "arguments 0 {}", "end 0"},
         "unavailable 0: the answer has arguments after the end of a call"},
        {"HalfEscapeInArguments",
         begun + arguments_delta(0, R"({\"x\":\"\\ud83d)") +
             arguments_delta(0, R"(\\ude00\\ud83d\"})") +
             done(0, call_item("a", "f", R"({\"x\":\"\\ud83d\\ude00\\ud83d\"})")) + end(),
         {"call 0 a f", R"(arguments 0 {"x":"\ud83d\ude00\ufffd"})", "end 0"},
         "tool_calls"},
    };
    return all;
}

const std::vector<decoder_case>& imitation_cases() {
    static const std::vector<decoder_case> all = {
        {"NoEventNames", without_names(round_of_tools), lines_of_tools, "tool_calls",
         blocks_of_tools},
        {"NoTypes", without(plain, R"("type":"response.output_text.delta",)"), {"text Hi."}, "stop"
        },
        {"CarriageReturns", with(round_of_tools, "\n", "\r\n"), lines_of_tools, "tool_calls",
         blocks_of_tools},
        {"NoEmptyLines", with(without_names(plain), "\n\n", "\n"), {"text Hi."}, "stop"},
        {"Comments", ": hello\n\n" + with(plain, "\n\n", "\n\n: alive\n\n"), {"text Hi."}, "stop"},
        {"DoneMark", plain + "data: [DONE]\n\n", {"text Hi."}, "stop"},
        {"KeepAlives",
         created + "event: keepalive\ndata: {\"type\":\"keepalive\"}\n\n" + message(0, "a") +
             event("some.new.event", R"("x":1)") + end(),
         {"text a"},
         "stop"},
        {"NoCreated", without(plain, created), {"text Hi."}, "stop"},
        {"NoStarts", created + text_delta(0, "Hi") + end(), {"text Hi"}, "stop"},
        {"NoEndsOfItems",
         created + added(0, message_begun) + text_delta(0, "Hi") +
             added(1, call_item("a", "f", "")) + arguments_delta(1, "{}") + end(),
         {"text Hi", "call 0 a f", "arguments 0 {}", "end 0"},
         "tool_calls"},
        {"OneIndexForAll",
         created + reasoning(0, "rs_1") + message(0, "a") + call(0, "a", "f", "{}") + end(),
         {"text a", "call 0 a f", "arguments 0 {}", "end 0"},
         "tool_calls",
         "[" + reasoning_record + "," + text_record +
             R"(,{"is":"call","members":{"id":"fc_a","status":"completed"}}])"},
        {"NoIndexes", without_indexes(round_of_tools), lines_of_tools, "tool_calls", blocks_of_tools
        },
        {"NoIndexesAndRepeatedIds",
         created +
             without_indexes(
                 reasoning(0, "rs_1") + message(1, "a") + reasoning(2, "rs_1") + message(3, "b")
             ) +
             end(),
         {"text ab"},
         "stop",
         "[" + reasoning_record + "," + text_record + "," + reasoning_record + "," + text_record +
             "]"},
        {"NoIndexesAndAllEndsAtTheEnd", // As llama.cpp sends them.
         created + event("output_item.added", "\"item\":" + message_begun) +
             event("output_text.delta", R"("item_id":"msg_1","delta":"So:")") +
             event("output_item.added", "\"item\":" + call_item("a", "f", "", "in_progress")) +
             event("function_call_arguments.delta", R"("item_id":"fc_a","delta":"{\"x\":1}")") +
             event("output_item.added", "\"item\":" + call_item("b", "f", "", "in_progress")) +
             event("function_call_arguments.delta", R"("item_id":"fc_b","delta":"{\"x\":2}")") +
             event("output_text.done", R"("item_id":"msg_1","text":"So:")") +
             event("output_item.done", "\"item\":" + message_item(part_of("So:"))) +
             event("output_item.done", "\"item\":" + call_item("a", "f", R"({\"x\":1})")) +
             event("output_item.done", "\"item\":" + call_item("b", "f", R"({\"x\":2})")) + end(),
         {"text So:", "call 0 a f", "arguments 0 {\"x\":1}", "call 1 b f", "arguments 1 {\"x\":2}",
          "end 0", "end 1"},
         "tool_calls"},
        {"ItemSentTwice",
         created + message(0, "a") + done(0, message_item(part_of("a"))) + end(),
         {"text a"},
         "stop"},
        {"WholeAnswer",
         R"({"id":"resp_1","object":"response","status":"completed","output":[)" +
             reasoning_item("rs_1", "Hm.") + "," +
             message_item(part_of("Let me look."), R"(,"phase":"commentary")") + "," +
             call_item("call_1", "look", R"({\"a\":1})") + "]," + usage + "}",
         lines_of_tools, "tool_calls", blocks_of_tools},
        {"CompletedThatIsNot",
         created + message(0, "a") +
             event(
                 "completed", R"("response":{"status":"incomplete",)"
                              R"("incomplete_details":{"reason":"max_output_tokens"}})"
             ),
         {"text a"},
         "length"},
    };
    return all;
}

const std::vector<decoder_case>& end_cases() {
    static const std::string begun = created + message(0, "a");
    static const std::vector<decoder_case> all = {
        {"MaxOutputTokens", begun + incomplete("max_output_tokens"), {"text a"}, "length"},
        {"ContentFilter",
         created + reasoning(0, "rs_1") + message(1, "a") + incomplete("content_filter"),
         {"text a"},
         "content_filter"},
        {"UnknownReason", begun + incomplete("steered"), {"text a"}, "length (steered)"},
        {"ReasoningCutByTheLimit",
         created + added(0, reasoning_item("rs_1", "", "")) + summary_delta(0, "Hm") +
             incomplete("max_output_tokens"),
         {"reasoning Hm"},
         "length"},
        {"Cut", begun, {"text a"}, "lost"},
        {"Failed",
         created + event(
                       "failed", R"("response":{"status":"failed","error":)"
                                 R"({"code":"server_error","message":"Oops"}})"
                   ),
         {},
         "unavailable 500: the stream holds an error: server_error: Oops"},
        {"FailedAfterText",
         begun + event(
                     "failed", R"("response":{"status":"failed","error":)"
                               R"({"code":"rate_limit_exceeded","message":"Slow down"}})"
                 ),
         {"text a"},
         "unavailable 429: the stream holds an error: rate_limit_exceeded: Slow down"},
        {"InvalidPrompt",
         created + event(
                       "failed", R"("response":{"status":"failed","error":)"
                                 R"({"code":"invalid_prompt","message":"No"}})"
                   ),
         {},
         "rejected 400: invalid_prompt: No"},
        {"Policy",
         created + event(
                       "failed", R"("response":{"status":"failed","error":)"
                                 R"({"code":"bio_policy","message":"No"}})"
                   ),
         {},
         "rejected 400: bio_policy: No"},
        {"FailedWithoutReason",
         created + event("failed", R"("response":{"status":"failed","error":null})"),
         {},
         "unavailable 0: the stream holds an error: failed"},
        {"Cancelled",
         begun + event("cancelled", R"("response":{"status":"cancelled"})"),
         {"text a"},
         "unavailable 0: the stream holds an error: cancelled"},
        {"ErrorEvent",
         begun + "event: error\ndata: "
                 R"({"type":"error","code":"server_error","message":"Oops","param":null})"
                 "\n\n",
         {"text a"},
         "unavailable 500: the stream holds an error: server_error: Oops"},
        {"ErrorEventWithAnObject",
         "event: error\ndata: "
         R"({"type":"error","error":{"type":"server_error","code":null,"message":"Oops"}})"
         "\n\n",
         {},
         "unavailable 500: the stream holds an error: Oops"},
        {"ErrorAsWholeBody",
         R"({"error":{"message":"no such route","code":404}})",
         {},
         "unavailable 404: the stream holds an error: no such route"},
        {"ErrorWithoutJson",
         "event: error\ndata: broken pipe\n\n",
         {},
         "unavailable 0: the stream holds an error: broken pipe"},
        {"NoBytes", "", {}, "unavailable 0: the body holds no answer"},
        {"HtmlPage", "<html>502</html>\n", {}, "unavailable 0: the body holds no answer"},
        {"NoEvent", "data: hello\n\n", {}, "unavailable 0: the body holds no answer: hello"},
        {"NotJson", "data: {\"x\"\n\n", {}, "unavailable 0: an event of the answer is not JSON"},
    };
    return all;
}

using ResponsesDecoderCases = test::DecoderCases<responses_decoder>;

TEST_P(ResponsesDecoderCases, InOnePiece) { check_in_one_piece(); }
TEST_P(ResponsesDecoderCases, ByteByByte) { check_byte_by_byte(); }
TEST_P(ResponsesDecoderCases, InTwoPiecesCutAnywhere) { check_cut_anywhere(); }
TEST_P(ResponsesDecoderCases, BrokenOffAnywhere) { check_broken_off_anywhere(); }

INSTANTIATE_TEST_SUITE_P(
    Text, ResponsesDecoderCases, ::testing::ValuesIn(text_cases()), test::decoder_case_name
);
INSTANTIATE_TEST_SUITE_P(
    Reasoning, ResponsesDecoderCases, ::testing::ValuesIn(reasoning_cases()),
    test::decoder_case_name
);
INSTANTIATE_TEST_SUITE_P(
    Calls, ResponsesDecoderCases, ::testing::ValuesIn(call_cases()), test::decoder_case_name
);
INSTANTIATE_TEST_SUITE_P(
    Imitations, ResponsesDecoderCases, ::testing::ValuesIn(imitation_cases()),
    test::decoder_case_name
);
INSTANTIATE_TEST_SUITE_P(
    Ends, ResponsesDecoderCases, ::testing::ValuesIn(end_cases()), test::decoder_case_name
);

TEST(ResponsesDecoder, ReadsTheCounts) {
    turn_data_sink sink;
    responses_decoder decoder(sink, "the-model", "the-provider");
    (void)decoder.feed(created + message(0, "Hi.") + end("completed", "," + usage));
    const model_outcome answer = decoder.finish();

    ASSERT_TRUE(answer && answer->usage);
    EXPECT_EQ(answer->usage->provider, "the-provider");
    EXPECT_EQ(answer->usage->model, "the-model");
    EXPECT_EQ(answer->usage->input_tokens, 30);
    EXPECT_EQ(answer->usage->cached_input_tokens, 20);
    EXPECT_EQ(answer->usage->output_tokens, 9);
    EXPECT_EQ(answer->usage->reasoning_tokens, 4);
}

TEST(ResponsesDecoder, HasBegunOnceSomethingIsSaidOrAWholeItemCame) {
    turn_data_sink sink;
    responses_decoder decoder(sink, "m", "p");
    (void)decoder.feed(created + added(0, reasoning_item("rs_1", "", "")));
    EXPECT_FALSE(decoder.begun());
    const std::size_t chunks = decoder.chunks();
    (void)decoder.feed("data: {\"type\":\"keepalive\"}\n\n");
    EXPECT_EQ(decoder.chunks(), chunks + 1);
    (void)decoder.feed(done(0, reasoning_item("rs_1")));
    EXPECT_TRUE(decoder.begun());
    EXPECT_FALSE(decoder.ending());
    (void)decoder.feed("data: {\"type\":\"keepalive\"}\n\n");
    EXPECT_EQ(decoder.chunks(), chunks + 2);
    EXPECT_FALSE(decoder.feed(end()));
    EXPECT_TRUE(decoder.ending() && decoder.complete());
}

TEST(ResponsesDecoder, EndsACallWhenItsArgumentsAreComplete) {
    turn_data_sink sink;
    responses_decoder decoder(sink, "m", "p");
    (void)decoder.feed(
        created + added(0, call_item("a", "f", "")) + arguments_delta(0, "{}") +
        arguments_done(0, "{}")
    );

    EXPECT_EQ(sink.lines.back(), "end 0");
}

TEST(ResponsesDecoder, LetsLargeEventsBeParsedElsewhere) {
    const std::string data(400'000, 'x');
    turn_data_sink sink;
    responses_decoder decoder(sink, "m", "p");
    (void)decoder.feed(created + done(0, reasoning_item("rs_1", "", data)));
    EXPECT_GT(decoder.large(), data.size());
    (void)decoder.feed(message(1, "a") + end());
    EXPECT_TRUE(sink.lines.empty());
    decoder.parse_large(nullptr);
    (void)decoder.deliver_large();

    EXPECT_EQ(sink.lines, std::vector<std::string>{"text a"});
    const model_outcome outcome = decoder.finish();
    EXPECT_EQ(describe_answer(outcome), "stop");
    EXPECT_FALSE(outcome->has_lost_data);
    EXPECT_NE(sink.data.find(data), std::string::npos);
}

TEST(ResponsesDecoder, DropsARecordThatIsTooLarge) {
    turn_data_sink sink;
    responses_decoder decoder(sink, "m", "p");
    const std::string data(1'100'000, 'x');
    (void
    )decoder.feed(created + done(0, reasoning_item("rs_1", "", data)) + message(1, "a") + end());

    const model_outcome outcome = decoder.finish();
    EXPECT_EQ(describe_answer(outcome), "stop");
    EXPECT_TRUE(outcome->has_lost_data);
    EXPECT_EQ(sink.data, "");
}

// No server sends these, but none must end the process or make a call of half of its arguments.
TEST(ResponsesDecoder, SurvivesEventsInAnyOrderWithAnyByteChanged) {
    const std::vector<std::string> events = {
        created,
        added(0, message_begun),
        text_delta(0, "a"),
        text_delta(1, R"(\ud83d)"),
        text_delta(0, R"(\ude00)", 1),
        event("output_text.done", at(0) + R"(,"text":"ab")"),
        done(0, message_item(part_of("ab"))),
        added(1, reasoning_item("rs_1", "", "")),
        summary_delta(1, R"(\ude00)"),
        summary_delta(1, "s", 1),
        done(1, reasoning_item("rs_1", "s")),
        added(2, call_item("a", "f", "")),
        added(0, call_item("b", "g", R"({\"z\":0})")),
        added(2, R"({"type":"function_call","call_id":"n"})"),
        arguments_delta(2, R"({\"x\":)"),
        arguments_delta(2, R"(\"\\ud83d\"})"),
        arguments_delta(0, "{}"),
        arguments_done(2, R"({\"x\":\"\\ud83d\"})"),
        done(2, call_item("a", "f", R"({\"x\":\"\\ud83d\"})")),
        done(0, call_item("b", "g", "{}")),
        done(3, R"({"type":"web_search_call","id":"w"})"),
        end(),
        incomplete("max_output_tokens"),
        "data: {\"type\":\"error\",\"message\":\"m\"}\n\n",
        end("completed", ",\"output\":[" + message_item(part_of("w")) + "]"),
    };
    std::size_t complete = 0;
    for (std::uint64_t seed = 1; seed <= 5'000; ++seed) {
        numbers random(seed);
        std::string body;
        for (std::size_t count = random.below(20); count > 0; --count) {
            body += events[random.below(events.size())];
        }
        if (!body.empty() && random.below(3) == 0) {
            body[random.below(body.size())] = static_cast<char>(random.below(256));
        }
        const std::string_view text = body;
        const std::size_t half = body.empty() ? 0 : random.below(body.size());
        const decoded result =
            decode_pieces<responses_decoder>({text.substr(0, half), text.substr(half)});

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
    EXPECT_GT(complete, 250U);
}

} // namespace
} // namespace agui::runner
