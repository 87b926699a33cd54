#include "translator/agui/agui_translator.hpp"

#include "tests/translator/agui/recorded_stream.hpp"
#include "translator/agui/event_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace agui::translator {
namespace {

using runner::stop_reason;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class AguiTranslator : public ::testing::Test {
protected:
    void
    start(const run_opening& opening = {.thread_id = "t", .run_id = "r", .parent_run_id = {}}) {
        translator_.set_time(7);
        translator_.start(opening);
    }

    void text(std::string_view message, std::string_view delta) {
        translator_.translate(runner::text_delta{message, delta});
    }
    void reasoning(std::string_view message, std::string_view delta) {
        translator_.translate(runner::reasoning_delta{message, delta});
    }
    void call(std::string_view id, std::string_view name, std::string_view parent = "m1") {
        translator_.translate(runner::call_started{id, name, parent, false});
    }
    void arguments(std::string_view id, std::string_view delta) {
        translator_.translate(runner::call_arguments{id, delta});
    }
    void ended(std::string_view id) { translator_.translate(runner::call_ended{id}); }
    void turn_ended() { translator_.translate(runner::turn_ended{}); }
    void result(std::string_view message, std::string_view id, const session::content& content) {
        translator_.translate(runner::call_result{message, id, &content, false});
    }
    void finish(stop_reason reason, std::vector<std::string> pending = {}) {
        runner::run_end end;
        end.reason = reason;
        end.pending_call_ids = std::move(pending);
        translator_.finish(end);
        stream_.expect_complete();
    }

    std::vector<std::string> losses_;
    test::recorded_stream stream_;
    agui_translator translator_{stream_, {.on_loss = [this](std::string_view type) {
                                    losses_.emplace_back(type);
                                }}};
};

// ---- Order and brackets -------------------------------------------------------------------------

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

TEST_F(AguiTranslator, ReopensReasoningThatGoesOnAfterText) {
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

// ---- Opening and content by projection
// -----------------------------------------------------------

TEST_F(AguiTranslator, ARunThatCouldNotBeginFails) {
    start();
    translator_.fail("not_found", "It is \"gone\".");
    finish(stop_reason::completed);

    const std::vector<std::string> events = stream_.lines();
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(
        events[1],
        R"({"type":"RUN_ERROR","timestamp":7,"message":"It is \"gone\".","code":"not_found"})"
    );
}

TEST_F(AguiTranslator, DeclaresToEachPeerTheVersionThatItSpeaksTo) {
    start({.thread_id = "t\"1", .run_id = "r", .parent_run_id = "p"});
    finish(stop_reason::completed);

    EXPECT_EQ(
        stream_.lines(projection::v1_1).front(),
        R"({"type":"RUN_STARTED","timestamp":7,"threadId":"t\"1","runId":"r","parentRunId":"p","protocolVersion":"1.1"})"
    );
    EXPECT_EQ(
        stream_.lines(projection::v1_0).front(),
        R"({"type":"RUN_STARTED","timestamp":7,"threadId":"t\"1","runId":"r","parentRunId":"p","protocolVersion":"1.0"})"
    );
    EXPECT_EQ(
        stream_.lines(projection::undeclared).front(),
        R"({"type":"RUN_STARTED","timestamp":7,"threadId":"t\"1","runId":"r","parentRunId":"p"})"
    );
}

TEST_F(AguiTranslator, GivesOldPeersTheTextOfAResultInParts) {
    const session::content parts = boost::json::array{
        {{"type", "text"}, {"text", "a"}},
        {{"type", "image"}, {"source", {{"type", "url"}, {"value", "http://x/y.png"}}}},
        {{"type", "text"}, {"text", "b"}},
    };
    start();
    call("c1", "f");
    turn_ended();
    result("m2", "c1", parts);
    finish(stop_reason::completed);

    const std::string modern =
        R"({"type":"TOOL_CALL_RESULT","timestamp":7,"messageId":"m2","toolCallId":"c1","role":"tool",)"
        R"("content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"url","value":"http://x/y.png"}},{"type":"text","text":"b"}]})";
    EXPECT_EQ(stream_.lines(projection::v1_1)[3], modern);
    EXPECT_EQ(stream_.lines(projection::v1_0)[3], modern);
    EXPECT_EQ(
        stream_.lines(projection::undeclared)[3],
        R"({"type":"TOOL_CALL_RESULT","timestamp":7,"messageId":"m2","toolCallId":"c1","role":"tool","content":"ab"})"
    );
    EXPECT_THAT(losses_, ElementsAre("TOOL_CALL_RESULT")) << "the picture";
}

TEST_F(AguiTranslator, NothingIsLostOfTextInParts) {
    const session::content parts = boost::json::array{{{"type", "text"}, {"text", "a"}}};
    session::message user;
    user.id = "u1";
    user.content = boost::json::array{
        {{"type", "text"}, {"text", "a"}},
        {{"type", "image"}, {"source", {{"type", "url"}, {"value", "http://x/y.png"}}}}
    };
    const std::vector<session::message> messages{user};
    start();
    call("c1", "f");
    turn_ended();
    result("m2", "c1", parts);
    translator_.translate(runner::messages_snapshot{&messages});

    EXPECT_THAT(losses_, IsEmpty());
}

TEST_F(AguiTranslator, WritesAnEmptyResultWhereThereIsNoContent) {
    start();
    call("c1", "f");
    translator_.translate(runner::call_result{"m2", "c1", nullptr, false});
    finish(stop_reason::completed);

    EXPECT_THAT(stream_.lines()[3], HasSubstr(R"("content":"")"));
}

TEST_F(AguiTranslator, TellsWhenAToolBeginsAndWhenItHasFailed) {
    const session::content text = std::string("no such city");
    start();
    call("c1", "f");
    translator_.translate(runner::call_executing{"c1", "f"});
    translator_.translate(runner::call_result{"m2", "c1", &text, true});
    finish(stop_reason::completed);

    EXPECT_EQ(
        stream_.types(), (std::vector<std::string>{
                             "RUN_STARTED", "TOOL_CALL_START", "TOOL_CALL_END", "CUSTOM", "CUSTOM",
                             "TOOL_CALL_RESULT", "RUN_FINISHED"
                         })
    );
    EXPECT_EQ(
        stream_.lines()[3],
        R"({"type":"CUSTOM","timestamp":7,"name":"agui-gateway.tool.started","value":{"toolCallId":"c1","toolCallName":"f"}})"
    );
    EXPECT_EQ(
        stream_.lines()[4],
        R"({"type":"CUSTOM","timestamp":7,"name":"agui-gateway.tool.failed","value":{"toolCallId":"c1"}})"
    );
}

TEST_F(AguiTranslator, ADeltaHasATimestampIfNoEventHasHadOneForASecond) {
    start();
    translator_.translate(runner::text_delta{"m1", "a"});
    translator_.set_time(1006);
    translator_.translate(runner::text_delta{"m1", "b"});
    translator_.set_time(1007);
    translator_.translate(runner::text_delta{"m1", "c"});
    translator_.translate(runner::text_delta{"m1", "d"});
    finish(stop_reason::completed);

    const std::vector<std::string>& lines = stream_.lines();
    EXPECT_EQ(lines[2], R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"a"})");
    EXPECT_EQ(lines[3], R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"b"})");
    EXPECT_EQ(
        lines[4], R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"c","timestamp":1007})"
    );
    EXPECT_EQ(lines[5], R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"d"})");
}

std::vector<session::message> telling_messages() {
    session::message user;
    user.id = "u1";
    user.role = session::role::user;
    user.content = boost::json::array{
        {{"type", "text"}, {"text", "look"}, {"id", "p1"}},
        {{"type", "document"}, {"source", {{"type", "file"}, {"value", "file_1"}}}},
    };
    session::message assistant;
    assistant.id = "m1";
    assistant.role = session::role::assistant;
    assistant.tool_calls.push_back({"c1", "f", "{}", "secret", "anthropic.x"});
    assistant.encrypted_value = "blob";
    assistant.encrypted_value_type = "anthropic.y";
    session::message tool;
    tool.id = "m2";
    tool.role = session::role::tool;
    tool.tool_call_id = "c1";
    tool.name = "f";
    tool.error = "broken";
    tool.content = boost::json::array{{{"type", "text"}, {"text", "no"}}};
    return {user, assistant, tool};
}

TEST_F(AguiTranslator, RestatesMessagesForEachPeer) {
    const std::vector<session::message> messages = telling_messages();
    start();
    text("m9", "open");
    translator_.translate(runner::messages_snapshot{&messages});
    finish(stop_reason::nothing_new);

    EXPECT_EQ(stream_.types()[3], "TEXT_MESSAGE_END");
    const std::string head = R"({"type":"MESSAGES_SNAPSHOT","timestamp":7,"messages":[)";
    EXPECT_EQ(
        stream_.lines(projection::v1_1)[4],
        head +
            R"({"id":"u1","role":"user","content":[{"type":"text","text":"look","id":"p1"},{"type":"document","source":{"type":"file","value":"file_1"}}]},)"
            R"({"id":"m1","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"},"encryptedValue":"secret","encryptedValueType":"anthropic.x"}],"encryptedValue":"blob","encryptedValueType":"anthropic.y"},)"
            R"({"id":"m2","role":"tool","content":[{"type":"text","text":"no"}],"toolCallId":"c1","error":"broken"}]})"
    );
    const std::string& older = stream_.lines(projection::v1_0)[4];
    EXPECT_THAT(older, Not(HasSubstr("encryptedValueType")));
    EXPECT_THAT(older, HasSubstr(R"("encryptedValue":"secret")"));
    EXPECT_THAT(older, HasSubstr(R"("id":"p1")"));
    EXPECT_THAT(older, HasSubstr(R"("type":"file")"));
    const std::string& oldest = stream_.lines(projection::undeclared)[4];
    EXPECT_THAT(oldest, Not(HasSubstr("encryptedValueType")));
    EXPECT_THAT(oldest, HasSubstr(R"("content":[{"type":"text","text":"look"}])"));
    EXPECT_THAT(oldest, HasSubstr(R"("content":"no")"));
    EXPECT_THAT(losses_, ElementsAre("MESSAGES_SNAPSHOT")) << "the file";
}

TEST_F(AguiTranslator, RestatesPlainMessagesOnceForAll) {
    class counting_sink final : public wire_sink {
    public:
        void on_event(const wire_event& event) override {
            has_variants = event.v1_0.has_value() || event.undeclared.has_value();
        }
        bool has_variants = true;
    };
    session::message user;
    user.id = "u1";
    user.content = "hi";
    const std::vector<session::message> messages{user};
    counting_sink sink;
    agui_translator translator(sink, {});
    translator.start({.thread_id = "t", .run_id = "r", .parent_run_id = {}});

    translator.translate(runner::messages_snapshot{&messages});

    EXPECT_FALSE(sink.has_variants);
}

TEST_F(AguiTranslator, TheResultOfAnEarlierRunsCallHasNoRole) {
    session::message result;
    result.id = "c1:missing";
    result.role = session::role::tool;
    result.tool_call_id = "c1";
    result.content = std::string(R"({"error":"gone"})");
    start();
    translator_.earlier_result(result);
    finish(stop_reason::completed);

    for (const projection form : {projection::v1_1, projection::v1_0, projection::undeclared}) {
        EXPECT_EQ(
            stream_.lines(form)[1],
            R"({"type":"TOOL_CALL_RESULT","timestamp":7,"messageId":"c1:missing","toolCallId":"c1","content":"{\"error\":\"gone\"}"})"
        );
    }
}

// ---- A stream that was broken off --------------------------------------------------------------

TEST_F(AguiTranslator, GoesOnWithAStreamThatWasBrokenOff) {
    constexpr std::string_view begun[] = {
        R"({"type":"RUN_STARTED","timestamp":1,"threadId":"t","runId":"r","protocolVersion":"1.1"})",
        R"({"type":"REASONING_START","timestamp":2,"messageId":"m1"})",
        R"({"type":"REASONING_MESSAGE_START","timestamp":2,"messageId":"m1","role":"reasoning"})",
        R"({"type":"REASONING_MESSAGE_CONTENT","messageId":"m1","delta":"hm"})",
    };
    open_brackets left;
    for (const std::string_view json : begun) {
        stream_.on_event(
            {.json = json, .v1_0 = std::nullopt, .undeclared = std::nullopt, .terminal = false}
        );
        left.read(parse_event(json));
    }
    translator_.set_time(7);

    translator_.resume({.thread_id = "t", .run_id = "r", .parent_run_id = {}}, left);
    finish(stop_reason::error);

    EXPECT_THAT(
        std::vector<std::string>(stream_.lines().begin() + 4, stream_.lines().end()),
        ElementsAre(
            R"({"type":"REASONING_MESSAGE_END","messageId":"m1"})",
            R"({"type":"REASONING_END","messageId":"m1"})",
            R"({"type":"RUN_ERROR","timestamp":7,"message":")" +
                std::string(runner::describe(stop_reason::error)) + R"(","code":"internal"})"
        )
    );
}

TEST_F(AguiTranslator, EndsAStreamThatWasBrokenOffBetweenEvents) {
    translator_.set_time(7);
    stream_.on_event(
        {.json = R"({"type":"RUN_STARTED","timestamp":1,"threadId":"t","runId":"r"})",
         .v1_0 = std::nullopt,
         .undeclared = std::nullopt,
         .terminal = false}
    );

    translator_.resume({.thread_id = "t", .run_id = "r", .parent_run_id = {}}, {});
    finish(stop_reason::completed);

    EXPECT_THAT(
        stream_.lines().back(),
        R"({"type":"RUN_FINISHED","timestamp":7,"threadId":"t","runId":"r","outcome":{"type":"success"}})"
    );
}

TEST_F(AguiTranslator, WritesStateSnapshotsWithNullToo) {
    start();
    translator_.state(json_text());
    translator_.state(json_text(R"({"a":1})"));
    finish(stop_reason::completed);

    EXPECT_EQ(stream_.lines()[1], R"({"type":"STATE_SNAPSHOT","timestamp":7,"snapshot":null})");
    EXPECT_EQ(stream_.lines()[2], R"({"type":"STATE_SNAPSHOT","timestamp":7,"snapshot":{"a":1}})");
}

// ---- Terminals ----------------------------------------------------------------------------------

constexpr stop_reason all_reasons[] = {
    stop_reason::completed,         stop_reason::external_tool,
    stop_reason::partial_answers,   stop_reason::nothing_new,
    stop_reason::cancelled,         stop_reason::aborted,
    stop_reason::superseded,        stop_reason::run_timeout,
    stop_reason::max_rounds,        stop_reason::tool_loop,
    stop_reason::token_limit,       stop_reason::max_output_tokens,
    stop_reason::truncated,         stop_reason::content_filtered,
    stop_reason::model_unavailable, stop_reason::model_rejected,
    stop_reason::model_timeout,     stop_reason::store_unavailable,
    stop_reason::shutdown,          stop_reason::error,
};

struct expected_end {
    stop_reason reason;
    bool external_open;
    std::string_view v1_1; ///< What follows the timestamp; the same for 1.0.
    std::string_view undeclared;
    std::string_view stopped; ///< The reason in CUSTOM agui-gateway.run.stopped; empty: none.
};

constexpr std::string_view finished = R"("threadId":"t","runId":"r"})";
constexpr std::string_view succeeded =
    R"("threadId":"t","runId":"r","outcome":{"type":"success"}})";
constexpr std::string_view handed_off =
    R"("threadId":"t","runId":"r","outcome":{"type":"success","pendingToolCallIds":["c1"]}})";
constexpr std::string_view cancelled =
    R"("threadId":"t","runId":"r","outcome":{"type":"cancelled"}})";

constexpr expected_end ends[] = {
    {stop_reason::completed, false, succeeded, finished, ""},
    {stop_reason::external_tool, false, handed_off, finished, ""},
    {stop_reason::partial_answers, false, succeeded, finished, ""},
    {stop_reason::nothing_new, false, succeeded, finished, ""},
    {stop_reason::cancelled, false, cancelled, finished, "user_stop"},
    {stop_reason::aborted, false, cancelled, finished, "plugin_stop"},
    {stop_reason::superseded, false, cancelled, finished, "superseded"},
    {stop_reason::max_output_tokens, false, cancelled, finished, "max_output_tokens"},
    {stop_reason::run_timeout, false, cancelled, R"("code":"run_timeout"})", "run_timeout"},
    {stop_reason::max_rounds, false, cancelled, R"("code":"max_rounds_exceeded"})",
     "max_rounds_exceeded"},
    {stop_reason::tool_loop, false, cancelled, R"("code":"tool_loop_detected"})",
     "tool_loop_detected"},
    {stop_reason::token_limit, false, cancelled, R"("code":"token_limit"})", "token_limit"},
    {stop_reason::cancelled, true, cancelled, R"("code":"user_stop"})", "user_stop"},
    {stop_reason::aborted, true, cancelled, R"("code":"plugin_stop"})", "plugin_stop"},
    {stop_reason::superseded, true, cancelled, R"("code":"superseded"})", "superseded"},
    {stop_reason::max_output_tokens, true, cancelled, R"("code":"max_output_tokens"})",
     "max_output_tokens"},
    {stop_reason::run_timeout, true, cancelled, R"("code":"run_timeout"})", "run_timeout"},
    {stop_reason::max_rounds, true, cancelled, R"("code":"max_rounds_exceeded"})",
     "max_rounds_exceeded"},
    {stop_reason::tool_loop, true, cancelled, R"("code":"tool_loop_detected"})",
     "tool_loop_detected"},
    {stop_reason::token_limit, true, cancelled, R"("code":"token_limit"})", "token_limit"},
    {stop_reason::truncated, false, R"("code":"model_output_truncated"})",
     R"("code":"model_output_truncated"})", ""},
    {stop_reason::truncated, true, R"("code":"model_output_truncated"})",
     R"("code":"model_output_truncated"})", ""},
    {stop_reason::content_filtered, false, R"("code":"content_filtered"})",
     R"("code":"content_filtered"})", ""},
    {stop_reason::content_filtered, true, R"("code":"content_filtered"})",
     R"("code":"content_filtered"})", ""},
    {stop_reason::model_unavailable, false, R"("code":"model_unavailable"})",
     R"("code":"model_unavailable"})", ""},
    {stop_reason::model_unavailable, true, R"("code":"model_unavailable"})",
     R"("code":"model_unavailable"})", ""},
    {stop_reason::model_rejected, false, R"("code":"model_rejected"})",
     R"("code":"model_rejected"})", ""},
    {stop_reason::model_rejected, true, R"("code":"model_rejected"})",
     R"("code":"model_rejected"})", ""},
    {stop_reason::model_timeout, false, R"("code":"model_timeout"})", R"("code":"model_timeout"})",
     ""},
    {stop_reason::model_timeout, true, R"("code":"model_timeout"})", R"("code":"model_timeout"})",
     ""},
    {stop_reason::store_unavailable, false, R"("code":"store_unavailable"})",
     R"("code":"store_unavailable"})", ""},
    {stop_reason::store_unavailable, true, R"("code":"store_unavailable"})",
     R"("code":"store_unavailable"})", ""},
    {stop_reason::shutdown, false, R"("code":"shutdown"})", R"("code":"shutdown"})", ""},
    {stop_reason::shutdown, true, R"("code":"shutdown"})", R"("code":"shutdown"})", ""},
    {stop_reason::error, false, R"("code":"internal"})", R"("code":"internal"})", ""},
    {stop_reason::error, true, R"("code":"internal"})", R"("code":"internal"})", ""},
};

std::string label(const ::testing::TestParamInfo<expected_end>& info) {
    std::string out = "Reason" + std::to_string(static_cast<int>(info.param.reason));
    return out + (info.param.external_open ? "WithOpenCall" : "");
}

class AguiTranslatorEnd : public ::testing::TestWithParam<expected_end> {};

/// The run is left in the middle of an external call (without its END), of a text or of nothing, so
/// that the terminal has to close it.
test::recorded_stream end_of(const expected_end& row, std::string_view left_open) {
    test::recorded_stream stream;
    agui_translator translator(stream, {});
    translator.set_time(7);
    translator.start({.thread_id = "t", .run_id = "r", .parent_run_id = {}});
    if (row.external_open || row.reason == stop_reason::external_tool) {
        translator.translate(runner::call_started{"c1", "pick", "m1", true});
        translator.translate(runner::call_arguments{"c1", "{\"a\""});
    }
    if (left_open == "text") {
        translator.translate(runner::text_delta{"m1", "x"});
    } else if (left_open == "reasoning") {
        translator.translate(runner::reasoning_delta{"th", "x"});
    }
    runner::run_end end;
    end.reason = row.reason;
    end.external_call_open = row.external_open;
    if (row.reason == stop_reason::external_tool) {
        end.pending_call_ids = {"c1"};
    }
    translator.finish(end);
    EXPECT_TRUE(translator.finished());
    EXPECT_TRUE(translator.open_tool_call_ids().empty());
    return stream;
}

TEST_P(AguiTranslatorEnd, ClosesEverythingAndTellsEachPeerInItsOwnTerms) {
    for (const std::string_view left_open : {"call", "text", "reasoning"}) {
        SCOPED_TRACE(left_open);
        const test::recorded_stream stream = end_of(GetParam(), left_open);

        stream.expect_complete();
        EXPECT_THAT(stream.last(projection::v1_1), ::testing::EndsWith(GetParam().v1_1));
        EXPECT_EQ(stream.last(projection::v1_0), stream.last(projection::v1_1));
        EXPECT_THAT(
            stream.last(projection::undeclared), ::testing::EndsWith(GetParam().undeclared)
        );
        for (const projection form : {projection::v1_1, projection::v1_0, projection::undeclared}) {
            const std::string& before = stream.lines(form)[stream.lines(form).size() - 2];
            if (GetParam().stopped.empty()) {
                EXPECT_THAT(before, Not(HasSubstr("CUSTOM")));
            } else {
                EXPECT_EQ(
                    before,
                    R"({"type":"CUSTOM","timestamp":7,"name":"agui-gateway.run.stopped","value":{"reason":")" +
                        std::string(GetParam().stopped) + "\"}}"
                );
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, AguiTranslatorEnd, ::testing::ValuesIn(ends), label);

TEST(AguiTranslatorEnds, AreAllListed) {
    for (const stop_reason reason : all_reasons) {
        SCOPED_TRACE(static_cast<int>(reason));
        const bool with_call = runner::class_of(reason) != runner::stop_class::success;
        for (const bool open : {false, true}) {
            const auto rows = std::count_if(std::begin(ends), std::end(ends), [&](const auto& row) {
                return row.reason == reason && row.external_open == open;
            });
            EXPECT_EQ(rows, !open || with_call ? 1 : 0);
        }
    }
}

TEST_F(AguiTranslator, DescribesAFailureWithoutTheUpstream) {
    start();
    finish(stop_reason::model_unavailable);

    EXPECT_EQ(
        stream_.last(), R"({"type":"RUN_ERROR","timestamp":7,"message":")" +
                            std::string(runner::describe(stop_reason::model_unavailable)) +
                            R"(","code":"model_unavailable"})"
    );
}

TEST_F(AguiTranslator, LeavesPendingCallsOfPartialAnswersOut) {
    start();
    finish(stop_reason::partial_answers, {"c1"});

    EXPECT_THAT(stream_.last(), ::testing::EndsWith(succeeded));
}

// ---- Usage --------------------------------------------------------------------------------------

class AguiTranslatorUsage : public ::testing::Test {
protected:
    std::string last_line(
        std::vector<runner::token_usage> usage, translator_settings::usage_detail detail,
        stop_reason reason = stop_reason::completed, projection form = projection::v1_1
    ) {
        test::recorded_stream stream;
        agui_translator translator(stream, {.usage = detail});
        translator.start({.thread_id = "t", .run_id = "r", .parent_run_id = {}});
        runner::run_end end;
        end.reason = reason;
        end.usage = std::move(usage);
        translator.finish(end);
        return stream.last(form);
    }

    static runner::token_usage use(std::string model, std::int64_t in, std::int64_t out) {
        runner::token_usage usage;
        usage.provider = "openai";
        usage.model = std::move(model);
        usage.input_tokens = in;
        usage.output_tokens = out;
        return usage;
    }
};

using detail = translator_settings::usage_detail;

TEST_F(AguiTranslatorUsage, SumsPerProviderAndModel) {
    runner::token_usage first = use("a", 10, 2);
    first.reasoning_tokens = 1;
    runner::token_usage third = use("a", 5, 3);
    third.cached_input_tokens = 4;
    third.cache_write_input_tokens = 0;

    const std::string line = last_line({first, use("b", 1, 1), third}, detail::full);

    EXPECT_THAT(
        line,
        ::testing::EndsWith(
            R"("usage":[{"provider":"openai","model":"a","inputTokens":15,"outputTokens":5,"totalTokens":20,)"
            R"("reasoningTokens":1,"cachedInputTokens":4,"cacheWriteInputTokens":0},)"
            R"({"provider":"openai","model":"b","inputTokens":1,"outputTokens":1,"totalTokens":2}]})"
        )
    );
}

TEST_F(AguiTranslatorUsage, LeavesNamesOutOfTotals) {
    const std::string line = last_line({use("a", 10, 2), use("b", 1, 1)}, detail::totals);

    EXPECT_THAT(
        line,
        ::testing::EndsWith(R"("usage":[{"inputTokens":11,"outputTokens":3,"totalTokens":14}]})")
    );
}

TEST_F(AguiTranslatorUsage, IsAbsentWhenOffOrUnknown) {
    EXPECT_THAT(last_line({use("a", 10, 2)}, detail::off), Not(HasSubstr("usage")));
    EXPECT_THAT(last_line({}, detail::full), Not(HasSubstr("usage")));
    EXPECT_THAT(last_line({runner::token_usage{}}, detail::full), Not(HasSubstr("usage")));
}

TEST_F(AguiTranslatorUsage, LeavesCountsOutThatAClientRefuses) {
    runner::token_usage usage = use("a", -1, 2);
    usage.reasoning_tokens = std::int64_t{1} << 53;

    const std::string line = last_line({usage}, detail::full);

    EXPECT_THAT(
        line,
        ::testing::EndsWith(R"("usage":[{"provider":"openai","model":"a","outputTokens":2}]})")
    );
}

TEST_F(AguiTranslatorUsage, NeverSumsBeyondTheSafeIntegers) {
    const std::int64_t largest = (std::int64_t{1} << 53) - 1;

    const std::string line = last_line({use("a", largest, 0), use("a", largest, 1)}, detail::full);

    EXPECT_THAT(
        line,
        HasSubstr(
            R"("inputTokens":9007199254740991,"outputTokens":1,"totalTokens":9007199254740991)"
        )
    );
}

TEST_F(AguiTranslatorUsage, StandsOnEveryTerminalOfEveryPeer) {
    for (const stop_reason reason :
         {stop_reason::completed, stop_reason::cancelled, stop_reason::token_limit,
          stop_reason::error}) {
        for (const projection form : {projection::v1_1, projection::v1_0, projection::undeclared}) {
            SCOPED_TRACE(runner::describe(reason));
            EXPECT_THAT(
                last_line({use("a", 10, 2)}, detail::full, reason, form),
                HasSubstr(R"("usage":[{"provider":"openai")")
            );
        }
    }
}

} // namespace
} // namespace agui::translator
