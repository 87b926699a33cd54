// Budgets of tokens and money, with a clock of the test.

#include "gateway/quota/metered_provider.hpp"
#include "gateway/quota/quotas.hpp"
#include "session/store/store.hpp"
#include "tests/gateway/log/event_log_fixture.hpp"
#include "tests/support/coroutine_test.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::gateway {
namespace {

using std::chrono::hours;
using ::testing::HasSubstr;

// 2026-11-29T12:00:00Z.
constexpr unix_ms noon = 1'795'953'600'000;

quota_rule budget_of(quota_scope per, std::int64_t day, std::int64_t month = 1'000'000) {
    quota_rule rule;
    rule.per = per;
    rule.limits.day.output_tokens = day;
    rule.limits.month.output_tokens = month;
    return rule;
}

/// Answers with the usage that the test sets, or fails.
class answering_provider final : public runner::model_provider {
public:
    struct script {
        runner::model_outcome outcome = runner::model_answer{};
        std::string text; ///< Delivered before.
        int calls = 0;
    };
    explicit answering_provider(script& what) : script_(what) {}
    [[nodiscard]] std::string_view name() const noexcept override { return "main"; }
    boost::asio::awaitable<runner::model_outcome>
    ask(const runner::model_request& request, runner::model_sink& sink) override {
        (void)request;
        ++script_.calls;
        if (!script_.text.empty()) {
            sink.on_text(script_.text);
        }
        co_return script_.outcome;
    }

private:
    script& script_;
};

class silent_sink final : public runner::model_sink {
public:
    void on_text(std::string_view) override {}
    void on_reasoning(std::string_view) override {}
    void on_call(std::size_t, std::string_view, std::string_view) override {}
    void on_call_arguments(std::size_t, std::string_view) override {}
};

class Quotas : public test::coroutine_test {
protected:
    void use(std::vector<quota_rule> rules) {
        limits_ = std::make_unique<quotas>(std::move(rules), *store_, time_);
    }
    quotas& limits() { return *limits_; }

    // The failure of a reservation, or nullopt.
    std::optional<failure> reserve(std::int64_t output, quota_party party = {"ada", "192.0.2.1"}) {
        auto made = run(limits().reserve(party, {1, output, 0}));
        if (!made) {
            return made.error();
        }
        last_ = std::move(*made);
        return std::nullopt;
    }
    std::optional<failure>
    admit(quota_party party = {"ada", "192.0.2.1"}, std::string thread = "t") {
        quotas::run_claim claim;
        claim.party = party;
        claim.thread = std::move(thread);
        claim.first_call = {1, 1, 0};
        auto place = run(limits().admit_run(std::move(claim)));
        if (!place) {
            return place.error();
        }
        places_.push_back(std::move(*place));
        return std::nullopt;
    }
    std::int64_t output_of_today(std::string subject = "principal:ada") {
        return run(store_->read_usage({std::move(subject)}, time_.now()))
            ->subjects.at(0)
            .day.output_tokens;
    }

    manual_clock time_{noon};
    std::unique_ptr<session::store> store_ = session::make_memory_store();
    std::unique_ptr<quotas> limits_;
    quotas::reserved_call last_;
    std::vector<std::shared_ptr<const void>> places_;
};

TEST_F(Quotas, ReserveUpToTheBudgetOfADay) {
    use({budget_of(quota_scope::principal, 100)});

    EXPECT_FALSE(reserve(100));
    const auto refused = reserve(1);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code, errc::quota_exceeded);
    EXPECT_EQ(refused->retry_after, 12 * 3600) << "until midnight";
    EXPECT_THAT(refused->detail, HasSubstr("this day"));
    EXPECT_FALSE(reserve(100, {"eve", {}}));
    EXPECT_EQ(admit()->code, errc::quota_exceeded);
    EXPECT_EQ(admit()->retry_after, 12 * 3600);

    time_.advance(hours(12) - std::chrono::milliseconds(1));
    EXPECT_TRUE(reserve(1));
    time_.advance(std::chrono::milliseconds(1));
    EXPECT_FALSE(reserve(100));
    EXPECT_TRUE(reserve(1));
}

TEST_F(Quotas, ReserveUpToTheBudgetOfAMonth) {
    use({budget_of(quota_scope::principal, 100, 150)});
    EXPECT_FALSE(reserve(100));
    time_.advance(hours(24));

    const auto refused = reserve(51);
    ASSERT_TRUE(refused);
    EXPECT_THAT(refused->detail, HasSubstr("this month"));
    EXPECT_EQ(refused->retry_after, 12 * 3600) << "November has 30 days";
    EXPECT_FALSE(reserve(50));
    time_.advance(hours(12));
    EXPECT_FALSE(reserve(100));
}

TEST_F(Quotas, CountForTenantsAndAddresses) {
    use({budget_of(quota_scope::tenant, 100), budget_of(quota_scope::address, 150)});
    EXPECT_FALSE(reserve(60, {"acme/ada", "192.0.2.1"}));

    EXPECT_THAT(reserve(60, {"acme/eve", "192.0.2.2"})->detail, HasSubstr("per tenant"));
    EXPECT_THAT(reserve(91, {"other/eve", "192.0.2.1"})->detail, HasSubstr("per address"));
    EXPECT_FALSE(reserve(90, {"other/eve", "192.0.2.1"}));
    EXPECT_EQ(output_of_today("tenant:acme"), 60);
    EXPECT_EQ(output_of_today("address:192.0.2.2"), 0) << "a refused call is counted nowhere";
}

TEST_F(Quotas, StoreNoAddressWithoutALimit) {
    quota_rule rule;
    rule.per = quota_scope::address;
    rule.limits.requests_per_minute = 5;
    use({rule});

    EXPECT_FALSE(reserve(60));
    EXPECT_EQ(output_of_today("address:192.0.2.1"), 0);
}

TEST_F(Quotas, LimitRunsAtOnceButNotThoseOfOneThread) {
    quota_rule rule;
    rule.limits.runs = 1;
    use({rule});

    EXPECT_FALSE(admit());
    EXPECT_FALSE(admit()) << "the same thread";
    EXPECT_EQ(admit({"ada", {}}, "other")->retry_after, 2);
    EXPECT_FALSE(admit({"eve", {}}, "t")) << "the thread of another principal";
    places_.clear();
    EXPECT_FALSE(admit({"ada", {}}, "other"));
}

TEST_F(Quotas, AreSharedAmongGateways) {
    quota_rule rule;
    rule.limits.runs = 5;
    rule.limits.requests_per_minute = 4;
    use({rule});
    limits().set_gateways(2);

    for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(admit({"ada", {}}, std::to_string(i))) << i;
    }
    EXPECT_TRUE(admit({"ada", {}}, "more"));
    const auto now = std::chrono::steady_clock::now();
    (void)limits().count_request_of("ada", now);
    (void)limits().count_request_of("ada", now);
    EXPECT_TRUE(limits().count_request_of("ada", now).at(0).exceeded);
}

TEST_F(Quotas, LimitTheBytesOfThreads) {
    quota_rule rule;
    rule.limits.thread_bytes = 10;
    use({rule});
    EXPECT_FALSE(admit());
    session::changes change;
    session::stored_message message;
    message.message.id = "m";
    message.message.content = "hello, world";
    change.messages.push_back(message);
    change.branches.push_back({0, {.tip = 0, .updated_at = 1}});
    change.head = 0;
    session::run_record record;
    record.run_id = "r";
    ASSERT_TRUE(run(store_->begin({"ada", "t"}, record, change)));

    const auto refused = admit();
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code, errc::quota_exceeded);
    EXPECT_EQ(refused->retry_after, 0) << "time does not help";
    EXPECT_FALSE(admit({"eve", {}}));
}

TEST_F(Quotas, ReportWhatIsUsedAndWhenItBeginsAnew) {
    quota_rule rule = budget_of(quota_scope::principal, 100);
    rule.limits.day.micro_cost = 2'500'000;
    rule.limits.runs = 3;
    use({rule, budget_of(quota_scope::tenant, 1'000)});
    EXPECT_FALSE(admit({"acme/ada", {}}));
    ASSERT_TRUE(run(limits().reserve({"acme/ada", {}}, {7, 30, 1'250'000})));

    const auto report = run(limits().report({"acme/ada", {}}));

    ASSERT_TRUE(report);
    EXPECT_EQ(
        boost::json::value(*report), boost::json::parse(R"({"at":1795953600000,"quotas":[
            {"per":"principal",
             "day":{"inputTokens":{"used":7},"outputTokens":{"used":30,"limit":100},
                    "cost":{"used":"1.25","limit":"2.5"},"resetsAt":1795996800000},
             "month":{"inputTokens":{"used":7},"outputTokens":{"used":30,"limit":1000000},
                      "cost":{"used":"1.25"},"resetsAt":1796083200000},
             "runs":{"limit":3,"active":1}},
            {"per":"tenant","day":{"outputTokens":{"limit":1000},"resetsAt":1795996800000},
             "month":{"outputTokens":{"limit":1000000},"resetsAt":1796083200000}}]})")
    ) << boost::json::serialize(*report);
}

class MeteredCalls : public Quotas {
protected:
    runner::model_outcome ask(std::int64_t max_output) {
        std::vector<session::message> messages(1);
        messages[0].content = std::string(300, 'x');
        const std::vector<runner::tool_definition> tools;
        runner::model_request request;
        request.parameters.max_output_tokens = max_output;
        request.principal = "ada";
        request.messages = &messages;
        request.tools = &tools;
        silent_sink sink;
        metered_provider provider(
            std::make_unique<answering_provider>(script_), {{2'000'000, 1'000'000, 0}, 4096},
            limits(), null_logger()
        );
        return run(provider.ask(request, sink));
    }
    void answer_with(std::int64_t input, std::int64_t output, std::int64_t cached = 0) {
        runner::model_answer answer;
        answer.usage.emplace();
        answer.usage->input_tokens = input;
        answer.usage->output_tokens = output;
        answer.usage->cached_input_tokens = cached;
        script_.outcome = answer;
    }
    session::usage_amount today() {
        return run(store_->read_usage({"principal:ada"}, time_.now()))->subjects.at(0).day;
    }

    answering_provider::script script_;
};

TEST_F(MeteredCalls, CountWhatTheServerReports) {
    use({budget_of(quota_scope::principal, 100)});
    answer_with(50, 20, 10);

    EXPECT_TRUE(ask(90));

    EXPECT_EQ(today(), (session::usage_amount{50, 20, 100}));
}

TEST_F(MeteredCalls, CountAsReservedWithoutAReport) {
    use({budget_of(quota_scope::principal, 100)});

    EXPECT_TRUE(ask(90));

    EXPECT_EQ(today(), (session::usage_amount{108, 90, 306})) << "300 bytes and a message";
}

TEST_F(MeteredCalls, AreNotMadeBeyondTheBudget) {
    use({budget_of(quota_scope::principal, 100)});

    const auto outcome = ask(101);

    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().what, runner::model_failure::kind::over_quota);
    EXPECT_EQ(script_.calls, 0);
    EXPECT_EQ(today(), session::usage_amount());
}

TEST_F(MeteredCalls, CostNothingIfTheServerRefusesThem) {
    use({budget_of(quota_scope::principal, 100)});
    script_.outcome = runner::model_failure{runner::model_failure::kind::rejected, 400, {}};

    EXPECT_FALSE(ask(90));

    EXPECT_EQ(today(), session::usage_amount());
}

TEST_F(MeteredCalls, CountAsReservedIfTheyAreStoppedOrLost) {
    use({budget_of(quota_scope::principal, 1'000)});
    for (const auto kind :
         {runner::model_failure::kind::cancelled, runner::model_failure::kind::lost,
          runner::model_failure::kind::timeout}) {
        script_.outcome = runner::model_failure{kind, 0, {}};
        EXPECT_FALSE(ask(90));
    }

    EXPECT_EQ(today().output_tokens, 270);
}

// A reader that stops just before the end has the answer.
TEST_F(MeteredCalls, CountAtLeastWhatTheModelHasWritten) {
    use({budget_of(quota_scope::principal, 10'000)});
    script_.text = std::string(3'000, 'x');
    script_.outcome = runner::model_failure{runner::model_failure::kind::cancelled, 0, {}};

    EXPECT_FALSE(ask(90));

    EXPECT_EQ(today().output_tokens, 1'000);
    script_.outcome = runner::model_failure{runner::model_failure::kind::rejected, 400, {}};
    EXPECT_FALSE(ask(90)) << "an error in the stream";
    EXPECT_EQ(today().output_tokens, 2'000);
}

TEST_F(MeteredCalls, ThatAreStoppedUseUpNoLimitThatTheRequestNames) {
    use({budget_of(quota_scope::principal, 100'000)});
    script_.outcome = runner::model_failure{runner::model_failure::kind::cancelled, 0, {}};

    EXPECT_FALSE(ask(99'000));

    EXPECT_EQ(today().output_tokens, 4'096);
}

/// A store that cannot be used, from the first or the second call on.
class failing_store final : public log_only_store {
public:
    bool reserves = false;
    boost::asio::awaitable<result<session::usage_reservation>>
    reserve_usage(std::vector<session::usage_claim>, session::usage_amount, unix_ms now) override {
        if (reserves) {
            co_return session::usage_reservation{now, {}};
        }
        co_return unavailable_now();
    }
    boost::asio::awaitable<result<void>> settle_usage(session::usage_settlement) override {
        co_return unavailable_now();
    }
    boost::asio::awaitable<result<session::usage_reading>>
    read_usage(std::vector<std::string>, unix_ms) override {
        co_return unavailable_now();
    }
    boost::asio::awaitable<result<std::uint64_t>> bytes_of_principal(std::string) override {
        co_return unavailable_now();
    }

private:
    static failure unavailable_now() { return {errc::store_unavailable, "down", {}, {}}; }
};

TEST_F(MeteredCalls, AreNotMadeIfTheyCannotBeCounted) {
    failing_store down;
    limits_ =
        std::make_unique<quotas>(std::vector{budget_of(quota_scope::principal, 100)}, down, time_);

    const auto outcome = ask(1);

    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().what, runner::model_failure::kind::uncounted);
    EXPECT_EQ(script_.calls, 0);
    EXPECT_EQ(admit()->code, errc::store_unavailable);
    EXPECT_EQ(run(limits().report({"ada", {}})).error().code, errc::store_unavailable);
}

TEST_F(MeteredCalls, AnAnswerIsNotLostIfItCannotBeSettled) {
    failing_store down;
    down.reserves = true;
    limits_ =
        std::make_unique<quotas>(std::vector{budget_of(quota_scope::principal, 100)}, down, time_);
    answer_with(5, 5);

    EXPECT_TRUE(ask(1));
}

// The stated overrun: what one call uses above its reservation.
TEST_F(MeteredCalls, ExceedABudgetOnlyByWhatOneCallUsesAboveItsReservation) {
    use({budget_of(quota_scope::principal, 100)});
    answer_with(50, 130);

    EXPECT_TRUE(ask(90));
    EXPECT_FALSE(ask(1));

    EXPECT_EQ(today().output_tokens, 100 - 90 + 90 + 30);
}

TEST(EstimatedInput, CountsTextAndToolsAndMedia) {
    std::vector<session::message> messages(2);
    messages[0].content = std::string(30, 'x');
    messages[1].content = boost::json::array{
        {{"type", "text"}, {"text", "abc"}},
        {{"type", "image"}, {"source", {{"type", "data"}, {"value", std::string(90'000, 'A')}}}}
    };
    const std::vector<runner::tool_definition> tools{{"tool", "0123", nullptr}};
    runner::model_request request;
    request.instructions = "123456";
    request.messages = &messages;
    request.tools = &tools;

    EXPECT_EQ(estimated_input(request), 3 * 8 + 1'500 + (30 + 3 + 8 + 6 + 2) / 3);
}

} // namespace
} // namespace agui::gateway
