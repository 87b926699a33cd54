// The whole configuration: defaults, overrides, problems, printing.
#include "tests/gateway/config/config_fixture.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace agui::gateway {
namespace {

using test::ConfigFile;
using test::load;
using test::minimal;
using test::problem_of;

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
        "config:7:11: session.on_busy: must be one of \"reject\", \"enqueue\", \"supersede\", "
        "\"steer\"",
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

} // namespace
} // namespace agui::gateway
