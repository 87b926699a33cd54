#include "tests/translator/input/run_input_case.hpp"

namespace agui::translator {
namespace {

using namespace run_input_case;

TEST(RunInputMessages, TakesAnAssistantWithoutContent) {
    const session::message said = message(
        R"({"id":"m1","role":"assistant","content":null,"toolCalls":[
        {"id":"c1","type":"function","function":{"name":"f","arguments":""}}]})"
    );

    ASSERT_EQ(said.tool_calls.size(), 1U);
    EXPECT_EQ(said.tool_calls[0].id, "c1");
    EXPECT_EQ(content_of(said), "");
}

TEST(RunInputMessages, TakesEmptyContent) {
    EXPECT_EQ(content_of(message(R"({"id":"m","role":"assistant","content":""})")), "");
    EXPECT_EQ(content_of(message(R"({"id":"m","role":"user","content":""})")), "");
    EXPECT_EQ(content_of(message(R"({"id":"m","role":"user","content":[]})")), "[]");
    EXPECT_EQ(content_of(message(R"({"id":"m","role":"tool","toolCallId":"c","content":""})")), "");
}

TEST(RunInputMessages, TakesAMissingId) {
    EXPECT_EQ(message(R"({"role":"user","content":"hi"})").id, "");
}

TEST(RunInputMessages, TakesBothSpellingsOfAToolAnswer) {
    const session::message modern =
        message(R"({"role":"tool","toolCallId":"c1","name":"f","content":"1","error":"bad"})");
    const session::message older =
        message(R"({"role":"tool","tool_id":"c1","tool_name":"f","content":"1"})");

    EXPECT_EQ(modern.tool_call_id, "c1");
    EXPECT_EQ(modern.name, "f");
    EXPECT_EQ(modern.error, "bad");
    EXPECT_EQ(older.tool_call_id, "c1");
    EXPECT_EQ(older.name, "f");
}

TEST(RunInputMessages, MendsHalvesOfCharactersInTheArgumentsOfCalls) {
    const session::message read = message(
        R"({"role":"assistant","toolCalls":[{"id":"c","type":"function",)"
        R"("function":{"name":"f","arguments":"{\"a\":\"\\ud83d \\ud83d\\ude00 \\\\ud83d\"}"}}]})"
    );
    EXPECT_EQ(read.tool_calls.at(0).arguments, R"({"a":"\ufffd \ud83d\ude00 \\ud83d"})");
}

TEST(RunInputMessages, TakesAMessageWithoutContentAsAnEmptyOne) {
    EXPECT_EQ(content_of(message(R"({"role":"tool","toolCallId":"c1"})")), "");
    EXPECT_EQ(content_of(message(R"({"role":"tool","toolCallId":"c1","content":null})")), "");
    EXPECT_EQ(content_of(message(R"({"role":"tool","toolCallId":"c1","error":"bad"})")), "");
    for (const std::string role : {"user", "system", "developer", "reasoning", "assistant"}) {
        EXPECT_EQ(content_of(message(R"({"role":")" + role + "\"}")), "") << role;
        EXPECT_EQ(content_of(message(R"({"role":")" + role + R"(","content":null})")), "") << role;
    }
    EXPECT_TRUE(message(R"({"role":"activity","activityType":"a"})").activity.empty());
}

TEST(RunInputMessages, DropsUnknownRolesWithANote) {
    const run_input input = read_with(
        R"("messages":[{"id":"a","role":"narrator","content":5},{"id":"b","role":"user","content":"x"}])"
    );

    ASSERT_EQ(input.messages.size(), 1U);
    EXPECT_EQ(input.messages[0].id, "b");
    ASSERT_EQ(input.notes.size(), 1U);
    EXPECT_EQ(input.notes[0], "messages[0]: unknown role, dropped");
}

TEST(RunInputMessages, DropsUnknownPartsAndSourcesWithNotes) {
    const run_input input = read_with(
        R"("messages":[{"role":"user","content":[
            {"type":"hologram","x":1},
            {"type":"image","source":{"type":"pigeon","value":"coo"}},
            {"type":"text","text":"left"}]}])"
    );

    EXPECT_EQ(content_of(input.messages.at(0)), R"([{"type":"text","text":"left"}])");
    EXPECT_EQ(input.notes.size(), 2U);
    EXPECT_THAT(input.notes[0], HasSubstr("messages[0].content[0]"));
    EXPECT_THAT(input.notes[1], HasSubstr("messages[0].content[1].source"));
}

TEST(RunInputMessages, KeepsKnownMembersOfPartsOnly) {
    EXPECT_EQ(
        content_of(message(
            R"({"role":"user","content":[
            {"type":"text","text":"a","id":"p1","metadata":{"k":1},"color":"red"},
            {"type":"image","source":{"type":"data","value":"QQ==","mimeType":"image/png","x":1},"metadata":null},
            {"type":"document","source":{"type":"file","value":"f","provider":"openai","mimeType":null}}]})"
        )),
        R"([{"type":"text","text":"a","id":"p1","metadata":{"k":1}},)"
        R"({"type":"image","source":{"type":"data","value":"QQ==","mimeType":"image/png"}},)"
        R"({"type":"document","source":{"type":"file","value":"f","provider":"openai"}}])"
    );
}

TEST(RunInputMessages, UpgradesLegacyBinaryParts) {
    EXPECT_EQ(
        content_of(message(
            R"({"role":"user","content":[
            {"type":"binary","mimeType":"image/png","data":"QQ==","filename":"a.png"},
            {"type":"binary","mimeType":"audio/wav","url":"http://x/a.wav"},
            {"type":"binary","mimeType":"application/pdf","data":"QQ=="}]})"
        )),
        R"([{"type":"image","source":{"type":"data","value":"QQ==","mimeType":"image/png"},"metadata":{"filename":"a.png"}},)"
        R"({"type":"audio","source":{"type":"url","value":"http://x/a.wav","mimeType":"audio/wav"}},)"
        R"({"type":"document","source":{"type":"data","value":"QQ==","mimeType":"application/pdf"}}])"
    );
}

TEST(RunInputMessages, DropsABinaryPartThatRepeatsOrOnlyHoldsAnId) {
    const run_input input = read_with(
        R"("messages":[{"role":"user","content":[
            {"type":"binary","mimeType":"image/png","data":"QQ=="},
            {"type":"binary","mimeType":"image/png","id":"file_1"},
            {"type":"image","source":{"type":"data","value":"QQ==","mimeType":"image/png"}}]}])"
    );

    EXPECT_EQ(
        content_of(input.messages.at(0)),
        R"([{"type":"image","source":{"type":"data","value":"QQ==","mimeType":"image/png"}}])"
    );
    EXPECT_EQ(input.notes.size(), 2U);
}

TEST(RunInputMessages, DropsATypeOfEncryptionWithoutItsValue) {
    const session::message said =
        message(R"({"role":"assistant","content":"x","encryptedValueType":"a.b"})");

    EXPECT_FALSE(said.encrypted_value_type.has_value());
}

} // namespace
} // namespace agui::translator
