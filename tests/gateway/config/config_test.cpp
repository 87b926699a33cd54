#include "gateway/config/config.hpp"

#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace agui::gateway {
namespace {

// The smallest configuration that serves.
constexpr const char* minimal = R"(
[models.main]
provider = "openai"
base_url = "http://127.0.0.1:4010/v1"
model = "gpt-test"
)";

config_result<config> load(const std::string& text, std::vector<std::string> overrides = {}) {
    return load_config({.file = {}, .text = text, .overrides = std::move(overrides)});
}

/// The only problem of a configuration; fails the test if it has none or several.
std::string problem_of(const std::string& text, std::vector<std::string> overrides = {}) {
    const auto loaded = load(text, std::move(overrides));
    if (loaded) {
        ADD_FAILURE() << "accepted: " << text;
        return {};
    }
    EXPECT_EQ(loaded.error().lines.size(), 1U) << text;
    return loaded.error().lines.front();
}

class ConfigFile : public ::testing::Test {
protected:
    std::string write(const std::string& name, const std::string& content) {
        const std::string path = folder_.file(name);
        std::ofstream(path, std::ios::binary) << content;
        return path;
    }

private:
    test::temporary_folder folder_;
};

class ConfigSecret : public ConfigFile {
protected:
    ConfigSecret() {
        ::setenv("AGUI_TEST_KEY", "sk-canary", 1);
        ::unsetenv("AGUI_TEST_ABSENT");
    }
    ~ConfigSecret() override { ::unsetenv("AGUI_TEST_KEY"); }
};

TEST(Config, HasTheDocumentedDefaults) {
    const config all = load(minimal).value();

    EXPECT_EQ(all.server.listen, "127.0.0.1:8080");
    EXPECT_EQ(all.server.max_body_bytes, 33'554'432U);
    EXPECT_EQ(all.server.heartbeat, std::chrono::seconds(15));
    EXPECT_EQ(all.server.on_disconnect.what, disconnect_policy::kind::grace);
    EXPECT_EQ(all.server.on_disconnect.grace, std::chrono::seconds(10));
    EXPECT_EQ(all.server.run_timeout, std::chrono::seconds(3600));
    EXPECT_EQ(all.server.drain, std::chrono::seconds(25));
    EXPECT_EQ(all.server.max_connections, 20'000U);
    EXPECT_EQ(all.server.max_connections_per_address, 0U);
    EXPECT_EQ(all.server.max_runs, 10'000U);
    EXPECT_EQ(all.server.max_run_bytes, 67'108'864U);
    EXPECT_EQ(all.server.max_detached_runs, 1'000U);
    EXPECT_EQ(all.server.reader_buffer_bytes, 1'048'576U);
    EXPECT_EQ(all.server.header, std::chrono::seconds(10));
    EXPECT_EQ(all.server.body, std::chrono::seconds(60));
    EXPECT_EQ(all.server.max_header_bytes, 32'768U);
    EXPECT_EQ(all.server.input.max_json_depth, 64U);
    EXPECT_EQ(all.server.input.max_messages, 10'000U);
    EXPECT_EQ(all.server.input.max_client_tools, 128U);
    EXPECT_EQ(all.server.input.max_tool_schema_bytes, 65'536U);
    EXPECT_EQ(all.session.store, session_config::store_kind::sqlite);
    EXPECT_EQ(all.session.sqlite_path, "agui.db");
    EXPECT_EQ(all.session.durability, session::durability::process);
    EXPECT_EQ(all.session.replay, std::chrono::seconds(600));
    EXPECT_EQ(all.session.log_age, std::chrono::hours(7 * 24));
    EXPECT_EQ(all.session.on_busy, busy_policy::reject);
    EXPECT_EQ(all.session.queue_max, 100);
    EXPECT_EQ(all.session.queue_hold, std::chrono::seconds(600));
    EXPECT_TRUE(all.session.supersede_detached);
    EXPECT_EQ(all.session.busy_wait, std::chrono::milliseconds(500));
    EXPECT_EQ(all.session.batch, std::chrono::milliseconds(25));
    EXPECT_EQ(all.tools.max_result_bytes, 1'048'576U);
    EXPECT_FALSE(all.auth);
}

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

TEST(Config, ReadsEveryTable) {
    const config all = load(R"(
[server]
listen = "127.0.0.1:0"
on_disconnect = "grace:30"
cors_origins = ["https://app.example"]
usage = "totals"
[session]
store = "memory:"
history = "client"
durability = "power"
client_history = "delta"
on_busy = "supersede"
on_busy_detached = "reject"
busy_wait_ms = 250
log_days = 2
log_max_bytes = 1000000
[tools]
on_partial = "wait"
on_abandoned = "reject"
on_name_clash = "reject"
[[tools.external]]
name = "change_background"
description = "Changes it."
parameters = '{"type":"object"}'
when = "advertised"
[[tools.webhook]]
name = "get_weather"
url = "http://127.0.0.1:9000/weather"
timeout_seconds = 5
method = "GET"
idempotent = true
pass_headers = ["Authorization", "x-tenant"]
[models.main]
provider = "openai"
base_url = "http://127.0.0.1:4010/v1/"
model = "gpt-test"
temperature = 0.5
max_output_tokens = 100
tool_choice = "required"
parallel_tool_calls = false
extra_body = { top_k = 3, stop = ["a"] }
media_urls = []
[models.other]
provider = "scripted"
script = "somewhere"
[[agents]]
id = "writer"
models = ["other"]
instructions = "Write."
max_rounds = 3
max_parallel_tools = 2
tools = ["get_*"]
overridable = ["model", "temperature"]
loop_detection = "off"
loop_threshold = 5
max_calls = 7
max_turn_rounds = 8
max_tokens = 9000
max_history_messages = 40
max_history_tokens = 5000
)")
                           .value();

    EXPECT_EQ(all.server.on_disconnect.what, disconnect_policy::kind::grace);
    EXPECT_EQ(all.server.on_disconnect.grace, std::chrono::seconds(30));
    EXPECT_EQ(all.session.store, session_config::store_kind::memory);
    EXPECT_EQ(all.session.history.mode, session::history_mode::client);
    EXPECT_EQ(all.session.history.on_partial, session::on_partial::wait);
    EXPECT_EQ(all.session.history.on_abandoned, session::on_abandoned::reject);
    EXPECT_EQ(all.session.history.client_history, session::client_history::delta);
    EXPECT_EQ(all.session.durability, session::durability::power);
    EXPECT_EQ(all.session.log_age, std::chrono::hours(48));
    EXPECT_EQ(all.session.log_max_bytes, 1'000'000U);
    EXPECT_EQ(all.session.on_busy, busy_policy::supersede);
    EXPECT_FALSE(all.session.supersede_detached);
    EXPECT_EQ(all.session.busy_wait, std::chrono::milliseconds(250));
    EXPECT_TRUE(all.tools.reject_name_clash);
    ASSERT_EQ(all.tools.external.size(), 1U);
    EXPECT_FALSE(all.tools.external[0].always);
    EXPECT_EQ(all.tools.external[0].definition.parameters.at("type").as_string(), "object");
    ASSERT_EQ(all.tools.webhooks.size(), 1U);
    EXPECT_EQ(all.tools.webhooks[0].timeout, std::chrono::seconds(5));
    EXPECT_TRUE(all.tools.webhooks[0].get);
    EXPECT_TRUE(all.tools.webhooks[0].idempotent);
    EXPECT_EQ(
        all.tools.webhooks[0].pass_headers, (std::vector<std::string>{"authorization", "x-tenant"})
    );
    ASSERT_EQ(all.models.size(), 2U);
    const model_config& model = all.models[0];
    EXPECT_EQ(model.base_url, "http://127.0.0.1:4010/v1");
    EXPECT_EQ(model.parameters.temperature, 0.5);
    EXPECT_EQ(model.parameters.max_output_tokens, 100);
    EXPECT_EQ(model.parameters.tool_choice->kind, runner::tool_choice::mode::required);
    EXPECT_EQ(model.parameters.parallel_tool_calls, false);
    EXPECT_EQ(model.extra_body.at("top_k").as_int64(), 3);
    EXPECT_TRUE(model.media_urls.empty());
    ASSERT_EQ(all.agents.size(), 1U);
    EXPECT_EQ(all.agents[0].id, "writer");
    EXPECT_EQ(all.agents[0].tools, std::vector<std::string>{"get_*"});
    EXPECT_EQ(all.agents[0].max_rounds, 3U);
    EXPECT_FALSE(all.agents[0].detects_loops);
    EXPECT_EQ(all.agents[0].limits.loop_threshold, 5U);
    EXPECT_EQ(all.agents[0].limits.max_calls, 7U);
    EXPECT_EQ(all.agents[0].limits.max_turn_rounds, 8U);
    EXPECT_EQ(all.agents[0].limits.max_tokens, 9000U);
    EXPECT_EQ(all.agents[0].window.max_messages, 40U);
    EXPECT_EQ(all.agents[0].window.max_tokens, 5000U);
}

TEST_F(ConfigFile, NamesFileLineColumnAndKeyOfAProblem) {
    const std::string path = write("agui.toml", std::string("[server]\nlisten = 7\n") + minimal);

    const auto loaded = load_config({.file = path, .text = {}, .overrides = {}});

    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().lines.front(), path + ":2:10: server.listen: must be a string");
}

TEST_F(ConfigFile, NamesTheFirstPlaceThatIsNotToml) {
    const std::string path = write("agui.toml", "[server]\nlisten = \n");

    const auto loaded = load_config({.file = path, .text = {}, .overrides = {}});

    ASSERT_FALSE(loaded);
    EXPECT_TRUE(loaded.error().lines.front().starts_with(path + ":2:")) << loaded.error().lines[0];
}

TEST(Config, SaysThatAFileCannotBeRead) {
    const auto loaded = load_config({.file = "no/such/file.toml", .text = {}, .overrides = {}});

    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().lines.front(), "no/such/file.toml: cannot be read");
}

TEST(Config, ReportsAllProblemsAtOnce) {
    const auto loaded = load(R"(
colour = "blue"
[server]
heartbeat_seconds = 0
max_conections = 5
[session]
on_busy = "wait"
[models.main]
provider = "openai"
base_url = "ftp://model"
model = "m"
)");

    ASSERT_FALSE(loaded);
    const std::vector<std::string> expected{
        "config:4:21: server.heartbeat_seconds: must be a whole number from 1 to 86400",
        "config:5:18: server.max_conections: unknown key",
        "config:7:11: session.on_busy: must be one of \"reject\", \"enqueue\", \"supersede\"",
        ("config:10:12: models.main.base_url: must be an http:// or https:// URL without a user "
         "name or fragment"),
        "config:2:10: colour: unknown key",
    };
    EXPECT_EQ(loaded.error().lines, expected);
}

TEST(Config, RefusesKeysWithoutEffect) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"session.lease_seconds=5", "must be"},
        {"session.store=postgresql:db", "must be"},
        {"session.log_max_bytes=-1", "must be"},
        {"models.main.provider=agui", "not supported by this version"},
    };
    for (const auto& [text, expected] : cases) {
        SCOPED_TRACE(text);
        const std::string problem = problem_of(minimal, {text});
        EXPECT_NE(problem.find(expected), std::string::npos) << problem;
        EXPECT_NE(problem.find(text.substr(0, text.find_first_of(".="))), std::string::npos);
    }
}

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

TEST(Config, ReadsHowToReachPostgres) {
    ::setenv("AGUI_TEST_DB_PASSWORD", "sk-canary", 1);
    const config all =
        load(
            minimal, {"session.store=postgres://agui@db.internal/agui?sslmode=require",
                      "session.store_password_env=AGUI_TEST_DB_PASSWORD", "session.prepared=false",
                      "session.store_connections=20", "session.lease_seconds=6",
                      "session.store_wait_seconds=3", "session.batch_ms=0"}
        )
            .value();

    EXPECT_EQ(all.session.store, session_config::store_kind::postgres);
    EXPECT_EQ(all.session.postgres_url, "postgres://agui@db.internal/agui?sslmode=require");
    EXPECT_EQ(all.session.store_password.value, "sk-canary");
    EXPECT_FALSE(all.session.prepared);
    EXPECT_EQ(all.session.store_connections, 20U);
    EXPECT_EQ(all.session.lease, std::chrono::seconds(6));
    EXPECT_EQ(all.session.store_wait, std::chrono::seconds(3));
    EXPECT_EQ(all.session.batch, std::chrono::milliseconds(0));
    const std::string printed = print_config(all);
    EXPECT_NE(
        printed.find("store = 'postgres://agui@db.internal/agui?sslmode=***'"), std::string::npos
    ) << printed;
    EXPECT_NE(printed.find("store_password_env = 'AGUI_TEST_DB_PASSWORD'"), std::string::npos);
    EXPECT_EQ(printed.find("sk-canary"), std::string::npos);
}

TEST(Config, RefusesAPasswordInTheUrlOfTheStore) {
    for (const std::string url :
         {"postgres://agui:pw@db/agui", "postgresql://:pw@db", "postgres://db/agui?password=pw",
          "postgres://db/agui?user=agui&sslpassword=pw"}) {
        const std::string problem = problem_of(minimal, {"session.store=" + url});
        EXPECT_NE(problem.find("must not hold a password"), std::string::npos) << url << problem;
        EXPECT_EQ(problem.find("pw"), std::string::npos) << "the message repeats it";
    }
    EXPECT_TRUE(load(minimal, {"session.store=postgres://[::1]:5432/agui"}));
    EXPECT_TRUE(load(minimal, {"session.store=postgres://agui@a:5432,b:5433/agui"}));
    EXPECT_TRUE(load(minimal, {"session.store=postgres:///agui?host=/run/postgresql"}));
}

TEST(Config, RefusesHeadersThatCannotBePassedOn) {
    const std::string hook = std::string(minimal) +
                             "[[tools.webhook]]\nname = \"w\"\nurl = \"http://h/\"\n"
                             "pass_headers = [\"X-Tenant\", \"";
    EXPECT_TRUE(load(hook + "cookie\"]\n"));
    for (const std::string name :
         {"Host", "content-length", "Transfer-Encoding", "idempotency-key", "connection", "", "a b",
          "a:b", "*"}) {
        EXPECT_NE(
            problem_of(hook + name + "\"]\n")
                .find("holds the name of a header that cannot be passed on"),
            std::string::npos
        ) << name;
    }
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
    EXPECT_EQ(print_config(plain).find("merge_roles"), std::string::npos);

    const config all = load(std::string(claude) + R"(thinking = "adaptive"
thinking_display = "summarized"
thinking_mismatch = "refuse"
prompt_cache = "1h"
eager_input = false
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

TEST(Config, RefusesWhatTheModelRefuses) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"temperature=0.5", "models.main.temperature: \"claude-opus-5-5\" refuses any temperature"},
        {"tool_choice=required", "models.main.tool_choice: \"claude-opus-5-5\" refuses"},
        {"thinking=disabled", "models.main.thinking: \"claude-opus-5-5\" refuses \"disabled\""},
        {"headers.Anthropic-Beta=x", "models.main.headers: the names of anthropic-beta"},
        {"extra_body.top_k=3", "models.main.extra_body: \"claude-opus-5-5\" refuses top_k"},
    };
    for (const auto& [text, expected] : cases) {
        SCOPED_TRACE(text);
        const std::string problem = problem_of(claude, {"models.main." + text});
        EXPECT_NE(problem.find(expected), std::string::npos) << problem;
        EXPECT_EQ(
            load(claude, {"models.main." + text, "models.main.model=claude-opus-4-6"}).has_value(),
            text.find("Beta") == std::string::npos
        );
    }
    EXPECT_TRUE(load(claude, {"models.main.temperature=0.5", "models.main.drop=[\"temperature\"]"})
    );
}

TEST(Config, AnAgentsParametersPrecedeThoseOfItsModels) {
    const config all =
        load(
            std::string(minimal) + "top_p = 0.9\nseed = 1\nreasoning_effort = \"low\"\n"
                                   "[[agents]]\nmodels = [\"main\"]\n"
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
    const std::string agent = "[[agents]]\nmodels = [\"main\"]\n";

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

TEST(Config, ReadsASchemaOfReplies) {
    const std::string agent = std::string(minimal) + "[[agents]]\nmodels = [\"main\"]\n";
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

TEST(Config, OverridesByKeyPath) {
    const config all =
        load(
            minimal, {"server.listen=127.0.0.1:0", "server.max_runs=7",
                      "session.store=memory:", "agents.0.id=helper", "agents.0.models=[\"main\"]",
                      "server.cors_origins=[\"http://localhost:3000\"]"}
        )
            .value();

    EXPECT_EQ(all.server.listen, "127.0.0.1:0");
    EXPECT_EQ(all.server.max_runs, 7U);
    EXPECT_EQ(all.session.store, session_config::store_kind::memory);
    EXPECT_EQ(all.server.cors_origins, std::vector<std::string>{"http://localhost:3000"});
    ASSERT_EQ(all.agents.size(), 1U);
    EXPECT_EQ(all.agents[0].id, "helper");
}

TEST(Config, NamesTheOverrideThatIsWrong) {
    EXPECT_EQ(
        problem_of(minimal, {"server.max_runs=many"}),
        "--set: server.max_runs: must be a whole number from 1 to 1000000"
    );
    EXPECT_EQ(problem_of(minimal, {"server.maxruns=1"}), "--set: server.maxruns: unknown key");
    EXPECT_EQ(problem_of(minimal, {"server"}), "--set: server: must have the form key.path=value");
    EXPECT_EQ(
        problem_of(minimal, {"models.main.model.name=x"}),
        "--set: models.main.model.name: the configuration has no table or array at this path"
    );
}

TEST(Config, DemandsAuthOffLoopback) {
    const std::string problem = problem_of(minimal, {"server.listen=0.0.0.0:8080"});

    EXPECT_NE(problem.find("auth: is required because"), std::string::npos) << problem;
    EXPECT_TRUE(load(minimal, {"server.listen=[::1]:8080"}));
}

TEST(Config, DemandsHostsWhereEverybodyMayComeInFromElsewhere) {
    const std::string problem =
        problem_of(minimal, {"server.listen=0.0.0.0:8080", "auth.mode=none"});

    EXPECT_NE(problem.find("server: allowed_hosts is required"), std::string::npos) << problem;
    EXPECT_TRUE(load(
        minimal,
        {"server.listen=0.0.0.0:8080", "auth.mode=none", "server.allowed_hosts=[\"app.example\"]"}
    ));
    EXPECT_TRUE(load(minimal, {"auth.mode=none"}));
}

TEST_F(ConfigSecret, RefusesToPassItsOwnTokenOn) {
    const std::string webhook = std::string(minimal) + R"(
[[tools.webhook]]
name = "get_weather"
url = "http://127.0.0.1:9000/weather"
pass_headers = ["X-Tenant", "AUTHORIZATION"]
)";
    const std::string server = std::string(minimal) + R"(
[[mcp_servers]]
name = "files"
url = "http://127.0.0.1:9001/mcp"
pass_headers = ["Authorization"]
)";
    const std::vector<std::string> bearer{"auth.mode=bearer", "auth.token_env=AGUI_TEST_KEY"};

    for (const auto& [text, place] : std::vector<std::pair<std::string, std::string>>{
             {webhook, "tools: pass_headers of \"get_weather\" must not hold Authorization"},
             {server, "mcp_servers: pass_headers of \"files\" must not hold Authorization"},
         }) {
        SCOPED_TRACE(text);
        const std::string problem = problem_of(text, bearer);
        EXPECT_NE(problem.find(place), std::string::npos) << problem;
        EXPECT_NE(problem.find("X-Upstream-Authorization"), std::string::npos) << problem;
        EXPECT_TRUE(load(text)) << "without [auth] it is nobody's token but the tool's";
        EXPECT_TRUE(load(text, {"auth.mode=none"}));
        std::string other = text;
        const bool upper = other.find("AUTH") != std::string::npos;
        other.replace(
            other.find(upper ? "AUTHORIZATION" : "Authorization"), 13, "X-Upstream-Authorization"
        );
        EXPECT_TRUE(load(other, bearer));
    }
}

TEST_F(ConfigSecret, ResolvesSecretsAndNeverPrintsThem) {
    const std::string key_file = write("key", "sk-canary-file\n");

    const config all =
        load(
            minimal,
            {"models.main.api_key_env=AGUI_TEST_KEY", "models.main.headers.x-team=sk-canary-header",
             "models.main.base_url=http://h/v1/?v=sk-canary-1&flag&key=sk-canary-2",
             "models.main.extra_body.key=sk-canary-body",
             "models.main.extra_body.options.key=sk-canary-inner",
             "models.main.extra_body.list=[\"sk-canary-list\"]", "auth.mode=bearer",
             "auth.token_file=" + key_file}
        )
            .value();

    EXPECT_EQ(all.models[0].api_key.value, "sk-canary");
    EXPECT_EQ(all.auth->token.value, "sk-canary-file");
    const std::string printed = print_config(all);
    EXPECT_EQ(printed.find("canary"), std::string::npos) << printed;
    EXPECT_NE(printed.find("api_key_env = 'AGUI_TEST_KEY'"), std::string::npos) << printed;
    EXPECT_NE(printed.find("options"), std::string::npos) << printed;
    EXPECT_EQ(all.models[0].base_url, "http://h/v1?v=sk-canary-1&flag&key=sk-canary-2");
    EXPECT_NE(printed.find("'http://h/v1?v=***&flag&key=***'"), std::string::npos) << printed;
}

TEST_F(ConfigSecret, NeverPrintsTheQueryOfAWebhook) {
    const config all = load(std::string(minimal) + R"(
[[tools.webhook]]
name = "get_weather"
url = "https://h/weather/?key=sk-canary-1&units=metric&flag"
)")
                           .value();

    ASSERT_EQ(all.tools.webhooks.size(), 1U);
    EXPECT_EQ(all.tools.webhooks[0].url, "https://h/weather?key=sk-canary-1&units=metric&flag");
    const std::string printed = print_config(all);
    EXPECT_EQ(printed.find("canary"), std::string::npos) << printed;
    EXPECT_NE(printed.find("'https://h/weather?key=***&units=***&flag'"), std::string::npos)
        << printed;
}

TEST_F(ConfigSecret, ReadsMcpServersAndNeverPrintsTheirSecrets) {
    const config all = load(std::string(minimal) + R"(
[[mcp_servers]]
name = "files"
url = "http://127.0.0.1:9001/mcp/?key=sk-canary-1"
headers = { X-Team = "sk-canary-2" }
header_env = { Authorization = "AGUI_TEST_KEY" }
ca_file = "own.pem"
pass_headers = ["Authorization"]
timeout_seconds = 5
[[mcp_servers]]
name = "local"
command = "npx"
args = ["-y", "sk-canary-3"]
cwd = "/tmp"
env_allow = ["AGUI_TEST_KEY", "AGUI_TEST_ABSENT"]
)")
                           .value();

    ASSERT_EQ(all.tools.mcp_servers.size(), 2U);
    const mcp_server_config& files = all.tools.mcp_servers[0];
    EXPECT_EQ(files.name, "files");
    EXPECT_EQ(files.url, "http://127.0.0.1:9001/mcp/?key=sk-canary-1");
    EXPECT_EQ(files.headers, (header_list{{"X-Team", "sk-canary-2"}}));
    EXPECT_EQ(files.secret_headers.at("Authorization").value, "sk-canary");
    EXPECT_EQ(files.ca_file, "own.pem");
    EXPECT_EQ(files.pass_headers, std::vector<std::string>{"authorization"});
    EXPECT_EQ(files.timeout, std::chrono::seconds(5));
    const mcp_server_config& local = all.tools.mcp_servers[1];
    EXPECT_EQ(local.command, "npx");
    EXPECT_EQ(local.args, (std::vector<std::string>{"-y", "sk-canary-3"}));
    EXPECT_EQ(local.cwd, "/tmp");
    EXPECT_EQ(local.environment, (header_list{{"AGUI_TEST_KEY", "sk-canary"}}));
    EXPECT_EQ(local.timeout, std::chrono::seconds(30));

    const std::string printed = print_config(all);
    EXPECT_EQ(printed.find("sk-canary"), std::string::npos) << printed;
    EXPECT_NE(printed.find("url = 'http://127.0.0.1:9001/mcp/?key=***'"), std::string::npos);
    EXPECT_NE(printed.find("AGUI_TEST_KEY"), std::string::npos);
    EXPECT_NE(printed.find("ca_file = 'own.pem'"), std::string::npos);
    EXPECT_NE(printed.find("pass_headers = [ 'authorization' ]"), std::string::npos);
    EXPECT_NE(printed.find("args = [ '***', '***' ]"), std::string::npos) << printed;
}

TEST(Config, ChecksMcpServers) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"url = \"http://h/mcp\"", "mcp_servers.name: is missing"},
        {"name = \"a__b\"\nurl = \"http://h/mcp\"", "mcp_servers.name: must be 1 to 32"},
        {"name = \"\"\nurl = \"http://h/mcp\"", "mcp_servers.name: must be 1 to 32"},
        {"name = \"a\"", "mcp_servers.url: either url or command is required, not both"},
        {"name = \"a\"\nurl = \"http://h/mcp\"\ncommand = \"c\"\nargs = []",
         "mcp_servers.url: either url or command is required, not both"},
        {"name = \"a\"\nurl = \"files\"", "mcp_servers.url: must be an http://"},
        {"name = \"a\"\nurl = \"http://h/mcp\"\ncwd = \"/\"", "mcp_servers.cwd: needs a command"},
        {"name = \"a\"\ncommand = \"c\"\nheaders = {}", "mcp_servers.headers: needs a url"},
        {"name = \"a\"\nurl = \"http://h/mcp\"\npass_headers = [\"Host\"]",
         "mcp_servers.pass_headers: holds the name of a header that cannot be passed on"},
        {"name = \"a\"\nurl = \"http://h/mcp\"\npass_headers = [\"Mcp-Session-Id\"]",
         "mcp_servers.pass_headers: holds the name of a header that cannot be passed on"},
        {"name = \"a\"\ncommand = \"c\"\npass_headers = []", "mcp_servers.pass_headers: needs a url"
        },
        {"name = \"a\"\ncommand = \"c\"\nca_file = \"f\"", "mcp_servers.ca_file: needs a url"},
        {"name = \"a\"\ncommand = \"\"", "mcp_servers.command: must not be empty"},
        {"name = \"a\"\ncommand = \"c\"\nenv_allow = [\"A=B\"]", "mcp_servers.env_allow: must hold"
        },
        {"name = \"a\"\ncommand = \"c\"\ntimeout_seconds = 0",
         "mcp_servers.timeout_seconds: must be"},
        {"name = \"a\"\ncommand = \"c\"\nenv = {}", "mcp_servers.env: unknown key"},
        {"name = \"a\"\ncommand = \"c\"\n[[mcp_servers]]\nname = \"a\"\ncommand = \"c\"",
         "mcp_servers.name: is used twice"},
    };
    for (const auto& [text, expected] : cases) {
        SCOPED_TRACE(text);
        const std::string problem =
            problem_of(std::string(minimal) + "[[mcp_servers]]\n" + text + "\n");
        EXPECT_NE(problem.find(expected), std::string::npos) << problem;
    }
}

TEST_F(ConfigSecret, TakesNoSpacesAroundASecret) {
    ::setenv("AGUI_TEST_KEY", "sk-canary ", 1);
    EXPECT_EQ(
        problem_of(minimal, {"auth.mode=bearer", "auth.token_env=AGUI_TEST_KEY"}),
        "--set: auth.token_env: the environment variable AGUI_TEST_KEY has spaces around its value"
    );
    const std::string file = write("key", " sk-canary-file\n");
    EXPECT_EQ(
        problem_of(minimal, {"models.main.api_key_file=" + file}),
        "--set: models.main.api_key_file: the file has spaces around its value"
    );
}

TEST(Config, NamesTheKeysThatCorsAndPagesNeed) {
    EXPECT_FALSE(load(minimal, {"server.cors_credentials=true"}));
    EXPECT_TRUE(load(
        minimal, {"server.cors_origins=[\"https://app.example\"]", "server.cors_credentials=true"}
    ));
    EXPECT_FALSE(load(minimal, {"server.spa=true"}));
    EXPECT_FALSE(load(minimal, {"server.csp=default-src 'self'"}));
    EXPECT_TRUE(load(minimal, {"server.spa=true", "server.static_dir=/", "server.csp="}));
}

TEST(Config, ReadsMemoryAndProxies) {
    const config all = load(
                           minimal, {"server.max_memory_bytes=1073741824",
                                     "server.trusted_proxies=[\"10.0.0.0/8\", \"::1\"]"}
    )
                           .value();
    EXPECT_EQ(effective_memory(all.server), 1U << 30U);
    EXPECT_EQ(all.server.trusted_proxies.size(), 2U);
    EXPECT_FALSE(load(minimal, {"server.trusted_proxies=[\"proxy.example\"]"}));
    EXPECT_FALSE(load(minimal, {"server.max_memory_bytes=1000"}));
    EXPECT_GT(effective_memory(load(minimal)->server), 0U) << "half of what there is";
}

TEST_F(ConfigSecret, NamesAMissingSecret) {
    EXPECT_EQ(
        problem_of(minimal, {"models.main.api_key_env=AGUI_TEST_ABSENT"}),
        "--set: models.main.api_key_env: the environment variable AGUI_TEST_ABSENT must be set to "
        "one line of text"
    );
    EXPECT_EQ(
        problem_of(minimal, {"models.main.api_key_file=no/such/file"}),
        "--set: models.main.api_key_file: must be a readable file that holds one line"
    );
    EXPECT_EQ(
        problem_of(minimal, {"auth.mode=bearer"}),
        "config: auth.token_env: is missing: name the environment variable that holds the token, "
        "or set token_file"
    );
}

TEST(Config, PrintsAConfigurationThatLoadsAsTheSame) {
    const config all = load(
                           minimal, {"session.on_busy=supersede", "tools.on_partial=wait",
                                     "models.main.extra_body.top_k=3", "tools.external.0.name=t",
                                     "tools.external.0.parameters={\"type\":\"object\"}"}
    )
                           .value();

    const std::string printed = print_config(all);
    const auto again = load(printed);

    ASSERT_TRUE(again) << again.error().lines.front() << printed;
    EXPECT_EQ(print_config(*again), printed);
    EXPECT_EQ(again->session.on_busy, busy_policy::supersede);
}

// The part of this room's README that describes a table.
std::string described(const std::string& table) {
    std::ifstream stream(AGUI_CONFIG_README);
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    const std::size_t begin = text.find("\n| `" + table + "` |");
    return begin == std::string::npos ? std::string()
                                      : text.substr(begin, text.find("\n\n", begin) - begin);
}

// "tools.webhook" is described with "[tools]", "models.main" with "[models.NAME]".
std::string table_of(const std::string& section) {
    const std::string root = section.substr(0, section.find('.'));
    if (root == "agents" || root == "mcp_servers") {
        return "[[" + root + "]]";
    }
    return root == "models" ? "[models.NAME]" : "[" + root + "]";
}

TEST_F(ConfigSecret, EveryKeyThatCanBePrintedIsDescribed) {
    const config_result<config> all = load(
        minimal, {"server.static_dir=/tmp",
                  "auth.mode=bearer",
                  "auth.token_env=AGUI_TEST_KEY",
                  "session.store=postgres://agui@db/agui",
                  "session.store_password_env=AGUI_TEST_KEY",
                  "models.main.api_key_env=AGUI_TEST_KEY",
                  "models.main.ca_file=ca.pem",
                  "models.main.temperature=1",
                  "models.main.max_output_tokens=1",
                  "models.main.tool_choice=auto",
                  "models.main.parallel_tool_calls=true",
                  "models.main.reasoning_effort=low",
                  "models.main.top_p=0.5",
                  "models.main.stop=[\"END\"]",
                  "models.main.seed=1",
                  "models.main.extra_body.top_k=3",
                  "tools.external.0.name=t",
                  "tools.webhook.0.name=w",
                  "tools.webhook.0.url=http://h/",
                  "tools.webhook.0.parameters={\"type\":\"object\"}",
                  "mcp_servers.0.name=a",
                  "mcp_servers.0.url=http://h/",
                  "mcp_servers.0.ca_file=ca.pem",
                  "mcp_servers.1.name=b",
                  "mcp_servers.1.command=run",
                  "mcp_servers.1.cwd=/tmp"}
    );
    ASSERT_TRUE(all) << all.error().lines.front();

    std::istringstream printed(print_config(*all));
    std::string section;
    std::set<std::string> tables;
    int keys = 0;
    for (std::string line; std::getline(printed, line);) {
        line.erase(0, line.find_first_not_of(" ["));
        const std::size_t equals = line.find(" = ");
        if (equals == std::string::npos) {
            section = line.substr(0, line.find(']'));
            continue;
        }
        if (section.empty() || section == "models.main.extra_body") {
            continue;
        }
        const std::string key = line.substr(0, equals);
        EXPECT_NE(described(table_of(section)).find("`" + key + "`"), std::string::npos)
            << section << "." << key;
        tables.insert(table_of(section));
        ++keys;
    }
    EXPECT_EQ(tables.size(), 7U);
    EXPECT_GT(keys, 100);
}

TEST(Config, EveryKeyOfTheMessagesDialectIsDescribed) {
    std::istringstream printed(print_config(load(claude).value()));
    std::string line;
    while (std::getline(printed, line) && line.find("[models.main]") == std::string::npos) {
    }
    int keys = 0;
    for (; std::getline(printed, line) && line.find(" = ") != std::string::npos; ++keys) {
        line.erase(0, line.find_first_not_of(' '));
        const std::string key = line.substr(0, line.find(" = "));
        EXPECT_NE(described("[models.NAME]").find("`" + key + "`"), std::string::npos) << key;
    }
    EXPECT_GT(keys, 10);
}

TEST(Config, ChecksToolNamesAndSchemas) {
    EXPECT_NE(
        problem_of(minimal, {"tools.external.0.name=mcp__x"}).find("tools.external.name"),
        std::string::npos
    );
    EXPECT_NE(
        problem_of(minimal, {"tools.external.0.name=t", "tools.external.0.parameters=[1]"})
            .find("parameters"),
        std::string::npos
    );
    EXPECT_NE(
        problem_of(minimal, {"tools.external.0.name=t", "tools.external.1.name=t"})
            .find("two tools have the name \"t\""),
        std::string::npos
    );
}

TEST(Config, ChecksThatAgentsNameModels) {
    const std::string text = std::string(minimal) + "[[agents]]\nid = \"a\"\nmodels = [\"none\"]\n";

    EXPECT_NE(problem_of(text).find("there is no [models.none]"), std::string::npos);
}

TEST(Config, OtherGatewaysAskAtTheListenAddress) {
    server_config server;
    EXPECT_EQ(effective_peer_url(server, 4000, "10.0.0.3"), "http://127.0.0.1:4000");
    server.listen = "[fd00::1]:80";
    server.base_path = "/chat";
    EXPECT_EQ(effective_peer_url(server, 80, "10.0.0.3"), "http://[fd00::1]:80/chat");
    server.peer_url = "https://gateway-1.internal";
    EXPECT_EQ(effective_peer_url(server, 80, "10.0.0.3"), "https://gateway-1.internal");
}

TEST(Config, OtherGatewaysAskAtTheAddressThatTheDatabaseSeesIfAllAreListenedOn) {
    server_config server;
    server.listen = "0.0.0.0:80";
    EXPECT_EQ(effective_peer_url(server, 80, "10.0.0.3"), "http://10.0.0.3:80");
    EXPECT_EQ(effective_peer_url(server, 80, "fd00::3"), "") << "nobody listens there";
    EXPECT_EQ(effective_peer_url(server, 80, "127.0.0.1"), "");
    EXPECT_EQ(effective_peer_url(server, 80, "::1"), "");
    EXPECT_EQ(effective_peer_url(server, 80, ""), "") << "a Unix socket";
    server.listen = "[::]:80";
    EXPECT_EQ(effective_peer_url(server, 80, "fd00::3"), "http://[fd00::3]:80");
    EXPECT_EQ(effective_peer_url(server, 80, "10.0.0.3"), "http://10.0.0.3:80");
    EXPECT_EQ(effective_peer_url(server, 80, "fe80::3"), "") << "known on one link only";
}

TEST(Config, RefusesAPeerUrlThatPathsCannotBeAppendedTo) {
    EXPECT_NE(
        problem_of(minimal, {"server.peer_url=10.0.0.3:8080"}).find("peer_url"), std::string::npos
    );
    EXPECT_NE(
        problem_of(minimal, {"server.peer_url=http://a/"}).find("peer_url"), std::string::npos
    );
}

TEST(Config, ServesLoopbackNamesWhileListeningOnLoopback) {
    server_config server;
    EXPECT_EQ(
        effective_hosts(server), (std::vector<std::string>{"localhost", "127.0.0.1", "[::1]"})
    );
    server.listen = "0.0.0.0:80";
    EXPECT_TRUE(effective_hosts(server).empty());
    server.allowed_hosts = {"app.example"};
    EXPECT_EQ(effective_hosts(server), std::vector<std::string>{"app.example"});
}

} // namespace
} // namespace agui::gateway
