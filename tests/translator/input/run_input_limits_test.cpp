#include "tests/translator/input/run_input_case.hpp"

namespace agui::translator {
namespace {

using namespace run_input_case;

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

TEST(RunInputLimits, BoundTheMembersOfProtocolObjects) {
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

TEST(RunInputLimits, AllowAnyNumberOfMembersInUserData) {
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

} // namespace
} // namespace agui::translator
