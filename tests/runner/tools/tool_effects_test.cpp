#include "runner/tools/tool_effects.hpp"
#include "runner/tools/webhook_answer.hpp"

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

namespace agui::runner {
namespace {

namespace json = boost::json;

std::shared_ptr<const tool_effects> read(std::string_view effects) {
    return read_tool_effects(
        {{"_meta", json::object{{effects_member, json::parse(effects)}}}, {"result", "x"}}
    );
}

std::string content_of(const tool_outcome& outcome) {
    return std::get<std::string>(outcome.content);
}

TEST(ToolEffects, AreReadFromTheMetadataOfAnAnswer) {
    const auto effects =
        read(R"({"statePatch":[],"state":{"ignored":true},)"
             R"("activities":[{"type":"card","content":{"a":1},"id":"c","replace":false}],)"
             R"("custom":[{"name":"n","value":null}]})");
    ASSERT_NE(effects, nullptr);
    EXPECT_EQ(effects->state->patch, json::array());
    ASSERT_EQ(effects->activities.size(), 1U);
    EXPECT_EQ(effects->activities[0].id, "c");
    EXPECT_EQ(effects->activities[0].content, json::parse(R"({"a":1})"));
    EXPECT_FALSE(effects->activities[0].replace);
    ASSERT_EQ(effects->customs.size(), 1U);
    EXPECT_EQ(effects->customs[0].first, "n");
    EXPECT_EQ(read(R"({"state":[1]})")->state->whole.view(), "[1]");
}

TEST(ToolEffects, OfTheWrongFormAreLeftOut) {
    EXPECT_EQ(read(R"("text")"), nullptr);
    EXPECT_EQ(read("{}"), nullptr);
    EXPECT_EQ(
        read(R"({"activities":{"type":"card","content":{}},"custom":[1,{"name":"n"}]})"), nullptr
    );
    EXPECT_EQ(
        read(R"({"activities":[{"type":"","content":{}},{"type":"t","content":[]}]})"), nullptr
    );
    EXPECT_EQ(read_tool_effects({{"_meta", "text"}}), nullptr);
    std::string many = R"({"custom":[{"name":"n","value":1})";
    for (std::size_t i = 0; i < effects_max; ++i) {
        many += R"(,{"name":"n","value":1})";
    }
    EXPECT_EQ(read(many + "]}")->customs.size(), effects_max);
}

TEST(WebhookAnswer, IsTheResultAsItIs) {
    for (const std::string text :
         {"", "words", R"({"_meta":{"other":1},"result":"x"})",
          R"({"org.agui-gateway/effects":{}})", R"({"_meta":{"org.agui-gateway/effects":)"}) {
        const tool_outcome outcome = read_webhook_answer(text);
        EXPECT_EQ(content_of(outcome), text);
        EXPECT_EQ(outcome.effects, nullptr);
    }
}

TEST(WebhookAnswer, WithEffectsHasItsResultBesides) {
    const std::string meta = R"("_meta":{"org.agui-gateway/effects":{"state":1}})";
    const tool_outcome text = read_webhook_answer(R"({"result":"It \"is\".",)" + meta + "}");
    EXPECT_EQ(content_of(text), R"(It "is".)");
    EXPECT_NE(text.effects, nullptr);
    EXPECT_EQ(content_of(read_webhook_answer(R"({"result":[1],)" + meta + "}")), "[1]");
    EXPECT_EQ(content_of(read_webhook_answer(R"({"b":2,"a":1,)" + meta + "}")), R"({"b":2,"a":1})");
}

} // namespace
} // namespace agui::runner
