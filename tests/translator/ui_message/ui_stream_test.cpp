#include "translator/ui_message/ui_stream.hpp"

#include "tests/translator/ui_message/ui_chunks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace agui::translator {
namespace {

using test::ui_chunks;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using lines = std::vector<std::string>;

const std::string ui_run_begins =
    R"({"type":"RUN_STARTED","timestamp":1,"threadId":"t","runId":"r"})";
const std::string ui_run_ends =
    R"({"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"}})";
const lines ui_opening = {
    R"({"type":"start","messageId":"a","messageMetadata":{"runId":"r"}})",
    R"({"type":"start-step"})"
};
const lines ui_closing = {
    R"({"type":"finish-step"})", R"({"type":"finish","finishReason":"stop"})", "[DONE]"
};

std::string ui_event(const std::string& type, const std::string& members) {
    return R"({"type":")" + type + R"(",)" + members + "}";
}
std::string ui_text(const std::string& step, const std::string& id, const std::string& more = {}) {
    return ui_event("TEXT_MESSAGE_" + step, R"("messageId":")" + id + '"' + more);
}
std::string ui_delta(const std::string& id, const std::string& text) {
    return ui_text("CONTENT", id, R"(,"delta":")" + text + '"');
}
std::string ui_call(const std::string& step, const std::string& id, const std::string& more = {}) {
    return ui_event("TOOL_CALL_" + step, R"("toolCallId":")" + id + '"' + more);
}
std::string ui_args(const std::string& id, const std::string& text) {
    return ui_call("ARGS", id, R"(,"delta":")" + text + '"');
}
std::string ui_result(const std::string& id, const std::string& content) {
    return ui_call(
        "RESULT", id, R"(,"messageId":"m-)" + id + R"(","content":)" + content + R"(,"role":"tool")"
    );
}
std::string ui_stopped(const std::string& reason) {
    return ui_event(
        "CUSTOM", R"("name":"agui-gateway.run.stopped","value":{"reason":")" + reason + "\"}"
    );
}
const std::string ui_cancelled =
    ui_event("RUN_FINISHED", R"("threadId":"t","runId":"r","outcome":{"type":"cancelled"})");

lines ui_call_of(const std::string& id, const std::string& name, const std::string& arguments) {
    return {
        ui_call("START", id, R"(,"toolCallName":")" + name + R"(","parentMessageId":"m1")"),
        ui_args(id, arguments), ui_call("END", id)
    };
}

lines ui_joined(std::vector<lines> parts) {
    lines all;
    for (lines& each : parts) {
        all.insert(all.end(), each.begin(), each.end());
    }
    return all;
}

/// The chunks of a run between those of its beginning and of its success.
lines said_in_run(const lines& events) {
    lines chunks = ui_chunks(ui_joined({{ui_run_begins}, events, {ui_run_ends}}));
    EXPECT_THAT(lines(chunks.begin(), chunks.begin() + 2), ElementsAreArray(ui_opening));
    EXPECT_EQ(chunks.back(), "[DONE]");
    return {chunks.begin() + 2, chunks.end() - 3};
}

TEST(UiStream, ARunThatSaysNothingHasAnEmptyStep) {
    EXPECT_THAT(
        ui_chunks({ui_run_begins, ui_run_ends}),
        ElementsAreArray(ui_joined({ui_opening, ui_closing}))
    );
}

TEST(UiStream, ATextBeginsAndEnds) {
    EXPECT_THAT(
        said_in_run(
            {ui_text("START", "m1"), ui_delta("m1", "Hel"), ui_delta("m1", R"(lo \"you\"\n)"),
             ui_text("END", "m1")}
        ),
        ElementsAre(
            R"({"type":"text-start","id":"m1"})",
            R"({"type":"text-delta","id":"m1","delta":"Hel"})",
            R"({"type":"text-delta","id":"m1","delta":"lo \"you\"\n"})",
            R"({"type":"text-end","id":"m1"})"
        )
    );
}

TEST(UiStream, ADeltaMayHaveMoreMembers) {
    EXPECT_THAT(
        said_in_run(
            {ui_text("START", "m1"), ui_delta("m1", "a"),
             R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"b","timestamp":5})",
             ui_delta("m1", "c")}
        ),
        ElementsAre(
            HasSubstr("text-start"), R"({"type":"text-delta","id":"m1","delta":"a"})",
            R"({"type":"text-delta","id":"m1","delta":"b"})",
            R"({"type":"text-delta","id":"m1","delta":"c"})"
        )
    );
}

TEST(UiStream, ReasoningIsInTheStepOfItsAnswer) {
    EXPECT_THAT(
        said_in_run(
            {ui_event("REASONING_START", R"("messageId":"s")"),
             ui_event("REASONING_MESSAGE_START", R"("messageId":"r1","role":"reasoning")"),
             ui_event("REASONING_MESSAGE_CONTENT", R"("messageId":"r1","delta":"Hm.")"),
             ui_event("REASONING_MESSAGE_END", R"("messageId":"r1")"),
             ui_event("REASONING_END", R"("messageId":"s")"),
             ui_event(
                 "REASONING_ENCRYPTED_VALUE",
                 R"("subtype":"message","entityId":"r1","encryptedValue":"x")"
             ),
             ui_text("START", "m1"), ui_text("END", "m1")}
        ),
        ElementsAre(
            R"({"type":"reasoning-start","id":"r1"})",
            R"({"type":"reasoning-delta","id":"r1","delta":"Hm."})",
            R"({"type":"reasoning-end","id":"r1"})", R"({"type":"text-start","id":"m1"})",
            R"({"type":"text-end","id":"m1"})"
        )
    );
}

TEST(UiStream, ACallForThePageEndsTheRunWithToolCalls) {
    const lines chunks = ui_chunks(ui_joined(
        {{ui_run_begins},
         ui_call_of("c1", "colour", R"({\"to\":\"red\"})"),
         {ui_event(
             "RUN_FINISHED", R"("threadId":"t","runId":"r","outcome":{"type":"success",)"
                             R"("pendingToolCallIds":["c1"]},"usage":[{"inputTokens":3}])"
         )}}
    ));
    EXPECT_THAT(
        lines(chunks.begin() + 2, chunks.end()),
        ElementsAre(
            R"({"type":"tool-input-start","toolCallId":"c1","toolName":"colour"})",
            R"({"type":"tool-input-delta","toolCallId":"c1","inputTextDelta":"{\"to\":\"red\"}"})",
            R"({"type":"tool-input-available","toolCallId":"c1","toolName":"colour","input":{"to":"red"}})",
            R"({"type":"finish-step"})",
            R"({"type":"finish","finishReason":"tool-calls","messageMetadata":{"usage":[{"inputTokens":3}]}})",
            "[DONE]"
        )
    );
}

TEST(UiStream, ArgumentsMayBeMissingAndBroken) {
    EXPECT_THAT(
        said_in_run(
            {ui_call("START", "c1", R"(,"toolCallName":"a")"), ui_call("END", "c1"),
             ui_call("START", "c2", R"(,"toolCallName":"b")"), ui_args("c2", "{no"),
             ui_call("END", "c2")}
        ),
        ElementsAre(
            HasSubstr("tool-input-start"),
            R"({"type":"tool-input-available","toolCallId":"c1","toolName":"a","input":{}})",
            HasSubstr("tool-input-start"), HasSubstr("tool-input-delta"),
            R"({"type":"tool-input-error","toolCallId":"c2","toolName":"b","input":"{no","errorText":"The arguments are not valid JSON."})"
        )
    );
}

TEST(UiStream, AnotherAnswerOfTheModelIsAnotherStep) {
    EXPECT_THAT(
        said_in_run(ui_joined(
            {ui_call_of("c1", "weather", "{}"),
             {ui_result("c1", R"("{\"sun\":true}")"),
              ui_event("REASONING_MESSAGE_START", R"("messageId":"r2","role":"reasoning")"),
              ui_event("REASONING_MESSAGE_END", R"("messageId":"r2")"), ui_text("START", "m2"),
              ui_text("END", "m2")}}
        )),
        ElementsAre(
            HasSubstr("tool-input-start"), HasSubstr("tool-input-delta"),
            HasSubstr("tool-input-available"),
            R"({"type":"tool-output-available","toolCallId":"c1","output":{"sun":true},"providerExecuted":true})",
            R"({"type":"finish-step"})", R"({"type":"start-step"})", HasSubstr("reasoning-start"),
            HasSubstr("reasoning-end"), R"({"type":"text-start","id":"m2"})",
            R"({"type":"text-end","id":"m2"})"
        )
    );
}

// Otherwise a client would see a step with all results while another call is still open.
TEST(UiStream, TheCallsOfOneAnswerAreInOneStep) {
    const lines chunks = said_in_run(ui_joined(
        {ui_call_of("c1", "weather", "{}"),
         {ui_result("c1", R"("sunny")")},
         ui_call_of("c2", "colour", "{}")}
    ));
    EXPECT_THAT(chunks, Not(Contains(HasSubstr("start-step"))));
    EXPECT_THAT(chunks, Contains(HasSubstr(R"("output":"sunny")")));
}

TEST(UiStream, TheCallsOfSubagentsAreInOneStep) {
    lines events;
    for (const std::string id : {"c1", "c2"}) {
        events.push_back(ui_call(
            "START", id,
            R"(,"toolCallName":"a","parentMessageId":"m-)" + id + R"(","subagentRunId":"s-)" + id +
                '"'
        ));
        events.push_back(ui_call("END", id, R"(,"subagentRunId":"s")"));
    }
    EXPECT_THAT(said_in_run(events), Not(Contains(HasSubstr("step"))));
}

TEST(UiStream, TextsOfSubagentsAreLeftOut) {
    const std::string own = R"(,"subagentRunId":"s")";
    EXPECT_THAT(
        said_in_run(
            {ui_text("START", "m1", own), ui_text("CONTENT", "m1", R"(,"delta":"x")" + own),
             ui_text("END", "m1", own)}
        ),
        IsEmpty()
    );
}

TEST(UiStream, ResultsAreErrorsIfTheToolFailed) {
    EXPECT_THAT(
        said_in_run(ui_joined(
            {ui_call_of("c1", "weather", "{}"),
             {ui_event(
                  "CUSTOM", R"("name":"agui-gateway.tool.started","value":{"toolCallId":"c1"})"
              ),
              ui_event(
                  "CUSTOM", R"("name":"agui-gateway.tool.failed","value":{"toolCallId":"c1"})"
              ),
              ui_result("c1", R"("no such town")")}}
        )),
        Contains(
            R"({"type":"tool-output-error","toolCallId":"c1","errorText":"no such town","providerExecuted":true})"
        )
    );
}

TEST(UiStream, AResultOfACallThatTheMessageDoesNotHoldIsLeftOut) {
    EXPECT_THAT(said_in_run({ui_result("elsewhere", R"("x")")}), IsEmpty());
    const lines known =
        ui_chunks({ui_run_begins, ui_result("c0", R"("x")")}, {"a", {"c0"}, {}, false});
    EXPECT_THAT(known, Contains(HasSubstr(R"("tool-output-available","toolCallId":"c0")")));
}

TEST(UiStream, ADeniedCallIsDenied) {
    const std::string words =
        R"("{\"error\":\"The call was not allowed: too dear\"}","messageId":"c0:missing")";
    const std::string denied = ui_call("RESULT", "c0", R"(,"content":)" + words);
    const std::string chunk = R"({"type":"tool-output-denied","toolCallId":"c0"})";
    EXPECT_THAT(ui_chunks({ui_run_begins, denied}, {"a", {"c0"}, {}, false}), Contains(chunk));
    EXPECT_THAT(
        ui_chunks({ui_run_begins, ui_result("c0", R"("no")")}, {"a", {"c0"}, {"c0"}, false}),
        Contains(chunk)
    );
}

TEST(UiStream, ACallThatNobodyCanAnswerIsAnError) {
    const std::string dead = ui_call(
        "RESULT", "c0",
        R"(,"content":"{\"error\":\"The call was interrupted.\"}","messageId":"c0:missing")"
    );
    EXPECT_THAT(
        ui_chunks({ui_run_begins, dead}, {"a", {"c0"}, {}, false}),
        Contains(HasSubstr(R"("tool-output-error","toolCallId":"c0","errorText":"The call was int)")
        )
    );
}

TEST(UiStream, ApprovalsAreRequestedAndQuestionsAreData) {
    const std::string waits = ui_event(
        "RUN_FINISHED",
        R"("threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[)"
        R"({"id":"i1","reason":"tool_call","toolCallId":"c1"},)"
        R"({"id":"i2","reason":"input_required","toolCallId":"c1"},{"id":"i3","reason":"tool_call",)"
        R"("toolCallId":"elsewhere"}]})"
    );
    const lines chunks =
        ui_chunks(ui_joined({{ui_run_begins}, ui_call_of("c1", "mail", "{}"), {waits}}));
    EXPECT_THAT(
        lines(chunks.end() - 6, chunks.end()),
        ElementsAre(
            R"({"type":"tool-approval-request","approvalId":"i1","toolCallId":"c1"})",
            R"({"type":"data-interrupt","id":"i2","data":{"id":"i2","reason":"input_required","toolCallId":"c1"}})",
            HasSubstr(R"("data-interrupt","id":"i3")"), HasSubstr("finish-step"),
            R"({"type":"finish","finishReason":"tool-calls"})", "[DONE]"
        )
    );
}

TEST(UiStream, TheStateIsSentWholeOnceForAllEventsThatWereRead) {
    const lines chunks = ui_chunks(
        {ui_run_begins, R"({"type":"STATE_SNAPSHOT","snapshot":{"n":1}})",
         R"({"type":"STATE_DELTA","delta":[{"op":"replace","path":"/n","value":2}]})",
         R"({"type":"STATE_DELTA","delta":[{"op":"remove","path":"/nowhere"}]})",
         R"({"type":"ACTIVITY_SNAPSHOT","messageId":"p","activityType":"plan","content":{"done":0}})",
         R"({"type":"ACTIVITY_DELTA","messageId":"p","activityType":"plan","patch":[{"op":"add","path":"/done","value":1}]})",
         R"({"type":"ACTIVITY_SNAPSHOT","messageId":"p","activityType":"plan","content":{"done":9},"replace":false})"
        }
    );
    EXPECT_THAT(
        lines(chunks.begin() + 2, chunks.end()),
        ElementsAre(
            R"({"type":"data-state","id":"state","data":{"n":2}})",
            R"({"type":"data-activity","id":"p","data":{"activityType":"plan","content":{"done":1}}})"
        )
    );
}

TEST(UiStream, TheLastStateComesBeforeTheEnd) {
    const lines chunks =
        ui_chunks({ui_run_begins, R"({"type":"STATE_SNAPSHOT","snapshot":1})", ui_run_ends});
    EXPECT_THAT(chunks[2], HasSubstr("data-state"));
    EXPECT_EQ(chunks.size(), 6U);
}

TEST(UiStream, AMediumThatTheModelMadeIsAFile) {
    EXPECT_THAT(
        said_in_run(
            {R"({"type":"ACTIVITY_SNAPSHOT","messageId":"p","activityType":"generated-media",)"
             R"("content":{"kind":"image","mimeType":"image/png","url":"https://g.example/p"}})"}
        ),
        Contains(R"({"type":"file","url":"https://g.example/p","mediaType":"image/png"})")
    );
}

TEST(UiStream, OtherEventsAreData) {
    EXPECT_THAT(
        said_in_run(
            {ui_event("CUSTOM", R"("name":"app.note","value":[1])"),
             ui_event("STEP_STARTED", R"("stepName":"look up")"),
             ui_event("STEP_FINISHED", R"("stepName":"look up")"),
             ui_event("SUBAGENT_STARTED", R"("subagentRunId":"s","name":"helper")"),
             ui_event("SUBAGENT_FINISHED", R"("subagentRunId":"s","outcome":{"type":"suspended"})"),
             ui_event("SUBAGENT_ERROR", R"("subagentRunId":"s","message":"lost")"),
             ui_event("RAW", R"("event":{})"),
             ui_event("CUSTOM", R"("name":"agui-gateway.chat.segment","value":{})"),
             ui_event("CUSTOM", R"("name":"on_interrupt","value":"{}")"),
             ui_event("CUSTOM", R"("name":"tool-input-available","value":{})"), "no event",
             R"({"type":"UNKNOWN"})", R"({"type":"RUN_STARTED")"}
        ),
        ElementsAre(
            R"({"type":"data-custom","data":{"name":"app.note","value":[1]},"transient":true})",
            R"({"type":"data-step","data":{"stepName":"look up","status":"running"},"transient":true})",
            R"({"type":"data-step","data":{"stepName":"look up","status":"finished"},"transient":true})",
            R"({"type":"data-subagent","id":"s","data":{"name":"helper","status":"running"}})",
            R"({"type":"data-subagent","id":"s","data":{"name":"helper","status":"suspended"}})",
            R"({"type":"data-subagent","id":"s","data":{"name":"helper","status":"failed","errorText":"lost"}})"
        )
    );
}

TEST(UiStream, AStopOfTheUserIsAnAbort) {
    EXPECT_THAT(
        ui_chunks({ui_run_begins, ui_stopped("user_stop"), ui_cancelled}),
        ElementsAreArray(ui_joined(
            {ui_opening,
             {R"({"type":"finish-step"})", R"({"type":"abort","reason":"user_stop"})", "[DONE]"}}
        ))
    );
}

TEST(UiStream, AStopThatLeavesACallOpenIsAnError) {
    const lines chunks = ui_chunks(ui_joined(
        {{ui_run_begins}, ui_call_of("c1", "colour", "{}"), {ui_stopped("user_stop"), ui_cancelled}}
    ));
    EXPECT_THAT(chunks[chunks.size() - 2], HasSubstr(R"("type":"error")"));
}

TEST(UiStream, ALimitIsAnErrorAndACutTextIsLong) {
    const lines limit = ui_chunks({ui_run_begins, ui_stopped("max_rounds_exceeded"), ui_cancelled});
    EXPECT_THAT(limit[limit.size() - 2], HasSubstr(R"({"type":"error","errorText":")"));
    const lines cut = ui_chunks({ui_run_begins, ui_stopped("max_output_tokens"), ui_cancelled});
    EXPECT_EQ(cut[cut.size() - 2], R"({"type":"finish","finishReason":"length"})");
}

TEST(UiStream, AFailureIsAnErrorAndNothingFollows) {
    EXPECT_THAT(
        ui_chunks(
            {ui_run_begins,
             R"({"type":"RUN_ERROR","message":"The model is not available.","code":"x"})",
             ui_text("START", "m1"), ui_run_ends}
        ),
        ElementsAreArray(ui_joined(
            {ui_opening,
             {R"({"type":"finish-step"})",
              R"({"type":"error","errorText":"The model is not available."})", "[DONE]"}}
        ))
    );
}

TEST(UiStream, AnAnswerThatOnlyTheSnapshotHasIsSaid) {
    EXPECT_THAT(
        said_in_run(
            {R"({"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"x"},)"
             R"({"id":"m9","role":"assistant","content":"Hi."}]})"}
        ),
        ElementsAre(HasSubstr("text-start"), HasSubstr(R"("delta":"Hi.")"), HasSubstr("text-end"))
    );
    EXPECT_THAT(
        said_in_run(
            {ui_text("START", "m9"), ui_text("END", "m9"),
             R"({"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m9","role":"assistant","content":"Hi."}]})"
            }
        ),
        Each(Not(HasSubstr("Hi.")))
    );
}

TEST(UiStream, CountsItsMemory) {
    ui_stream stream({"a", {}, {}, false});
    std::string out;
    for (const std::string& event :
         {ui_run_begins, ui_call("START", "c1", R"(,"toolCallName":"a")"),
          ui_args("c1", std::string(1000, '1'))}) {
        stream.take(event, out);
    }
    EXPECT_GE(stream.bytes(), 1000U);
    stream.take(ui_call("END", "c1"), out);
    EXPECT_EQ(stream.bytes(), 0U);
    stream.take(ui_event("STATE_SNAPSHOT", R"("snapshot":")" + std::string(500, 'x') + '"'), out);
    EXPECT_GE(stream.bytes(), 500U);
}

} // namespace
} // namespace agui::translator
