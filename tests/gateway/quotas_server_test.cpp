// [[quotas]] through the whole server: requests, runs and budgets.

#include "tests/gateway/two_gateways_fixture.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>

#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace agui::test {
namespace {

using gateway::quota_config;
using gateway::quota_scope;
using ::testing::HasSubstr;
using ::testing::Not;

std::string bearer(std::string_view user) {
    return "Authorization: Bearer the-token-of-" + std::string(user) + "\r\n";
}
std::string from(std::string_view address) {
    return "X-Forwarded-For: " + std::string(address) + "\r\n";
}

quota_config quota(quota_scope per) {
    quota_config made;
    made.per = per;
    return made;
}

void use_users(gateway::config& settings) {
    settings.auth.emplace();
    settings.auth->kind = gateway::auth_config::mode::bearer;
    for (const std::string name : {"ada", "eve"}) {
        gateway::token_config token;
        token.name = name;
        token.token.value = "the-token-of-" + name;
        token.scopes = {"run", "read"};
        settings.auth->tokens.push_back(token);
    }
    settings.server.trusted_proxies = {"127.0.0.0/8"};
}

// A model that reports its usage, and calls the server's tool `more` as long as `rounds` is above
// 0.
class counted_model {
public:
    struct provider final : runner::model_provider {
        explicit provider(counted_model& of) : owner(of) {}
        boost::asio::awaitable<runner::model_outcome>
        ask(const runner::model_request& request, runner::model_sink& sink) override {
            (void)request;
            ++owner.calls;
            runner::model_answer answer;
            answer.usage.emplace();
            answer.usage->input_tokens = 10;
            answer.usage->output_tokens = owner.output.load();
            sink.on_text("Some words. ");
            if (owner.rounds-- > 0) {
                sink.on_call(0, "", "more");
                sink.on_call_arguments(0, "{}");
                answer.reason = runner::finish_reason::tool_calls;
            }
            co_return answer;
        }
        counted_model& owner;
    };

    std::atomic<int> calls{0};
    std::atomic<int> rounds{0};
    std::atomic<std::int64_t> output{10};
};

class QuotasOfServer : public server_test {
protected:
    QuotasOfServer() {
        use_users(settings);
        settings.models.front().provider = gateway::model_config::provider_kind::custom;
        settings.models.front().parameters.max_output_tokens = 10;
        options.log = &log;
        options.provider_of = [this](const gateway::model_config&) {
            return std::make_unique<counted_model::provider>(model);
        };
        options.tools.add(
            {.name = "more", .description = "", .parameters = {{"type", "object"}}},
            [](const runner::tool_invocation&) -> boost::asio::awaitable<runner::tool_outcome> {
                co_return runner::tool_outcome{runner::tool_outcome::kind::result, "more"};
            }
        );
    }
    ~QuotasOfServer() override { server.reset(); }

    raw_reply run_as(std::string_view user, std::string_view thread, std::string_view run_id) {
        return ask(post("/agui", run_body(thread, run_id), bearer(user)));
    }
    boost::json::object usage_of(std::string_view user) {
        const raw_reply reply = ask(get("/agui/usage", bearer(user)));
        EXPECT_EQ(reply.status, 200) << reply.body;
        return boost::json::parse(reply.body).as_object();
    }
    std::int64_t output_of(std::string_view user) {
        return usage_of(user)["quotas"]
            .at(0)
            .at("day")
            .at("outputTokens")
            .at("used")
            .to_number<std::int64_t>();
    }

    memory_logger log;
    counted_model model;
};

TEST_F(QuotasOfServer, LimitTheRequestsOfAPrincipal) {
    settings.quotas.push_back(quota(quota_scope::principal));
    settings.quotas[0].limits.requests_per_minute = 2;
    start();

    const raw_reply first = ask(get("/agui/threads", bearer("ada")));
    EXPECT_EQ(first.status, 200);
    EXPECT_EQ(first.header("ratelimit-policy"), R"("principal";q=2;w=60)");
    EXPECT_THAT(first.header("ratelimit"), HasSubstr(R"("principal";r=1;t=6)"));
    const raw_reply stream = run_as("ada", "t", "r");
    EXPECT_EQ(stream.status, 200);
    EXPECT_THAT(stream.header("ratelimit"), HasSubstr(R"("principal";r=0;)"));
    const raw_reply refused = ask(get("/agui/threads", bearer("ada")));

    EXPECT_EQ(refused.status, 429);
    EXPECT_EQ(error_code(refused), "rate_limited");
    EXPECT_THAT(refused.body, HasSubstr("No more than 2 requests a minute"));
    EXPECT_GE(std::stoi(refused.header("retry-after")), 1);
    EXPECT_LE(std::stoi(refused.header("retry-after")), 61);
    EXPECT_THAT(refused.header("ratelimit"), HasSubstr(R"("principal";r=0;)"));
    EXPECT_EQ(ask(get("/agui/threads", bearer("eve"))).status, 200);
    EXPECT_EQ(ask(get("/healthz", bearer("ada"))).status, 200) << "open routes do not count";
}

TEST_F(QuotasOfServer, WrongTokensCountAgainstTheirAddress) {
    settings.quotas.push_back(quota(quota_scope::address));
    settings.quotas[0].limits.requests_per_minute = 2;
    start();

    EXPECT_EQ(ask(get("/agui/threads", bearer("nobody") + from("192.0.2.1"))).status, 401);
    EXPECT_EQ(ask(get("/agui/threads", from("192.0.2.1"))).status, 401);

    EXPECT_EQ(ask(get("/agui/threads", bearer("ada") + from("192.0.2.1"))).status, 429);
    EXPECT_EQ(ask(get("/agui/threads", bearer("ada") + from("192.0.2.2"))).status, 200);
    const raw_reply unknown = ask(get("/agui/threads", bearer("ada")));
    EXPECT_EQ(unknown.status, 200);
    EXPECT_EQ(unknown.header("ratelimit"), "") << "loopback may be any number of people";
}

TEST_F(QuotasOfServer, WithoutQuotasThereAreNoHeadersAndNoRoute) {
    start();
    EXPECT_EQ(ask(get("/agui/threads", bearer("ada"))).header("ratelimit"), "");
    EXPECT_EQ(ask(get("/agui/usage", bearer("ada"))).status, 404);
}

TEST_F(QuotasOfServer, PagesOfOtherOriginsMayReadTheHeaders) {
    settings.server.cors_origins = {"https://app.example"};
    settings.quotas.push_back(quota(quota_scope::principal));
    settings.quotas[0].limits.requests_per_minute = 2;
    start();

    raw_client client(port());
    client.send(get("/agui/threads", bearer("ada") + "Origin: https://app.example\r\n"));
    EXPECT_THAT(
        client.read_until("\r\n\r\n"),
        HasSubstr("Access-Control-Expose-Headers: RateLimit, RateLimit-Policy\r\n")
    );
}

TEST_F(QuotasOfServer, ARunBeyondTheBudgetEndsWithItsAnswerSoFar) {
    settings.quotas.push_back(quota(quota_scope::principal));
    settings.quotas[0].limits.day.output_tokens = 25;
    model.rounds = 100;
    start();

    const raw_reply run = run_as("ada", "t", "r");

    EXPECT_EQ(run.status, 200);
    EXPECT_TRUE(run.complete);
    EXPECT_EQ(model.calls, 2) << "a third call could exceed the budget";
    EXPECT_THAT(run.body, HasSubstr("quota_exceeded"));
    EXPECT_EQ(output_of("ada"), 20);
    const std::string kept = ask(get("/agui/threads/t/messages", bearer("ada"))).body;
    EXPECT_THAT(kept, HasSubstr("Some words."));
    // Nothing is asked any more, but what there is can be read.
    const raw_reply refused = run_as("ada", "t", "next");
    EXPECT_EQ(refused.status, 429);
    EXPECT_EQ(error_code(refused), "quota_exceeded");
    EXPECT_GE(std::stoi(refused.header("retry-after")), 1);
    EXPECT_LE(std::stoi(refused.header("retry-after")), 24 * 3600);
    EXPECT_EQ(run_as("ada", "t", "r").body, run.body) << "a repeat reads the run again";
    EXPECT_EQ(ask(get("/agui/threads/t/runs/r/events", bearer("ada"))).status, 200);
    EXPECT_EQ(run_as("eve", "t", "r").status, 200);
}

TEST_F(QuotasOfServer, TheHistoryOfARunBeyondTheBudgetIsValid) {
    settings.quotas.push_back(quota(quota_scope::principal));
    settings.quotas[0].limits.day.output_tokens = 15;
    model.rounds = 1;
    start();

    EXPECT_THAT(run_as("ada", "t", "r").body, HasSubstr("quota_exceeded"));

    // The call has its result, so that the next model request is valid (P5).
    const std::string kept = ask(get("/agui/threads/t/messages", bearer("ada"))).body;
    EXPECT_THAT(kept, HasSubstr(R"("role":"tool")"));
    EXPECT_EQ(
        boost::json::parse(ask(get("/agui/threads/t/pending", bearer("ada"))).body)
            .at("toolCalls")
            .as_array()
            .size(),
        0U
    );
}

TEST_F(QuotasOfServer, LimitTheBytesOfAllThreads) {
    settings.quotas.push_back(quota(quota_scope::principal));
    settings.quotas[0].limits.thread_bytes = 23;
    start();
    const std::string file =
        R"({"type":"document","source":{"type":"data","mimeType":"text/plain",)"
        R"("value":")" +
        std::string(200, 'A') + R"("}})";
    const auto keeps = [&](std::string_view user) {
        return ask(post("/agui/threads/other/parts", file, bearer(user)));
    };
    const auto changes_state = [this](std::string_view user) {
        std::string patch = post("/agui/threads/t/state", R"({"a":1})", bearer(user));
        return ask(patch.replace(0, 4, "PATCH"));
    };
    EXPECT_EQ(keeps("ada").status, 200) << "there is room";

    // A file that waits for a message is enough.
    for (const raw_reply& refused : {run_as("ada", "t", "r"), keeps("ada")}) {
        EXPECT_EQ(refused.status, 429);
        EXPECT_EQ(error_code(refused), "quota_exceeded");
        EXPECT_THAT(refused.body, Not(HasSubstr("23"))) << "a reader may not be the owner";
        EXPECT_EQ(refused.header("retry-after"), "");
    }
    EXPECT_EQ(run_as("eve", "t", "r").status, 200);
    EXPECT_EQ(changes_state("eve").status, 429);
    const boost::json::object usage = usage_of("eve");
    const boost::json::value& bytes = usage.at("quotas").at(0).at("threadBytes");
    EXPECT_EQ(bytes.at("limit").to_number<int>(), 23);
    EXPECT_GE(bytes.at("used").to_number<int>(), 23);
}

TEST_F(QuotasOfServer, TitlesCount) {
    settings.agents.at(0).title = gateway::title_source::model;
    settings.agents.at(0).title_model = "main";
    settings.quotas.push_back(quota(quota_scope::principal));
    settings.quotas[0].limits.day.output_tokens = 1'000;
    start();
    EXPECT_EQ(run_as("ada", "t", "r").status, 200);

    const auto give_up = std::chrono::steady_clock::now() + patience;
    while (output_of("ada") < 20 && std::chrono::steady_clock::now() < give_up) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1)); // No event tells of a title.
    }
    EXPECT_EQ(output_of("ada"), 20);
    EXPECT_EQ(output_of("eve"), 0);
}

TEST_F(QuotasOfServer, CountMoneyByThePriceOfTheModel) {
    settings.models.front().metering.price = {1'000'000, 2'000'000, 0};
    settings.quotas.push_back(quota(quota_scope::principal));
    settings.quotas[0].limits.month.micro_cost = 1'000;
    start();
    EXPECT_EQ(run_as("ada", "t", "r").status, 200);

    const auto used = usage_of("ada");

    EXPECT_EQ(used.at("quotas").at(0).at("month").at("cost").at("used"), "0.00003");
    EXPECT_EQ(used.at("quotas").at(0).at("month").at("cost").at("limit"), "0.001");
}

TEST_F(QuotasOfServer, ABudgetOfAnAddressIsForAllItsCallers) {
    settings.quotas.push_back(quota(quota_scope::address));
    settings.quotas[0].limits.day.output_tokens = 15;
    start();
    const auto run_from = [this](std::string_view user, std::string_view address) {
        return ask(post("/agui", run_body(address, user), bearer(user) + from(address))).status;
    };

    EXPECT_EQ(run_from("ada", "192.0.2.1"), 200);
    EXPECT_EQ(run_from("eve", "192.0.2.1"), 429);
    EXPECT_EQ(run_from("eve", "192.0.2.2"), 200);
}

// Requests, of which each asks the model once, from many connections at once.
template <class Ask>
std::pair<int, int> ask_at_once(int requests, int threads, Ask ask) {
    std::atomic<int> next{0};
    std::atomic<int> taken{0};
    std::atomic<int> refused{0};
    std::vector<std::thread> all;
    for (int i = 0; i < threads; ++i) {
        all.emplace_back([&] {
            for (int number = next++; number < requests; number = next++) {
                const raw_reply reply = ask(number);
                taken +=
                    reply.status == 200 && reply.body.find("quota_exceeded") == std::string::npos;
                refused +=
                    reply.status == 429 || reply.body.find("quota_exceeded") != std::string::npos;
            }
        });
    }
    for (std::thread& each : all) {
        each.join();
    }
    return {taken.load(), refused.load()};
}

TEST_F(QuotasOfServer, AThousandParallelRunsNeverExceedTheBudget) {
    settings.server.threads = 2;
    settings.quotas.push_back(quota(quota_scope::principal));
    settings.quotas[0].limits.day.output_tokens = 1'005;
    use_sqlite();
    start();

    const auto [taken, refused] = ask_at_once(1'000, 16, [this](int i) {
        const std::string name = std::to_string(i);
        return run_as("ada", name, name);
    });

    EXPECT_EQ(taken, 100);
    EXPECT_EQ(refused, 900);
    EXPECT_EQ(model.calls, 100);
    EXPECT_EQ(output_of("ada"), 1'000);
}

TEST_F(QuotasOfServer, AThousandParallelRequestsNeverExceedTheRate) {
    settings.server.threads = 2;
    settings.quotas.push_back(quota(quota_scope::principal));
    settings.quotas[0].limits.requests_per_minute = 100;
    start();

    const auto begun = std::chrono::steady_clock::now();
    const auto [taken, refused] =
        ask_at_once(1'000, 16, [this](int) { return ask(get("/agui/threads", bearer("ada"))); });

    if (std::chrono::steady_clock::now() - begun < std::chrono::seconds(60)) {
        EXPECT_EQ(taken, 100);
        EXPECT_EQ(refused, 900);
    }
}

// The stated overrun: each call at once may use more than it has reserved.
TEST_F(QuotasOfServer, CallsThatUseMoreThanReservedExceedTheBudgetByNoMoreThanThat) {
    settings.server.threads = 2;
    settings.quotas.push_back(quota(quota_scope::principal));
    settings.quotas[0].limits.day.output_tokens = 200;
    settings.quotas[0].limits.runs = 4;
    model.output = 17; // 7 above the reservation.
    start();

    (void)ask_at_once(200, 8, [this](int i) {
        const std::string name = std::to_string(i);
        return run_as("ada", name, name);
    });

    EXPECT_GE(output_of("ada"), 190);
    EXPECT_LE(output_of("ada"), 200 + 4 * 7);
}

class QuotasOfHeldRuns : public server_test {
protected:
    QuotasOfHeldRuns() {
        use_users(settings);
        settings.models.front().provider = gateway::model_config::provider_kind::custom;
        options.log = &log;
        options.provider_of = [this](const gateway::model_config&) {
            return model.make_provider();
        };
        settings.quotas.push_back(quota(quota_scope::principal));
        settings.quotas[0].limits.runs = 1;
    }
    ~QuotasOfHeldRuns() override { server.reset(); }

    std::unique_ptr<raw_client>
    open(std::string_view body, std::string_view user, const std::string& headers = {}) {
        auto client = std::make_unique<raw_client>(port());
        client->send(post("/agui", body, bearer(user) + headers));
        EXPECT_THAT(client->read_until("RUN_STARTED"), HasSubstr("RUN_STARTED"));
        return client;
    }

    memory_logger log;
    held_model model;
};

TEST_F(QuotasOfHeldRuns, LimitRunsAtOnceOfEachPrincipal) {
    start();
    const auto first = open(body_of("r1"), "ada");

    const raw_reply refused = ask(post("/agui", body_of("r2", {}, "other"), bearer("ada")));
    EXPECT_EQ(refused.status, 429);
    EXPECT_EQ(error_code(refused), "quota_exceeded");
    EXPECT_EQ(refused.header("retry-after"), "2");
    const auto of_eve = open(body_of("r1"), "eve");

    model.answer({.text = "one"});
    model.answer({.text = "two"});
    EXPECT_THAT(first->read_until("RUN_FINISHED"), HasSubstr("RUN_FINISHED"));
    // A client that has read RUN_FINISHED can begin its next run: the place is free by then.
    const auto next = open(body_of("r2", {}, "other"), "ada");
    model.answer({.text = "three"});
    EXPECT_THAT(next->read_until("RUN_FINISHED"), HasSubstr("RUN_FINISHED"));
}

TEST_F(QuotasOfHeldRuns, AToolAnswerGoesOnWithItsThread) {
    start();
    model.answer({.call_id = "c1"});
    const raw_reply first = ask(post("/agui", body_of("r1"), bearer("ada")));
    EXPECT_THAT(first.body, HasSubstr("RUN_FINISHED"));

    model.answer({.text = "painted"});
    EXPECT_THAT(
        ask(post("/agui", answer_body("r2", "c1"), bearer("ada"))).body, HasSubstr("painted")
    );
}

TEST_F(QuotasOfHeldRuns, AMessageThatSupersedesItsThreadsRunIsNotRefused) {
    settings.session.on_busy = gateway::busy_policy::supersede;
    start();
    const auto first = open(body_of("r1"), "ada");

    const auto second = open(body_of("r2"), "ada");
    model.answer({.text = "second"});

    EXPECT_THAT(second->read_until("RUN_FINISHED"), HasSubstr("second"));
}

TEST_F(QuotasOfHeldRuns, AStoppedRunCountsAsReservedAndFreesItsPlace) {
    settings.models.front().parameters.max_output_tokens = 10;
    start();
    const auto run = open(body_of("r1"), "ada");
    ASSERT_TRUE(model.wait_for_calls(1));

    EXPECT_EQ(ask(post("/agui/cancel", R"({"threadId":"t"})", bearer("ada"))).status, 200);

    const std::string usage = ask(get("/agui/usage", bearer("ada"))).body;
    EXPECT_THAT(usage, HasSubstr(R"("outputTokens":{"used":10})"));
    EXPECT_THAT(usage, HasSubstr(R"("runs":{"limit":1,"active":0})"));
}

TEST_F(QuotasOfHeldRuns, LimitRunsWithoutReaders) {
    settings.quotas[0].limits.runs = 0;
    settings.quotas[0].limits.detached_runs = 1;
    settings.server.on_disconnect = {gateway::disconnect_policy::kind::go_on, {}};
    start();
    (void)open(body_of("r1", {}, "one"), "ada");
    (void)open(body_of("r1", {}, "other"), "eve");

    (void)open(body_of("r2", {}, "two"), "ada");

    const raw_reply ended = ask(post("/agui", body_of("r1", {}, "one"), bearer("ada")));
    EXPECT_THAT(ended.body, HasSubstr("run_timeout")) << "the one without a reader for longest";
    const auto active = [this](std::string_view thread, std::string_view user) {
        return ask(get("/agui/threads/" + std::string(thread), bearer(user))).body;
    };
    EXPECT_THAT(active("other", "eve"), HasSubstr(R"("activeRunId":"r1")"));
    EXPECT_THAT(active("two", "ada"), HasSubstr(R"("activeRunId":"r2")"));
}

TEST_F(QuotasOfHeldRuns, OneWhoLeavesARunEndsNoneOfSomebodyElse) {
    settings.quotas[0] = quota(quota_scope::address);
    settings.quotas[0].limits.detached_runs = 1;
    settings.server.on_disconnect = {gateway::disconnect_policy::kind::go_on, {}};
    start();
    (void)open(body_of("r1", {}, "hers"), "ada", from("192.0.2.1"));

    (void)open(body_of("r1", {}, "other"), "eve", from("192.0.2.1"));

    const raw_reply ended = ask(post("/agui", body_of("r1", {}, "other"), bearer("eve")));
    EXPECT_THAT(ended.body, HasSubstr("run_timeout"));
    EXPECT_THAT(
        ask(get("/agui/threads/hers", bearer("ada"))).body, HasSubstr(R"("activeRunId":"r1")")
    );
}

class QuotasOfTwoGateways : public TwoGateways {
protected:
    QuotasOfTwoGateways() {
        use_users(settings);
        settings.models.front().parameters.max_output_tokens = 10;
        options.provider_of = [this](const gateway::model_config&) {
            return std::make_unique<counted_model::provider>(counted);
        };
        settings.quotas.push_back(quota(quota_scope::principal));
    }
    ~QuotasOfTwoGateways() override { servers = {}; }

    counted_model counted;
};

INSTANTIATE_TEST_SUITE_P(
    Stores, QuotasOfTwoGateways,
    ::testing::Values(common_store_kind::doors, common_store_kind::postgres), name_of_store
);

TEST_P(QuotasOfTwoGateways, AThousandParallelRunsNeverExceedTheBudget) {
    settings.quotas[0].limits.day.output_tokens = 1'005;
    start_both();

    const auto [taken, refused] = ask_at_once(1'000, 16, [this](int i) {
        const std::string name = std::to_string(i);
        return ask_at(
            ports[static_cast<std::size_t>(i) % 2],
            post("/agui", run_body(name, name), bearer("ada"))
        );
    });

    EXPECT_EQ(taken, 100);
    EXPECT_EQ(refused, 900);
    EXPECT_EQ(counted.calls, 100);
}

TEST_P(QuotasOfTwoGateways, ARequestThatIsPassedOnCountsOnce) {
    settings.session.on_busy = gateway::busy_policy::enqueue;
    settings.quotas[0].limits.requests_per_minute = 1'000;
    options.provider_of = [this](const gateway::model_config&) {
        return model.make_provider();
    };
    start_both();
    const auto remaining_at = [](std::uint16_t port) {
        const auto used = boost::json::parse(ask_at(port, get("/agui/usage", bearer("ada"))).body);
        const auto& rate = used.at("quotas").at(0).at("requestsPerMinute");
        return rate.at("limit").as_int64() - rate.at("remaining").as_int64();
    };
    const auto first = open(a(), post("/agui", body_of("r1"), bearer("ada")));
    EXPECT_EQ(remaining_at(a()), 2) << "the run, and this look";

    const auto second = open(b(), post("/agui", body_of("r2"), bearer("ada")));

    EXPECT_EQ(remaining_at(a()), 3) << "only another look";
    EXPECT_EQ(remaining_at(b()), 2);
    model.answer({.text = "one"});
    model.answer({.text = "two"});
    EXPECT_THAT(rest_of(*second), HasSubstr("RUN_FINISHED"));
}

// The stated overrun: each gateway grants its share, rounded up.
TEST_P(QuotasOfTwoGateways, AThousandParallelRequestsExceedTheRateByOneAtMost) {
    settings.quotas[0].limits.requests_per_minute = 101;
    start_both();
    // The gateway that came first learns of the other within two seconds.
    ASSERT_TRUE(comes_true([this] {
        std::this_thread::sleep_for(std::chrono::milliseconds(200)); // Each look uses up the rate.
        return ask_at(a(), get("/agui/usage", bearer("eve"))).body.find(R"("limit":51)") !=
               std::string::npos;
    }));

    const auto begun = std::chrono::steady_clock::now();
    const auto [taken, refused] = ask_at_once(1'000, 16, [this](int i) {
        return ask_at(ports[static_cast<std::size_t>(i) % 2], get("/agui/threads", bearer("ada")));
    });

    if (std::chrono::steady_clock::now() - begun < std::chrono::seconds(60)) {
        EXPECT_EQ(taken, 101 + 1);
        EXPECT_EQ(refused, 1'000 - 102);
    }
}

} // namespace
} // namespace agui::test
