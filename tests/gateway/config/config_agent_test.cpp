// [[agents]].
#include "tests/gateway/config/config_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace agui::gateway {
namespace {

using test::ConfigFile;
using test::load;
using test::minimal;
using test::problem_of;

TEST(Config, MakesADefaultAgentOfTheOnlyModel) {
    const config all = load(minimal).value();

    ASSERT_EQ(all.agents.size(), 1U);
    EXPECT_EQ(all.agents[0].id, "default");
    EXPECT_EQ(all.agents[0].models, (std::vector<std::string>{"main"}));
    EXPECT_EQ(all.agents[0].max_rounds, 10U);
    EXPECT_TRUE(all.agents[0].detects_loops);
    EXPECT_EQ(all.agents[0].limits.on_loop, runner::loop_action::warn);
    EXPECT_EQ(all.agents[0].limits.loop_threshold, 3U);
    EXPECT_EQ(all.agents[0].limits.max_calls, 0U);
    EXPECT_EQ(all.agents[0].limits.max_turn_rounds, 100U);
    EXPECT_EQ(all.agents[0].limits.max_tokens, 0U);
}

TEST(Config, ChecksThatAgentsNameModels) {
    const std::string text = std::string(minimal) + "[[agents]]\nid = \"a\"\nmodels = [\"none\"]\n";

    EXPECT_NE(problem_of(text).find("there is no [models.none]"), std::string::npos);
}

std::string titled(std::string_view keys) {
    return std::string(minimal) + "[[agents]]\nid = \"a\"\nmodels = [\"main\"]\n" +
           std::string(keys);
}

TEST(Config, ReadsWhoGivesTitles) {
    const auto agent_of = [](std::string_view keys) {
        return load(titled(keys)).value().agents.at(0);
    };
    EXPECT_EQ(agent_of("").title, title_source::first_message);
    EXPECT_EQ(agent_of("title = \"off\"\n").title, title_source::off);
    const agent_config by_model = agent_of("title = \"model\"\ntitle_model = \"main\"\n");
    EXPECT_EQ(by_model.title, title_source::model);
    EXPECT_EQ(by_model.title_model, "main");
}

TEST(Config, ChecksTheModelForTitles) {
    using ::testing::HasSubstr;
    EXPECT_THAT(
        problem_of(titled("title = \"model\"\n")),
        HasSubstr("title_model: is required with title = \"model\"")
    );
    EXPECT_THAT(
        problem_of(titled("title = \"model\"\ntitle_model = \"none\"\n")),
        HasSubstr("title_model: there is no [models.none]")
    );
    EXPECT_THAT(
        problem_of(titled("title_model = \"main\"\n")),
        HasSubstr("title_model: needs title = \"model\"")
    );
}

// Agents of these ids, each of which calls the next one.
std::string chain(const std::vector<std::string>& ids) {
    std::string text(minimal);
    for (std::size_t i = 0; i < ids.size(); ++i) {
        text += "[[agents]]\nid = \"" + ids[i] + "\"\nmodels = [\"main\"]\n";
        if (i + 1 < ids.size()) {
            text += "agents = [\"" + ids[i + 1] + "\"]\n";
        }
    }
    return text;
}

TEST(Config, ReadsTheAgentsThatAnAgentCalls) {
    const config all = load(chain({"a", "b", "c", "d"}), {"agents.1.description=Writes."}).value();

    EXPECT_EQ(all.agents[0].agents, std::vector<std::string>{"b"});
    EXPECT_EQ(all.agents[1].description, "Writes.");
    EXPECT_TRUE(all.agents[3].agents.empty());
    EXPECT_NE(print_config(all).find("agents = [ 'b' ]"), std::string::npos) << print_config(all);
}

TEST(Config, ChecksTheAgentsThatAnAgentCalls) {
    const auto told = [](const std::string& problem, const std::string& text) {
        EXPECT_NE(problem.find(text), std::string::npos) << problem;
    };
    told(problem_of(chain({"a", "b"}), {"agents.0.agents=[\"c\"]"}), "there is no agent \"c\"");
    told(problem_of(chain({"a", "b"}), {"agents.0.agents=[\"b\",\"b\"]"}), "is named twice");
    told(problem_of(chain({"a", "b", "c", "d", "e"})), "agents[a].agents: agents may call each");
    told(problem_of(chain({"a"}), {"agents.0.agents=[\"a\"]"}), "not in a circle");
    told(problem_of(chain({"a", "update_state"})), "is also the name of a tool");
    const std::string tool = "[[tools.external]]\nname = \"b\"\n";
    told(problem_of(tool + chain({"a", "b"})), "is also the name of a tool");
    const std::string longest(4096, 'x');
    EXPECT_TRUE(load(chain({"a"}), {"agents.0.description=" + longest}));
    told(problem_of(chain({"a"}), {"agents.0.description=x" + longest}), "4096 bytes");
}

TEST(Config, RefusesAnExactToolListForAModelWithToolAddition) {
    const std::string text = R"(
[models.main]
provider = "anthropic"
base_url = "http://h"
model = "claude-opus-4-8"
tool_addition = true
[[agents]]
id = "a"
models = ["main"]
)";
    const std::string exact = text + "tool_list = \"exact\"\n";

    EXPECT_NE(
        problem_of(exact).find("agents.tool_list: with \"exact\", tool_addition of [models.main]"),
        std::string::npos
    ) << problem_of(exact);
    EXPECT_TRUE(load(exact, {"models.main.tool_addition=false"}));
    EXPECT_TRUE(load(text + "tool_list = \"append\"\n"));
    EXPECT_TRUE(load(text));
}

TEST(Config, ReadsTheLoopDetectionOfAnAgent) {
    const std::string agent =
        std::string(minimal) + "[[agents]]\nid = \"a\"\nmodels = [\"main\"]\n";
    const auto read = [&](const std::string& choice) {
        return load(agent + "loop_detection = \"" + choice + "\"\n").value().agents.at(0);
    };
    EXPECT_EQ(read("warn").limits.on_loop, runner::loop_action::warn);
    EXPECT_EQ(read("continue").limits.on_loop, runner::loop_action::go_on);
    EXPECT_EQ(read("terminate").limits.on_loop, runner::loop_action::terminate);
    EXPECT_TRUE(read("terminate").detects_loops);
    EXPECT_FALSE(read("off").detects_loops);
    EXPECT_NE(
        problem_of(agent + "loop_detection = \"stop\"\n").find("loop_detection"), std::string::npos
    );
    EXPECT_NE(problem_of(agent + "loop_threshold = 1\n").find("loop_threshold"), std::string::npos);
}

TEST(Config, ChecksThePlaceholdersOfInstructions) {
    const std::string agent =
        std::string(minimal) + "[[agents]]\nid = \"a\"\nmodels = [\"main\"]\n";
    const config all = load(
                           agent + "prompt_props = [\"locale\"]\n"
                                   "instructions = \"{{user}} in {{forwardedProps.locale}}\"\n"
    )
                           .value();
    EXPECT_EQ(all.agents.at(0).instructions, "{{user}} in {{forwardedProps.locale}}");
    EXPECT_EQ(all.agents.at(0).prompt_props, std::vector<std::string>{"locale"});
    EXPECT_NE(print_config(all).find("prompt_props = [ 'locale' ]"), std::string::npos)
        << print_config(all);

    EXPECT_NE(
        problem_of(agent + "instructions = \"{{usr}}\"\n")
            .find("agents.instructions: holds {{usr}}, which is not one of time, date, user, "
                  "agent, thread"),
        std::string::npos
    ) << problem_of(agent + "instructions = \"{{usr}}\"\n");
    EXPECT_NE(
        problem_of(agent + "instructions = \"{{forwardedProps.locale}}\"\n")
            .find("holds {{forwardedProps.locale}}"),
        std::string::npos
    );
    EXPECT_NE(
        problem_of(agent + "prompt_props = [\"apiKey\"]\n").find("the gateway never stores it"),
        std::string::npos
    );
    EXPECT_NE(
        problem_of(agent + "prompt_props = [\"a b\"]\n").find("prompt_props: must hold names"),
        std::string::npos
    );
}

TEST_F(ConfigFile, ChecksThePlaceholdersOfAFileOfInstructions) {
    const std::string path = write("instructions.txt", "Be brief.\n{{nobody}}");
    EXPECT_NE(
        problem_of(
            std::string(minimal) +
            "[[agents]]\nid = \"a\"\nmodels = [\"main\"]\ninstructions_file = \"" + path + "\"\n"
        )
            .find("instructions_file: holds {{nobody}}"),
        std::string::npos
    );
}

TEST(Config, ReadsWhereTheStateGoes) {
    const std::string agent =
        std::string(minimal) + "[[agents]]\nid = \"a\"\nmodels = [\"main\"]\n";
    EXPECT_EQ(load(agent).value().agents.at(0).state, context_place::off);
    const config all = load(agent + "state = \"system\"\n").value();
    EXPECT_EQ(all.agents.at(0).state, context_place::system);
    EXPECT_NE(print_config(all).find("state = 'system'"), std::string::npos);
    EXPECT_NE(
        problem_of(agent + "state = \"on\"\n").find("state: must be one of"), std::string::npos
    );
}

TEST(Config, AnAgentMaySendTheEventsOfTanstack) {
    const std::string agent =
        std::string(minimal) + "[[agents]]\nid = \"a\"\nmodels = [\"main\"]\n";
    EXPECT_FALSE(sends_tanstack(load(agent).value().agents.at(0)));
    EXPECT_TRUE(sends_tanstack(load(agent + "events = [\"tanstack\"]\n").value().agents.at(0)));
    EXPECT_NE(
        problem_of(agent + "events = [\"tanstack\", \"other\"]\n").find("agents.events: may have"),
        std::string::npos
    );
}

TEST(Config, ReadsTheToolForTheState) {
    const std::string agent =
        std::string(minimal) + "[[agents]]\nid = \"a\"\nmodels = [\"main\"]\n";
    EXPECT_FALSE(load(agent).value().agents.at(0).state_tool);
    const std::string schema = "state_schema = '{ \"type\": \"object\" }'\n";
    const config all = load(agent + "state_tool = true\n" + schema).value();
    EXPECT_TRUE(all.agents.at(0).state_tool);
    EXPECT_FALSE(all.agents.at(0).legacy_interrupts);
    EXPECT_TRUE(load(agent + "legacy_interrupts = true\n").value().agents.at(0).legacy_interrupts);
    EXPECT_EQ(all.agents.at(0).state_schema, R"({"type":"object"})");
    EXPECT_NE(print_config(all).find("state_tool = true"), std::string::npos);
    EXPECT_NE(
        problem_of(agent + schema).find("agents.state_schema: needs state_tool = true"),
        std::string::npos
    );
    for (const std::string wrong : {"'[]'", "'{'", "'{\"type\":\"none\"}'"}) {
        EXPECT_NE(
            problem_of(agent + "state_tool = true\nstate_schema = " + wrong + "\n")
                .find("agents.state_schema"),
            std::string::npos
        ) << wrong;
    }
}

TEST(Config, ReadsASchemaOfReplies) {
    const std::string agent =
        std::string(minimal) + "[[agents]]\nid = \"a\"\nmodels = [\"main\"]\n";
    const config all = load(agent + "reply_schema = '{ \"type\": \"object\" }'\n").value();

    const auto format = parameters_of(all.agents.at(0), all.models.at(0)).format;
    ASSERT_NE(format, nullptr);
    EXPECT_EQ(format->schema, R"({"type":"object"})");
    EXPECT_NE(print_config(all).find("reply_schema = '{\"type\":\"object\"}'"), std::string::npos)
        << print_config(all);
    for (const std::string wrong : {"'[]'", "'{'", "1"}) {
        EXPECT_NE(
            problem_of(agent + "reply_schema = " + wrong + "\n").find("agents.reply_schema"),
            std::string::npos
        ) << wrong;
    }
    const std::string items = "reply_format = \"items\"\n";
    EXPECT_NE(
        problem_of(agent + items + "reply_schema = '{}'\n").find("must be true or false"),
        std::string::npos
    );
    EXPECT_NE(
        problem_of(agent + items + "overridable = [\"response_format\"]\n").find("response_format"),
        std::string::npos
    );
    EXPECT_TRUE(load(agent + "overridable = [\"response_format\"]\n"));
}

TEST(Config, ReadsTheFormatOfReplies) {
    const std::string agent =
        std::string(minimal) + "[[agents]]\nid = \"a\"\nmodels = [\"main\"]\n";
    EXPECT_EQ(load(agent).value().agents.at(0).reply, runner::reply_format::text);
    const config all = load(agent + "reply_format = \"items\"\nreply_schema = true\n").value();
    EXPECT_EQ(all.agents.at(0).reply, runner::reply_format::items);
    EXPECT_TRUE(all.agents.at(0).reply_schema);
    EXPECT_NE(print_config(all).find("reply_format = 'items'"), std::string::npos);
    EXPECT_NE(print_config(all).find("reply_schema = true"), std::string::npos);
    EXPECT_NE(
        problem_of(agent + "reply_schema = true\n").find("reply_schema: needs reply_format"),
        std::string::npos
    );
}

} // namespace
} // namespace agui::gateway
