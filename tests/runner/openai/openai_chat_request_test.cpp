#include "runner/base/tool_names.hpp"
#include "runner/openai/openai_chat.hpp"
#include "runner/provider/role_order.hpp"
#include "tests/runner/provider/request_case.hpp"

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <memory>

#include <string>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

namespace json = boost::json;
using session::message;
using session::role;
using test::text_message;
using test::tool_message;
using test::user_parts;

using lines_of_roles = std::vector<std::string>;

class OpenaiChatRequest : public test::request_case<openai_settings> {
protected:
    OpenaiChatRequest() : request_case("", "m", write_openai_request) {}

    /// The value of the `messages` member, as text.
    std::string messages_text() {
        const std::string body = write();
        const std::string begin = R"({"model":"m","messages":)";
        const std::string end = R"(,"stream":true,"stream_options":{"include_usage":true}})";
        EXPECT_TRUE(body.starts_with(begin) && body.ends_with(end)) << body;
        return body.substr(begin.size(), body.size() - begin.size() - end.size());
    }
};

std::shared_ptr<const answer_format>
make_format(std::string schema, std::string name = "reply", bool strict = true) {
    return std::make_shared<const answer_format>(
        answer_format{std::move(schema), std::move(name), strict}
    );
}

TEST_F(OpenaiChatRequest, LeavesOutAnAnswerOfMediaAlone) {
    session::turn_origin origin;
    origin.end = session::turn_end::media;
    origin.data = {{"reasoning", "reasoning_content"}};
    message made = text_message(role::assistant, "");
    made.origin = std::make_shared<const session::turn_origin>(origin);
    messages = {text_message(role::user, "Draw."), made, text_message(role::user, "Bye.")};

    EXPECT_EQ(
        messages_text(), R"([{"role":"user","content":"Draw."},{"role":"user","content":"Bye."}])"
    );
}

TEST_F(OpenaiChatRequest, AsksForAnAnswerOfASchema) {
    EXPECT_EQ(write().find("response_format"), std::string::npos);
    request.parameters.format = make_format(R"({"type":"object"})");

    EXPECT_EQ(
        json::parse(write()).at("response_format"),
        json::parse(R"({"type":"json_schema",)"
                    R"("json_schema":{"name":"reply","strict":true,"schema":{"type":"object"}}})")
    );

    request.parameters.format = make_format("{}", "weather", false);
    EXPECT_NE(
        write().find(R"({"type":"json_schema","json_schema":{"name":"weather","schema":{}}})"),
        std::string::npos
    );
    request.parameters.format = make_format("");
    EXPECT_NE(write().find(R"("response_format":{"type":"json_object"})"), std::string::npos);

    settings.extra_body["response_format"] = nullptr;
    EXPECT_EQ(write().find("response_format"), std::string::npos) << "the configuration counts";
}

TEST_F(OpenaiChatRequest, AsksForAStreamWithUsage) {
    request.instructions = "Be brief.";
    messages.push_back(text_message(role::user, "Hi"));

    EXPECT_EQ(
        write(),
        R"({"model":"m","messages":[{"role":"system","content":"Be brief."},)"
        R"({"role":"user","content":"Hi"}],"stream":true,"stream_options":{"include_usage":true}})"
    );
}

TEST_F(OpenaiChatRequest, IsTheSameBytesTwice) {
    messages.push_back(user_parts(R"([{"type":"text","text":"a"},{"type":"text","text":"b"}])"));
    tools.push_back({"t", "d", json::parse(R"({"type":"object","properties":{"z":{},"a":{}}})")});
    settings.extra_body = {{"seed", 7}, {"top_k", 1}};

    EXPECT_EQ(write(), write());
}

TEST_F(OpenaiChatRequest, CarriesAWholeToolRound) {
    message call = text_message(role::assistant, "Let me look.");
    call.tool_calls.push_back({"call_1", "get_weather", R"({"city":"Bern"})", {}, {}});
    call.tool_calls.push_back({"call_2", "get_time", "{}", {}, {}});
    messages = {
        text_message(role::developer, "d"),
        text_message(role::system, "s"),
        text_message(role::user, "u"),
        call,
        tool_message("call_1", "sunny"),
        tool_message("call_2", ""),
        text_message(role::assistant, "It is sunny."),
        text_message(role::user, "v")
    };

    EXPECT_EQ(
        messages_text(),
        R"([{"role":"system","content":"d"},{"role":"system","content":"s"},)"
        R"({"role":"user","content":"u"},)"
        R"({"role":"assistant","content":"Let me look.","tool_calls":[)"
        R"({"id":"call_1","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Bern\"}"}},)"
        R"({"id":"call_2","type":"function","function":{"name":"get_time","arguments":"{}"}}]},)"
        R"({"role":"tool","tool_call_id":"call_1","content":"sunny"},)"
        R"({"role":"tool","tool_call_id":"call_2","content":""},)"
        R"({"role":"assistant","content":"It is sunny."},{"role":"user","content":"v"}])"
    );
}

TEST_F(OpenaiChatRequest, GivesAMessageThatOnlyCallsNullContent) {
    message call = text_message(role::assistant, "");
    call.tool_calls.push_back({"c", "f", "{}", {}, {}});
    message blank = call;
    blank.content = std::string(" \n");
    messages = {call, text_message(role::assistant, "")};
    const std::string called = R"({"role":"assistant","content":null,"tool_calls":[{"id":"c",)"
                               R"("type":"function","function":{"name":"f","arguments":"{}"}}]})";

    EXPECT_EQ(messages_text(), "[" + called + R"(,{"role":"assistant","content":""}])");
    messages = {blank};
    EXPECT_EQ(messages_text(), "[" + called + "]");
}

TEST_F(OpenaiChatRequest, LeavesOutReasoningAndActivities) {
    messages = {text_message(role::reasoning, "hm"), text_message(role::activity, "busy")};

    EXPECT_EQ(messages_text(), "[]");
}

TEST_F(OpenaiChatRequest, TellsTheModelThatAToolFailed) {
    message with_text = tool_message("a", "half of it");
    with_text.error = "timed out";
    message bare = tool_message("b", "");
    bare.error = "no such city";
    message unnamed = tool_message("c", "");
    unnamed.error = "";
    messages = {with_text, bare, unnamed};

    EXPECT_EQ(
        messages_text(),
        R"([{"role":"tool","tool_call_id":"a","content":"half of it\n\nError: timed out"},)"
        R"({"role":"tool","tool_call_id":"b","content":"Error: no such city"},)"
        R"({"role":"tool","tool_call_id":"c","content":"Error: the tool failed"}])"
    );
}

TEST_F(OpenaiChatRequest, EscapesOnlyTheCharactersThatJsonForbids) {
    messages.push_back(text_message(
        role::user,
        std::string("\"\\\n\r\t\b\x01\x1f/\x7f") + "\xE2\x82\xAC\xE2\x80\xA8" + '\0' + "<"
    ));

    EXPECT_EQ(
        messages_text(), "[{\"role\":\"user\",\"content\":\"\\\"\\\\\\n\\r\\t\\b\\u0001\\u001f/\x7f"
                         "\xE2\x82\xAC\xE2\x80\xA8\\u0000<\"}]"
    );
}

TEST_F(OpenaiChatRequest, SendsOneTextPartAsAString) {
    messages = {
        user_parts(R"([{"type":"text","text":"one"}])"),
        user_parts(R"([{"type":"text","text":"one"},{"type":"text","text":"two"}])")
    };

    EXPECT_EQ(
        messages_text(), R"([{"role":"user","content":"one"},{"role":"user","content":[)"
                         R"({"type":"text","text":"one"},{"type":"text","text":"two"}]}])"
    );
}

TEST_F(OpenaiChatRequest, PassesImagesByUrlAndByData) {
    messages.push_back(user_parts(R"([{"type":"text","text":"what is this?"},
        {"type":"image","source":{"type":"url","value":"https://example.org/a.png"}},
        {"type":"image","source":{"type":"data","value":"QUJD","mimeType":"image/png"}},
        {"type":"image","source":{"type":"url","value":"data:image/gif;base64,R0lG"}}])"));

    EXPECT_EQ(
        messages_text(),
        R"([{"role":"user","content":[{"type":"text","text":"what is this?"},)"
        R"({"type":"image_url","image_url":{"url":"https://example.org/a.png"}},)"
        R"({"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD"}},)"
        R"({"type":"image_url","image_url":{"url":"data:image/gif;base64,R0lG"}}]}])"
    );
}

TEST_F(OpenaiChatRequest, DropsUrlsOfSchemesThatAreNotAllowed) {
    const std::string parts = R"([{"type":"text","text":"x"},
        {"type":"image","source":{"type":"url","value":"http://10.0.0.1/a.png"}},
        {"type":"image","source":{"type":"url","value":"file:///etc/passwd"}},
        {"type":"image","source":{"type":"url","value":"no scheme"}}])";
    messages.push_back(user_parts(parts));

    EXPECT_EQ(messages_text(), R"([{"role":"user","content":"x"}])");
    settings.media_urls = {"https", "http"};
    EXPECT_EQ(
        messages_text(), R"([{"role":"user","content":[{"type":"text","text":"x"},)"
                         R"({"type":"image_url","image_url":{"url":"http://10.0.0.1/a.png"}}]}])"
    );
}

TEST_F(OpenaiChatRequest, ComparesSchemesWithoutCase) {
    messages.push_back(
        user_parts(R"([{"type":"image","source":{"type":"url","value":"HTTPS://example.org/a"}}])")
    );

    EXPECT_EQ(
        messages_text(),
        R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"HTTPS://example.org/a"}}]}])"
    );
}

TEST_F(OpenaiChatRequest, PassesAudioOfTheTwoKnownFormats) {
    messages.push_back(user_parts(R"([
        {"type":"audio","source":{"type":"data","value":"AA==","mimeType":"audio/x-wav"}},
        {"type":"audio","source":{"type":"data","value":"BB==","mimeType":"Audio/MPEG"}},
        {"type":"audio","source":{"type":"data","value":"CC==","mimeType":"audio/ogg"}},
        {"type":"audio","source":{"type":"url","value":"https://example.org/a.wav","mimeType":"audio/wav"}},
        {"type":"video","source":{"type":"data","value":"DD==","mimeType":"video/mp4"}}])"));

    EXPECT_EQ(
        messages_text(), R"([{"role":"user","content":[)"
                         R"({"type":"input_audio","input_audio":{"data":"AA==","format":"wav"}},)"
                         R"({"type":"input_audio","input_audio":{"data":"BB==","format":"mp3"}}]}])"
    );
}

TEST_F(OpenaiChatRequest, PassesDataUrlsAsDataOfTheirRegisteredType) {
    messages.push_back(user_parts(R"([
        {"type":"image","source":{"type":"data","value":"data:image/png;base64,AA==","mimeType":"image/png"}},
        {"type":"image","source":{"type":"data","value":"/9j/4AAQ","mimeType":"image/jpg"}},
        {"type":"audio","source":{"type":"url","value":"data:audio/x-mp3;base64,BB=="}},
        {"type":"document","source":{"type":"url","value":"data:application/pdf;base64,CC=="}}])"));

    EXPECT_EQ(
        messages_text(),
        R"([{"role":"user","content":[)"
        R"({"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}},)"
        R"({"type":"image_url","image_url":{"url":"data:image/jpeg;base64,/9j/4AAQ"}},)"
        R"({"type":"input_audio","input_audio":{"data":"BB==","format":"mp3"}},)"
        R"({"type":"file","file":{"filename":"document","file_data":"data:application/pdf;base64,CC=="}}]}])"
    );
}

TEST_F(OpenaiChatRequest, PassesDocumentsByData) {
    messages.push_back(user_parts(R"([
        {"type":"document","source":{"type":"data","value":"AA==","mimeType":"application/pdf"},
         "metadata":{"filename":"a.pdf"}},
        {"type":"document","source":{"type":"data","value":"BB=="}},
        {"type":"document","source":{"type":"url","value":"https://example.org/a.pdf"}}])"));

    EXPECT_EQ(
        messages_text(),
        R"([{"role":"user","content":[)"
        R"({"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,AA=="}},)"
        R"({"type":"file","file":{"filename":"document","file_data":"data:application/octet-stream;base64,BB=="}}]}])"
    );
}

TEST_F(OpenaiChatRequest, PassesFileHandlesOnlyIfAllowedAndOurs) {
    messages.push_back(user_parts(R"([{"type":"text","text":"x"},
        {"type":"document","source":{"type":"file","value":"file-1"}},
        {"type":"document","source":{"type":"file","value":"file-2","provider":"openai"}},
        {"type":"document","source":{"type":"file","value":"file-3","provider":"other"}},
        {"type":"image","source":{"type":"file","value":"file-4"}}])"));

    EXPECT_EQ(messages_text(), R"([{"role":"user","content":"x"}])");
    settings.file_sources = true;
    EXPECT_EQ(
        messages_text(),
        R"([{"role":"user","content":[{"type":"text","text":"x"},)"
        R"({"type":"file","file":{"file_id":"file-1"}},{"type":"file","file":{"file_id":"file-2"}}]}])"
    );
}

TEST_F(OpenaiChatRequest, TakesLegacyBinaryPartsByTheirMediaType) {
    messages.push_back(user_parts(R"([
        {"type":"binary","mimeType":"image/png","data":"AA=="},
        {"type":"binary","mimeType":"image/png","url":"https://example.org/a.png"},
        {"type":"binary","mimeType":"audio/wav","data":"BB=="},
        {"type":"binary","mimeType":"application/pdf","data":"CC==","filename":"c.pdf"},
        {"type":"binary","mimeType":"image/png","id":"handle"}])"));

    EXPECT_EQ(
        messages_text(),
        R"([{"role":"user","content":[)"
        R"({"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}},)"
        R"({"type":"image_url","image_url":{"url":"https://example.org/a.png"}},)"
        R"({"type":"input_audio","input_audio":{"data":"BB==","format":"wav"}},)"
        R"({"type":"file","file":{"filename":"c.pdf","file_data":"data:application/pdf;base64,CC=="}}]}])"
    );
}

TEST_F(OpenaiChatRequest, LeavesOutTextPartsOfWhiteSpace) {
    const std::string image =
        R"({"type":"image","source":{"type":"data","value":"AA==","mimeType":"image/png"}})";
    for (const std::string blank : {"", " ", "\\n", "\\t \\r\\n", "\\u00a0", "\\u3000"}) {
        SCOPED_TRACE(blank);
        const std::string text = R"({"type":"text","text":")" + blank + "\"}";
        messages = {
            user_parts("[" + text + "," + image + "," + text + "]"),
            user_parts("[" + text + R"(,{"type":"text","text":"one"}])")
        };

        EXPECT_EQ(
            messages_text(),
            R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]},)"
            R"({"role":"user","content":"one"}])"
        );
    }
}

/// A user message in which nothing is left.
const std::string empty_user =
    R"({"role":"user","content":")" + std::string(empty_message_text) + "\"}";

TEST_F(OpenaiChatRequest, ABlankUserMessageIsAFixedText) {
    messages = {
        text_message(role::user, ""), text_message(role::user, " \n"),
        user_parts(R"([{"type":"text","text":""},{"type":"text","text":" "}])"),
        user_parts(R"([{"type":"text","text":" "},{"type":"hologram"}])")
    };

    EXPECT_EQ(
        messages_text(),
        "[" + empty_user + "," + empty_user + "," + empty_user + "," + empty_user + "]"
    );
    EXPECT_EQ(empty_message_text, "(This message has no text.)") << "requests must begin alike";
}

TEST_F(OpenaiChatRequest, LeavesOutBlankSystemText) {
    request.instructions = " \n";
    messages = {
        text_message(role::system, ""), text_message(role::developer, "\t"),
        text_message(role::system, "s")
    };

    EXPECT_EQ(messages_text(), R"([{"role":"system","content":"s"}])");
}

TEST_F(OpenaiChatRequest, SendsABlankResultAsItIs) {
    messages = {tool_message("a", ""), tool_message("b", " \n")};

    EXPECT_EQ(
        messages_text(), R"([{"role":"tool","tool_call_id":"a","content":""},)"
                         R"({"role":"tool","tool_call_id":"b","content":" \n"}])"
    );
}

TEST_F(OpenaiChatRequest, SaysAUserMessageIsEmptyWhosePartsWereAllDropped) {
    messages = {
        user_parts(
            R"([{"type":"video","source":{"type":"data","value":"AA==","mimeType":"video/mp4"}}])"
        ),
        user_parts("[]"), user_parts(R"([1,null,{"type":"hologram"}])")
    };

    EXPECT_EQ(messages_text(), "[" + empty_user + "," + empty_user + "," + empty_user + "]");
}

TEST_F(OpenaiChatRequest, SendsOnlyTheTextOfAToolResult) {
    message parts = tool_message("a", "");
    parts.content = json::parse(R"([{"type":"text","text":"seen"},
        {"type":"image","source":{"type":"data","value":"AA==","mimeType":"image/png"}}])")
                        .as_array();
    message image = tool_message("b", "");
    image.content =
        json::parse(
            R"([{"type":"image","source":{"type":"data","value":"AA==","mimeType":"image/png"}}])"
        )
            .as_array();
    messages = {parts, image};

    EXPECT_EQ(
        messages_text(), R"([{"role":"tool","tool_call_id":"a","content":"seen"},)"
                         R"({"role":"tool","tool_call_id":"b","content":""}])"
    );
}

TEST_F(OpenaiChatRequest, OffersToolsWithASchemaEach) {
    tools.push_back({"a", "Does a.", json::parse(R"({"type":"object","required":["x"]})")});
    tools.push_back({"b", "", nullptr});
    request.parameters.tool_choice = tool_choice_from_string("b");
    request.parameters.parallel_tool_calls = false;

    EXPECT_EQ(
        write(),
        R"({"model":"m","messages":[],"tools":[)"
        R"({"type":"function","function":{"name":"a","description":"Does a.",)"
        R"("parameters":{"type":"object","required":["x"],"properties":{}}}},)"
        R"({"type":"function","function":{"name":"b","parameters":{"type":"object","properties":{}}}}],)"
        R"("tool_choice":{"type":"function","function":{"name":"b"}},"parallel_tool_calls":false,)"
        R"("stream":true,"stream_options":{"include_usage":true}})"
    );
}

TEST_F(OpenaiChatRequest, HasNamesThatModelServersTakeWhereverItNamesATool) {
    tools.push_back({"calendar.create", "", nullptr});
    request.parameters.tool_choice = tool_choice_from_string("calendar.create");
    message call = text_message(role::assistant, "");
    call.tool_calls.push_back({"c1", "calendar.create", "{}", {}, {}});
    call.tool_calls.push_back({"c2", "calendar.remove", "{}", {}, {}});
    messages = {call};
    const std::string create = tool_names(nullptr).sent("calendar.create");
    const std::string remove = tool_names(nullptr).sent("calendar.remove");

    const json::value body = json::parse(write());

    EXPECT_EQ(body.at("tools").at(0).at("function").at("name").as_string(), create);
    EXPECT_EQ(body.at("tool_choice").at("function").at("name").as_string(), create);
    const json::value& calls = body.at("messages").at(0).at("tool_calls");
    EXPECT_EQ(calls.at(0).at("function").at("name").as_string(), create);
    EXPECT_EQ(calls.at(1).at("function").at("name").as_string(), remove) << "no longer offered";
}

TEST_F(OpenaiChatRequest, NamesTheOtherToolChoices) {
    tools.push_back({"a", "", nullptr});
    for (const std::string name : {"auto", "none", "required"}) {
        SCOPED_TRACE(name);
        request.parameters.tool_choice = tool_choice_from_string(name);
        EXPECT_NE(write().find(R"("tool_choice":")" + name + "\""), std::string::npos);
    }
}

TEST_F(OpenaiChatRequest, SaysNothingOfToolsWhereThereAreNone) {
    request.parameters.tool_choice = tool_choice_from_string("required");
    request.parameters.parallel_tool_calls = true;

    EXPECT_EQ(messages_text(), "[]");
}

TEST_F(OpenaiChatRequest, SendsParametersThatAreSet) {
    request.parameters.temperature = 0.7;
    request.parameters.max_output_tokens = 100;
    request.parameters.reasoning_effort = "low";

    EXPECT_EQ(
        write(),
        R"({"model":"m","messages":[],"temperature":0.7,"max_tokens":100,"reasoning_effort":"low",)"
        R"("stream":true,"stream_options":{"include_usage":true}})"
    );
}

TEST_F(OpenaiChatRequest, SendsTopPStopAndSeed) {
    request.parameters.top_p = 0.25;
    request.parameters.stop = std::vector<std::string>{"END", "\n\n"};
    request.parameters.seed = -7;

    EXPECT_EQ(
        write(), R"({"model":"m","messages":[],"top_p":0.25,"stop":["END","\n\n"],"seed":-7,)"
                 R"("stream":true,"stream_options":{"include_usage":true}})"
    );
    request.parameters.stop->clear();
    EXPECT_EQ(write().find("stop\":"), std::string::npos);
}

TEST_F(OpenaiChatRequest, ChoosesTheOutputLimitThatTheModelsServerKnows) {
    request.parameters.max_output_tokens = 5;
    const std::vector<std::pair<std::string, std::string>> expected = {
        {"gpt-5.5", "max_completion_tokens"},
        {"gpt-4o-mini", "max_completion_tokens"},
        {"openai/o3", "max_completion_tokens"},
        {"o4-mini", "max_completion_tokens"},
        {"ft:gpt-4o:org", "max_completion_tokens"},
        {"chatgpt-4o-latest", "max_completion_tokens"},
        {"gpt-oss:20b", "max_tokens"},
        {"openai/gpt-oss-120b", "max_tokens"},
        {"llama3.2", "max_tokens"},
        {"olmo", "max_tokens"},
        {"o", "max_tokens"},
        {"Qwen/Qwen3-8B", "max_tokens"},
    };
    for (const auto& [model, member] : expected) {
        SCOPED_TRACE(model);
        request.parameters.model = model;
        EXPECT_NE(write().find(",\"" + member + "\":5,"), std::string::npos);
    }
}

TEST_F(OpenaiChatRequest, LetsTheConfigurationAddReplaceAndRemoveMembers) {
    request.parameters.temperature = 0.5;
    request.parameters.max_output_tokens = 9;
    settings.extra_body =
        json::parse(R"({"temperature":null,"stream_options":null,"max_tokens":3,"top_k":40,
                        "model":"other","none":null})")
            .as_object();

    EXPECT_EQ(
        write(), R"({"messages":[],"stream":true,"max_tokens":3,"top_k":40,"model":"other"})"
    );
}

TEST(ToolChoice, ReadsTheThreeModesAndTakesTheRestForNames) {
    EXPECT_EQ(tool_choice_from_string("auto").kind, tool_choice::mode::automatic);
    EXPECT_EQ(tool_choice_from_string("none").kind, tool_choice::mode::none);
    EXPECT_EQ(tool_choice_from_string("required").kind, tool_choice::mode::required);
    const tool_choice named = tool_choice_from_string("get_weather");
    EXPECT_EQ(named.kind, tool_choice::mode::named);
    EXPECT_EQ(named.name, "get_weather");
}

/// An answer that called a tool, with what its provider wants back.
std::vector<message> tool_round(boost::json::object data) {
    message reasoning = text_message(role::reasoning, "Hm.");
    reasoning.id = "rsn1";
    message answer = text_message(role::assistant, "");
    answer.tool_calls.push_back({"c1", "f", "{}", {}, {}});
    session::turn_origin origin;
    origin.provider = "main";
    origin.model = "m";
    origin.blocks.push_back({session::turn_block::kind::reasoning, "rsn1", 0, nullptr});
    origin.blocks.push_back(
        {session::turn_block::kind::call, "c1", 0,
         boost::json::object{{"extra_content", {{"signature", "s"}}}, {"other", 1}}}
    );
    origin.data = std::move(data);
    answer.origin = std::make_shared<const session::turn_origin>(origin);
    return {reasoning, answer, tool_message("c1", "done")};
}

const std::string call_text =
    R"([{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"})";
const std::string result_text = R"(,{"role":"tool","tool_call_id":"c1","content":"done"}])";

TEST_F(OpenaiChatRequest, OfALongerConversationBeginsWithTheFormerOne) {
    request.provider = "main";
    expect_growth(R"(],"tools":[)", [](const std::string& id) {
        std::vector<message> round = tool_round({{"reasoning", "reasoning_content"}});
        round.pop_back(); // Without the result.
        round.back().tool_calls.front().id = id;
        return round;
    });
}

TEST_F(OpenaiChatRequest, SendsBackTheMembersThatTheProviderNeeds) {
    request.provider = "main";
    messages = tool_round({{"reasoning", "reasoning_content"}});
    EXPECT_EQ(
        messages_text(),
        R"([{"role":"assistant","content":null,"reasoning_content":"Hm.","tool_calls":)" +
            call_text + R"(,"extra_content":{"signature":"s"}}]})" + result_text
    );

    messages = tool_round({{"reasoning", "reasoning"}, {"extra_content", {{"x", 1}}}});
    EXPECT_EQ(
        messages_text(),
        R"([{"role":"assistant","content":null,"reasoning":"Hm.","extra_content":{"x":1},"tool_calls":)" +
            call_text + R"(,"extra_content":{"signature":"s"}}]})" + result_text
    );

    const boost::json::array details{boost::json::object{{"type", "reasoning.encrypted"}}};
    messages = tool_round({{"reasoning", "reasoning"}, {"reasoning_details", details}});
    EXPECT_EQ(
        messages_text(), R"([{"role":"assistant","content":null,"reasoning_details":)"
                         R"([{"type":"reasoning.encrypted"}],"tool_calls":)" +
                             call_text + R"(,"extra_content":{"signature":"s"}}]})" + result_text
    );
}

TEST_F(OpenaiChatRequest, SendsReasoningBackUnderEachOfItsNames) {
    request.provider = "main";
    for (const std::string name : {"reasoning_text", "thinking"}) {
        messages = tool_round({{"reasoning", name}});
        EXPECT_NE(
            messages_text().find(R"("content":null,")" + name + R"(":"Hm.","tool_calls")"),
            std::string::npos
        );
    }
}

TEST_F(OpenaiChatRequest, SendsReasoningBackInsideTheContentItCameIn) {
    request.provider = "main";
    const auto content_of = [this](const std::string& name, const std::string& text) {
        messages = tool_round({{"reasoning", name}});
        messages[1].content = text;
        const std::string all = messages_text();
        const std::size_t begin = all.find(R"("content":)");
        return all.substr(begin, all.find(R"(,"tool_calls")") - begin);
    };

    EXPECT_EQ(content_of("<think>", "Look."), R"("content":"<think>\nHm.\n</think>\n\nLook.")");
    EXPECT_EQ(content_of("[THINK]", ""), R"("content":"[THINK]\nHm.\n[/THINK]\n\n")");
    EXPECT_EQ(
        content_of("content", "Look."),
        R"("content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]},)"
        R"({"type":"text","text":"Look."}])"
    );
    EXPECT_EQ(
        content_of("content", ""),
        R"("content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]}])"
    );

    messages[1].tool_calls.clear(); // No turn with calls: nothing goes back.
    messages[1].content = "Look.";
    messages.pop_back();
    EXPECT_EQ(
        messages_text(),
        R"json([{"role":"assistant","content":"Look."},{"role":"user","content":"(Continue.)"}])json"
    );
}

TEST_F(OpenaiChatRequest, SendsNothingBackToAnotherProviderOrModel) {
    const std::string plain =
        R"([{"role":"assistant","content":null,"tool_calls":)" + call_text + "}]}" + result_text;
    messages = tool_round({{"reasoning", "reasoning_content"}});

    EXPECT_EQ(messages_text(), plain); // A provider without a name.
    request.provider = "other";
    EXPECT_EQ(messages_text(), plain);
    request.provider = "main";
    auto origin = std::make_shared<session::turn_origin>(*messages[1].origin);
    origin->model = "another";
    messages[1].origin = origin;
    EXPECT_EQ(messages_text(), plain);
}

TEST_F(OpenaiChatRequest, SendsPlainReasoningBackFromTheFirstCallOfAUserTurnOn) {
    request.provider = "main";
    const auto talk = [this](const std::string& text) {
        std::vector<message> round = tool_round({{"reasoning", "reasoning_content"}});
        round[0].content = "thought of " + text;
        round[1].content = text;
        round[1].tool_calls.clear();
        messages.insert(messages.end(), round.begin(), round.begin() + 2);
    };
    messages.push_back(text_message(role::user, "Hi"));
    talk("greeting");
    messages.push_back(text_message(role::user, "Do it"));
    const std::vector<message> round = tool_round({{"reasoning", "reasoning_content"}});
    messages.insert(messages.end(), round.begin(), round.end());
    talk("report");
    messages.push_back(text_message(role::user, "Thanks"));

    const std::string text = messages_text();

    EXPECT_EQ(text.find("thought of greeting"), std::string::npos);
    EXPECT_NE(text.find(R"("reasoning_content":"Hm.")"), std::string::npos);
    EXPECT_NE(text.find(R"("reasoning_content":"thought of report")"), std::string::npos);
}

TEST_F(OpenaiChatRequest, SendsUserMessagesInARowAsOneWhereAsked) {
    settings.merge_roles = true;
    messages = {
        text_message(role::user, "one"), text_message(role::activity, "busy"),
        text_message(role::user, "two"), text_message(role::assistant, "yes"),
        text_message(role::user, "three")
    };

    EXPECT_EQ(
        messages_text(), R"([{"role":"user","content":"one\n\ntwo"},)"
                         R"({"role":"assistant","content":"yes"},)"
                         R"({"role":"user","content":"three"}])"
    );

    messages = {
        text_message(role::user, "one"),
        user_parts(R"([{"type":"image","source":{"type":"url","value":"https://h/a.png"}}])")
    };
    EXPECT_EQ(
        messages_text(), R"([{"role":"user","content":[{"type":"text","text":"one"},)"
                         R"({"type":"image_url","image_url":{"url":"https://h/a.png"}}]}])"
    );
}

TEST_F(OpenaiChatRequest, SendsReasoningBackAlsoWhereUserMessagesAreMerged) {
    request.provider = "main";
    messages = tool_round({{"reasoning", "reasoning_content"}});
    messages.insert(messages.begin(), text_message(role::user, "Hi"));
    const std::string as_they_are = messages_text();
    settings.merge_roles = true;

    EXPECT_EQ(messages_text(), as_they_are);
    EXPECT_NE(as_they_are.find(R"("reasoning_content":"Hm.")"), std::string::npos);
}

/// A turn in which a user message came instead of a tool's answer.
std::vector<message> interrupted_round(const std::string& call_id) {
    message call = text_message(role::assistant, "");
    call.tool_calls.push_back({call_id, "f", "{}", {}, {}});
    return {
        text_message(role::assistant, "Hi"), text_message(role::user, "Do it"), call,
        tool_message(call_id, "not answered"), text_message(role::user, "Wait")
    };
}

lines_of_roles roles_of(const std::string& text) {
    lines_of_roles roles;
    const json::value messages = json::parse(text);
    for (const json::value& each : messages.as_array()) {
        roles.emplace_back(each.at("role").as_string());
    }
    return roles;
}

TEST_F(OpenaiChatRequest, HasRolesInTurnForMistralAndWhereAsked) {
    request.instructions = "Be brief.";
    messages = interrupted_round("c1");
    EXPECT_EQ(
        roles_of(messages_text()),
        (lines_of_roles{"system", "assistant", "user", "assistant", "tool", "user"})
    );
    const lines_of_roles in_turn{"system",    "user", "assistant", "user",
                                 "assistant", "tool", "assistant", "user"};

    settings.variant = openai_variant::mistral;
    EXPECT_EQ(roles_of(messages_text()), in_turn);

    settings.variant = openai_variant::openai;
    settings.merge_roles = true;
    EXPECT_EQ(roles_of(messages_text()), in_turn);
}

TEST_F(OpenaiChatRequest, GivesMistralIdsOfNineLettersAndDigits) {
    settings.variant = openai_variant::mistral;
    messages = interrupted_round("call_PTLP8xhu3uwZk4l3nlnrrJha");

    const json::value sent = json::parse(messages_text());

    const json::string& id = sent.at(3).at("tool_calls").at(0).at("id").as_string();
    EXPECT_EQ(id.size(), 9U);
    EXPECT_EQ(id.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz"), json::string::npos);
    EXPECT_EQ(sent.at(4).at("tool_call_id").as_string(), id);
    EXPECT_EQ(messages.at(2).tool_calls.at(0).id, "call_PTLP8xhu3uwZk4l3nlnrrJha") << "not stored";
}

TEST_F(OpenaiChatRequest, SendsAnotherModelsIdsInACommonForm) {
    request.provider = "main";
    const std::string id = "functions.f:0";
    messages = interrupted_round(id);
    const json::value others = json::parse(messages_text());
    const json::string& mapped = others.at(2).at("tool_calls").at(0).at("id").as_string();
    EXPECT_EQ(mapped.find_first_of(".:"), json::string::npos);
    EXPECT_EQ(others.at(3).at("tool_call_id").as_string(), mapped);

    auto origin = std::make_shared<session::turn_origin>();
    origin->provider = "main";
    origin->model = "m";
    messages.at(2).origin = origin;
    const json::value own = json::parse(messages_text());
    EXPECT_EQ(own.at(2).at("tool_calls").at(0).at("id").as_string(), id);
    EXPECT_EQ(own.at(3).at("tool_call_id").as_string(), id);

    request.parameters.model = "another";
    EXPECT_NE(write().find(mapped.c_str()), std::string::npos);
}

TEST_F(OpenaiChatRequest, SendsReasoningBackUnderKnownNamesOnly) {
    request.provider = "main";
    for (const std::string_view name : {"role", "think", "x\":1,\"y", ""}) {
        messages = tool_round({{"reasoning", name}});
        EXPECT_EQ(messages_text().find("Hm."), std::string::npos) << name;
    }
}

TEST_F(OpenaiChatRequest, DeepseekDoesNotThinkAboutAnotherModelsCalls) {
    request.provider = "main";
    settings.variant = openai_variant::deepseek;
    settings.extra_body = {{"thinking", {{"type", "enabled"}}}, {"top_p", 1}};
    request.parameters.reasoning_effort = "high";
    messages = tool_round({{"reasoning", "reasoning_content"}});
    const std::string own = write();
    EXPECT_NE(own.find(R"("reasoning_content":"Hm.")"), std::string::npos);
    EXPECT_NE(own.find(R"("thinking":{"type":"enabled"})"), std::string::npos);
    EXPECT_NE(own.find(R"("reasoning_effort":"high")"), std::string::npos);

    // The first round is the model's own, the second another's.
    std::vector<message> second = tool_round({{"reasoning", "reasoning_content"}});
    for (message& each : second) {
        each.origin.reset();
        messages.push_back(each);
    }
    const std::string mixed = write();
    EXPECT_NE(mixed.find(R"("thinking":{"type":"disabled"})"), std::string::npos);
    EXPECT_EQ(mixed.find("reasoning_content"), std::string::npos);
    EXPECT_EQ(mixed.find("enabled"), std::string::npos);
    EXPECT_EQ(mixed.find("reasoning_effort"), std::string::npos);
    EXPECT_NE(mixed.find(R"("top_p":1)"), std::string::npos);

    // Without calls, another's turns lack nothing.
    messages = {
        text_message(role::user, "Hi"), text_message(role::assistant, "Hello"),
        text_message(role::user, "And?")
    };
    EXPECT_NE(write().find(R"("thinking":{"type":"enabled"})"), std::string::npos);
    // The answer after the calls lacks it as well.
    messages = tool_round({{"reasoning", "reasoning_content"}});
    messages.push_back(text_message(role::assistant, "Hello"));
    EXPECT_NE(write().find(R"("thinking":{"type":"disabled"})"), std::string::npos);
}

TEST_F(OpenaiChatRequest, GeminiGetsAPlaceholderForAMissingSignature) {
    constexpr std::string_view placeholder =
        R"("extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}})";
    request.provider = "main";
    messages = tool_round({});
    for (message& each : messages) {
        each.origin.reset();
        if (!each.tool_calls.empty()) {
            each.tool_calls.push_back(each.tool_calls.front());
            each.tool_calls.back().id = "parallel";
        }
    }
    EXPECT_EQ(messages_text().find("extra_content"), std::string::npos);
    settings.variant = openai_variant::gemini;
    const std::string others = messages_text();
    const std::size_t at = others.find(placeholder);
    ASSERT_NE(at, std::string::npos) << others;
    EXPECT_LT(at, others.find("parallel"));
    EXPECT_EQ(others.find("extra_content", at + placeholder.size()), std::string::npos)
        << "only the first of parallel calls";
}

} // namespace
} // namespace agui::runner
