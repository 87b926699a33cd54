#include "tests/translator/agui/agui_translator_case.hpp"

namespace agui::translator {
namespace {

using namespace agui_translator_case;

TEST_F(AguiTranslator, ASegmentOfAReplyIsACustomEventThatClosesNothing) {
    const boost::json::object picture{{"type", "image"}, {"url", "a\"b"}, {"size", nullptr}};
    start();
    text("m1", "See ");
    translator_.translate(runner::reply_segment{"m1", &picture});
    text("m1", "this");
    finish(stop_reason::completed);

    const auto& events = stream_.lines();
    ASSERT_GT(events.size(), 4U);
    EXPECT_EQ(
        events[3],
        R"({"type":"CUSTOM","timestamp":7,"name":"agui-gateway.chat.segment","value":{"messageId":"m1",)"
        R"("segment":{"type":"image","url":"a\"b","size":null}}})"
    );
    EXPECT_THAT(events[4], HasSubstr("TEXT_MESSAGE_CONTENT"));
}

TEST_F(AguiTranslator, StreamsATextBetweenStartAndTerminal) {
    start();
    text("m1", "Hel");
    text("m1", "lo\n");
    turn_ended();
    finish(stop_reason::completed);

    EXPECT_THAT(
        stream_.lines(),
        ElementsAre(
            R"({"type":"RUN_STARTED","timestamp":7,"threadId":"t","runId":"r","protocolVersion":"1.1"})",
            R"({"type":"TEXT_MESSAGE_START","timestamp":7,"messageId":"m1","role":"assistant"})",
            R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"Hel"})",
            R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"lo\n"})",
            R"({"type":"TEXT_MESSAGE_END","timestamp":7,"messageId":"m1"})",
            R"({"type":"RUN_FINISHED","timestamp":7,"threadId":"t","runId":"r","outcome":{"type":"success"}})"
        )
    );
}

TEST_F(AguiTranslator, ClosesReasoningBeforeText) {
    start();
    reasoning("th", "hm");
    text("m1", "Yes");
    finish(stop_reason::completed);

    EXPECT_THAT(
        stream_.types(),
        ElementsAre(
            "RUN_STARTED", "REASONING_START", "REASONING_MESSAGE_START",
            "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END", "REASONING_END",
            "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"
        )
    );
    EXPECT_EQ(
        stream_.lines()[2],
        R"({"type":"REASONING_MESSAGE_START","timestamp":7,"messageId":"th","role":"reasoning"})"
    );
}

TEST_F(AguiTranslator, ReopensReasoningThatContinuesAfterText) {
    start();
    reasoning("th", "hm");
    text("m1", "Yes");
    reasoning("th", "but");
    finish(stop_reason::completed);

    EXPECT_THAT(
        stream_.types(),
        ElementsAre(
            "RUN_STARTED", "REASONING_START", "REASONING_MESSAGE_START",
            "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END", "REASONING_END",
            "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "REASONING_START",
            "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END",
            "REASONING_END", "RUN_FINISHED"
        )
    );
}

TEST_F(AguiTranslator, ClosesAReasoningBeforeACallAndBeforeAnother) {
    start();
    reasoning("th1", "a");
    reasoning("th2", "b");
    call("c1", "f");
    turn_ended();
    finish(stop_reason::external_tool, {"c1"});

    EXPECT_THAT(
        stream_.types(), ElementsAre(
                             "RUN_STARTED", "REASONING_START", "REASONING_MESSAGE_START",
                             "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END", "REASONING_END",
                             "REASONING_START", "REASONING_MESSAGE_START",
                             "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END", "REASONING_END",
                             "TOOL_CALL_START", "TOOL_CALL_END", "RUN_FINISHED"
                         )
    );
}

TEST_F(AguiTranslator, ClosesACallOnceItIsComplete) {
    start();
    call("c1", "get_weather");
    arguments("c1", "{\"city\":");
    arguments("c1", "\"B\"}");
    ended("c1");
    call("c2", "get_time");
    arguments("c2", "{}");
    turn_ended();
    finish(stop_reason::external_tool, {"c1", "c2"});

    EXPECT_THAT(
        stream_.lines(),
        ElementsAre(
            HasSubstr("RUN_STARTED"),
            R"({"type":"TOOL_CALL_START","timestamp":7,"toolCallId":"c1","toolCallName":"get_weather","parentMessageId":"m1"})",
            R"({"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{\"city\":"})",
            R"({"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"\"B\"}"})",
            R"({"type":"TOOL_CALL_END","timestamp":7,"toolCallId":"c1"})",
            HasSubstr(R"("TOOL_CALL_START","timestamp":7,"toolCallId":"c2")"),
            R"({"type":"TOOL_CALL_ARGS","toolCallId":"c2","delta":"{}"})",
            R"({"type":"TOOL_CALL_END","timestamp":7,"toolCallId":"c2"})",
            R"({"type":"RUN_FINISHED","timestamp":7,"threadId":"t","runId":"r","outcome":{"type":"success","pendingToolCallIds":["c1","c2"]}})"
        )
    );
}

TEST_F(AguiTranslator, ReopensTheTextOfATurnAfterACall) {
    start();
    text("m1", "before");
    call("c1", "f");
    text("m1", "after");
    turn_ended();
    finish(stop_reason::external_tool, {"c1"});

    EXPECT_THAT(
        stream_.types(),
        ElementsAre(
            "RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END",
            "TOOL_CALL_START", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END",
            "TOOL_CALL_END", "RUN_FINISHED"
        )
    );
    EXPECT_EQ(stream_.lines()[5], stream_.lines()[1]);
}

TEST_F(AguiTranslator, ACallHasOneEndWhateverComesInItsMiddle) {
    start();
    call("c1", "f");
    text("m1", "wait");
    arguments("c1", "{");
    reasoning("th", "hm");
    arguments("c1", "}");
    text("m1", "done");
    turn_ended();
    finish(stop_reason::external_tool, {"c1"});

    EXPECT_THAT(
        stream_.types(),
        ElementsAre(
            "RUN_STARTED", "TOOL_CALL_START", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT",
            "TOOL_CALL_ARGS", "TEXT_MESSAGE_END", "REASONING_START", "REASONING_MESSAGE_START",
            "REASONING_MESSAGE_CONTENT", "TOOL_CALL_ARGS", "REASONING_MESSAGE_END", "REASONING_END",
            "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "TOOL_CALL_END",
            "RUN_FINISHED"
        )
    );
}

TEST_F(AguiTranslator, ParallelCallsStayOpenUntilTheyAreComplete) {
    start();
    call("c1", "f");
    arguments("c1", "{");
    call("c2", "g");
    arguments("c2", "{}");
    ended("c2");
    arguments("c1", "}");
    EXPECT_THAT(translator_.open_tool_call_ids(), ElementsAre("c1"));
    turn_ended();
    finish(stop_reason::external_tool, {"c1", "c2"});

    EXPECT_THAT(
        stream_.lines(), ElementsAre(
                             _, HasSubstr(R"("TOOL_CALL_START","timestamp":7,"toolCallId":"c1")"),
                             HasSubstr(R"("TOOL_CALL_ARGS","toolCallId":"c1")"),
                             HasSubstr(R"("TOOL_CALL_START","timestamp":7,"toolCallId":"c2")"),
                             HasSubstr(R"("TOOL_CALL_ARGS","toolCallId":"c2")"),
                             HasSubstr(R"("TOOL_CALL_END","timestamp":7,"toolCallId":"c2")"),
                             HasSubstr(R"("TOOL_CALL_ARGS","toolCallId":"c1")"),
                             HasSubstr(R"("TOOL_CALL_END","timestamp":7,"toolCallId":"c1")"), _
                         )
    );
}

TEST_F(AguiTranslator, DropsArgumentsOfACallThatIsNotOpen) {
    start();
    call("c1", "f");
    ended("c1");
    arguments("c1", "late");
    ended("c1");
    turn_ended();
    arguments("c1", "later");
    arguments("c9", "unknown");
    ended("c9");
    finish(stop_reason::external_tool, {"c1"});

    EXPECT_THAT(
        stream_.types(),
        ElementsAre("RUN_STARTED", "TOOL_CALL_START", "TOOL_CALL_END", "RUN_FINISHED")
    );
}

TEST_F(AguiTranslator, LeavesEmptyDeltasOut) {
    start();
    text("m1", "");
    reasoning("th", "");
    call("c1", "f");
    arguments("c1", "");
    finish(stop_reason::external_tool, {"c1"});

    EXPECT_THAT(
        stream_.types(),
        ElementsAre("RUN_STARTED", "TOOL_CALL_START", "TOOL_CALL_END", "RUN_FINISHED")
    );
}

TEST_F(AguiTranslator, OpensACallOnce) {
    start();
    call("c1", "f");
    call("c1", "f");
    arguments("c1", "{}");
    finish(stop_reason::external_tool, {"c1"});

    EXPECT_THAT(
        stream_.types(),
        ElementsAre(
            "RUN_STARTED", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "RUN_FINISHED"
        )
    );
}

TEST_F(AguiTranslator, NamesTheCallsThatAreOpen) {
    start();
    EXPECT_TRUE(translator_.open_tool_call_ids().empty());
    call("c1", "f");
    EXPECT_THAT(translator_.open_tool_call_ids(), ElementsAre("c1"));
    call("c2", "f");
    EXPECT_THAT(translator_.open_tool_call_ids(), ElementsAre("c1", "c2"));
    turn_ended();
    EXPECT_TRUE(translator_.open_tool_call_ids().empty());
}

TEST_F(AguiTranslator, GivesACallWithoutParentNoParentMember) {
    start();
    call("c1", "f", "");
    finish(stop_reason::external_tool, {"c1"});

    EXPECT_EQ(
        stream_.lines()[1],
        R"({"type":"TOOL_CALL_START","timestamp":7,"toolCallId":"c1","toolCallName":"f"})"
    );
}

TEST_F(AguiTranslator, EndsEveryCallBeforeTheFirstResult) {
    start();
    text("m1", "let me see");
    call("c1", "f");
    call("c2", "g");
    result("m2", "c2", "two");
    result("m3", "c1", "one");
    text("m4", "done");
    turn_ended();
    finish(stop_reason::completed);

    EXPECT_THAT(
        stream_.types(),
        ElementsAre(
            "RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END",
            "TOOL_CALL_START", "TOOL_CALL_START", "TOOL_CALL_END", "TOOL_CALL_END",
            "TOOL_CALL_RESULT", "TOOL_CALL_RESULT", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END", "RUN_FINISHED"
        )
    );
    EXPECT_EQ(
        stream_.lines()[8],
        R"({"type":"TOOL_CALL_RESULT","timestamp":7,"messageId":"m2","toolCallId":"c2","role":"tool","content":"two"})"
    );
}

TEST_F(AguiTranslator, FollowsTheTimeThatItIsTold) {
    start();
    translator_.set_time(8);
    text("m1", "x");
    translator_.set_time(9);
    finish(stop_reason::completed);

    EXPECT_THAT(stream_.lines()[1], HasSubstr(R"("timestamp":8)"));
    EXPECT_THAT(stream_.last(), HasSubstr(R"("timestamp":9)"));
}

TEST_F(AguiTranslator, SaysNothingAfterItsTerminal) {
    start();
    finish(stop_reason::completed);
    const std::size_t count = stream_.lines().size();

    text("m1", "late");
    translator_.finish({});

    EXPECT_EQ(stream_.lines().size(), count);
    EXPECT_TRUE(translator_.finished());
}

} // namespace
} // namespace agui::translator
