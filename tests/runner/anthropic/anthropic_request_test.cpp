#include "runner/anthropic/anthropic_chat.hpp"
#include "runner/provider/role_order.hpp"
#include "session/conversation/prompt_record.hpp"
#include "tests/runner/provider/request_case.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

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
using test::user_parts;

class AnthropicRequest : public test::request_case<anthropic_settings> {
protected:
    AnthropicRequest() : request_case("claude", "claude-opus-5-5", write_anthropic_request) {
        settings.cache = anthropic_cache::off;
        settings.mismatch = anthropic_mismatch::refuse;
        settings.on_left_out = [this](std::string_view model, std::string_view setting) {
            left_out.push_back(std::string(model) + " " + std::string(setting));
        };
    }

    /// An answer of the model that is asked, with these recorded blocks.
    message answer(
        std::string text, std::string_view thoughts, std::string_view blocks,
        std::vector<session::tool_call> calls = {}
    ) const {
        return recorded_answer("anthropic", std::move(text), thoughts, blocks, std::move(calls));
    }

    std::vector<std::string> left_out;
};

TEST_F(AnthropicRequest, AsksForAStream) {
    request.instructions = "Be brief.";
    messages.push_back(text_message(role::user, "Hi"));

    EXPECT_EQ(
        write(), R"({"model":"claude-opus-5-5","max_tokens":32000,"stream":true,)"
                 R"("system":[{"type":"text","text":"Be brief."}],)"
                 R"("messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}]})"
    );
}

TEST_F(AnthropicRequest, IsTheSameBytesTwice) {
    messages.push_back(user_parts(R"([{"type":"text","text":"a"},{"type":"text","text":"b"}])"));
    tools.push_back({"t", "d", json::parse(R"({"type":"object","properties":{"z":{},"a":{}}})")});
    settings.extra_body = {{"service_tier", "auto"}, {"metadata", {{"user_id", "u"}}}};

    EXPECT_EQ(write(), write());
}

TEST_F(AnthropicRequest, PutsAllResultsOfATurnBeforeText) {
    messages = {
        text_message(role::user, "u"),
        calling(
            "Let me look.",
            {{"call_1", "f", R"({"city": "Bern"})", {}, {}}, {"call_2", "g", "{}", {}, {}}}
        ),
        tool_message("call_1", "sunny"),
        tool_message("call_2", ""),
        text_message(role::user, "And?"),
        text_message(role::assistant, "It is sunny."),
        text_message(role::user, "a"),
        text_message(role::user, "b")
    };

    EXPECT_EQ(
        member("messages"),
        R"([{"role":"user","content":[{"type":"text","text":"u"}]},)"
        R"({"role":"assistant","content":[{"type":"text","text":"Let me look."},)"
        R"({"type":"tool_use","id":"call_1","name":"f","input":{"city":"Bern"}},)"
        R"({"type":"tool_use","id":"call_2","name":"g","input":{}}]},)"
        R"({"role":"user","content":[)"
        R"({"type":"tool_result","tool_use_id":"call_1","content":"sunny"},)"
        R"({"type":"tool_result","tool_use_id":"call_2"},{"type":"text","text":"And?"}]},)"
        R"({"role":"assistant","content":[{"type":"text","text":"It is sunny."}]},)"
        R"({"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}])"
    );
}

TEST_F(AnthropicRequest, SendsArgumentsAsTheModelWroteThem) {
    messages = {
        text_message(role::user, "u"),
        calling("", {{"a", "f", "{ \"x\" : 1.0,\n\"y\": \"\\u00e9\" }", {}, {}}}),
        tool_message("a", "r")
    };

    EXPECT_NE(write().find("\"input\":{ \"x\" : 1.0,\n\"y\": \"\\u00e9\" }}"), std::string::npos);
}

TEST_F(AnthropicRequest, SendsArgumentsThatAreNoObjectInsideOne) {
    messages = {
        text_message(role::user, "u"),
        calling(
            "", {{"a", "f", "{\"x\":", {}, {}},
                 {"b", "f", "[1]", {}, {}},
                 {"c", "f", " ", {}, {}},
                 {"d", "f", "{\"n\":1e999}", {}, {}}}
        ),
        tool_message("a", "1"),
        tool_message("b", "2"),
        tool_message("c", "3"),
        tool_message("d", "4")
    };
    const json::value body = json::parse(write());
    const json::array& blocks = body.at("messages").at(1).at("content").as_array();

    EXPECT_EQ(blocks.at(0).at("input"), (json::value{{"INVALID_JSON", "{\"x\":"}}));
    EXPECT_EQ(blocks.at(1).at("input"), (json::value{{"INVALID_JSON", "[1]"}}));
    EXPECT_EQ(blocks.at(2).at("input"), json::object());
    EXPECT_EQ(blocks.at(3).at("input"), (json::value{{"INVALID_JSON", "{\"n\":1e999}"}}));
}

TEST_F(AnthropicRequest, MapsIdsAndNamesThatDoNotFit) {
    const std::string long_id(60, 'x');
    tools.push_back({"mcp.tool", "", {}});
    messages = {
        text_message(role::user, "u"),
        calling(
            "", {{"functions.f:0", "mcp.tool", "{}", {}, {}},
                 {long_id, "no longer offered!", "{}", {}, {}},
                 {"toolu_01", "f", "{}", {}, {}}}
        ),
        tool_message("functions.f:0", "1"), tool_message(long_id, "2"),
        tool_message("toolu_01", "3")
    };
    const json::value body = json::parse(write());
    const json::value& calls = body.at("messages").at(1).at("content");
    const json::value& results = body.at("messages").at(2).at("content");

    std::vector<std::string> ids;
    for (std::size_t at = 0; at < 3; ++at) {
        ids.emplace_back(calls.at(at).at("id").as_string());
        EXPECT_EQ(results.at(at).at("tool_use_id"), calls.at(at).at("id"));
        EXPECT_LE(ids.back().size(), 40U);
        EXPECT_EQ(ids.back().find_first_of(".:"), std::string::npos);
    }
    EXPECT_EQ(ids.at(2), "toolu_01");
    EXPECT_NE(ids.at(0), ids.at(1));
    EXPECT_EQ(body.at("tools").at(0).at("name"), calls.at(0).at("name"));
    EXPECT_EQ(calls.at(0).at("name").as_string().find('.'), json::string::npos);
    EXPECT_EQ(calls.at(1).at("name").as_string().find_first_of(" !"), json::string::npos);
}

TEST_F(AnthropicRequest, TellsTheModelThatAToolFailed) {
    message with_text = tool_message("a", "half of it");
    with_text.error = "timed out";
    message bare = tool_message("b", "");
    bare.error = "no such city";
    message same = tool_message("c", "refused");
    same.error = "refused";
    message unnamed = tool_message("d", "");
    unnamed.error = "";
    messages = {
        text_message(role::user, "u"),
        calling(
            "", {{"a", "f", "{}", {}, {}},
                 {"b", "f", "{}", {}, {}},
                 {"c", "f", "{}", {}, {}},
                 {"d", "f", "{}", {}, {}}}
        ),
        with_text,
        bare,
        same,
        unnamed
    };

    EXPECT_EQ(
        json::serialize(json::parse(write()).at("messages").at(2).at("content")),
        R"([{"type":"tool_result","tool_use_id":"a","content":"half of it\n\ntimed out","is_error":true},)"
        R"({"type":"tool_result","tool_use_id":"b","content":"no such city","is_error":true},)"
        R"({"type":"tool_result","tool_use_id":"c","content":"refused","is_error":true},)"
        R"({"type":"tool_result","tool_use_id":"d","is_error":true}])"
    );
}

TEST_F(AnthropicRequest, PassesPicturesInResults) {
    message result = tool_message("a", "");
    result.content = json::parse(R"([{"type":"text","text":"So:"},{"type":"text","text":" "},
        {"type":"image","source":{"type":"data","value":"QUJD","mimeType":"image/png"}},
        {"type":"audio","source":{"type":"data","value":"QUJD","mimeType":"audio/wav"}}])")
                         .as_array();
    message none = tool_message("b", "");
    none.content = json::array();
    messages = {
        text_message(role::user, "u"),
        calling("", {{"a", "f", "{}", {}, {}}, {"b", "f", "{}", {}, {}}}), result, none
    };

    EXPECT_EQ(
        json::serialize(json::parse(write()).at("messages").at(2).at("content")),
        R"([{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"So:"},)"
        R"({"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}}]},)"
        R"({"type":"tool_result","tool_use_id":"b"}])"
    );
}

TEST_F(AnthropicRequest, PassesMediaThatTheDialectKnows) {
    settings.file_sources = true;
    settings.betas = {"files-api-2025-04-14"};
    messages.push_back(user_parts(R"([
        {"type":"image","source":{"type":"url","value":"https://example.org/a.png"}},
        {"type":"image","source":{"type":"url","value":"http://10.0.0.1/a.png"}},
        {"type":"image","source":{"type":"url","value":"data:image/gif;base64,R0lG"}},
        {"type":"image","source":{"type":"data","value":"AAAA","mimeType":"image/tiff"}},
        {"type":"image","source":{"type":"file","value":"file_1"}},
        {"type":"document","source":{"type":"data","value":"JVBE","mimeType":"application/pdf"},
         "metadata":{"filename":"a.pdf"}},
        {"type":"document","source":{"type":"data","value":"aGVsbG8=","mimeType":"text/markdown"}},
        {"type":"document","source":{"type":"data","value":"AAAA","mimeType":"application/zip"}},
        {"type":"document","source":{"type":"url","value":"https://example.org/a.pdf"}},
        {"type":"document","source":{"type":"file","value":"file_2","provider":"openai"}},
        {"type":"audio","source":{"type":"data","value":"AA==","mimeType":"audio/wav"}}])"));

    EXPECT_EQ(
        json::serialize(json::parse(write()).at("messages").at(0).at("content")),
        R"([{"type":"image","source":{"type":"url","url":"https://example.org/a.png"}},)"
        R"({"type":"image","source":{"type":"base64","media_type":"image/gif","data":"R0lG"}},)"
        R"({"type":"image","source":{"type":"file","file_id":"file_1"}},)"
        R"({"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBE"},"title":"a.pdf"},)"
        R"({"type":"document","source":{"type":"text","media_type":"text/plain","data":"hello"}},)"
        R"({"type":"document","source":{"type":"url","url":"https://example.org/a.pdf"}}])"
    );
}

TEST_F(AnthropicRequest, LeavesOutBlankTextAndMessagesWithoutContent) {
    messages = {
        user_parts(R"([{"type":"text","text":"a"},{"type":"text","text":" \n"}])"),
        text_message(role::assistant, " \n"),
        text_message(role::reasoning, "hm"),
        text_message(role::activity, "busy"),
        text_message(role::user, "b"),
        calling("\n\n", {{"c", "f", "{}", {}, {}}}),
        tool_message("c", " "),
        text_message(role::user, ""),
        user_parts(R"([{"type":"audio","source":{"type":"url","value":"https://x.org/a"}}])")
    };

    EXPECT_EQ(
        member("messages"),
        R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},)"
        R"({"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},)"
        R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"c"},)"
        R"j({"type":"text","text":"(This message has no text.)"},)j"
        R"j({"type":"text","text":"(This message has no text.)"}]}])j"
    );
}

TEST_F(AnthropicRequest, BeginsAndEndsWithTheUser) {
    message by_plugin = text_message(role::assistant, "c");
    by_plugin.by_plugin = true;
    messages = {text_message(role::assistant, "a"), text_message(role::assistant, "b"), by_plugin};

    EXPECT_EQ(
        member("messages"),
        R"j([{"role":"user","content":[{"type":"text","text":"(The conversation begins.)"}]},)j"
        R"({"role":"assistant","content":[{"type":"text","text":"a"}]},)"
        R"j({"role":"user","content":[{"type":"text","text":"(Continue.)"}]},)j"
        R"({"role":"assistant","content":[{"type":"text","text":"b"},{"type":"text","text":"c"}]},)"
        R"j({"role":"user","content":[{"type":"text","text":"(Continue.)"}]}])j"
    );
}

TEST_F(AnthropicRequest, SendsSystemTextWhereTheModelTakesIt) {
    request.instructions = "i";
    messages = {text_message(role::developer, "d"), text_message(role::system, "s"),
                text_message(role::user, "u"),      text_message(role::system, "later"),
                text_message(role::assistant, "a"), text_message(role::system, "after the answer"),
                text_message(role::user, "v"),      text_message(role::system, " ")};

    EXPECT_EQ(
        member("system"), R"([{"type":"text","text":"i"},{"type":"text","text":"d"},)"
                          R"({"type":"text","text":"s"}])"
    );
    EXPECT_EQ(
        member("messages"),
        R"([{"role":"user","content":[{"type":"text","text":"u"}]},)"
        R"({"role":"system","content":[{"type":"text","text":"later"}]},)"
        R"({"role":"assistant","content":[{"type":"text","text":"a"}]},)"
        R"({"role":"user","content":[{"type":"text","text":"v"}]},)"
        R"({"role":"system","content":[{"type":"text","text":"after the answer"}]}])"
    );

    request.parameters.model = "claude-sonnet-4-5";
    EXPECT_EQ(
        member("messages"),
        R"([{"role":"user","content":[{"type":"text","text":"u"},{"type":"text","text":"later"}]},)"
        R"({"role":"assistant","content":[{"type":"text","text":"a"}]},)"
        R"({"role":"user","content":[{"type":"text","text":"v"},)"
        R"({"type":"text","text":"after the answer"}]}])"
    );
}

TEST_F(AnthropicRequest, PutsSystemTextBeforeAnAnswerOrAtTheEnd) {
    const std::string asked =
        R"([{"role":"user","content":[{"type":"text","text":"u"},{"type":"text","text":"v"}]},)"
        R"({"role":"system","content":[{"type":"text","text":"s"}]})";
    messages = {
        text_message(role::user, "u"), text_message(role::system, "s"),
        text_message(role::user, "v")
    };

    EXPECT_EQ(member("messages"), asked + "]");
    messages.push_back(calling("", {{"c", "f", "{}", {}, {}}}));
    messages.push_back(text_message(role::system, "t"));
    messages.push_back(tool_message("c", "r"));
    const std::string called =
        R"(,{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},)"
        R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"r"}]},)"
        R"({"role":"system","content":[{"type":"text","text":"t"}]})";
    EXPECT_EQ(member("messages"), asked + called + "]");
    messages.push_back(text_message(role::assistant, "a"));
    messages.push_back(text_message(role::user, "w"));
    EXPECT_EQ(
        member("messages"), asked + called +
                                R"(,{"role":"assistant","content":[{"type":"text","text":"a"}]},)"
                                R"({"role":"user","content":[{"type":"text","text":"w"}]}])"
    );
}

constexpr std::string_view recorded =
    R"([{"is":"thinking","bytes":3,"members":{"signature":"c2ln+/=","v":1}},)"
    R"({"is":"text","bytes":5},{"is":"call"},{"is":"thinking","members":{"signature":"s2"}},)"
    R"({"is":"other","members":{"type":"redacted_thinking","data":"d"}},)"
    R"({"is":"call","members":{"caller":{"type":"direct"}}}])";

TEST_F(AnthropicRequest, GivesAModelItsBlocksBackInPlace) {
    messages = {
        text_message(role::user, "u"), text_message(role::reasoning, "Hm."),
        answer("Look.", "Hm.", recorded, {{"a", "f", "{}", {}, {}}, {"b", "g", "{}", {}, {}}}),
        tool_message("a", "1"), tool_message("b", "2")
    };

    EXPECT_EQ(
        json::serialize(json::parse(write()).at("messages").at(1).at("content")),
        R"([{"type":"thinking","thinking":"Hm.","signature":"c2ln+/=","v":1},)"
        R"({"type":"text","text":"Look."},{"type":"tool_use","id":"a","name":"f","input":{}},)"
        R"({"type":"thinking","thinking":"","signature":"s2"},)"
        R"({"type":"redacted_thinking","data":"d"},)"
        R"({"type":"tool_use","id":"b","name":"g","input":{},"caller":{"type":"direct"}}])"
    );
}

TEST_F(AnthropicRequest, SendsNoThoughtsOfAnotherModelOrOfAChangedAnswer) {
    const std::string plain =
        R"([{"type":"text","text":"Look."},{"type":"tool_use","id":"a","name":"f","input":{}},)"
        R"({"type":"tool_use","id":"b","name":"g","input":{}}])";
    const auto sent = [&] {
        return json::serialize(json::parse(write()).at("messages").at(1).at("content"));
    };
    messages = {
        text_message(role::user, "u"), text_message(role::reasoning, "Hm."),
        answer("Look.", "Hm.", recorded, {{"a", "f", "{}", {}, {}}, {"b", "g", "{}", {}, {}}}),
        tool_message("a", "1"), tool_message("b", "2")
    };

    request.provider = "another";
    EXPECT_EQ(sent(), plain);
    request.provider = "claude";
    request.parameters.model = "claude-opus-5-6";
    EXPECT_EQ(sent(), plain);
    request.parameters.model = "claude-opus-5-5";
    EXPECT_NE(sent(), plain);
    messages[1].content = std::string("Ha.");
    EXPECT_EQ(sent(), plain);
    messages[1].content = std::string("Hm.");
    messages[2].content = std::string("Look!");
    EXPECT_NE(sent().find("Look!"), std::string::npos);
    EXPECT_EQ(sent().find("thinking"), std::string::npos);
}

TEST_F(AnthropicRequest, SendsNoUnsignedThoughts) {
    messages = {
        text_message(role::user, "u"), text_message(role::reasoning, "Hm."),
        answer(
            "ab", "Hm.",
            R"([{"is":"text","bytes":1},{"is":"thinking","bytes":3},)"
            R"({"is":"text","bytes":1},)"
            R"({"is":"thinking","members":{"signature":"s"}}])"
        ),
        text_message(role::user, "v")
    };

    // Neither a signed thought at the end, which the server refuses.
    EXPECT_EQ(
        json::serialize(json::parse(write()).at("messages").at(1).at("content")),
        R"([{"type":"text","text":"a"},{"type":"text","text":"b"}])"
    );
}

TEST_F(AnthropicRequest, EndsWithAPausedAnswerAndContinuesIt) {
    const auto pause = [](message value) {
        auto origin = std::make_shared<session::turn_origin>(*value.origin);
        origin->end = session::turn_end::paused;
        value.origin = std::move(origin);
        return value;
    };
    const std::string asked = R"([{"role":"user","content":[{"type":"text","text":"u"}]},)";
    const std::string paused =
        R"({"role":"assistant","content":[{"type":"text","text":"Look."},)"
        R"({"type":"server_tool_use","id":"s","name":"web_search","input":{}},)"
        R"({"type":"thinking","thinking":"","signature":"c2ln"})";
    messages = {
        text_message(role::user, "u"),
        pause(answer(
            "Look.", "",
            R"([{"is":"text","bytes":5},{"is":"other","members":{"type":"server_tool_use",)"
            R"("id":"s","name":"web_search","input":{}}},)"
            R"({"is":"thinking","members":{"signature":"c2ln"}}])"
        ))
    };
    EXPECT_EQ(member("messages"), asked + paused + "]}]");

    messages.push_back(answer(
        "Found.", "",
        R"([{"is":"other","members":{"type":"web_search_tool_result","tool_use_id":"s"}},)"
        R"({"is":"text","bytes":6}])"
    ));
    messages.push_back(text_message(role::user, "v"));
    EXPECT_EQ(
        member("messages"), asked + paused +
                                R"(,{"type":"web_search_tool_result","tool_use_id":"s"},)"
                                R"({"type":"text","text":"Found."}]},)"
                                R"({"role":"user","content":[{"type":"text","text":"v"}]}])"
    );

    // A call of the server's own tool that has no result would be refused.
    messages[2] = text_message(role::assistant, "Of another model.");
    EXPECT_EQ(
        member("messages"),
        asked + R"({"role":"assistant","content":[{"type":"text","text":"Look."}]},)"
                R"j({"role":"user","content":[{"type":"text","text":"(Continue.)"}]},)j"
                R"({"role":"assistant","content":[{"type":"text","text":"Of another model."}]},)"
                R"({"role":"user","content":[{"type":"text","text":"v"}]}])"
    );
    messages.erase(messages.begin() + 2);
    EXPECT_EQ(
        member("messages"),
        asked + R"({"role":"assistant","content":[{"type":"text","text":"Look."}]},)"
                R"({"role":"user","content":[{"type":"text","text":"v"}]}])"
    );
}

TEST_F(AnthropicRequest, SendsNoServerCallWhoseContinuationBrokeOff) {
    const auto pause = [](message value) {
        auto origin = std::make_shared<session::turn_origin>(*value.origin);
        origin->end = session::turn_end::paused;
        value.origin = std::move(origin);
        return value;
    };
    const auto use = [](std::string_view id) {
        return R"({"is":"other","members":{"type":"server_tool_use","id":")" + std::string(id) +
               R"(","name":"web_search","input":{}}})";
    };
    const auto found = [](std::string_view id) {
        return R"({"is":"other","members":{"type":"web_search_tool_result","tool_use_id":")" +
               std::string(id) + R"("}})";
    };
    const std::string said = R"([{"is":"text","bytes":1},)";
    message broken = answer("c", "", "[]");
    broken.origin = [&] { // The model made it, but its end, with the record, never came.
        auto origin = std::make_shared<session::turn_origin>(*broken.origin);
        origin->data.clear();
        return origin;
    }();
    const message after = text_message(role::user, "v");
    const message first = pause(answer("a", "", said + use("s") + "]"));

    messages = {text_message(role::user, "u"), first, broken, after};
    EXPECT_EQ(member("messages").find("server_tool_use"), std::string::npos);

    // One that came whole, but without the result.
    messages[2] = answer("c", "", R"([{"is":"text","bytes":1}])");
    EXPECT_EQ(member("messages").find("server_tool_use"), std::string::npos);

    // The second continuation breaks off. The result in the first one is left out with its call.
    messages = {
        text_message(role::user, "u"), first,
        pause(answer("b", "", said + found("s") + "," + use("t") + "]")), broken, after
    };
    EXPECT_EQ(member("messages").find("server_tool_use"), std::string::npos);
    EXPECT_EQ(member("messages").find("tool_result"), std::string::npos);

    messages[3] = answer("c", "", said + found("t") + "]");
    EXPECT_NE(member("messages").find(R"("tool_use_id":"s")"), std::string::npos);
    EXPECT_NE(member("messages").find(R"("tool_use_id":"t")"), std::string::npos);

    // A plugin changed the answer, so its blocks cannot be sent.
    messages[3].content = "d";
    EXPECT_EQ(member("messages").find("tool_use"), std::string::npos);
}

TEST_F(AnthropicRequest, OffersItsTools) {
    tools.push_back({"f", "Does.", json::parse(R"({"properties":{"a":{"type":"string"}}})")});
    tools.push_back({"g", "", {}});

    EXPECT_EQ(
        member("tools"), R"([{"name":"f","description":"Does.","input_schema":{"type":"object",)"
                         R"("properties":{"a":{"type":"string"}}},"eager_input_streaming":true},)"
                         R"({"name":"g","input_schema":{"type":"object","properties":{}},)"
                         R"("eager_input_streaming":true}])"
    );
    settings.eager_input = false;
    EXPECT_EQ(write().find("eager"), std::string::npos);
}

message adding(message value, std::vector<std::string> tools) {
    session::prompt_record record;
    record.tools = std::move(tools);
    value.prompt = std::make_shared<const session::prompt_record>(std::move(record));
    return value;
}

TEST_F(AnthropicRequest, TellsAToolWithItsMessage) {
    request.adds_tools = true;
    settings.eager_input = false;
    tools = {{"f", "", {}}, {"g", "Does.", {}}};
    messages = {
        text_message(role::user, "u"), calling("", {{"c", "f", "{}", {}, {}}}),
        text_message(role::system, "s"), adding(tool_message("c", "r"), {"g"})
    };
    const std::string_view definition =
        R"({"name":"g","description":"Does.","input_schema":{"type":"object","properties":{}}})";
    const std::string asked =
        R"([{"role":"user","content":[{"type":"text","text":"u"}]},)"
        R"({"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},)"
        R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"r"}]},)"
        R"({"role":"system","content":[{"type":"text","text":"s"},{"type":"tool_addition",)"
        R"("tool":{"type":"tool_definition","definition":)" +
        std::string(definition) + "}}]}";

    EXPECT_EQ(
        member("tools"), R"([{"name":"f","input_schema":{"type":"object","properties":{}}}])"
    );
    EXPECT_EQ(member("messages"), asked + "]");
    EXPECT_EQ(anthropic_betas(request, settings), "inline-tools-2026-09-15");
    messages.push_back(text_message(role::assistant, "a"));
    messages.push_back(text_message(role::user, "v"));
    EXPECT_TRUE(member("messages").starts_with(asked + ","));

    request.parameters.model = "gateway/some-claude"; // The setting says what it takes.
    EXPECT_TRUE(member("messages").starts_with(asked + ","));
    request.adds_tools = false;
    EXPECT_EQ(write().find("tool_addition"), std::string::npos);
    EXPECT_NE(member("tools").find(definition), std::string::npos);
}

TEST_F(AnthropicRequest, MarksAToolThatIsToldLast) {
    request.adds_tools = true;
    settings.cache = anthropic_cache::five_minutes;
    tools = {{"f", "", {}}, {"g", "", {}}};
    messages = {adding(text_message(role::user, "u"), {"g"})};
    const json::value body = json::parse(write());

    EXPECT_TRUE(body.at("tools").at(0).as_object().contains("cache_control"));
    const json::value& block = body.at("messages").at(1).at("content").at(0);
    EXPECT_TRUE(block.as_object().contains("cache_control"));
    EXPECT_FALSE(block.at("tool").at("definition").as_object().contains("cache_control"));
}

TEST_F(AnthropicRequest, MarksSystemToolsAndTwoMessagesForTheCache) {
    request.instructions = "i";
    tools = {{"f", "", {}}, {"g", "", {}}};
    messages = {
        text_message(role::user, "u"), text_message(role::assistant, "a"),
        text_message(role::user, "v"), calling("w", {{"c", "f", "{}", {}, {}}}),
        tool_message("c", "r")
    };
    const std::string without_marks = write();
    settings.cache = anthropic_cache::five_minutes;
    const std::string mark = R"("cache_control":{"type":"ephemeral"})";

    EXPECT_EQ(member("system"), R"([{"type":"text","text":"i",)" + mark + "}]");
    const json::value body = json::parse(write());
    EXPECT_FALSE(body.at("tools").at(0).as_object().contains("cache_control"));
    EXPECT_TRUE(body.at("tools").at(1).as_object().contains("cache_control"));
    EXPECT_EQ(
        member("messages"),
        R"([{"role":"user","content":[{"type":"text","text":"u"}]},)"
        R"({"role":"assistant","content":[{"type":"text","text":"a",)" +
            mark +
            R"(}]},)"
            R"({"role":"user","content":[{"type":"text","text":"v"}]},)"
            R"({"role":"assistant","content":[{"type":"text","text":"w"},)"
            R"({"type":"tool_use","id":"c","name":"f","input":{}}]},)"
            R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"r",)" +
            mark + R"(}]}])"
    );
    std::string unmarked = write();
    for (std::size_t at = 0; (at = unmarked.find("," + mark)) != std::string::npos;) {
        unmarked.erase(at, mark.size() + 1);
    }
    EXPECT_EQ(unmarked, without_marks);

    settings.cache = anthropic_cache::one_hour;
    EXPECT_NE(write().find(R"({"type":"ephemeral","ttl":"1h"})"), std::string::npos);
}

std::shared_ptr<const answer_format> make_format(std::string schema) {
    return std::make_shared<const answer_format>(answer_format{.schema = std::move(schema)});
}

TEST_F(AnthropicRequest, WritesItsParameters) {
    request.parameters.model = "claude-opus-4-6";
    request.parameters.temperature = 0.5;
    request.parameters.max_output_tokens = 7;
    request.parameters.reasoning_effort = "high";
    request.parameters.format = make_format(R"({"type":"object"})");
    settings.display = anthropic_display::summarized;

    EXPECT_EQ(
        write(),
        R"({"model":"claude-opus-4-6","max_tokens":7,)"
        R"("thinking":{"type":"adaptive","display":"summarized"},)"
        R"("output_config":{"effort":"high","format":{"type":"json_schema","schema":{"type":"object"}}},)"
        R"("temperature":0.5,"stream":true,"messages":[]})"
    );
    settings.drop = {
        "temperature", "reasoning_effort", "thinking", "max_output_tokens", "response_format"
    };
    EXPECT_EQ(
        write(), R"({"model":"claude-opus-4-6","max_tokens":32000,"stream":true,"messages":[]})"
    );
    EXPECT_TRUE(left_out.empty());
}

TEST_F(AnthropicRequest, LeavesOutTheFormatOfAnyJsonObject) {
    request.parameters.format = make_format("");

    EXPECT_EQ(member("output_config"), "");
    EXPECT_EQ(left_out.back(), "claude-opus-5-5 response_format");
}

TEST_F(AnthropicRequest, WritesTopPAndStopTexts) {
    request.parameters.model = "claude-opus-4-6";
    request.parameters.top_p = 0.5;
    request.parameters.stop = std::vector<std::string>{"END", "\n\n"};
    request.parameters.seed = 7;

    EXPECT_EQ(
        write(), R"({"model":"claude-opus-4-6","max_tokens":32000,"top_p":0.5,)"
                 R"("stop_sequences":["END"],"stream":true,"messages":[]})"
    );
    EXPECT_EQ(left_out, (std::vector<std::string>{"claude-opus-4-6 seed", "claude-opus-4-6 stop"}))
        << "no seed, and no stop text of white space";
    request.parameters.model = "claude-opus-5-5";
    EXPECT_EQ(member("top_p"), "");
    left_out.clear();
    settings.drop = {"top_p", "stop", "seed"};
    (void)write();
    EXPECT_TRUE(left_out.empty());
}

TEST_F(AnthropicRequest, LeavesOutWhatTheModelRefuses) {
    tools.push_back({"f", "", {}});
    request.parameters.temperature = 0.5;
    request.parameters.tool_choice = tool_choice_from_string("f");
    request.parameters.reasoning_effort = "none";

    EXPECT_EQ(member("temperature") + member("tool_choice") + member("thinking"), "");
    left_out.clear();
    (void)write();
    EXPECT_EQ(
        left_out, (std::vector<std::string>{
                      "claude-opus-5-5 reasoning_effort", "claude-opus-5-5 temperature",
                      "claude-opus-5-5 tool_choice"
                  })
    );
    request.parameters.model = "claude-sonnet-5-5";
    EXPECT_EQ(member("thinking"), R"({"type":"between_tools"})");
    request.parameters.model = "claude-haiku-5-5";
    EXPECT_EQ(member("thinking"), R"({"type":"disabled"})");
    EXPECT_EQ(member("output_config"), "");
    EXPECT_EQ(member("tool_choice"), R"({"type":"tool","name":"f"})");
}

TEST_F(AnthropicRequest, LeavesOutTheChoiceOfAToolThatIsNotInTheList) {
    request.adds_tools = true;
    request.parameters.model = "claude-opus-4-8";
    request.parameters.parallel_tool_calls = false;
    request.parameters.tool_choice = tool_choice_from_string("g");
    tools = {{"f", "", {}}, {"g", "", {}}};
    messages = {adding(text_message(role::user, "u"), {"g"})};

    EXPECT_EQ(member("tool_choice"), R"({"type":"auto","disable_parallel_tool_use":true})");
    EXPECT_EQ(left_out, std::vector<std::string>{"claude-opus-4-8 tool_choice"});
    request.adds_tools = false;
    request.parameters.parallel_tool_calls.reset();
    EXPECT_EQ(member("tool_choice"), R"({"type":"tool","name":"g"})");
    request.adds_tools = true;
    request.parameters.tool_choice = tool_choice_from_string("f");
    EXPECT_EQ(member("tool_choice"), R"({"type":"tool","name":"f"})");
    request.parameters.tool_choice = tool_choice_from_string("required");
    EXPECT_EQ(member("tool_choice"), R"({"type":"any"})");
    EXPECT_EQ(left_out.size(), 1U);
}

TEST_F(AnthropicRequest, LeavesOutWhatTheVersionRefuses) {
    request.parameters.model = "claude-opus-4-6";
    request.parameters.temperature = 0.5;
    request.parameters.top_p = 0.5;
    settings.api_version = "2026-10-21";
    const std::string body = write();

    EXPECT_EQ(body.find("temperature"), std::string::npos);
    EXPECT_EQ(body.find("top_p"), std::string::npos);
    EXPECT_EQ(
        left_out, (std::vector<std::string>{"claude-opus-4-6 temperature", "claude-opus-4-6 top_p"})
    );
}

TEST_F(AnthropicRequest, AsksTheServerToLeaveOutThoughtsWhoseConversationChanged) {
    settings.mismatch = anthropic_mismatch::model_default;
    const std::string dropping =
        R"({"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}})";
    const std::string beta = "thinking-binding-controls-2026-08-01";

    EXPECT_EQ(member("thinking"), dropping);
    EXPECT_EQ(anthropic_betas(request, settings), beta);
    for (const std::string model :
         {"claude-opus-4-8", "us.anthropic.claude-opus-5-5-v1:0", "anthropic/claude-opus-5.5"}) {
        SCOPED_TRACE(model);
        request.parameters.model = model;
        EXPECT_EQ(member("thinking"), "");
        EXPECT_EQ(anthropic_betas(request, settings), "");
    }
    settings.mismatch = anthropic_mismatch::drop;
    EXPECT_EQ(member("thinking"), dropping);
    settings.betas = {"b", beta, "b"};
    EXPECT_EQ(anthropic_betas(request, settings), "b," + beta);
    settings.thinking = anthropic_thinking::disabled;
    request.parameters.model = "claude-opus-4-8";
    EXPECT_EQ(member("thinking"), R"({"type":"disabled"})");
}

TEST_F(AnthropicRequest, NamesTheBetaOfUpdates) {
    settings.display = anthropic_display::updates;

    EXPECT_EQ(member("thinking"), R"({"type":"adaptive","display":"updates"})");
    EXPECT_EQ(anthropic_betas(request, settings), "thinking-display-updates-2026-08-18");
    settings.extra_body = {{"thinking", {{"type", "adaptive"}}}};
    EXPECT_EQ(member("thinking"), R"({"type":"adaptive"})");
    EXPECT_EQ(anthropic_betas(request, settings), "");
}

TEST_F(AnthropicRequest, ChoosesTools) {
    request.parameters.model = "local";
    request.parameters.parallel_tool_calls = false;
    EXPECT_EQ(member("tool_choice"), "") << "no tools";
    tools.push_back({"f", "", {}});

    EXPECT_EQ(member("tool_choice"), R"({"type":"auto","disable_parallel_tool_use":true})");
    request.parameters.tool_choice = tool_choice_from_string("required");
    EXPECT_EQ(member("tool_choice"), R"({"type":"any","disable_parallel_tool_use":true})");
    request.parameters.parallel_tool_calls = true;
    EXPECT_EQ(member("tool_choice"), R"({"type":"any"})");
    request.parameters.tool_choice = tool_choice_from_string("none");
    EXPECT_EQ(member("tool_choice"), R"({"type":"none"})");
    request.parameters.tool_choice = tool_choice_from_string("required");
    settings.extra_body = {{"thinking", {{"type", "enabled"}, {"budget_tokens", 2000}}}};
    EXPECT_EQ(member("tool_choice"), "") << "refused together with a budget";
    EXPECT_EQ(left_out.size(), 1U);
}

TEST_F(AnthropicRequest, SwitchesThinkingOffForAChoiceThatIsNeededMore) {
    const auto choose = [this](std::string_view model) {
        request.parameters.model = model;
        request.parameters.tool_choice = tool_choice_from_string("f");
        request.parameters.tool_choice->instead_of_thinking = true;
    };
    constexpr std::string_view forced = R"({"type":"tool","name":"f"})";
    tools.push_back({"f", "", {}});
    choose("claude-opus-4-8");

    EXPECT_EQ(member("thinking"), "") << "nothing to switch off";
    EXPECT_EQ(member("tool_choice"), forced);
    settings.extra_body = {{"thinking", {{"type", "enabled"}, {"budget_tokens", 2000}}}};
    EXPECT_EQ(member("thinking"), "");
    EXPECT_EQ(member("tool_choice"), forced);
    settings.extra_body = {};
    settings.thinking = anthropic_thinking::adaptive;
    EXPECT_EQ(member("thinking"), R"({"type":"disabled"})");
    EXPECT_EQ(member("tool_choice"), forced);
    EXPECT_TRUE(left_out.empty());
    choose("claude-opus-5-5");
    EXPECT_NE(member("thinking"), R"({"type":"disabled"})") << "it refuses both";
    EXPECT_EQ(member("tool_choice"), "");
    EXPECT_FALSE(left_out.empty());
}

TEST_F(AnthropicRequest, MapsTheEffortsOfOtherDialects) {
    request.parameters.reasoning_effort = "minimal";

    EXPECT_EQ(member("output_config"), R"({"effort":"low"})");
}

TEST_F(AnthropicRequest, LetsTheConfigurationReplaceMembers) {
    messages.push_back(text_message(role::user, "u"));
    settings.extra_body = {
        {"max_tokens", 5},
        {"stream", nullptr},
        {"metadata", {{"user_id", "u"}}},
        {"messages", "none"},
        {"system", "none"}
    };

    EXPECT_EQ(
        write(), R"({"model":"claude-opus-5-5","max_tokens":5,"metadata":{"user_id":"u"},)"
                 R"("messages":[{"role":"user","content":[{"type":"text","text":"u"}]}]})"
    );
}

TEST_F(AnthropicRequest, OfALongerConversationBeginsWithTheFormerOne) {
    const auto thoughtful = [this](const std::string& id) {
        return std::vector{
            text_message(role::reasoning, "Hm."),
            answer(
                "Look.", "Hm.",
                R"([{"is":"thinking","bytes":3,"members":{"signature":"s"}},)"
                R"({"is":"text","bytes":5},{"is":"call"}])",
                {{id, "f", "{}", {}, {}}}
            )
        };
    };
    for (const char* const model : {"claude-opus-5-5", "claude-opus-4-5"}) {
        SCOPED_TRACE(model);
        request.parameters.model = model;
        expect_growth("]}]}", thoughtful, true);
    }
}

} // namespace
} // namespace agui::runner
