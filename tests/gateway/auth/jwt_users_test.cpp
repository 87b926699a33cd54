// A server that accepts the tokens of an issuer.

#include "tests/gateway/auth/token_maker.hpp"
#include "tests/gateway/server_fixture.hpp"
#include "tests/runner/http/http_test_server.hpp"
#include "tests/support/patience.hpp"

#include <boost/json/object.hpp>
#include <gmock/gmock.h>

#include <chrono>
#include <condition_variable>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace agui::test {
namespace {

using gateway::auth_config;
using gateway::jws_algorithm;
using ::testing::HasSubstr;
using ::testing::Not;

/// An issuer's server that answers every request with the keys.
class issuer_server {
public:
    explicit issuer_server(std::string keys) : keys_(std::move(keys)) {}
    ~issuer_server() {
        context_.stop();
        thread_.join();
    }
    issuer_server(const issuer_server&) = delete;
    issuer_server& operator=(const issuer_server&) = delete;

    [[nodiscard]] std::string url() const { return server_.url("/keys"); }

private:
    const std::string keys_;
    boost::asio::io_context context_;
    http_test_server server_{
        context_,
        [this](server_connection& peer) -> boost::asio::awaitable<void> {
            for (;;) {
                const std::string request = co_await peer.read_request();
                if (request.empty()) {
                    co_return;
                }
                co_await peer.send(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
                    std::to_string(keys_.size()) + "\r\n\r\n" + keys_
                );
            }
        }
    };
    std::thread thread_{[this] {
        context_.run();
    }};
};

/// Throws when keys were fetched, and keeps all other lines.
class fetch_disliking_logger final : public logger {
public:
    fetch_disliking_logger() : logger(log_level::debug) {}
    [[nodiscard]] bool has(std::string_view text) const {
        const std::lock_guard lock(mutex_);
        return lines_.find(text) != std::string::npos;
    }
    [[nodiscard]] bool wait_for(std::string_view text) {
        std::unique_lock lock(mutex_);
        return added_.wait_for(lock, patience, [&] {
            return lines_.find(text) != std::string::npos;
        });
    }

private:
    void write(log_level, std::string_view text, std::initializer_list<log_field>) override {
        if (text == "the keys of auth.jwks_url were fetched") {
            throw std::runtime_error("the disk is full");
        }
        const std::lock_guard lock(mutex_);
        lines_.append(text).append("\n");
        added_.notify_all();
    }

    mutable std::mutex mutex_;
    std::condition_variable added_;
    std::string lines_;
};

class JwtUsers : public server_test {
protected:
    JwtUsers() {
        settings.auth.emplace();
        settings.auth->kind = auth_config::mode::jwt;
        settings.auth->issuer = "https://id.example";
        settings.auth->audience = {"agui"};
        settings.auth->jwks = maker.jwks();
    }
    ~JwtUsers() override { server.reset(); }

    raw_reply read(const token_maker& by, std::string_view user, std::string_view path) {
        const std::string token = by.token(claims_of(user, system_clock().now()));
        return ask(get(path, "Authorization: Bearer " + token + "\r\n"));
    }

    token_maker maker{jws_algorithm::es256, "one"};
    token_maker other{jws_algorithm::es256, "two"};
};

TEST_F(JwtUsers, HaveTheirOwnThreads) {
    start();
    const std::string token = maker.token(claims_of("ada", system_clock().now()));
    EXPECT_EQ(
        ask(post("/agui", run_body("t", "r"), "Authorization: Bearer " + token + "\r\n")).status,
        200
    );

    const std::string_view messages = "/agui/threads/t/messages";
    EXPECT_THAT(read(maker, "ada", messages).body, HasSubstr("hello"));
    EXPECT_THAT(read(maker, "eve", messages).body, Not(HasSubstr("hello")));
    EXPECT_EQ(read(other, "ada", messages).status, 401);
    EXPECT_EQ(ask(get(messages)).status, 401);
}

TEST_F(JwtUsers, AreKnownByTheKeysOfAServer) {
    const issuer_server issuer(maker.jwks());
    settings.auth->jwks.clear();
    settings.auth->jwks_url = issuer.url();
    start();

    EXPECT_EQ(read(maker, "ada", "/agui/threads").status, 200);
    EXPECT_EQ(read(other, "ada", "/agui/threads").status, 401);
    server.reset();
}

TEST_F(JwtUsers, AFailedRenewalIsNotTheLast) {
    const issuer_server issuer(maker.jwks());
    settings.auth->jwks.clear();
    settings.auth->jwks_url = issuer.url();
    fetch_disliking_logger log;
    options.log = &log;

    start();

    EXPECT_TRUE(log.wait_for("could not be renewed"));
    server.reset();
    EXPECT_FALSE(log.has("the report of wrong tokens has stopped"));
}

TEST_F(JwtUsers, WaitForAnIssuerThatCannotBeReached) {
    settings.auth->jwks.clear();
    settings.auth->jwks_url = "http://127.0.0.1:1/keys";
    start();

    const raw_reply reply = read(maker, "ada", "/agui/threads");
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(error_code(reply), "auth_unavailable");
    EXPECT_EQ(reply.header("retry-after"), "2");
    EXPECT_EQ(ask(get("/agui/threads")).status, 401);
    EXPECT_EQ(ask(get("/healthz")).status, 200);
}

TEST_F(JwtUsers, AReloadBringsNewKeys) {
    start();
    gateway::config fresh = settings;
    fresh.auth->jwks = other.jwks();

    EXPECT_TRUE(server->reload(fresh));

    EXPECT_EQ(read(maker, "ada", "/agui/threads").status, 401);
    EXPECT_EQ(read(other, "ada", "/agui/threads").status, 200);
}

TEST_F(JwtUsers, AReloadKeepsTheKeysOfTheSameServer) {
    auto issuer = std::make_unique<issuer_server>(maker.jwks());
    settings.auth->jwks.clear();
    settings.auth->jwks_url = issuer->url();
    start();
    EXPECT_EQ(read(maker, "ada", "/agui/threads").status, 200);
    issuer.reset();
    gateway::config fresh = settings;
    fresh.auth->leeway = std::chrono::seconds(1);

    EXPECT_TRUE(server->reload(fresh));

    EXPECT_EQ(read(maker, "ada", "/agui/threads").status, 200) << "its server is down";
    fresh.auth->jwks_url += "/others";
    EXPECT_TRUE(server->reload(fresh));
    EXPECT_EQ(read(maker, "ada", "/agui/threads").status, 503);
}

} // namespace
} // namespace agui::test
