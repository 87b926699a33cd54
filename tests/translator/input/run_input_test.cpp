#include "tests/translator/input/run_input_case.hpp"

namespace agui::translator {
namespace {

using namespace run_input_case;

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

TEST(RunInput, ReadsRequestsOfTheOfficialClient) {
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

TEST(RunInput, RefusesAnotherMajorVersion) {
    const auto input = read_run_input(request(R"("protocolVersion":"2.0")"), {});

    ASSERT_FALSE(input.has_value());
    EXPECT_EQ(input.error().code, errc::unsupported_protocol_version);
}

TEST(RunInput, RefusesInvalidJson) {
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
