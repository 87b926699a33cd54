#include "tests/translator/agui/agui_translator_case.hpp"

namespace agui::translator {
namespace {

using namespace agui_translator_case;

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

TEST_F(AguiTranslator, ContinuesAStreamThatWasInterrupted) {
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
    const json_text nothing;
    const json_text document(R"({"a":1})");
    translator_.translate(runner::state_shown{&nothing});
    translator_.translate(runner::state_shown{&document});
    finish(stop_reason::completed);

    EXPECT_EQ(stream_.lines()[1], R"({"type":"STATE_SNAPSHOT","timestamp":7,"snapshot":null})");
    EXPECT_EQ(stream_.lines()[2], R"({"type":"STATE_SNAPSHOT","timestamp":7,"snapshot":{"a":1}})");
}

} // namespace
} // namespace agui::translator
