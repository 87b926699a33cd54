// [models.NAME].
#include "tests/gateway/config/config_fixture.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace agui::gateway {
namespace {

using test::load;
using test::minimal;
using test::problem_of;

TEST(Config, ReadsHowAModelAnswers) {
    const model_config plain = load(minimal).value().models.at(0);
    EXPECT_EQ(plain.first_content, std::chrono::seconds(600));
    EXPECT_EQ(plain.reasoning_tags, "");

    const config all =
        load(std::string(minimal) + "first_content_seconds = 5\nreasoning_tags = \"</think>\"\n")
            .value();
    EXPECT_EQ(all.models.at(0).first_content, std::chrono::seconds(5));
    EXPECT_EQ(all.models.at(0).reasoning_tags, "</think>");
    EXPECT_NE(print_config(all).find("first_content_seconds = 5"), std::string::npos);
    EXPECT_NE(print_config(all).find("reasoning_tags = '</think>'"), std::string::npos);
    EXPECT_EQ(
        problem_of(std::string(minimal) + "reasoning_tags = \"think\"\n"),
        "config:6:18: models.main.reasoning_tags: must be a tag such as \"<think>\", or "
        "\"</think>\" if the prompt already holds the opening tag"
    );
}

TEST(Config, ReadsTheVariantOfAModelServer) {
    using variant = runner::openai_variant;
    const std::vector<std::pair<std::string, variant>> expected = {
        {"openai", variant::openai},
        {"deepseek", variant::deepseek},
        {"gemini", variant::gemini},
        {"mistral", variant::mistral},
    };
    for (const auto& [name, value] : expected) {
        SCOPED_TRACE(name);
        const config read = load(minimal, {"models.main.variant=" + name}).value();
        EXPECT_EQ(read.models.at(0).variant, value);
        EXPECT_NE(print_config(read).find("variant = '" + name + "'"), std::string::npos);
    }
    EXPECT_NE(
        problem_of(minimal, {"models.main.variant=other"}).find("variant"), std::string::npos
    );
}

constexpr const char* claude = R"(
[models.main]
provider = "anthropic"
base_url = "https://api.anthropic.com"
model = "claude-opus-5-5"
)";

TEST(Config, ReadsAModelOfTheMessagesDialect) {
    const config plain = load(claude).value();
    const model_config& model = plain.models.at(0);
    EXPECT_EQ(model.provider, model_config::provider_kind::anthropic);
    EXPECT_EQ(model.thinking, runner::anthropic_thinking::model_default);
    EXPECT_EQ(model.thinking_display, runner::anthropic_display::model_default);
    EXPECT_EQ(model.prompt_cache, runner::anthropic_cache::five_minutes);
    EXPECT_TRUE(model.eager_input);
    EXPECT_FALSE(model.tool_addition);
    EXPECT_EQ(model.api_version, "2023-06-01");
    EXPECT_EQ(print_config(plain).find("merge_roles"), std::string::npos);

    const config all = load(std::string(claude) + R"(thinking = "adaptive"
thinking_display = "summarized"
thinking_mismatch = "refuse"
prompt_cache = "1h"
eager_input = false
tool_addition = true
api_version = "2026-10-21"
betas = ["a-2026", "b"]
drop = ["temperature"]
temperature = 0.5
)")
                           .value();
    const runner::anthropic_settings settings = anthropic_settings_of(all.models.at(0));
    EXPECT_EQ(settings.thinking, runner::anthropic_thinking::adaptive);
    EXPECT_EQ(settings.display, runner::anthropic_display::summarized);
    EXPECT_EQ(settings.mismatch, runner::anthropic_mismatch::refuse);
    EXPECT_EQ(settings.cache, runner::anthropic_cache::one_hour);
    EXPECT_FALSE(settings.eager_input);
    EXPECT_TRUE(settings.tool_addition);
    EXPECT_EQ(settings.api_version, "2026-10-21");
    EXPECT_EQ(settings.betas, (std::vector<std::string>{"a-2026", "b"}));
    EXPECT_EQ(settings.drop, std::vector<std::string>{"temperature"});
    const std::string printed = print_config(all);
    EXPECT_NE(printed.find("provider = 'anthropic'"), std::string::npos) << printed;
    EXPECT_EQ(print_config(load(printed).value()), printed);
}

constexpr const char* gpt = R"(
[models.main]
provider = "responses"
base_url = "https://api.openai.com/v1"
model = "gpt-5.6"
)";

TEST(Config, ReadsAModelOfTheResponsesDialect) {
    const config plain = load(gpt).value();
    const model_config& model = plain.models.at(0);
    EXPECT_EQ(model.provider, model_config::provider_kind::responses);
    EXPECT_EQ(model.reasoning_summary, runner::responses_summary::model_default);
    EXPECT_TRUE(model.encrypted_reasoning);
    EXPECT_EQ(print_config(plain).find("merge_roles"), std::string::npos);

    const config all =
        load(std::string(gpt) + "reasoning_summary = \"auto\"\nencrypted_reasoning = false\n")
            .value();
    EXPECT_EQ(all.models.at(0).reasoning_summary, runner::responses_summary::automatic);
    EXPECT_FALSE(all.models.at(0).encrypted_reasoning);
    const std::string printed = print_config(all);
    EXPECT_NE(printed.find("provider = 'responses'"), std::string::npos) << printed;
    EXPECT_EQ(print_config(load(printed).value()), printed);
    EXPECT_NE(
        problem_of(gpt, {"models.main.reasoning_summary=long"}).find("reasoning_summary"),
        std::string::npos
    );
}

constexpr const char* scripted = R"(
[models.main]
provider = "scripted"
script = "folder"
)";

TEST(Config, AScriptedModelSpeaksAnyDialect) {
    using kind = model_config::provider_kind;
    const std::vector<std::pair<std::string, kind>> expected = {
        {"openai", kind::openai}, {"anthropic", kind::anthropic}, {"responses", kind::responses}
    };
    EXPECT_EQ(load(scripted).value().models.at(0).dialect, kind::openai);
    for (const auto& [name, value] : expected) {
        SCOPED_TRACE(name);
        const config read = load(scripted, {"models.main.dialect=" + name}).value();
        EXPECT_EQ(read.models.at(0).dialect, value);
        EXPECT_EQ(dialect_of(read.models.at(0)), value);
        const std::string printed = print_config(read);
        EXPECT_NE(printed.find("dialect = '" + name + "'"), std::string::npos) << printed;
        EXPECT_EQ(print_config(load(printed).value()), printed);
    }
    EXPECT_NE(
        problem_of(scripted, {"models.main.dialect=messages"})
            .find("dialect: must be one of \"openai\", \"anthropic\", \"responses\""),
        std::string::npos
    );
    EXPECT_NE(
        problem_of(minimal, {"models.main.dialect=openai"})
            .find("dialect: is only for provider = \"scripted\""),
        std::string::npos
    );
}

TEST(Config, AScriptedModelHasTheKeysOfItsDialect) {
    const std::string messages = std::string(scripted) + "dialect = \"anthropic\"\n";
    const std::string responses = std::string(scripted) + "dialect = \"responses\"\n";

    EXPECT_EQ(
        load(messages + "thinking_display = \"summarized\"\n")
            .value()
            .models.at(0)
            .thinking_display,
        runner::anthropic_display::summarized
    );
    EXPECT_FALSE(
        load(responses + "encrypted_reasoning = false\n").value().models.at(0).encrypted_reasoning
    );
    EXPECT_NE(
        problem_of(messages, {"models.main.variant=gemini"}).find("only for provider = \"openai\""),
        std::string::npos
    );
    EXPECT_NE(
        problem_of(responses, {"models.main.betas=[\"b\"]"})
            .find("only for provider = \"anthropic\""),
        std::string::npos
    );
    EXPECT_NE(
        problem_of(messages, {"models.main.model=claude-opus-5-5", "models.main.temperature=0.5"})
            .find("refuses any temperature"),
        std::string::npos
    );
    EXPECT_NE(
        problem_of(responses, {"models.main.seed=1"}).find("seed: the Resp"), std::string::npos
    );
}

TEST(Config, RefusesWhatTheModelRefuses) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"temperature=0.5", "models.main.temperature: \"claude-opus-5-5\" refuses any temperature"},
        {"tool_choice=required", "models.main.tool_choice: \"claude-opus-5-5\" refuses"},
        {"thinking=disabled", "models.main.thinking: \"claude-opus-5-5\" refuses \"disabled\""},
        {"headers.Anthropic-Beta=x", "models.main.headers: the names of anthropic-beta"},
        {"headers.Anthropic-Version=\"2026-10-21\"",
         "models.main.headers: anthropic-version belongs"},
        {"extra_body.top_k=3", "models.main.extra_body: \"claude-opus-5-5\" refuses top_k"},
    };
    for (const auto& [text, expected] : cases) {
        SCOPED_TRACE(text);
        const std::string problem = problem_of(claude, {"models.main." + text});
        EXPECT_NE(problem.find(expected), std::string::npos) << problem;
        EXPECT_EQ(
            load(claude, {"models.main." + text, "models.main.model=claude-opus-4-6"}).has_value(),
            text.find("headers") == std::string::npos
        );
    }
    EXPECT_TRUE(load(claude, {"models.main.temperature=0.5", "models.main.drop=[\"temperature\"]"})
    );
}

TEST(Config, AnAgentsParametersPrecedeThoseOfItsModels) {
    const config all =
        load(
            std::string(minimal) + "top_p = 0.9\nseed = 1\nreasoning_effort = \"low\"\n"
                                   "[[agents]]\nid = \"a\"\nmodels = [\"main\"]\n"
                                   "top_p = 0.5\nstop = [\"END\"]\nreasoning_effort = \"high\"\n"
        )
            .value();

    const runner::model_parameters merged = parameters_of(all.agents.at(0), all.models.at(0));
    EXPECT_EQ(merged.top_p, 0.5);
    EXPECT_EQ(merged.stop, std::vector<std::string>{"END"});
    EXPECT_EQ(merged.seed, 1);
    EXPECT_EQ(merged.reasoning_effort, "high");
    EXPECT_NE(print_config(all).find("stop = [ 'END' ]"), std::string::npos) << print_config(all);
}

TEST(Config, RefusesParametersThatAModelOrItsDialectDoesNotTake) {
    const auto has_problem = [](const std::string& of, std::string_view what) {
        return of.find(what) != std::string::npos;
    };
    const std::string agent = "[[agents]]\nid = \"a\"\nmodels = [\"main\"]\n";

    EXPECT_TRUE(has_problem(problem_of(gpt, {"models.main.seed=1"}), "models.main.seed: the Resp"));
    EXPECT_TRUE(load(gpt, {"models.main.seed=1", "models.main.drop=[\"seed\"]"}));
    EXPECT_TRUE(has_problem(problem_of(gpt + agent + "stop = [\"a\"]\n"), "stop: [models.main]"));
    EXPECT_TRUE(has_problem(problem_of(claude + agent + "top_p = 0.5\n"), "top_p: [models.main]"));
    EXPECT_TRUE(load(claude + agent + "top_p = 0.5\n", {"models.main.drop=[\"top_p\"]"}));
    EXPECT_TRUE(has_problem(problem_of(gpt, {"models.main.drop=[\"top_p\"]"}), "drop"));
    EXPECT_TRUE(has_problem(problem_of(minimal, {"models.main.drop=[]"}), "drop: is only for"));
    EXPECT_TRUE(has_problem(problem_of(minimal, {"models.main.stop=[\"\"]"}), "at most 16 texts"));
    EXPECT_TRUE(has_problem(problem_of(minimal, {"models.main.top_p=1.1"}), "top_p"));
}

TEST(Config, RefusesKeysOfAnotherDialect) {
    EXPECT_NE(
        problem_of(claude, {"models.main.variant=gemini"}).find("only for provider = \"openai\""),
        std::string::npos
    );
    EXPECT_NE(
        problem_of(minimal, {"models.main.prompt_cache=off"})
            .find("only for provider = \"anthropic\""),
        std::string::npos
    );
    EXPECT_NE(
        problem_of(gpt, {"models.main.tool_addition=true"})
            .find("only for provider = \"anthropic\""),
        std::string::npos
    );
    EXPECT_NE(
        problem_of(minimal, {"models.main.encrypted_reasoning=false"})
            .find("only for provider = \"responses\""),
        std::string::npos
    );
    EXPECT_NE(
        problem_of(gpt, {"models.main.betas=[\"b\"]"}).find("only for provider = \"anthropic\""),
        std::string::npos
    );
    EXPECT_NE(
        problem_of(claude, {"models.main.drop=[\"colour\"]"})
            .find("no setting that can be dropped"),
        std::string::npos
    );
    EXPECT_NE(
        problem_of(claude, {"models.main.api_version=latest"}).find("must be a date"),
        std::string::npos
    );
    EXPECT_NE(
        problem_of(
            claude, {"models.main.api_version=\"2026-10-21\"", "models.main.model=claude-opus-4-6",
                     "models.main.top_p=0.5"}
        )
            .find("in version 2026-10-21"),
        std::string::npos
    );
    EXPECT_NE(
        problem_of(claude, {"models.main.betas=[\"a,b\"]"}).find("must be names"), std::string::npos
    );
    EXPECT_NE(
        problem_of(
            claude, {"models.main.thinking=between_tools", "models.main.thinking_display=updates",
                     "models.main.model=claude-sonnet-5-5"}
        )
            .find("needs thinking"),
        std::string::npos
    );
}

} // namespace
} // namespace agui::gateway
