#include "gateway/server_parts.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <gmock/gmock.h>

#include <optional>
#include <stdexcept>
#include <utility>

namespace agui::gateway {
namespace {

TEST(SecretsOf, AreTheKeyAndTheValuesOfHeaders) {
    model_config model;
    model.api_key.value = "sk-key";
    model.headers = {{"X-Account", "account"}, {"X-Note", "note"}};

    EXPECT_THAT(secrets_of(model, {}), ::testing::ElementsAre("sk-key", "account", "note"));
}

TEST(SecretsOf, AreTheValuesOfTheQueryAsWrittenAndAsRead) {
    model_config model;
    model.base_url = "https://example.org/v1?api-key=a%2Fb+c%3D&flag&bad=%zz";

    EXPECT_THAT(
        secrets_of(model, {}), ::testing::IsSupersetOf({"a%2Fb+c%3D", "a/b+c=", "a/b c=", "%zz"})
    );
}

TEST(SecretsOf, AreTheStringsOfTheExtraBodyHoweverDeep) {
    model_config model;
    model.extra_body = {
        {"token", "first"},
        {"options", {{"keys", boost::json::array{"second", {{"key", "third"}}}}, {"n", 1}}}
    };

    EXPECT_THAT(secrets_of(model, {}), ::testing::IsSupersetOf({"first", "second", "third"}));
}

TEST(SecretsOf, IncludeTheHeadersOfWebhooks) {
    webhook_config hook;
    hook.url = "https://example.org/weather?units=metric&key=hook%2Fquery";
    hook.headers = {{"X-Account", "hook-account"}};
    hook.secret_headers["Authorization"].value = "Bearer hook-key";
    tools_config tools;
    tools.webhooks = {hook};

    EXPECT_THAT(
        secrets_of({}, tools),
        ::testing::IsSupersetOf({"hook%2Fquery", "hook/query", "hook-account", "Bearer hook-key"})
    );
}

TEST(SecretsOf, IncludeTheHeadersOfMcpServers) {
    mcp_server_config remote;
    remote.url = "https://example.org/mcp?key=mcp-query";
    remote.headers = {{"X-Account", "mcp-account"}};
    remote.secret_headers["Authorization"].value = "Bearer mcp-key";
    mcp_server_config local;
    local.command = "c";
    local.environment = {{"TOKEN", "mcp-variable"}};
    tools_config tools;
    tools.mcp_servers = {remote, local};

    EXPECT_THAT(
        secrets_of({}, tools),
        ::testing::IsSupersetOf({"mcp-query", "mcp-account", "Bearer mcp-key", "mcp-variable"})
    );
}

config with_claude() {
    config all;
    model_config& model = all.models.emplace_back();
    model.name = "main";
    model.provider = model_config::provider_kind::anthropic;
    model.base_url = "http://127.0.0.1:1";
    model.parameters.model = "claude-opus-5-5";
    return all;
}

TEST(Providers, SpeakTheMessagesDialectToo) {
    const config all = with_claude();

    const provider_map made = make_providers(all, {}, null_logger());

    EXPECT_EQ(made.at("main")->name(), "main");
}

TEST(Providers, SpeakTheResponsesDialectToo) {
    config all = with_claude();
    all.models[0].provider = model_config::provider_kind::responses;

    EXPECT_EQ(make_providers(all, {}, null_logger()).at("main")->name(), "main");
}

TEST(Providers, OfAScriptSpeakItsDialect) {
    using kind = model_config::provider_kind;
    for (const auto& [dialect, binds] :
         {std::pair(kind::openai, false), std::pair(kind::anthropic, true),
          std::pair(kind::responses, false)}) {
        config all = with_claude();
        all.models[0].provider = kind::scripted;
        all.models[0].dialect = dialect;
        server_options options;
        options.script_of = [](const model_config&) -> runner::script {
            return [](const runner::transport_request&) {
                return std::optional<runner::scripted_answer>();
            };
        };

        const provider_map made = make_providers(all, options, null_logger());

        EXPECT_EQ(made.at("main")->binds_tools(), binds); // Only Claude's.
    }
}

// A program that fills in a configuration itself has not had it checked.
TEST(Providers, AreNotMadeWithSettingsThatTheModelRefuses) {
    config all = with_claude();
    all.models[0].parameters.temperature = 0.5;

    EXPECT_THROW((void)make_providers(all, {}, null_logger()), std::runtime_error);
    all.models[0].drop = {"temperature"};
    EXPECT_NO_THROW((void)make_providers(all, {}, null_logger()));
}

TEST(PlaceLimits, AreThoseOfTheConfiguration) {
    config all;
    all.server.max_connections = 1000;

    const place_limits limits = make_place_limits(all, 1'048'576);
    EXPECT_EQ(limits.all, 1000U);
    EXPECT_EQ(limits.per_client, 250U);
    all.server.max_connections_per_address = 7;
    EXPECT_EQ(make_place_limits(all, 1'048'576).per_client, 7U);
    all.server.max_connections = 1;
    all.server.max_connections_per_address = 0;
    EXPECT_EQ(make_place_limits(all, 1'048'576).per_client, 1U);
}

TEST(PlaceLimits, LeaveTwoDescriptorsToEachConnection) {
    config all;
    all.server.threads = 4;
    constexpr std::size_t descriptors = 4096;

    const place_limits limits = make_place_limits(all, descriptors);
    EXPECT_LT(2 * limits.all + 2 * limits.reserve, descriptors);
    EXPECT_GT(limits.all, 1900U);
    EXPECT_EQ(limits.per_client, limits.all / 4);
    all.session.store = session_config::store_kind::postgres;
    all.session.store_connections = 99;
    EXPECT_EQ(make_place_limits(all, descriptors).all, limits.all - 50);
    EXPECT_EQ(make_place_limits(all, 10).all, 1U);
}

TEST(RunSettings, AnAgentGetsItsExecutors) {
    config all;
    all.models.emplace_back().name = "main";
    all.agents.emplace_back().models = {"main"};
    provider_map providers;
    providers["main"] = nullptr;
    const runner::tool_executors own{{"search", {}}};

    const run_settings settings = make_run_settings(all, providers, {}, {{"default", own}});

    ASSERT_NE(settings.agents.at("default").settings.executors, nullptr);
    EXPECT_TRUE(settings.agents.at("default").settings.executors->contains("search"));
    EXPECT_THROW(
        (void)make_run_settings(all, providers, {}, {{"nobody", own}}), std::runtime_error
    );
}

} // namespace
} // namespace agui::gateway
