#include "gateway/demo.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <string>

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
