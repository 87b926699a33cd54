#include "gateway/demo.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <utility>

namespace agui::gateway {
namespace {

namespace json = boost::json;

const json::value background_tool{
    {"type", "function"}, {"function", {{"name", "change_background"}}}
};

/// The text that the demo's model answers to a conversation that ends in this message.
std::string answer_to(json::object last, bool with_tool = true) {
    json::object body{{"messages", json::array{std::move(last)}}};
    if (with_tool) {
        body["tools"] = json::array{background_tool};
    }
    runner::transport_request request;
    request.body = json::serialize(body);
    const auto answer = demo_script()(request);
    return answer ? answer->body : "none";
}

std::string answer_to_user(std::string_view text, bool with_tool = true) {
    return answer_to({{"role", "user"}, {"content", text}}, with_tool);
}

TEST(Demo, CallsTheToolWithTheColourThatWasAskedFor) {
    const std::string answer = answer_to_user("Make the background light blue, please");

    EXPECT_NE(answer.find("change_background"), std::string::npos);
    EXPECT_NE(answer.find(R"("arguments":"{\"col"})"), std::string::npos) << "in several pieces";
    EXPECT_NE(answer.find("lightblue"), std::string::npos) << "said before the call";
    EXPECT_NE(answer.find(R"("finish_reason":"tool_calls")"), std::string::npos);
    EXPECT_TRUE(answer.ends_with("data: [DONE]\n\n"));
}

TEST(Demo, TakesHexColoursAndWholeWordsOnly) {
    EXPECT_NE(answer_to_user("colour #FFD27F").find("#ffd27f"), std::string::npos);
    EXPECT_EQ(answer_to_user("I am scared").find("change_background"), std::string::npos);
    EXPECT_NE(answer_to_user("another colour").find("rebeccapurple"), std::string::npos);
}

TEST(Demo, SuggestsAQuestionWhenAskedAnythingElse) {
    const std::string answer = answer_to_user("Hello!");

    EXPECT_EQ(answer.find("tool_calls\":"), std::string::npos);
    EXPECT_NE(answer.find("background"), std::string::npos);
    EXPECT_NE(answer.find(R"("finish_reason":"stop")"), std::string::npos);
}

TEST(Demo, CallsNoToolThatIsNotOffered) {
    EXPECT_EQ(
        answer_to_user("blue", false).find(R"("name":"change_background")"), std::string::npos
    );
}

TEST(Demo, SpeaksOfTheResult) {
    const std::string answer = answer_to({{"role", "tool"}, {"content", "painted"}});

    EXPECT_NE(answer.find("painted"), std::string::npos);
    EXPECT_EQ(answer.find("tool_calls\":"), std::string::npos);
}

json::array offered(std::string_view name) {
    return {{{"type", "function"}, {"function", {{"name", name}}}}};
}

/// What the model answers to whole conversations, with a tool of the server on offer.
std::string answer_to_all(json::array messages, std::string_view tool) {
    runner::transport_request request;
    request.body =
        json::serialize(json::object{{"messages", std::move(messages)}, {"tools", offered(tool)}});
    const auto answer = demo_script()(request);
    return answer ? answer->body : "none";
}

/// The arguments of the call in a streamed answer.
std::string called_with(const std::string& answer) {
    std::string arguments;
    std::istringstream lines(answer);
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("data: {")) {
            continue;
        }
        const json::value chunk = json::parse(line.substr(6));
        const json::object& delta = chunk.at("choices").at(0).at("delta").as_object();
        if (const json::value* calls = delta.if_contains("tool_calls")) {
            arguments += calls->at(0).at("function").at("arguments").as_string();
        }
    }
    return arguments;
}

TEST(Demo, CallsTheToolsOfTheServer) {
    const auto asked = [](std::string_view text) {
        return json::array{{{"role", "user"}, {"content", text}}};
    };
    EXPECT_EQ(
        called_with(answer_to_all(asked("Add blue cheese to the list"), "add_to_list")),
        R"({"item":"blue cheese"})"
    );
    EXPECT_EQ(
        called_with(answer_to_all(asked("Find a recipe for apple pie."), "find_recipe")),
        R"({"dish":"apple pie"})"
    );
    EXPECT_EQ(
        called_with(answer_to_all(asked("Order it"), "place_order")),
        R"({"items":["milk","bread"],"note":"before noon"})"
    );
}

TEST(Demo, OrdersTheOpenItemsOfTheNewestList) {
    const json::array messages{
        {{"role", "user"},
         {"content",
          "<state note=\"x\">\n{\"items\":[{\"text\":\"tea\",\"done\":false},"
          "{\"text\":\"rice\",\"done\":true},{\"text\":\"a &lt;b\"},7]}\n</state>\n\nhello"}},
        {{"role", "assistant"}, {"content", "Hello."}},
        {{"role", "user"}, {"content", "order it"}}
    };

    EXPECT_EQ(
        called_with(answer_to_all(messages, "place_order")),
        R"({"items":["tea","a <b"],"note":"before noon"})"
    );
}

TEST(Demo, AnswersAMessageThatCameDuringTheCall) {
    const auto answer = [](std::string_view text) {
        return answer_to_all(
            {{{"role", "tool"}, {"content", "found"}}, {{"role", "user"}, {"content", text}}},
            "add_to_list"
        );
    };
    EXPECT_NE(answer("without nuts").find("found"), std::string::npos);
    EXPECT_NE(answer("without nuts").find("nuts"), std::string::npos);
    EXPECT_EQ(called_with(answer("add nuts to the list")), R"({"item":"nuts"})");
}

TEST(Demo, IsAFunctionOfTheRequestAlone) {
    EXPECT_EQ(answer_to_user("Make it blue"), answer_to_user("Make it blue"));
}

TEST(Demo, DoesNotAnswerAnInvalidRequest) {
    runner::transport_request request;
    request.body = "hello";
    EXPECT_FALSE(demo_script()(request));
}

TEST(Demo, HasAConfigurationThatLoads) {
    const auto loaded =
        load_config({.file = {}, .text = demo_config("somewhere"), .overrides = {}});

    ASSERT_TRUE(loaded) << loaded.error().lines.front();
    EXPECT_EQ(loaded->session.sqlite_path, "somewhere/demo.db");
}

} // namespace
} // namespace agui::gateway
