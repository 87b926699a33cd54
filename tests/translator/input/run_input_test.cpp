#include "translator/input/run_input.hpp"

#include "translator/input/document_reader.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace agui::translator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// A request with `members` (JSON, without braces) besides the required ones.
std::string request(std::string_view members = "") {
    std::string body = "{\"runId\":\"r\"";
    if (members.find("\"threadId\"") == std::string_view::npos) {
        body += R"(,"threadId":"t")";
    }
    if (members.find("\"messages\"") == std::string_view::npos) {
        body += R"(,"messages":[])";
    }
    if (!members.empty()) {
        body += ",";
    }
    return body + std::string(members) + "}";
}

run_input read(std::string_view body) {
    auto input = read_run_input(body, {});
    if (!input) {
        ADD_FAILURE() << input.error().detail;
        return {};
    }
    return std::move(*input);
}

run_input read_with(std::string_view members) { return read(request(members)); }

/// The one message of a request.
session::message message(std::string_view json) {
    run_input input = read_with(R"("messages":[)" + std::string(json) + "]");
    if (input.messages.size() != 1) {
        ADD_FAILURE() << input.messages.size() << " messages";
        return {};
    }
    return input.messages.front();
}

std::string content_of(const session::message& from) {
    if (const auto* text = std::get_if<std::string>(&from.content)) {
        return *text;
    }
    return boost::json::serialize(std::get<boost::json::array>(from.content));
}

// ---- What is read -------------------------------------------------------------------------------

TEST(RunInput, ReadsTheMinimum) {
    const run_input input = read(R"({"threadId":"t","runId":"r","messages":[]})");

    EXPECT_EQ(input.thread_id, "t");
    EXPECT_EQ(input.run_id, "r");
    EXPECT_EQ(input.parent_run_id, "");
    EXPECT_EQ(input.projection, projection::undeclared);
    EXPECT_EQ(input.state, std::nullopt);
    EXPECT_THAT(input.messages, IsEmpty());
    EXPECT_FALSE(input.tools.has_value());
    EXPECT_THAT(input.notes, IsEmpty());
}

TEST(RunInput, ReadsWhatTheOfficialClientSends) {
    const run_input input = read(
        R"({"threadId":"t","runId":"r","protocolVersion":"1.0","state":{"n":null},
        "messages":[{"id":"u1","role":"user","content":"hi"}],
        "tools":[{"name":"pick","description":"picks","parameters":{"type":"object"}}],
        "context":[{"description":"d","value":"v"}],"forwardedProps":{},
        "resume":[{"interruptId":"i1","status":"resolved","payload":false},
                  {"interruptId":"i2","status":"cancelled","payload":null,"metadata":{}}]})"
    );

    EXPECT_EQ(input.projection, projection::v1_0);
    EXPECT_EQ(input.state, json_text(R"({"n":null})"));
    ASSERT_EQ(input.messages.size(), 1U);
    EXPECT_EQ(input.messages[0].id, "u1");
    ASSERT_TRUE(input.tools.has_value());
    ASSERT_EQ(input.tools->size(), 1U);
    EXPECT_EQ(input.tools->front().name, "pick");
    EXPECT_EQ(input.tools->front().description, "picks");
    EXPECT_EQ(input.tools->front().parameters, (boost::json::value{{"type", "object"}}));
    EXPECT_EQ(input.tools_json.size(), 1U);
    ASSERT_EQ(input.context.size(), 1U);
    EXPECT_EQ(input.context[0].value, "v");
    ASSERT_EQ(input.resume.size(), 2U);
    EXPECT_FALSE(input.resume[0].cancelled);
    EXPECT_EQ(input.resume[0].payload, boost::json::value(false));
    EXPECT_TRUE(input.resume[1].cancelled);
    EXPECT_FALSE(input.resume[1].payload.has_value());
    EXPECT_THAT(input.notes, IsEmpty());
}

TEST(RunInput, TakesNullForAbsentAtOptionalPlaces) {
    const run_input input = read_with(
        R"("parentRunId":null,"protocolVersion":null,"state":null,"tools":null,"context":null,
        "forwardedProps":null,"resume":null)"
    );

    EXPECT_EQ(input.projection, projection::undeclared);
    EXPECT_EQ(input.state, std::nullopt);
    EXPECT_FALSE(input.tools.has_value());
    EXPECT_THAT(input.notes, IsEmpty());
}

TEST(RunInput, TellsEmptyToolsFromNone) {
    const run_input input = read_with(R"("tools":[])");

    ASSERT_TRUE(input.tools.has_value());
    EXPECT_THAT(*input.tools, IsEmpty());
}

TEST(RunInput, TakesSnakeCaseAtTheTopLevel) {
    const run_input input = read(
        R"({"thread_id":"t","run_id":"r","parent_run_id":"p","protocol_version":"1.1","messages":[],
        "forwarded_props":{"model":"m"}})"
    );

    EXPECT_EQ(input.thread_id, "t");
    EXPECT_EQ(input.run_id, "r");
    EXPECT_EQ(input.parent_run_id, "p");
    EXPECT_EQ(input.projection, projection::v1_1);
    EXPECT_EQ(input.forwarded.model, "m");
}

TEST(RunInput, IgnoresUnknownMembersAndKeepsTheirNames) {
    const run_input input = read_with(R"("secretMember":"secretValue","another":1)");

    EXPECT_EQ(input.unknown_members, (std::vector<std::string>{"secretMember", "another"}));
    EXPECT_THAT(input.notes, IsEmpty());
}

TEST(RunInput, KeepsTheNamesOfAFewUnknownMembers) {
    const std::string long_name = std::string(63, 'x') + "\xC3\xA9";
    std::string many = "\"" + long_name + "\":1";
    for (int i = 0; i < 20; ++i) {
        many += ",\"m" + std::to_string(i) + "\":1";
    }
    const run_input input = read_with(many);

    ASSERT_EQ(input.unknown_members.size(), 8U);
    EXPECT_EQ(input.unknown_members[0], std::string(63, 'x'));
}

// ---- Messages -----------------------------------------------------------------------------------

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

// ---- What is refused ----------------------------------------------------------------------------

struct refusal {
    std::string_view name;
    std::string_view body;
    std::string_view path;
};

std::string refusal_name(const ::testing::TestParamInfo<refusal>& info) {
    return std::string(info.param.name);
}

class RunInputRefusal : public ::testing::TestWithParam<refusal> {};

TEST_P(RunInputRefusal, NamesThePath) {
    const auto input = read_run_input(GetParam().body, {});

    ASSERT_FALSE(input.has_value());
    EXPECT_EQ(input.error().code, errc::invalid_input);
    EXPECT_EQ(input.error().path, GetParam().path);
    EXPECT_THAT(input.error().detail, HasSubstr(std::string(GetParam().path)));
}

#define AGUI_BODY(members) R"({"threadId":"t","runId":"r","messages":[],)" members "}"
#define AGUI_MESSAGE(json)                                                                         \
    R"({"threadId":"t","runId":"r","messages":[{"role":"user","content":"a"},)" json "]}"

INSTANTIATE_TEST_SUITE_P(
    TopLevel, RunInputRefusal,
    ::testing::Values(
        refusal{"NoObject", "[]", ""},
        refusal{"NoThreadId", R"({"runId":"r","messages":[]})", "threadId"},
        refusal{"NullThreadId", R"({"threadId":null,"runId":"r","messages":[]})", "threadId"},
        refusal{"EmptyThreadId", R"({"threadId":"","runId":"r","messages":[]})", "threadId"},
        refusal{"NumericThreadId", R"({"threadId":1,"runId":"r","messages":[]})", "threadId"},
        refusal{
            "NumericSnakeThreadId", R"({"thread_id":1,"runId":"r","messages":[]})", "thread_id"
        },
        refusal{"NoRunId", R"({"threadId":"t","messages":[]})", "runId"},
        refusal{"EmptyRunId", R"({"threadId":"t","runId":"","messages":[]})", "runId"},
        refusal{"ControlInRunId", R"({"threadId":"t","runId":"a\nb","messages":[]})", "runId"},
        refusal{
            "DeleteInThreadId", "{\"threadId\":\"a\\u007f\",\"runId\":\"r\",\"messages\":[]}",
            "threadId"
        },
        refusal{"NulInParentRunId", AGUI_BODY(R"("parentRunId":"a\u0000")"), "parentRunId"},
        refusal{"NumericParentRunId", AGUI_BODY(R"("parentRunId":3)"), "parentRunId"},
        refusal{"NumericVersion", AGUI_BODY(R"("protocolVersion":1.0)"), "protocolVersion"},
        refusal{"NoMessages", R"({"threadId":"t","runId":"r"})", "messages"},
        refusal{"NullMessages", R"({"threadId":"t","runId":"r","messages":null})", "messages"},
        refusal{"ObjectMessages", R"({"threadId":"t","runId":"r","messages":{}})", "messages"}
    ),
    refusal_name
);

INSTANTIATE_TEST_SUITE_P(
    Lists, RunInputRefusal,
    ::testing::Values(
        refusal{"ObjectTools", AGUI_BODY(R"("tools":{})"), "tools"},
        refusal{"TextTool", AGUI_BODY(R"("tools":["f"])"), "tools[0]"},
        refusal{"NamelessTool", AGUI_BODY(R"("tools":[{"description":"d"}])"), "tools[0].name"},
        refusal{"NumericToolName", AGUI_BODY(R"("tools":[{"name":1}])"), "tools[0].name"},
        refusal{"EmptyToolName", AGUI_BODY(R"("tools":[{"name":""}])"), "tools[0].name"},
        refusal{"ControlInToolName", AGUI_BODY(R"("tools":[{"name":"a\n"}])"), "tools[0].name"},
        refusal{
            "ReservedToolName", AGUI_BODY(R"("tools":[{"name":"a"},{"name":"mcp__files__x"}])"),
            "tools[1].name"
        },
        refusal{
            "NumericToolDescription", AGUI_BODY(R"("tools":[{"name":"a","description":1}])"),
            "tools[0].description"
        },
        refusal{"TextContext", AGUI_BODY(R"("context":"x")"), "context"},
        refusal{"TextContextEntry", AGUI_BODY(R"("context":["x"])"), "context[0]"},
        refusal{
            "ObjectContextValue", AGUI_BODY(R"("context":[{"description":"d","value":{}}])"),
            "context[0].value"
        },
        refusal{
            "NumericContextDescription", AGUI_BODY(R"("context":[{"description":1,"value":"v"}])"),
            "context[0].description"
        },
        refusal{"ObjectResume", AGUI_BODY(R"("resume":{})"), "resume"},
        refusal{"TextResumeEntry", AGUI_BODY(R"("resume":["x"])"), "resume[0]"},
        refusal{
            "ResumeWithoutId", AGUI_BODY(R"("resume":[{"status":"resolved"}])"),
            "resume[0].interruptId"
        },
        refusal{
            "ResumeWithEmptyId", AGUI_BODY(R"("resume":[{"interruptId":"","status":"resolved"}])"),
            "resume[0].interruptId"
        },
        refusal{
            "ResumeWithoutStatus", AGUI_BODY(R"("resume":[{"interruptId":"i"}])"),
            "resume[0].status"
        },
        refusal{
            "ResumeWithUnknownStatus",
            AGUI_BODY(R"("resume":[{"interruptId":"i","status":"maybe"}])"), "resume[0].status"
        },
        refusal{
            "ResumeWithTextMetadata",
            AGUI_BODY(R"("resume":[{"interruptId":"i","status":"resolved","metadata":"x"}])"),
            "resume[0].metadata"
        }
    ),
    refusal_name
);

INSTANTIATE_TEST_SUITE_P(
    Messages, RunInputRefusal,
    ::testing::Values(
        refusal{"TextMessage", AGUI_MESSAGE(R"("hi")"), "messages[1]"},
        refusal{"NullMessage", AGUI_MESSAGE("null"), "messages[1]"},
        refusal{"NoRole", AGUI_MESSAGE(R"({"id":"a","content":"x"})"), "messages[1].role"},
        refusal{"NumericRole", AGUI_MESSAGE(R"({"role":7,"content":"x"})"), "messages[1].role"},
        refusal{
            "NumericId", AGUI_MESSAGE(R"({"id":7,"role":"user","content":"x"})"), "messages[1].id"
        },
        refusal{
            "ControlInId", AGUI_MESSAGE(R"({"id":"a\r","role":"user","content":"x"})"),
            "messages[1].id"
        },
        refusal{
            "ObjectUserContent", AGUI_MESSAGE(R"({"role":"user","content":{}})"),
            "messages[1].content"
        },
        refusal{
            "ArraySystemContent", AGUI_MESSAGE(R"({"role":"system","content":[]})"),
            "messages[1].content"
        },
        refusal{
            "ArrayAssistantContent", AGUI_MESSAGE(R"({"role":"assistant","content":[]})"),
            "messages[1].content"
        },
        refusal{
            "NumericReasoningContent", AGUI_MESSAGE(R"({"role":"reasoning","content":1})"),
            "messages[1].content"
        },
        refusal{
            "TextActivityContent",
            AGUI_MESSAGE(R"({"role":"activity","activityType":"A","content":"x"})"),
            "messages[1].content"
        },
        refusal{
            "EmptyActivityType",
            AGUI_MESSAGE(R"({"role":"activity","activityType":"","content":{}})"),
            "messages[1].activityType"
        },
        refusal{
            "NoActivityType", AGUI_MESSAGE(R"({"role":"activity","content":{}})"),
            "messages[1].activityType"
        },
        refusal{
            "NumericName", AGUI_MESSAGE(R"({"role":"user","content":"x","name":1})"),
            "messages[1].name"
        },
        refusal{
            "TextMetadata", AGUI_MESSAGE(R"({"role":"user","content":"x","metadata":"m"})"),
            "messages[1].metadata"
        },
        refusal{
            "NoToolCallId", AGUI_MESSAGE(R"({"role":"tool","content":"x"})"),
            "messages[1].toolCallId"
        },
        refusal{
            "NumericToolCallId", AGUI_MESSAGE(R"({"role":"tool","toolCallId":1,"content":"x"})"),
            "messages[1].toolCallId"
        },
        refusal{
            "ControlInToolCallId",
            AGUI_MESSAGE(R"({"role":"tool","toolCallId":"a\u0001","content":"x"})"),
            "messages[1].toolCallId"
        },
        refusal{
            "NumericToolContent", AGUI_MESSAGE(R"({"role":"tool","toolCallId":"c","content":1})"),
            "messages[1].content"
        },
        refusal{
            "BooleanToolError",
            AGUI_MESSAGE(R"({"role":"tool","toolCallId":"c","content":"x","error":true})"),
            "messages[1].error"
        },
        refusal{
            "ObjectToolCalls", AGUI_MESSAGE(R"({"role":"assistant","toolCalls":{}})"),
            "messages[1].toolCalls"
        },
        refusal{
            "NoFunction", AGUI_MESSAGE(R"({"role":"assistant","toolCalls":[{"id":"c"}]})"),
            "messages[1].toolCalls[0].function"
        },
        refusal{
            "NumericFunctionName",
            AGUI_MESSAGE(
                R"({"role":"assistant","toolCalls":[{"id":"c","function":{"name":1,"arguments":""}}]})"
            ),
            "messages[1].toolCalls[0].function.name"
        },
        refusal{
            "ObjectArguments",
            AGUI_MESSAGE(
                R"({"role":"assistant","toolCalls":[{"id":"c","function":{"name":"f","arguments":{}}}]})"
            ),
            "messages[1].toolCalls[0].function.arguments"
        },
        refusal{
            "EmptyCallId",
            AGUI_MESSAGE(
                R"({"role":"assistant","toolCalls":[{"id":"","function":{"name":"f","arguments":""}}]})"
            ),
            "messages[1].toolCalls[0].id"
        }
    ),
    refusal_name
);

INSTANTIATE_TEST_SUITE_P(
    Parts, RunInputRefusal,
    ::testing::Values(
        refusal{
            "TextPart", AGUI_MESSAGE(R"({"role":"user","content":["x"]})"), "messages[1].content[0]"
        },
        refusal{
            "PartWithoutType", AGUI_MESSAGE(R"({"role":"user","content":[{"text":"x"}]})"),
            "messages[1].content[0].type"
        },
        refusal{
            "TextlessTextPart", AGUI_MESSAGE(R"({"role":"user","content":[{"type":"text"}]})"),
            "messages[1].content[0].text"
        },
        refusal{
            "NumericPartId",
            AGUI_MESSAGE(R"({"role":"user","content":[{"type":"text","text":"x","id":1}]})"),
            "messages[1].content[0].id"
        },
        refusal{
            "NoSource", AGUI_MESSAGE(R"({"role":"user","content":[{"type":"image"}]})"),
            "messages[1].content[0].source"
        },
        refusal{
            "TextSource",
            AGUI_MESSAGE(R"({"role":"user","content":[{"type":"image","source":"x"}]})"),
            "messages[1].content[0].source"
        },
        refusal{
            "SourceWithoutType",
            AGUI_MESSAGE(R"({"role":"user","content":[{"type":"image","source":{"value":"x"}}]})"),
            "messages[1].content[0].source.type"
        },
        refusal{
            "SourceWithoutValue",
            AGUI_MESSAGE(R"({"role":"user","content":[{"type":"image","source":{"type":"url"}}]})"),
            "messages[1].content[0].source.value"
        },
        refusal{
            "DataWithoutMimeType",
            AGUI_MESSAGE(
                R"({"role":"user","content":[{"type":"image","source":{"type":"data","value":"QQ=="}}]})"
            ),
            "messages[1].content[0].source.mimeType"
        },
        refusal{
            "NumericProvider",
            AGUI_MESSAGE(
                R"({"role":"user","content":[{"type":"image","source":{"type":"file","value":"f","provider":1}}]})"
            ),
            "messages[1].content[0].source.provider"
        },
        refusal{
            "BinaryWithoutMimeType",
            AGUI_MESSAGE(R"({"role":"user","content":[{"type":"binary","data":"QQ=="}]})"),
            "messages[1].content[0].mimeType"
        },
        refusal{
            "NumericBinaryData",
            AGUI_MESSAGE(
                R"({"role":"user","content":[{"type":"binary","mimeType":"a/b","data":1}]})"
            ),
            "messages[1].content[0].data"
        }
    ),
    refusal_name
);

TEST(RunInput, RefusesAnotherMajorVersion) {
    const auto input = read_run_input(request(R"("protocolVersion":"2.0")"), {});

    ASSERT_FALSE(input.has_value());
    EXPECT_EQ(input.error().code, errc::unsupported_protocol_version);
}

TEST(RunInput, RefusesWhatIsNoJson) {
    const std::string deep = request(R"("state":)" + std::string(70, '[') + std::string(70, ']'));
    for (const std::string& body :
         {std::string(), std::string("{"), std::string("{} x"), request("\"state\":\"\xC3\x28\""),
          request("\"state\":\"\xED\xA0\x80\""), request(R"("state":NaN)"),
          request("\"state\":\"\n\""), request(R"("state":{"a":1,})"), deep}) {
        SCOPED_TRACE(body.substr(0, 60));
        const auto input = read_run_input(body, {});

        ASSERT_FALSE(input.has_value());
        EXPECT_EQ(input.error().code, errc::invalid_json);
    }
}

TEST(RunInput, TakesJsonUpToItsDepth) {
    // The request itself is the first level.
    const std::string body = R"("state":)" + std::string(63, '[') + std::string(63, ']');

    EXPECT_TRUE(read_run_input(request(body), {}).has_value());
    EXPECT_FALSE(read_run_input(request(body), {.max_json_depth = 63}).has_value());
}

TEST(RunInput, ReadsSnakeCaseAtEveryLevel) {
    const run_input input = read(
        R"({"thread_id":"t","run_id":"r","parent_run_id":"p","protocol_version":"1.0",
        "messages":[
        {"id":"u","role":"user","content":[{"type":"image","source":
            {"type":"data","value":"AA==","mime_type":"image/png"},"metadata":{"mime_type":"kept"}},
            {"type":"binary","mime_type":"image/gif","data":"BB=="}]},
        {"id":"a","role":"assistant","content":null,"encrypted_value":"e","encrypted_value_type":"z",
            "tool_calls":[{"id":"c","type":"function","encrypted_value":null,
            "function":{"name":"paint","arguments":"{\"tool_call_id\":1}"}}]},
        {"id":"x","role":"tool","tool_call_id":"c","content":"done","error":null},
        {"id":"v","role":"activity","activity_type":"plan","content":{"tool_call_id":1}},
        {"id":"s","role":"user","content":"","subagent_run_id":"sub"}],
        "tools":[{"name":"paint","description":"","parameters":{"max_items":1}}],
        "state":{"tool_calls":1},"forwarded_props":{"tool_choice":"none"},
        "resume":[{"interrupt_id":"i","status":"resolved","payload":{"run_id":1}}]})"
    );

    EXPECT_EQ(input.thread_id, "t");
    EXPECT_EQ(input.parent_run_id, "p");
    ASSERT_EQ(input.messages.size(), 5U);
    EXPECT_EQ(
        content_of(input.messages[0]),
        R"([{"type":"image","source":{"type":"data","value":"AA==","mimeType":"image/png"},)"
        R"("metadata":{"mime_type":"kept"}},)"
        R"({"type":"image","source":{"type":"data","value":"BB==","mimeType":"image/gif"}}])"
    );
    ASSERT_EQ(input.messages[1].tool_calls.size(), 1U);
    EXPECT_EQ(input.messages[1].tool_calls[0].arguments, R"({"tool_call_id":1})");
    EXPECT_EQ(input.messages[1].encrypted_value, "e");
    EXPECT_EQ(input.messages[2].tool_call_id, "c");
    EXPECT_EQ(boost::json::serialize(input.messages[3].activity), R"({"tool_call_id":1})");
    EXPECT_EQ(input.messages[4].subagent_run_id, "sub");
    EXPECT_EQ(input.state.value().view(), R"({"tool_calls":1})");
    EXPECT_EQ(input.forwarded.tool_choice, "none");
    ASSERT_EQ(input.resume.size(), 1U);
    EXPECT_EQ(input.resume[0].interrupt_id, "i");
    EXPECT_EQ(boost::json::serialize(*input.resume[0].payload), R"({"run_id":1})");
    EXPECT_THAT(input.notes, IsEmpty());
}

TEST(RunInput, PrefersTheCamelCaseName) {
    const session::message both =
        message(R"({"role":"tool","toolCallId":"c1","tool_call_id":"c2","content":""})");
    const session::message empty =
        message(R"({"role":"tool","toolCallId":null,"tool_call_id":"c2","content":""})");

    EXPECT_EQ(both.tool_call_id, "c1");
    EXPECT_EQ(empty.tool_call_id, "c2");
}

// ---- Limits -------------------------------------------------------------------------------------

std::string path_of_failure(std::string_view members, const input_limits& limits) {
    const auto input = read_run_input(request(members), limits);
    return input.has_value() ? "accepted" : input.error().path;
}

TEST(RunInputLimits, BoundMessagesAndTools) {
    input_limits limits;
    limits.max_messages = 1;
    limits.max_client_tools = 1;

    EXPECT_EQ(path_of_failure(R"("messages":[{"role":"x"},{"role":"x"}])", limits), "messages");
    EXPECT_EQ(path_of_failure(R"("messages":[{"role":"x"}])", limits), "accepted");
    EXPECT_EQ(path_of_failure(R"("tools":[{"name":"a"},{"name":"b"}])", limits), "tools");
    EXPECT_EQ(path_of_failure(R"("tools":[{"name":"a"}])", limits), "accepted");
}

TEST(RunInputLimits, BoundTheMembersOfWhatTheProtocolDefines) {
    std::string many = R"("m":0)";
    for (int i = 0; i < 1024; ++i) {
        many += ",\"m" + std::to_string(i) + "\":0";
    }
    const auto path = [&](std::string members) {
        members.replace(members.find("MANY"), 4, many);
        return path_of_failure(members, {});
    };

    EXPECT_EQ(path(R"("messages":[{"role":"user","content":"a",MANY}])"), "messages[0]");
    EXPECT_EQ(
        path(R"("messages":[{"role":"user","content":[{"type":"text","text":"a",MANY}]}])"),
        "messages[0].content[0]"
    );
    EXPECT_EQ(
        path(
            R"("messages":[{"role":"assistant","toolCalls":[{"id":"c","function":{"name":"n"},MANY}]}])"
        ),
        "messages[0].toolCalls[0]"
    );
    EXPECT_EQ(
        path(
            R"("messages":[{"role":"assistant","toolCalls":[{"id":"c","function":{"name":"n",MANY}}]}])"
        ),
        "messages[0].toolCalls[0].function"
    );
    EXPECT_EQ(path(R"("tools":[{"name":"t",MANY}])"), "tools[0]");
    EXPECT_EQ(path(R"("context":[{"value":"v",MANY}])"), "context[0]");
}

TEST(RunInputLimits, TakeAnyNumberOfMembersOfWhatBelongsToUsers) {
    std::string many = R"({"m":0)";
    for (int i = 0; i < 5000; ++i) {
        many += ",\"m" + std::to_string(i) + "\":0";
    }
    many += "}";

    const run_input input = read_with(
        R"("state":)" + many + R"(,"forwardedProps":)" + many +
        R"(,"messages":[{"role":"user","content":"a","metadata":)" + many +
        R"(},{"role":"activity","activityType":"a","content":)" + many + "}]" +
        R"(,"tools":[{"name":"t","parameters":)" + many + "}]" +
        R"(,"resume":[{"interruptId":"i","status":"resolved","payload":)" + many + "}]"
    );

    EXPECT_EQ(input.messages.at(0).metadata->size(), 5001U);
    EXPECT_EQ(input.messages.at(1).activity.size(), 5001U);
    EXPECT_EQ(input.tools->at(0).parameters.as_object().size(), 5001U);
    EXPECT_EQ(input.resume.at(0).payload->as_object().size(), 5001U);
}

TEST(RunInputLimits, BoundToolNamesAndSchemas) {
    input_limits limits;
    limits.max_id_bytes = 3;
    limits.max_tool_schema_bytes = 10;

    EXPECT_EQ(path_of_failure(R"("tools":[{"name":"abcd"}])", limits), "tools[0].name");
    EXPECT_EQ(path_of_failure(R"("tools":[{"name":"abc"}])", limits), "accepted");
    EXPECT_EQ(
        path_of_failure(R"("tools":[{"name":"a","parameters":{"a" :  "bcd"}}])", limits),
        "tools[0].parameters"
    );
    EXPECT_EQ(
        path_of_failure(R"("tools":[{"name":"a","parameters":{"a" :  "bc"}}])", limits), "accepted"
    );
}

std::string list_of(std::string_view element, std::size_t count) {
    std::string list = "[";
    for (std::size_t i = 0; i < count; ++i) {
        list += (i == 0 ? "" : ",") + std::string(element);
    }
    return list + "]";
}

TEST(RunInputLimits, BoundPartsAndCallsOfAMessageAtTheirDefaults) {
    const auto parts = [](std::size_t count) {
        return R"("messages":[{"role":"user","content":)" +
               list_of(R"({"type":"text","text":"x"})", count) + "}]";
    };
    const auto calls = [](std::size_t count) {
        return R"("messages":[{"role":"assistant","tool_calls":)" +
               list_of(R"({"id":"c","function":{"name":"paint"}})", count) + "}]";
    };

    EXPECT_EQ(path_of_failure(parts(1000), {}), "accepted");
    EXPECT_EQ(path_of_failure(parts(1001), {}), "messages[0].content");
    EXPECT_EQ(path_of_failure(calls(2000), {}), "accepted");
    EXPECT_EQ(path_of_failure(calls(2001), {}), "messages[0].toolCalls");
}

TEST(RunInputLimits, RefuseIdsThatBreakOrTurnALine) {
    for (const char* character : {"\\u0085", "\\u009b", "\\u2028", "\\u202e", "\\u2066"}) {
        const std::string id = "\"a" + std::string(character) + "\"";
        EXPECT_EQ(path_of_failure("\"threadId\":" + id, {}), "threadId") << character;
        EXPECT_EQ(
            path_of_failure(R"("messages":[{"role":"user","content":"","id":)" + id + "}]", {}),
            "messages[0].id"
        );
    }
}

TEST(RunInputLimits, BoundIds) {
    input_limits limits;
    limits.max_id_bytes = 4;

    EXPECT_EQ(path_of_failure(R"("threadId":"12345")", limits), "threadId");
    EXPECT_EQ(path_of_failure(R"("threadId":"1234")", limits), "accepted");
    EXPECT_EQ(path_of_failure(R"("parentRunId":"12345")", limits), "parentRunId");
    EXPECT_EQ(
        path_of_failure(R"("messages":[{"id":"12345","role":"user","content":""}])", limits),
        "messages[0].id"
    );
    EXPECT_EQ(
        path_of_failure(
            R"("messages":[{"role":"tool","toolCallId":"12345","content":""}])", limits
        ),
        "messages[0].toolCallId"
    );
    EXPECT_EQ(
        path_of_failure(
            R"("messages":[{"role":"assistant","toolCalls":[{"id":"12345","function":{"name":"f","arguments":""}}]}])",
            limits
        ),
        "messages[0].toolCalls[0].id"
    );
    EXPECT_EQ(
        path_of_failure(R"("resume":[{"interruptId":"12345","status":"resolved"}])", limits),
        "resume[0].interruptId"
    );
}

TEST(RunInputLimits, BoundNotes) {
    std::string messages = R"({"role":"x"})";
    for (int i = 0; i < 999; ++i) {
        messages += R"(,{"role":"x"})";
    }

    const run_input input = read_with(R"("messages":[)" + messages + "]");

    EXPECT_LT(input.notes.size(), 100U);
}

// ---- Tools --------------------------------------------------------------------------------------

TEST(RunInputTools, LetTheLastOfANameWin) {
    const run_input input = read_with(
        R"("tools":[{"name":"a","description":"1"},{"name":"b"},{"name":"a","description":"2"}])"
    );

    ASSERT_EQ(input.tools->size(), 2U);
    EXPECT_EQ((*input.tools)[0].name, "a");
    EXPECT_EQ((*input.tools)[0].description, "2");
    EXPECT_EQ((*input.tools)[1].name, "b");
    EXPECT_EQ(
        boost::json::serialize(input.tools_json), R"([{"name":"a","description":"2"},{"name":"b"}])"
    );
    EXPECT_THAT(input.notes, ElementsAre(HasSubstr("tools[2]")));
}

TEST(RunInputTools, TakeAbsentDescriptionsAndParameters) {
    const run_input input =
        read_with(R"("tools":[{"name":"a","description":null,"parameters":null}])");

    EXPECT_EQ(input.tools->front().description, "");
    EXPECT_TRUE(input.tools->front().parameters.is_null());
    EXPECT_THAT(input.notes, IsEmpty());
}

TEST(RunInputTools, IgnoreASchemaThatIsNoObject) {
    const run_input input = read_with(R"("tools":[{"name":"a","parameters":true}])");

    EXPECT_TRUE(input.tools->front().parameters.is_null());
    EXPECT_THAT(input.notes, ElementsAre(HasSubstr("tools[0].parameters")));
}

// ---- forwardedProps -----------------------------------------------------------------------------

TEST(ForwardedProps, KeepsTheValuesThatPromptsUse) {
    input_limits limits;
    limits.prompt_props = {"locale", "level", "tags", "none", "empty"};
    const run_input input =
        read_run_input(
            R"({"threadId":"t","runId":"r","messages":[],"forwardedProps":)"
            R"({"locale":"de\u0007\nx","level":3,"tags":["a"],"empty":null,"other":"y"}})",
            limits
        )
            .value();

    EXPECT_EQ(
        input.forwarded.prompt_values, (boost::json::object{{"locale", "de  x"}, {"level", "3"}})
    );
    EXPECT_THAT(input.notes, ElementsAre(HasSubstr("forwardedProps.tags")));
}

TEST(RunInputForwarded, ReadsSettings) {
    const forwarded_settings given =
        read_with(
            R"("forwardedProps":{"model":"m","temperature":1,"max_output_tokens":5,"tool_choice":"none",
        "reasoning_effort":"low","ephemeral":true,"follow":true,"other":[1]})"
        )
            .forwarded;

    EXPECT_EQ(given.model, "m");
    EXPECT_EQ(given.temperature, 1.0);
    EXPECT_EQ(given.max_output_tokens, 5);
    EXPECT_EQ(given.tool_choice, "none");
    EXPECT_EQ(given.reasoning_effort, "low");
    EXPECT_TRUE(given.ephemeral);
    EXPECT_TRUE(given.follow);
}

TEST(RunInputForwarded, ReadsAliases) {
    const forwarded_settings given =
        read_with(
            R"("forwardedProps":{"modelName":"m","toolChoice":{"type":"function","function":{"name":"f"}},
        "reasoningEffort":"high","maxOutputTokens":7})"
        )
            .forwarded;

    EXPECT_EQ(given.model, "m");
    EXPECT_EQ(given.tool_choice, "f");
    EXPECT_EQ(given.reasoning_effort, "high");
    EXPECT_EQ(given.max_output_tokens, 7);
}

TEST(RunInputForwarded, IgnoresWrongTypesWithNotes) {
    const run_input input = read_with(
        R"("forwardedProps":{"model":1,"temperature":"hot","max_output_tokens":1.5,"tool_choice":{},
        "reasoning_effort":[],"ephemeral":"yes"})"
    );

    EXPECT_FALSE(input.forwarded.model.has_value());
    EXPECT_FALSE(input.forwarded.temperature.has_value());
    EXPECT_FALSE(input.forwarded.max_output_tokens.has_value());
    EXPECT_FALSE(input.forwarded.tool_choice.has_value());
    EXPECT_FALSE(input.forwarded.reasoning_effort.has_value());
    EXPECT_FALSE(input.forwarded.ephemeral);
    EXPECT_EQ(input.notes.size(), 6U);
}

TEST(RunInputForwarded, IgnoresNumbersOutOfRange) {
    const run_input input =
        read_with(R"("forwardedProps":{"temperature":-1,"max_output_tokens":0})");

    EXPECT_FALSE(input.forwarded.temperature.has_value());
    EXPECT_FALSE(input.forwarded.max_output_tokens.has_value());
}

TEST(RunInputForwarded, MayBeNoObject) {
    const run_input input = read_with(R"("forwardedProps":"x")");

    EXPECT_THAT(input.notes, ElementsAre(HasSubstr("forwardedProps")));
    EXPECT_THAT(input.canonical, HasSubstr(R"("forwardedProps":"x")"));
}

TEST(RunInputForwarded, DropsSecretsFromTheCanonicalText) {
    const run_input input = read_with(
        R"("forwardedProps":{"apiKey":"S1","API_KEY":"S2","baseUrl":"S3","base_url":"S4",
        "headers":{"x":"S5"},"Authorization":"S6","token":"S7","keep":1,
        "nested":[{"api-key":"S8","keep":2}]},
        "forwarded_props":{"apikey":"S9"})"
    );

    EXPECT_THAT(input.canonical, Not(::testing::ContainsRegex("S[0-9]")));
    EXPECT_THAT(input.canonical, HasSubstr(R"("forwardedProps":{"keep":1,"nested":[{"keep":2}]})"));
    for (const std::string& note : input.notes) {
        EXPECT_THAT(note, Not(::testing::ContainsRegex("S[0-9]")));
    }
}

TEST(RunInputForwarded, KeepsWordsLikeSecretsElsewhere) {
    const run_input input = read_with(R"("state":{"token":"mine"})");

    EXPECT_THAT(input.canonical, HasSubstr(R"("token":"mine")"));
}

// ---- The canonical text -------------------------------------------------------------------------

TEST(CanonicalJson, IsTheSameUnderKeyOrderAndWhitespace) {
    const run_input left =
        read(R"({"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":"hé"}]})"
        );
    const run_input right =
        read("{ \"messages\" : [ {\"content\":\"h\\u00e9\",\n\"role\":\"user\", \"id\":\"u\"} ],"
             "\"runId\":\"r\", \"threadId\":\"t\" }");

    EXPECT_EQ(left.canonical, right.canonical);
    EXPECT_EQ(
        left.canonical, R"({"messages":[{"content":"hé","id":"u","role":"user"}],"threadId":"t"})"
    );
}

TEST(CanonicalJson, WritesEqualNumbersAlike) {
    const auto canonical = [](std::string_view json) {
        return read_document(json, {})->canonical;
    };

    EXPECT_EQ(canonical("[1,1.0,1e0,10e-1]"), "[1,1,1,1]");
    EXPECT_EQ(canonical("[-0.0,0]"), "[0,0]");
    EXPECT_EQ(
        canonical("[1e19,10000000000000000000]"), "[10000000000000000000,10000000000000000000]"
    );
    EXPECT_EQ(canonical("[-5.0,0.5,1e300]"), "[-5,0.5,1e+300]");
}

TEST(CanonicalJson, TellsDifferentRequestsApart) {
    EXPECT_NE(read_with(R"("state":[1,2])").canonical, read_with(R"("state":[2,1])").canonical);
    EXPECT_NE(read_with(R"("state":"1")").canonical, read_with(R"("state":1)").canonical);
    EXPECT_NE(read_with(R"("state":null)").canonical, read_with("").canonical);
}

} // namespace
} // namespace agui::translator
