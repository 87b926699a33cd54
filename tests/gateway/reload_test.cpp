// New secrets for a server that is running.

#include "gateway/replaceable_provider.hpp"
#include "runner/base/model_circuit.hpp"
#include "session/base/clock.hpp"
#include "tests/gateway/held_model.hpp"
#include "tests/gateway/server_fixture.hpp"
#include "tests/support/coroutine_test.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace agui::test {
namespace {

using gateway::auth_config;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view old_token = "the-former-token-of-the-test";
constexpr std::string_view new_token = "another-token-of-the-test";

std::string bearer(std::string_view token) {
    return "Authorization: Bearer " + std::string(token) + "\r\n";
}

class Reload : public server_test {
protected:
    Reload() {
        settings = with_token(settings, old_token);
        settings.models.at(0).provider = gateway::model_config::provider_kind::custom;
        options.log = &log;
        options.provider_of = [this](const gateway::model_config&) {
            return model.make_provider();
        };
    }
    ~Reload() override { server.reset(); }

    static gateway::config with_token(gateway::config all, std::string_view token) {
        all.auth.emplace();
        all.auth->kind = auth_config::mode::bearer;
        all.auth->token.value = token;
        return all;
    }

    int version(std::string_view token) { return ask(get("/version", bearer(token))).status; }

    memory_logger log;
    held_model model;
};

TEST_F(Reload, AcceptsANewTokenWhileStreamsContinue) {
    start();
    raw_client client(port());
    client.send(post("/agui", run_body("t", "r"), bearer(old_token)));
    raw_reply stream = client.read_head();
    EXPECT_EQ(stream.status, 200);
    ASSERT_TRUE(model.wait_for_calls(1));

    EXPECT_TRUE(server->reload(with_token(settings, new_token)));

    EXPECT_EQ(version(new_token), 200);
    EXPECT_EQ(version(old_token), 401);
    model.answer({.text = "Still here."});
    client.read_body(stream);
    EXPECT_TRUE(stream.complete);
    EXPECT_THAT(stream.body, HasSubstr("Still here."));
    EXPECT_THAT(stream.body, HasSubstr("RUN_FINISHED"));
    EXPECT_THAT(log.lines(), Contains(HasSubstr("info reloaded [auth] and the secrets")));
}

TEST_F(Reload, ChangesNothingElse) {
    start();
    gateway::config fresh = with_token(settings, new_token);
    fresh.server.cors_origins = {"https://app.example"};
    fresh.server.base_path = "/elsewhere";
    fresh.server.allowed_hosts = {"app.example"};

    EXPECT_TRUE(server->reload(fresh));

    const raw_reply reply =
        ask(get("/version", bearer(new_token) + "Origin: https://app.example\r\n"));
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.header("access-control-allow-origin"), "");
}

TEST_F(Reload, MaySwitchTokensOff) {
    start();
    gateway::config fresh = settings;
    fresh.auth.reset();
    EXPECT_FALSE(server->reload(fresh)) << "that must be said";
    EXPECT_EQ(ask(get("/version")).status, 401);

    fresh.auth.emplace();
    EXPECT_TRUE(server->reload(fresh)) << "on loopback";

    EXPECT_EQ(ask(get("/version")).status, 200);
    EXPECT_THAT(log.lines(), Contains(HasSubstr("warning requests no longer need a token")));
    EXPECT_TRUE(server->reload(settings));
    EXPECT_EQ(ask(get("/version")).status, 401);
}

TEST_F(Reload, ChangesNothingIfARuleIsBroken) {
    auto& hook = settings.tools.webhooks.emplace_back();
    hook.definition.name = "hook";
    hook.url = "http://127.0.0.1:1/";
    hook.pass_headers = {"authorization"};
    settings.auth.reset();
    start();

    const auto done = server->reload(with_token(settings, new_token));

    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().lines, ElementsAre(HasSubstr("X-Upstream-Authorization")));
    EXPECT_EQ(ask(get("/version")).status, 200);
}

TEST_F(Reload, WarnsOfWeakSecretsAtTheStartAndAfterwards) {
    const auto warnings = [this] {
        return std::ranges::count_if(log.lines(), [](const std::string& line) {
            return line.starts_with("warning the configuration needs attention problem=\"auth.token"
            );
        });
    };
    settings = with_token(settings, "short");
    start();
    EXPECT_EQ(warnings(), 1);

    EXPECT_TRUE(server->reload(with_token(settings, "brief")));
    EXPECT_EQ(warnings(), 2);
}

class ReplaceableProvider : public coroutine_test {
protected:
    /// A model that answers with its text, once the sink lets it.
    class named final : public runner::model_provider {
    public:
        explicit named(std::string says, bool waits = false)
            : says_(std::move(says)), waits_(waits) {}

        [[nodiscard]] std::string_view name() const noexcept override { return "main"; }
        boost::asio::awaitable<runner::model_outcome>
        ask(const runner::model_request&, runner::model_sink& sink) override {
            return say(says_, waits_, sink);
        }

    private:
        static boost::asio::awaitable<runner::model_outcome>
        say(std::string text, bool waits, runner::model_sink& sink) {
            if (waits) {
                co_await sink.room();
            }
            sink.on_text(text);
            co_return runner::model_answer{};
        }

        std::string says_;
        bool waits_;
    };

    struct text_sink final : runner::model_sink {
        void on_text(std::string_view delta) override { text += delta; }
        void on_reasoning(std::string_view) override {}
        void on_call(std::size_t, std::string_view, std::string_view) override {}
        void on_call_arguments(std::size_t, std::string_view) override {}
        boost::asio::awaitable<void> room() override {
            while_waiting();
            co_return;
        }

        std::function<void()> while_waiting = {};
        std::string text = {};
    };
};

TEST_F(ReplaceableProvider, AsksTheNewOneFromThenOn) {
    gateway::replaceable_provider provider(std::make_unique<named>("old", true));
    EXPECT_EQ(provider.name(), "main");
    text_sink sink;
    sink.while_waiting = [&] {
        provider.replace(std::make_unique<named>("new"));
    };

    EXPECT_TRUE(run(provider.ask({}, sink)));
    EXPECT_EQ(sink.text, "old") << "a call under way goes on with its provider";
    EXPECT_TRUE(run(provider.ask({}, sink)));
    EXPECT_EQ(sink.text, "oldnew");
    EXPECT_EQ(provider.name(), "main");
}

TEST_F(ReplaceableProvider, KeepsItsCircuit) {
    auto circuit = std::make_shared<runner::model_circuit>(
        runner::model_circuit::settings(), system_clock(), null_logger()
    );
    gateway::replaceable_provider provider(std::make_unique<named>("old"), circuit);

    provider.replace(std::make_unique<named>("new"));

    EXPECT_EQ(provider.circuit(), circuit);
}

} // namespace
} // namespace agui::test
