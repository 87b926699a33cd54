// [[quotas]], and the prices of models.

#include "tests/gateway/config/config_fixture.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace agui::gateway {
namespace {

using test::load;
using test::minimal;
using test::problem_of;
using ::testing::HasSubstr;
using ::testing::Not;

std::string with_quota(const std::string& keys) {
    return std::string(minimal) + "\n[[quotas]]\n" + keys;
}

TEST(ConfigQuotas, HaveNumbersForEachScope) {
    const auto all = load(with_quota(R"(
per = "principal"
requests_per_minute = 60
runs = 2
detached_runs = 1
thread_bytes = 1000000
day = { input_tokens = 1000, output_tokens = 500, cost = 0.25 }
month = { cost = 3 }
[[quotas]]
per = "tenant"
tenant = "acme"
runs = 20
[[quotas]]
per = "principal"
tenant = "acme"
user = "ada"
[[quotas]]
per = "address"
requests_per_minute = 600
)"));

    ASSERT_TRUE(all) << all.error().lines.front();
    ASSERT_EQ(all->quotas.size(), 4U);
    const quota_limits& limits = all->quotas[0].limits;
    EXPECT_EQ(limits.requests_per_minute, 60U);
    EXPECT_EQ(limits.runs, 2U);
    EXPECT_EQ(limits.detached_runs, 1U);
    EXPECT_EQ(limits.thread_bytes, 1'000'000U);
    EXPECT_EQ(limits.day.input_tokens, 1000);
    EXPECT_EQ(limits.day.output_tokens, 500);
    EXPECT_EQ(limits.day.micro_cost, 250'000);
    EXPECT_EQ(limits.month.micro_cost, 3'000'000);
    EXPECT_FALSE(limits.month.input_tokens);
    EXPECT_EQ(all->quotas[1].tenant, "acme");
    EXPECT_EQ(all->quotas[2].user, "ada");
    EXPECT_EQ(all->quotas[2].limits, quota_limits());
}

TEST(ConfigQuotas, ArePrintedAsTheyAreRead) {
    const auto all =
        load(with_quota("per = \"principal\"\nuser = \"ada\"\nruns = 2\nday = { cost = 0.1 }\n"));
    ASSERT_TRUE(all);

    const auto again = load(print_config(*all));

    ASSERT_TRUE(again) << again.error().lines.front();
    ASSERT_EQ(again->quotas.size(), 1U);
    EXPECT_EQ(again->quotas[0].user, "ada");
    EXPECT_EQ(again->quotas[0].limits, all->quotas[0].limits);
    EXPECT_THAT(print_config(*load(minimal)), Not(HasSubstr("quotas")));
}

TEST(ConfigQuotas, WrongOnesAreNamed) {
    EXPECT_THAT(problem_of(with_quota("runs = 1")), HasSubstr("per: is missing"));
    EXPECT_THAT(problem_of(with_quota("per = \"user\"")), HasSubstr("must be one of"));
    EXPECT_THAT(problem_of(with_quota("per = \"tenant\"\nruns = 0")), HasSubstr("runs: "));
    EXPECT_THAT(
        problem_of(with_quota("per = \"tenant\"\nuser = \"ada\"")),
        HasSubstr("user: needs per = \"principal\"")
    );
    EXPECT_THAT(
        problem_of(with_quota("per = \"address\"\ntenant = \"acme\"")),
        HasSubstr("tenant: needs per = \"principal\" or \"tenant\"")
    );
    EXPECT_THAT(
        problem_of(with_quota("per = \"tenant\"\nthread_bytes = 5")),
        HasSubstr("thread_bytes: needs per = \"principal\"")
    );
    EXPECT_THAT(
        problem_of(with_quota("per = \"principal\"\nday = { tokens = 5 }")), HasSubstr("tokens")
    );
    EXPECT_THAT(
        problem_of(with_quota("per = \"principal\"\nday = { cost = 0.0000001 }")),
        HasSubstr("at most six decimal places")
    );
    EXPECT_THAT(
        problem_of(with_quota("per = \"principal\"\nday = { cost = -1 }")), HasSubstr("cost: ")
    );
    EXPECT_THAT(
        problem_of(with_quota("per = \"principal\"\nruns = 1\n[[quotas]]\nper = \"principal\"")),
        HasSubstr("another [[quotas]] is for the same ones")
    );
    EXPECT_THAT(
        problem_of(with_quota("per = \"principal\"\nuser = \"a\\nb\"")),
        HasSubstr("must be one line")
    );
}

TEST(ConfigQuotas, WarnOfMoneyWithoutAPrice) {
    const std::string limited = with_quota("per = \"principal\"\nmonth = { cost = 3 }");
    EXPECT_THAT(
        warnings_of(load(limited).value()),
        ::testing::ElementsAre(HasSubstr("quotas: cost is limited, but no model has a price"))
    );
    EXPECT_THAT(
        warnings_of(load(limited, {"models.main.price={ input = 1 }"}).value()),
        ::testing::IsEmpty()
    );
}

TEST(ConfigQuotas, PricesAreExact) {
    const auto all = load(
        minimal, {"models.main.price={ input = 2.5, output = 10.000001 }",
                  "models.main.reserve_output_tokens=1000"}
    );

    ASSERT_TRUE(all) << all.error().lines.front();
    const metering& model = all->models[0].metering;
    EXPECT_EQ(model.price.input, 2'500'000);
    EXPECT_EQ(model.price.output, 10'000'001);
    EXPECT_EQ(model.price.cached_input, 2'500'000) << "as the input, unless it is said";
    EXPECT_EQ(model.reserved_output, 1000);
    EXPECT_EQ(load(print_config(*all))->models[0].metering, model);
    EXPECT_THAT(
        problem_of(minimal, {"models.main.price={ input = 100001 }"}), HasSubstr("price.input")
    );
}

} // namespace
} // namespace agui::gateway
