// [session]: the store.
#include "tests/gateway/config/config_fixture.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

namespace agui::gateway {
namespace {

using test::load;
using test::minimal;
using test::problem_of;

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

} // namespace
} // namespace agui::gateway
