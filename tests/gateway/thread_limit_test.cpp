// A thread accepts messages up to session.max_thread_bytes.
#include "tests/gateway/server_fixture.hpp"

#include <boost/asio/awaitable.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>

namespace agui::test {
namespace {

using ::testing::HasSubstr;

class ThreadLimit : public server_test {
protected:
    // Sends a message of 8 MB, the size of a usual attachment.
    raw_reply say_much(int number) {
        return ask(
            post("/agui", run_body("t", "r" + std::to_string(number), std::string(8U << 20U, 'x')))
        );
    }
};

TEST_F(ThreadLimit, IsReachedAtItsDefaultAndNotBefore) {
    start();
    for (int i = 0; i < 7; ++i) {
        EXPECT_THAT(say_much(i).body, HasSubstr("RUN_FINISHED")) << i;
    }
    const raw_reply refused = [this] {
        raw_reply last;
        for (int i = 7; i < 9; ++i) {
            last = say_much(i);
        }
        return last;
    }();

    EXPECT_EQ(refused.status, 413);
    EXPECT_THAT(refused.body, HasSubstr(R"("code":"body_too_large")"));
    EXPECT_THAT(refused.body, HasSubstr("67108864 bytes of messages"));
    EXPECT_THAT(ask(post("/agui", run_body("t", "small"))).body, HasSubstr("RUN_FINISHED"))
        << "what fits is taken";
    EXPECT_THAT(ask(post("/agui", run_body("other", "r"))).body, HasSubstr("RUN_FINISHED"));
}

TEST_F(ThreadLimit, IsAsConfigured) {
    settings.session.max_thread_bytes = 100'000;
    use_sqlite();
    start();

    EXPECT_THAT(
        ask(post("/agui", run_body("t", "r1", std::string(99'000, 'x')))).body,
        HasSubstr("RUN_FINISHED")
    );
    EXPECT_EQ(ask(post("/agui", run_body("t", "r2", std::string(2000, 'x')))).status, 413);
    EXPECT_EQ(ask(post("/agui", run_body("u", "r1", std::string(100'000, 'x')))).status, 413);
}

/// A model that calls a server tool, whose result makes the thread grow, and then answers.
class ThreadLimitOfARun : public ThreadLimit {
protected:
    ThreadLimitOfARun() {
        options.tools.add(
            {.name = "fetch", .description = "", .parameters = {{"type", "object"}}},
            [this](const runner::tool_invocation&) -> boost::asio::awaitable<runner::tool_outcome> {
                co_return runner::tool_outcome{
                    runner::tool_outcome::kind::result, std::string(result_bytes, 'x')
                };
            }
        );
        options.script_of = [this](const gateway::model_config&) {
            return [this](const runner::transport_request&) {
                asked += 1;
                if (asked > 1) {
                    return std::optional(say("Done"));
                }
                return std::optional(call_tool("fetch"));
            };
        };
    }

    std::size_t result_bytes = 0;
    std::atomic<int> asked{0};
};

TEST_F(ThreadLimitOfARun, EndsTheOneThatGrowsItsThreadOverIt) {
    settings.session.max_thread_bytes = 100'000;
    result_bytes = 100'000;
    start();

    const raw_reply reply = ask(post("/agui", run_body("t", "r")));

    EXPECT_THAT(reply.body, HasSubstr("token_limit"));
    EXPECT_EQ(asked, 1) << "no model is asked to read what is too long";
    EXPECT_EQ(ask(post("/agui", run_body("t", "next"))).status, 413);
}

TEST_F(ThreadLimitOfARun, LetsARunBelowTheLimitContinue) {
    settings.session.max_thread_bytes = 100'000;
    result_bytes = 98'000;
    start();

    const raw_reply reply = ask(post("/agui", run_body("t", "r")));

    EXPECT_THAT(reply.body, HasSubstr("Done"));
    EXPECT_THAT(reply.body, ::testing::Not(HasSubstr("token_limit")));
    EXPECT_EQ(asked, 2);
}

// At the default limit: a thread that is 200 KB below it, and results of less and of more than
// that.
TEST_F(ThreadLimitOfARun, IsThatOfTheDefault) {
    constexpr std::size_t default_limit = 64U << 20U;
    asked = 1; // It only answers with text.
    start();
    for (int i = 0; i < 7; ++i) {
        ASSERT_EQ(say_much(i).status, 200);
    }
    ASSERT_EQ(
        ask(post("/agui", run_body("t", "rest", std::string((8U << 20U) - 200'000, 'x')))).status,
        200
    );
    asked = 0;
    result_bytes = 190'000;
    EXPECT_THAT(
        ask(post("/agui", run_body("t", "below"))).body,
        ::testing::AllOf(HasSubstr("Done"), ::testing::Not(HasSubstr("token_limit")))
    );
    EXPECT_EQ(settings.session.max_thread_bytes, default_limit);

    asked = 0;
    EXPECT_THAT(ask(post("/agui", run_body("t", "above"))).body, HasSubstr("token_limit"));
    EXPECT_EQ(asked, 1);
}

} // namespace
} // namespace agui::test
