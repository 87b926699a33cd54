#include "tests/translator/input/run_input_case.hpp"

namespace agui::translator {
namespace {

using namespace run_input_case;

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
        refusal{
            "TextToolMetadata", AGUI_BODY(R"("tools":[{"name":"a","metadata":"x"}])"),
            "tools[0].metadata"
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

} // namespace
} // namespace agui::translator
