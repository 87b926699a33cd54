#include "translator/ui_message/ui_stream.hpp"

#include "tests/translator/ui_message/ui_chunks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace agui::translator {
namespace {

using test::ui_chunks;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using lines = std::vector<std::string>;

lines ui_replayed(const std::string& messages, const lines& live) {
    lines events{
        R"({"type":"RUN_STARTED","threadId":"t","runId":"history"})",
        R"({"type":"MESSAGES_SNAPSHOT","timestamp":1,"messages":)" + messages + "}",
        R"({"type":"STATE_SNAPSHOT","snapshot":{"n":1}})",
        R"({"type":"RUN_FINISHED","threadId":"t","runId":"history"})",
        R"({"type":"RUN_STARTED","threadId":"t","runId":"r"})"
    };
    events.insert(events.end(), live.begin(), live.end());
    return ui_chunks(events, {{}, {}, {}, true});
}

TEST(UiStreamReplay, BeginsWithTheAnswerToTheLastUserMessage) {
    const lines chunks = ui_replayed(
        R"([{"id":"u0","role":"user","content":"earlier"},{"id":"m0","role":"assistant","content":"No."},)"
        R"({"id":"u1","role":"user","content":"x"},{"id":"m1","role":"assistant","content":"I ask.",)"
        R"("toolCalls":[{"id":"c1","type":"function","function":{"name":"a","arguments":"{\"b\":1}"}}]},)"
        R"({"id":"t1","role":"tool","toolCallId":"c1","content":"yes"}])",
        {R"({"type":"TEXT_MESSAGE_START","messageId":"m2","role":"assistant"})"}
    );
    EXPECT_THAT(
        chunks, ElementsAre(
                    R"({"type":"start","messageId":"u1-answer","messageMetadata":{"runId":"r"}})",
                    R"({"type":"start-step"})", R"({"type":"text-start","id":"stored-1"})",
                    R"({"type":"text-delta","id":"stored-1","delta":"I ask."})",
                    R"({"type":"text-end","id":"stored-1"})",
                    R"({"type":"tool-input-start","toolCallId":"c1","toolName":"a"})",
                    R"({"type":"tool-input-delta","toolCallId":"c1","inputTextDelta":"{\"b\":1}"})",
                    R"({"type":"tool-output-available","toolCallId":"c1","output":"yes"})",
                    R"({"type":"finish-step"})", R"({"type":"start-step"})",
                    R"({"type":"text-start","id":"m2"})",
                    R"({"type":"data-state","id":"state","data":{"n":1}})"
                )
    );
}

TEST(UiStreamReplay, OfAnAnswerThatBeginsOnlyNow) {
    EXPECT_THAT(
        ui_replayed(R"([{"id":"u1","role":"user","content":"x, with \"quotes\""}])", {}),
        ElementsAre(
            HasSubstr(R"("messageId":"u1-answer")"), HasSubstr("start-step"),
            HasSubstr("data-state")
        )
    );
    EXPECT_THAT(ui_replayed("[]", {}).front(), HasSubstr(R"({"type":"start","messageMetadata")"));
}

// A page executes a call whose input is available.
TEST(UiStreamReplay, OnlyACallThatWaitsForThePageIsAvailable) {
    const lines chunks = ui_replayed(
        R"([{"id":"u1","role":"user","content":"x"},{"id":"m1","role":"assistant","toolCalls":[)"
        R"({"id":"c1","function":{"name":"a","arguments":""}},)"
        R"({"id":"c2","function":{"name":"a","arguments":"{}"}},)"
        R"({"id":"c3","function":{"name":"a","arguments":"{}"}},)"
        R"({"id":"c4","function":{"name":"a","arguments":"{}"}}],"metadata":{"custom":{"agui":)"
        R"({"interrupts":[{"id":"i","reason":"tool_call","toolCallId":"c4"}]}}}},)"
        R"({"id":"t2","role":"tool","toolCallId":"c2","content":"","error":"broken"},)"
        R"({"id":"c3:missing","role":"tool","toolCallId":"c3","error":"x",)"
        R"("content":"{\"error\":\"The call was not allowed.\"}"}])",
        {R"({"type":"TOOL_CALL_RESULT","messageId":"t4","toolCallId":"c4","content":"done"})"}
    );
    EXPECT_THAT(
        chunks,
        Contains(R"({"type":"tool-input-available","toolCallId":"c1","toolName":"a","input":{}})")
    );
    for (const std::string id : {"c2", "c3", "c4"}) {
        EXPECT_THAT(chunks, Not(Contains(HasSubstr(R"(input-available","toolCallId":")" + id))));
    }
    EXPECT_THAT(
        chunks, Contains(R"({"type":"tool-output-error","toolCallId":"c2","errorText":"broken"})")
    );
    EXPECT_THAT(chunks, Contains(R"({"type":"tool-output-denied","toolCallId":"c3"})"));
    EXPECT_THAT(
        chunks, Contains(R"({"type":"tool-approval-request","toolCallId":"c4","approvalId":"i"})")
    );
    EXPECT_THAT(chunks, Contains(HasSubstr(R"("tool-output-available","toolCallId":"c4")")));
}

TEST(UiStreamReplay, DataAndFilesOfEarlierRunsComeAgain) {
    const lines chunks = ui_replayed(
        R"([{"id":"u1","role":"user","content":"x"},{"id":"p","role":"activity",)"
        R"("activityType":"plan","content":{"done":1}},{"id":"r1","role":"reasoning","content":"Hm."},)"
        R"({"id":"m1","role":"assistant","content":[{"type":"image","source":{"type":"url",)"
        R"("value":"https://x/p","mimeType":"image/png"}}]}])",
        {}
    );
    EXPECT_THAT(
        chunks,
        Contains(
            R"({"type":"data-activity","id":"p","data":{"activityType":"plan","content":{"done":1}}})"
        )
    );
    EXPECT_THAT(chunks, Contains(HasSubstr(R"("reasoning-delta","id":"stored-1","delta":"Hm.")")));
    EXPECT_THAT(chunks, Contains(R"({"type":"file","url":"https://x/p","mediaType":"image/png"})"));
}

} // namespace
} // namespace agui::translator
