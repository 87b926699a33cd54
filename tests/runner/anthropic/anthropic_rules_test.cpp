#include "runner/anthropic/anthropic_rules.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace agui::runner {
namespace {

TEST(AnthropicRules, KnowAModelUnderTheNamesOfOtherPlatforms) {
    for (const std::string model :
         {"claude-opus-5-5", "claude-opus-5-5-20260815", "anthropic/claude-opus-5.5",
          "us.anthropic.claude-opus-5-5-v1:0", "Claude-Opus-5-5"}) {
        SCOPED_TRACE(model);
        const anthropic_rules rules = anthropic_rules_of(model);
        EXPECT_FALSE(rules.sampling);
        EXPECT_FALSE(rules.thinking_budget);
        EXPECT_FALSE(rules.no_thinking);
        EXPECT_FALSE(rules.forced_choice);
    }
}

TEST(AnthropicRules, DifferByModel) {
    EXPECT_TRUE(anthropic_rules_of("claude-sonnet-5-5").between_tools);
    EXPECT_FALSE(anthropic_rules_of("claude-opus-5-5").between_tools);
    EXPECT_TRUE(anthropic_rules_of("claude-haiku-5-5").no_thinking);
    EXPECT_TRUE(anthropic_rules_of("claude-haiku-5-5").forced_choice);
    EXPECT_FALSE(anthropic_rules_of("claude-fable-5-1").forced_choice);
    EXPECT_TRUE(anthropic_rules_of("claude-fable-5-1").sampling);
    EXPECT_TRUE(anthropic_rules_of("claude-opus-4-6").sampling);
    EXPECT_TRUE(anthropic_rules_of("qwen3").sampling);
}

TEST(AnthropicRules, KnowSinceWhichVersionSystemTextMayComeLater) {
    for (const std::string model :
         {"claude-opus-4-8", "claude-opus-5", "claude-sonnet-5-5", "claude-fable-5-1",
          "claude-haiku-10-1"}) {
        EXPECT_TRUE(anthropic_rules_of(model).system_messages) << model;
    }
    for (const std::string model :
         {"claude-opus-4-7", "claude-sonnet-4-5-20250929", "claude-opus-4-20250514",
          "claude-sonnet-5", "claude-sonnet-5-20260401", "claude-3-5-haiku-20241022",
          "claude-mythos-preview", "claude-", "qwen3", ""}) {
        EXPECT_FALSE(anthropic_rules_of(model).system_messages) << model;
    }
}

std::vector<std::string>
refused(const model_parameters& parameters, const anthropic_settings& settings = {}) {
    std::vector<std::string> names;
    for (const anthropic_refusal& each : anthropic_refusals(parameters, settings)) {
        names.push_back(each.setting);
        EXPECT_NE(each.why.find(parameters.model), std::string::npos);
    }
    return names;
}

TEST(AnthropicRules, NameTheSettingsThatTheModelRefuses) {
    model_parameters parameters;
    parameters.model = "claude-opus-5-5";
    parameters.temperature = 0.5;
    parameters.tool_choice = tool_choice_from_string("required");
    anthropic_settings settings;
    settings.thinking = anthropic_thinking::disabled;
    settings.extra_body = {
        {"top_k", 3}, {"top_p", nullptr}, {"thinking", {{"type", "enabled"}, {"budget_tokens", 1}}}
    };

    EXPECT_EQ(
        refused(parameters, settings),
        (std::vector<std::string>{
            "temperature", "tool_choice", "thinking", "extra_body", "extra_body"
        })
    );
    settings.drop = {"temperature", "thinking"};
    settings.extra_body.clear();
    EXPECT_EQ(refused(parameters, settings), std::vector<std::string>{"tool_choice"});
    parameters.model = "claude-opus-4-6";
    EXPECT_EQ(refused(parameters, settings), std::vector<std::string>());
}

TEST(AnthropicRules, NameParametersThatNoModelTakes) {
    model_parameters parameters;
    parameters.model = "claude-opus-4-6";
    parameters.top_p = 0.5;
    parameters.stop = std::vector<std::string>{"END"};
    EXPECT_EQ(refused(parameters), std::vector<std::string>());

    parameters.stop = std::vector<std::string>{"END", " "};
    parameters.seed = 7;
    EXPECT_EQ(refused(parameters), (std::vector<std::string>{"stop", "seed"}));
    parameters.model = "claude-opus-5-5";
    EXPECT_EQ(refused(parameters), (std::vector<std::string>{"top_p", "stop", "seed"}));
}

TEST(AnthropicRules, AllowWhatForcesNoCall) {
    model_parameters parameters;
    parameters.model = "claude-opus-5-5";
    parameters.reasoning_effort = "high";
    parameters.tool_choice = tool_choice_from_string("none");

    EXPECT_EQ(refused(parameters), std::vector<std::string>());
}

TEST(AnthropicRules, NoModelTakesSamplingInALaterVersion) {
    model_parameters parameters;
    parameters.model = "claude-opus-4-6";
    parameters.temperature = 0.5;
    parameters.top_p = 0.5;
    anthropic_settings settings;
    settings.extra_body = {{"top_k", 3}};
    EXPECT_EQ(refused(parameters, settings), std::vector<std::string>());
    settings.api_version = "2026-10-20";
    EXPECT_EQ(refused(parameters, settings), std::vector<std::string>());
    settings.api_version = "2026-10-21";
    EXPECT_EQ(
        refused(parameters, settings),
        (std::vector<std::string>{"temperature", "top_p", "extra_body"})
    );
    EXPECT_NE(
        anthropic_refusals(parameters, settings).front().why.find("version 2026-10-21"),
        std::string::npos
    );
    settings.api_version = "2027-01-01";
    EXPECT_FALSE(anthropic_rules_of("qwen3", settings).sampling);
}

TEST(AnthropicRules, AVersionIsADate) {
    EXPECT_TRUE(is_anthropic_version("2023-06-01"));
    for (const std::string text : {"", "2023-6-1", "2023-06-01 ", "2023/06/01", "latest"}) {
        EXPECT_FALSE(is_anthropic_version(text)) << text;
    }
}

} // namespace
} // namespace agui::runner
