#include "runner/provider/role_order.hpp"
#include "runner/responses/responses_chat.hpp"
#include "tests/runner/provider/request_case.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

namespace json = boost::json;
using session::message;
using session::role;
using test::calling;
using test::text_message;
using test::tool_message;
using test::with_parts;

class ResponsesRequest : public test::request_case<responses_settings> {
protected:
    ResponsesRequest() : request_case("gpt", "gpt-5.6", write_responses_request) {}

    /// An answer of the model that is asked, with these recorded items.
    message answer(
        std::string text, std::string_view items, std::vector<session::tool_call> calls = {}
    ) const {
        return recorded_answer("responses", std::move(text), "", items, std::move(calls));
    }
};

const std::string rs1 =
    R"({"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"E+/="})";
const std::string rs2 = R"({"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"F"})";

std::string other(const std::string& item) { return R"({"is":"other","members":)" + item + "}"; }

TEST_F(ResponsesRequest, AsksForAStreamWithoutStateOfTheServer) {
    request.instructions = "Be brief.";
    request.thread = "t1";
    messages.push_back(text_message(role::user, "Hi"));

    EXPECT_EQ(
        write(), R"({"model":"gpt-5.6","store":false,"stream":true,)"
                 R"("stream_options":{"include_obfuscation":false},)"
                 R"("include":["reasoning.encrypted_content"],"prompt_cache_key":"t1",)"
                 R"("instructions":"Be brief.",)"
                 R"("input":[{"type":"message","role":"user","content":"Hi"}]})"
    );
}

TEST_F(ResponsesRequest, HasACacheKeyThatTheServerTakes) {
    const std::string longest(64, 'x');
    request.thread = longest;
    EXPECT_EQ(member("prompt_cache_key"), "\"" + longest + "\"");
    const std::string too_long(65, 'x');
    request.thread = too_long;
    const std::string key = member("prompt_cache_key");
    EXPECT_LE(key.size(), 64U);
    EXPECT_EQ(key, member("prompt_cache_key"));
    const std::string other_thread = too_long + "y";
    request.thread = other_thread;
    EXPECT_NE(key, member("prompt_cache_key"));
}

TEST_F(ResponsesRequest, WritesEachMessageAsItems) {
    messages = {
        text_message(role::developer, "d"),
        text_message(role::user, "u"),
        calling(
            "Let me look.", {{"call_1", "f", R"({"a": 1})", {}, {}}, {"call_2", "g", " ", {}, {}}}
        ),
        tool_message("call_1", "sunny"),
        tool_message("call_2", ""),
        text_message(role::reasoning, "hm"),
        text_message(role::assistant, "It is sunny."),
        text_message(role::activity, "busy"),
        text_message(role::user, "And?")
    };

    EXPECT_EQ(
        member("input"),
        R"([{"type":"message","role":"system","content":"d"},)"
        R"({"type":"message","role":"user","content":"u"},)"
        R"({"type":"message","role":"assistant","content":[{"type":"output_text","text":"Let me look."}]},)"
        R"({"type":"function_call","call_id":"call_1","name":"f","arguments":"{\"a\": 1}"},)"
        R"({"type":"function_call","call_id":"call_2","name":"g","arguments":"{}"},)"
        R"({"type":"function_call_output","call_id":"call_1","output":"sunny"},)"
        R"({"type":"function_call_output","call_id":"call_2","output":""},)"
        R"({"type":"message","role":"assistant","content":[{"type":"output_text","text":"It is sunny."}]},)"
        R"({"type":"message","role":"user","content":"And?"}])"
    );
}

TEST_F(ResponsesRequest, GivesAModelItsItemsBackAsTheyCame) {
    messages = {
        text_message(role::user, "u"), text_message(role::reasoning, "shown"),
        answer(
            "Look.",
            "[" + other(rs1) +
                R"(,{"is":"text","bytes":5,"members":{"id":"msg_1","phase":"commentary"}},)"
                R"({"is":"call","members":{"id":"fc_1"}},)" +
                other(rs2) + "," + other(R"({"type":"web_search_call","id":"ws_1"})") +
                R"(,{"is":"call","members":{"id":"fc_2"}}])",
            {{"a", "f", "{}", {}, {}}, {"functions.g:0", "g", "{}", {}, {}}}
        ),
        tool_message("a", "1"), tool_message("functions.g:0", "2")
    };

    EXPECT_EQ(
        member("input"),
        R"([{"type":"message","role":"user","content":"u"},)" + rs1 +
            R"(,{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Look."}],)"
            R"("id":"msg_1","phase":"commentary"},)"
            R"({"type":"function_call","call_id":"a","name":"f","arguments":"{}","id":"fc_1"},)" +
            rs2 +
            R"(,{"type":"web_search_call","id":"ws_1"},)"
            R"({"type":"function_call","call_id":"functions.g:0","name":"g","arguments":"{}","id":"fc_2"},)"
            R"({"type":"function_call_output","call_id":"a","output":"1"},)"
            R"({"type":"function_call_output","call_id":"functions.g:0","output":"2"}])"
    );
}

TEST_F(ResponsesRequest, SendsNothingOfAnotherModelOrOfAChangedAnswer) {
    const std::string plain =
        R"([{"type":"message","role":"user","content":"u"},)"
        R"({"type":"message","role":"assistant","content":[{"type":"output_text","text":"Look."}]},)"
        R"({"type":"function_call","call_id":"a","name":"f","arguments":"{}"},)"
        R"({"type":"function_call_output","call_id":"a","output":"1"}])";
    messages = {
        text_message(role::user, "u"),
        answer(
            "Look.",
            "[" + other(rs1) +
                R"(,{"is":"text","bytes":5,"members":{"id":"msg_1","phase":"commentary"}},)"
                R"({"is":"call","members":{"id":"fc_1"}}])",
            {{"a", "f", "{}", {}, {}}}
        ),
        tool_message("a", "1")
    };

    EXPECT_NE(member("input"), plain);
    request.provider = "another";
    EXPECT_EQ(member("input"), plain);
    request.provider = "gpt";
    request.parameters.model = "gpt-5.5";
    EXPECT_EQ(member("input"), plain);
    request.parameters.model = "gpt-5.6";
    messages[1].content = std::string("Look!");
    EXPECT_EQ(member("input").find("rs_1"), std::string::npos);
    EXPECT_EQ(member("input").find("fc_1"), std::string::npos);
    EXPECT_NE(member("input").find("Look!"), std::string::npos);
}

// The server refuses reasoning without the item that followed it.
TEST_F(ResponsesRequest, SendsNoReasoningWithoutTheItemAfterIt) {
    messages = {
        text_message(role::user, "u"),
        answer(
            " \n a", "[" + other(rs1) + R"(,{"is":"text","bytes":3},)" + other(rs2) +
                         R"(,{"is":"text","bytes":1},)" + other(rs1) + "]"
        ),
        text_message(role::user, "v")
    };

    EXPECT_EQ(
        member("input"),
        R"([{"type":"message","role":"user","content":"u"},)" + rs2 +
            R"(,{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]},)"
            R"({"type":"message","role":"user","content":"v"}])"
    );
}

TEST_F(ResponsesRequest, MapsIdsAndNamesThatDoNotFit) {
    const std::string long_id(80, 'x');
    tools.push_back({"mcp.tool", "", {}});
    messages = {
        text_message(role::user, "u"),
        calling("", {{"functions.f:0", "mcp.tool", "{}", {}, {}}, {long_id, "f", "{}", {}, {}}}),
        tool_message("functions.f:0", "1"), tool_message(long_id, "2")
    };
    const json::value body = json::parse(write());
    const json::array& input = body.at("input").as_array();

    ASSERT_EQ(input.size(), 5U);
    for (std::size_t at = 1; at < 3; ++at) {
        EXPECT_EQ(input.at(at).at("call_id"), input.at(at + 2).at("call_id"));
        EXPECT_LE(input.at(at).at("call_id").as_string().size(), 64U);
        EXPECT_EQ(input.at(at).at("call_id").as_string().find_first_of(".:"), json::string::npos);
    }
    EXPECT_EQ(input.at(1).at("name"), body.at("tools").at(0).at("name"));
}

TEST_F(ResponsesRequest, TellsTheModelThatAToolFailed) {
    message failed = tool_message("a", "half of it");
    failed.error = "timed out";
    messages = {text_message(role::user, "u"), calling("", {{"a", "f", "{}", {}, {}}}), failed};

    EXPECT_NE(write().find(R"("output":"half of it\n\nError: timed out")"), std::string::npos);
}

TEST_F(ResponsesRequest, PassesMediaThatTheDialectKnows) {
    settings.file_sources = true;
    constexpr std::string_view parts = R"([{"type":"text","text":"So:"},{"type":"text","text":" "},
        {"type":"image","source":{"type":"url","value":"https://example.org/a.png"}},
        {"type":"image","source":{"type":"url","value":"http://10.0.0.1/a.png"}},
        {"type":"image","source":{"type":"data","value":"QUJD","mimeType":"image/png"}},
        {"type":"image","source":{"type":"file","value":"file_1"}},
        {"type":"document","source":{"type":"data","value":"JVBE","mimeType":"application/pdf"},
         "metadata":{"filename":"a.pdf"}},
        {"type":"document","source":{"type":"url","value":"https://example.org/a.pdf"}},
        {"type":"document","source":{"type":"file","value":"file_2","provider":"anthropic"}},
        {"type":"audio","source":{"type":"data","value":"AA==","mimeType":"audio/wav"}}])";
    const std::string sent =
        R"([{"type":"input_text","text":"So:"},)"
        R"({"type":"input_image","image_url":"https://example.org/a.png"},)"
        R"({"type":"input_image","image_url":"data:image/png;base64,QUJD"},)"
        R"({"type":"input_image","file_id":"file_1"},)"
        R"({"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,JVBE"},)"
        R"({"type":"input_file","file_url":"https://example.org/a.pdf"}])";
    message result = with_parts(role::tool, parts);
    result.tool_call_id = "a";
    messages = {with_parts(role::user, parts), calling("", {{"a", "f", "{}", {}, {}}}), result};
    const json::value body = json::parse(write());

    EXPECT_EQ(json::serialize(body.at("input").at(0).at("content")), sent);
    EXPECT_EQ(json::serialize(body.at("input").at(2).at("output")), sent);
}

TEST_F(ResponsesRequest, LeavesOutBlankTexts) {
    messages = {
        with_parts(role::user, R"([{"type":"text","text":" "}])"), text_message(role::user, ""),
        text_message(role::assistant, " \n"), text_message(role::system, " ")
    };
    const std::string empty =
        R"({"type":"message","role":"user","content":")" + std::string(empty_message_text) + "\"}";

    EXPECT_EQ(member("input"), "[" + empty + "," + empty + "]");
}

TEST_F(ResponsesRequest, DoesNotEndWithAnAnswer) {
    messages = {text_message(role::user, "u"), text_message(role::assistant, "a")};
    EXPECT_TRUE(member("input").ends_with(
        R"json({"type":"message","role":"user","content":"(Continue.)"}])json"
    ));
}

TEST_F(ResponsesRequest, OffersItsTools) {
    request.parameters.parallel_tool_calls = false;
    EXPECT_EQ(member("parallel_tool_calls"), "");
    tools.push_back({"f", "Does.", json::parse(R"({"properties":{"a":{"type":"string"}}})")});
    tools.push_back({"g", "", {}});
    request.parameters.tool_choice = tool_choice_from_string("f");

    EXPECT_EQ(
        member("tools"),
        R"([{"type":"function","name":"f","description":"Does.","parameters":{"type":"object",)"
        R"("properties":{"a":{"type":"string"}}},"strict":false},)"
        R"({"type":"function","name":"g","parameters":{"type":"object","properties":{}},)"
        R"("strict":false}])"
    );
    EXPECT_EQ(member("tool_choice"), R"({"type":"function","name":"f"})");
    EXPECT_EQ(member("parallel_tool_calls"), "false");
    for (const std::string word : {"auto", "none", "required"}) {
        request.parameters.tool_choice = tool_choice_from_string(word);
        EXPECT_EQ(member("tool_choice"), "\"" + word + "\"");
    }
}

std::shared_ptr<const answer_format>
make_format(std::string schema, std::string name = "reply", bool strict = true) {
    return std::make_shared<const answer_format>(
        answer_format{std::move(schema), std::move(name), strict}
    );
}

TEST_F(ResponsesRequest, WritesItsParameters) {
    request.parameters.temperature = 0.5;
    request.parameters.max_output_tokens = 7;
    request.parameters.reasoning_effort = "high";
    request.parameters.format = make_format(R"({"type":"object"})");
    settings.summary = responses_summary::automatic;
    settings.encrypted_reasoning = false;

    EXPECT_EQ(
        write(),
        R"({"model":"gpt-5.6","store":false,"stream":true,)"
        R"("stream_options":{"include_obfuscation":false},"temperature":0.5,"max_output_tokens":7,)"
        R"("reasoning":{"effort":"high","summary":"auto"},)"
        R"("text":{"format":{"type":"json_schema","name":"reply","strict":true,"schema":{"type":"object"}}},)"
        R"("input":[]})"
    );
    request.parameters.reasoning_effort.reset();
    settings.summary = responses_summary::detailed;
    EXPECT_EQ(member("reasoning"), R"({"summary":"detailed"})");
    request.parameters.format = make_format("{}", "weather", false);
    EXPECT_EQ(member("text"), R"({"format":{"type":"json_schema","name":"weather","schema":{}}})");
    request.parameters.format = make_format("");
    EXPECT_EQ(member("text"), R"({"format":{"type":"json_object"}})");
}

TEST_F(ResponsesRequest, LeavesOutWhatTheDialectHasNoMemberFor) {
    request.parameters.top_p = 0.5;
    request.parameters.stop = std::vector<std::string>{"END"};
    request.parameters.seed = 7;
    std::vector<std::string> left_out;
    settings.on_left_out = [&](std::string_view model, std::string_view setting) {
        left_out.push_back(std::string(model) + " " + std::string(setting));
    };

    EXPECT_EQ(member("top_p"), "5E-1");
    left_out.clear();
    EXPECT_EQ(member("stop") + member("seed"), "");
    EXPECT_EQ(left_out.at(0), "gpt-5.6 stop");
    EXPECT_EQ(left_out.at(1), "gpt-5.6 seed");
    EXPECT_EQ(
        responses_refusals(request.parameters, {"stop"}), std::vector<std::string_view>{"seed"}
    );
    settings.drop = {"stop", "seed"};
    left_out.clear();
    (void)write();
    EXPECT_TRUE(left_out.empty());
}

TEST_F(ResponsesRequest, LetsTheConfigurationReplaceMembers) {
    settings.extra_body = {
        {"stream_options", nullptr},
        {"include", nullptr},
        {"store", true},
        {"input", "none"},
        {"service_tier", "flex"}
    };

    EXPECT_EQ(
        write(),
        R"({"model":"gpt-5.6","stream":true,"store":true,"service_tier":"flex","input":[]})"
    );
}

TEST_F(ResponsesRequest, OfALongerConversationBeginsWithTheFormerOne) {
    expect_growth("]}", [this](const std::string& id) {
        return std::vector{answer(
            "Look.",
            "[" + other(rs1) +
                R"(,{"is":"text","bytes":5,"members":{"phase":"commentary"}},{"is":"call"}])",
            {{id, "f", "{}", {}, {}}}
        )};
    });
}

} // namespace
} // namespace agui::runner
