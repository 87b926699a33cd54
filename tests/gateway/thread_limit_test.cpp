// A thread takes messages up to session.max_thread_bytes.
#include "tests/gateway/server_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace agui::test {
namespace {

using ::testing::HasSubstr;

class ThreadLimit : public server_test {
protected:
    // Of 8 MB: a usual attachment.
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

} // namespace
} // namespace agui::test
