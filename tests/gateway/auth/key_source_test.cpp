// The keys of an issuer: when they are fetched, and what callers get meanwhile.

#include "gateway/auth/jwt_authenticator.hpp"
#include "gateway/auth/key_source.hpp"
#include "session/base/pause.hpp"
#include "tests/gateway/auth/token_maker.hpp"
#include "tests/support/coroutine_test.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include <exception>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::test {
namespace {

using gateway::auth_error;
using gateway::auth_result;
using gateway::jws_algorithm;
using gateway::key_source;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

class fake_response final : public runner::transport_response {
public:
    fake_response(int status, std::string body) : status_(status), body_(std::move(body)) {}
    int status() const noexcept override { return status_; }
    std::string_view header(std::string_view /*name*/) const noexcept override { return {}; }
    boost::asio::awaitable<runner::transport_result<std::string_view>> read() override {
        co_return std::exchange(is_read_, true) ? std::string_view() : std::string_view(body_);
    }

private:
    int status_;
    std::string body_;
    bool is_read_ = false;
};

/// An issuer's server that answers with its present keys.
class fake_issuer final : public runner::http_client {
public:
    boost::asio::awaitable<runner::transport_result<std::unique_ptr<runner::transport_response>>>
    send(const runner::transport_request& request) override {
        ++requests;
        EXPECT_EQ(request.method, runner::http_method::get);
        if (is_stubborn) {
            co_await boost::asio::this_coro::reset_cancellation_state(
                boost::asio::disable_cancellation()
            );
        }
        while (is_stubborn) {
            co_await pause(1ms);
        }
        co_await pause(delay);
        if (is_down) {
            co_return runner::transport_failure{
                runner::transport_failure::kind::connect, "refused", true
            };
        }
        co_return std::make_unique<fake_response>(status, keys);
    }

    std::string keys;
    int status = 200;
    int requests = 0;
    bool is_down = false;
    bool is_stubborn = false; ///< It does not answer, and the request cannot be cancelled.
    std::chrono::milliseconds delay{0};
};

class throwing_logger final : public logger {
public:
    throwing_logger() : logger(log_level::debug) {}
    bool throws = true;

private:
    void write(log_level, std::string_view, std::initializer_list<log_field>) override {
        if (throws) {
            throw std::runtime_error("the disk is full");
        }
    }
};

/// A clock that counts how often it is read: once for each check of a token.
class counting_clock final : public clock {
public:
    unix_ms now() const override {
        ++reads;
        return 1'700'000'000'000;
    }
    mutable int reads = 0;
};

class KeySource : public coroutine_test {
protected:
    KeySource() { issuer->keys = first.jwks(); }

    void make(key_source::limits bounds) {
        keys = std::make_shared<key_source>(issuer, bounds, log);
        checker = gateway::make_jwt_authenticator(rules(), keys, time);
    }
    static gateway::jwt_rules rules() {
        gateway::jwt_rules made;
        made.issuer = "https://id.example";
        made.audiences = {"agui"};
        made.algorithms = {jws_algorithm::eddsa};
        return made;
    }
    static key_source::limits without_pauses() {
        return {.interval = 0ms, .first_pause = 0ms, .time = 5s, .fresh = 0ms, .usable = 1h};
    }

    boost::asio::awaitable<auth_result> asking(std::string token) {
        const std::vector<gateway::presented_head::header> headers{
            {"authorization", "Bearer " + token}
        };
        const gateway::presented_head head{.headers = headers};
        co_return co_await checker->authenticate(head);
    }
    auth_result ask(const token_maker& maker, std::string_view user = "ada") {
        return run(asking(maker.token(claims_of(user, time.now()))));
    }

    manual_clock time;
    memory_logger log;
    token_maker first{jws_algorithm::eddsa, "first"};
    token_maker second{jws_algorithm::eddsa, "second"};
    std::shared_ptr<fake_issuer> issuer = std::make_shared<fake_issuer>();
    std::shared_ptr<key_source> keys;
    std::shared_ptr<gateway::authenticator> checker;
};

TEST_F(KeySource, FetchesKeysForTheFirstToken) {
    make({});

    EXPECT_EQ(ask(first).value()->user, "ada");
    EXPECT_EQ(ask(first, "eve").value()->user, "eve");
    EXPECT_EQ(issuer->requests, 1);
}

TEST_F(KeySource, FetchesAgainForAnUnknownKey) {
    make(without_pauses());
    EXPECT_TRUE(ask(first));

    issuer->keys = jwks_of({&first, &second});
    EXPECT_TRUE(ask(second));
    EXPECT_EQ(issuer->requests, 2);
    EXPECT_TRUE(ask(second));
    EXPECT_TRUE(ask(first));
    EXPECT_EQ(issuer->requests, 2);
}

TEST_F(KeySource, InventedKeysCauseNoMoreRequestsThanAllowed) {
    make({});
    EXPECT_TRUE(ask(first));

    for (int i = 0; i < 10; ++i) {
        const token_maker invented(jws_algorithm::eddsa, "invented" + std::to_string(i));
        EXPECT_EQ(ask(invented).error().what, auth_error::kind::invalid);
    }
    EXPECT_EQ(issuer->requests, 1) << "the pause after the first fetch has not passed";
}

TEST_F(KeySource, ATokenIsCheckedAgainOnlyWithOtherKeys) {
    make(without_pauses());
    const counting_clock counted;
    checker = gateway::make_jwt_authenticator(rules(), keys, counted);
    const std::string unnamed =
        second.sign(R"({"alg":"EdDSA"})", boost::json::serialize(claims_of("ada", counted.now())));
    run(keys->refresh());
    counted.reads = 0;

    EXPECT_EQ(run(asking(unnamed)).error().what, auth_error::kind::invalid);
    EXPECT_EQ(counted.reads, 1);

    issuer->keys = second.jwks();
    EXPECT_TRUE(run(asking(unnamed)));
    EXPECT_EQ(counted.reads, 3);
}

TEST_F(KeySource, WithoutKeysNobodyIsRefusedForGood) {
    make({});
    issuer->is_down = true;

    EXPECT_EQ(ask(first).error().what, auth_error::kind::unavailable);
    EXPECT_EQ(ask(first).error().what, auth_error::kind::unavailable);
    EXPECT_EQ(issuer->requests, 1) << "there is a pause after a failure";
}

TEST_F(KeySource, AFailureKeepsTheFormerKeys) {
    make(without_pauses());
    EXPECT_TRUE(ask(first));
    const auto before = keys->get();

    const auto expect_kept = [&] {
        EXPECT_EQ(ask(second).error().what, auth_error::kind::unavailable)
            << "the issuer may have the key";
        EXPECT_TRUE(ask(first, "eve"));
        EXPECT_EQ(keys->get(), before);
    };
    issuer->is_down = true;
    expect_kept();
    issuer->is_down = false;
    issuer->status = 500;
    expect_kept();
    issuer->status = 200;
    issuer->keys = "not keys";
    expect_kept();
    issuer->keys = std::string(gateway::key_set_bytes_max + 1, ' ');
    expect_kept();
    issuer->keys = second.jwks();
    EXPECT_TRUE(ask(second));
}

TEST_F(KeySource, ARevokedKeyEndsItsTokens) {
    make(without_pauses());
    EXPECT_TRUE(ask(first));

    issuer->keys = second.jwks();
    run(checker->renew());

    EXPECT_EQ(ask(first).error().what, auth_error::kind::invalid)
        << "a remembered token is verified again with the new keys";
    EXPECT_TRUE(ask(second));
}

TEST_F(KeySource, UnchangedKeysStayTheSameObject) {
    make(without_pauses());
    run(checker->renew());
    const auto before = keys->get();
    ASSERT_TRUE(before);

    run(checker->renew());

    EXPECT_EQ(issuer->requests, 2);
    EXPECT_EQ(keys->get(), before);
}

TEST_F(KeySource, FreshKeysAreNotFetchedAgain) {
    make({});
    run(checker->renew());
    run(checker->renew());

    EXPECT_EQ(issuer->requests, 1);
}

TEST_F(KeySource, KeysThatAreTooOldAreNotUsed) {
    key_source::limits bounds = without_pauses();
    bounds.usable = 0ms;
    make(bounds);
    issuer->is_down = true;
    EXPECT_EQ(ask(first).error().what, auth_error::kind::unavailable);
    issuer->is_down = false;
    run(checker->renew());

    EXPECT_EQ(keys->get(), nullptr);
}

TEST_F(KeySource, RequestsThatComeTogetherShareOneFetch) {
    make({});
    issuer->delay = 50ms;
    int accepted = 0;
    const auto one = [&]() -> boost::asio::awaitable<void> {
        const std::string token = first.token(claims_of("ada", time.now()));
        const auth_result known = co_await asking(token);
        accepted += known ? 1 : 0;
    };
    for (int i = 0; i < 9; ++i) {
        boost::asio::co_spawn(context(), one(), boost::asio::detached);
    }
    run(one());
    run(pause(100ms)); // The others poll.

    EXPECT_EQ(accepted, 10);
    EXPECT_EQ(issuer->requests, 1);
}

TEST_F(KeySource, AServerThatDoesNotAnswerIsGivenUp) {
    key_source::limits bounds;
    bounds.time = 20ms;
    make(bounds);
    issuer->delay = 1h;

    EXPECT_EQ(ask(first).error().what, auth_error::kind::unavailable);
}

TEST_F(KeySource, AFetchThatThrowsIsNotTheLast) {
    throwing_logger bad;
    keys = std::make_shared<key_source>(issuer, without_pauses(), bad);

    EXPECT_THROW((void)run(keys->refresh()), std::runtime_error);
    bad.throws = false;

    EXPECT_TRUE(run(keys->refresh()));
    EXPECT_TRUE(keys->get());
    EXPECT_EQ(issuer->requests, 2);
}

TEST_F(KeySource, NobodyIsRefusedForGoodBeforeTheFetchHasEnded) {
    key_source::limits bounds = without_pauses();
    bounds.time = 20ms;
    make(bounds);
    EXPECT_TRUE(ask(first));
    issuer->is_stubborn = true;
    const auto fetching = [&]() -> boost::asio::awaitable<void> {
        (void)co_await keys->refresh();
    };
    boost::asio::co_spawn(context(), fetching(), boost::asio::detached);
    run(pause(1ms));
    EXPECT_EQ(issuer->requests, 2);

    EXPECT_EQ(ask(second).error().what, auth_error::kind::unavailable);

    issuer->is_stubborn = false;
    run(pause(50ms));
}

TEST_F(KeySource, ACallerThatLeavesDoesNotMakeAFetchFail) {
    make({});
    issuer->delay = 20ms;
    boost::asio::cancellation_signal leaves;
    bool has_left = false;
    boost::asio::co_spawn(
        context(), asking(first.token(claims_of("ada", time.now()))),
        boost::asio::bind_cancellation_slot(
            leaves.slot(), [&](const std::exception_ptr&, const auth_result&) { has_left = true; }
        )
    );
    run(pause(1ms));
    ASSERT_EQ(issuer->requests, 1);

    leaves.emit(boost::asio::cancellation_type::terminal);
    EXPECT_TRUE(ask(first, "eve")) << "within the pause after a failure";

    EXPECT_EQ(issuer->requests, 1);
    EXPECT_TRUE(has_left);
    EXPECT_THAT(log.lines(), Not(Contains(HasSubstr("could not be fetched"))));
}

TEST_F(KeySource, RemembersTokensUntilTheyExpire) {
    make({});
    const std::string token = first.token(claims_of("ada", time.now()));
    const auto known = run(asking(token));
    ASSERT_TRUE(known);
    EXPECT_EQ(run(asking(token)).value(), known.value()) << "the same caller, not verified again";
    std::string scopes;
    for (int i = 0; i < 17; ++i) {
        scopes += "agents:" + std::to_string(i) + ":run ";
    }
    const std::string large = first.token(claims_of("ada", time.now(), scopes));
    const auto once = run(asking(large));
    EXPECT_NE(run(asking(large)).value(), once.value()) << "it takes too much memory";

    time.advance(1h);

    EXPECT_EQ(run(asking(token)).error().what, auth_error::kind::invalid);
    EXPECT_EQ(
        run(asking(std::string(gateway::jwt_bytes_max + 1, 'a'))).error().what,
        auth_error::kind::invalid
    );
}

} // namespace
} // namespace agui::test
