// State, offered tools and context count towards session.max_thread_bytes.
#include "tests/gateway/server_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace agui::test {
namespace {

using ::testing::HasSubstr;

class ThreadDocuments : public server_test, public ::testing::WithParamInterface<bool> {
protected:
    void SetUp() override {
        settings.session.max_thread_bytes = 100'000;
        if (GetParam()) {
            use_sqlite();
        }
        start();
    }

    static std::string with(std::string body, std::string_view none, std::string_view some) {
        return body.replace(body.find(none), none.size(), some);
    }
    // `{}` leaves the state unchanged.
    static std::string say(std::string_view run_id, std::size_t bytes = 1) {
        return with(
            run_body("t", run_id, std::string(bytes, 'x')), R"("state":null)", R"("state":{})"
        );
    }
    static std::string state(std::size_t bytes) {
        return R"({"x":")" + std::string(bytes, 'x') + R"("})";
    }
    raw_reply patch(std::size_t bytes) {
        return ask(post("/agui/threads/t/state", state(bytes)).replace(0, 4, "PATCH"));
    }
};

TEST_P(ThreadDocuments, AreAPartOfItInARequest) {
    const std::string much(60'000, 'x');
    const std::string tools =
        R"("tools":[{"name":"t","description":")" + much + R"(","parameters":{}}])";
    const std::string context = R"("context":[{"description":"d","value":")" + much + R"("}])";

    const std::string first = with(say("r1"), R"("state":{})", R"("state":)" + state(60'000));
    EXPECT_THAT(ask(post("/agui", first)).body, HasSubstr("RUN_FINISHED"));

    EXPECT_EQ(ask(post("/agui", with(say("r2"), R"("tools":[])", tools))).status, 413);
    EXPECT_EQ(ask(post("/agui", with(say("r3"), R"("context":[])", context))).status, 413);
    const raw_reply refused = ask(post("/agui", say("r4", 60'000)));
    EXPECT_EQ(refused.status, 413);
    EXPECT_THAT(refused.body, HasSubstr("bytes of messages, state, tools and context"));
    EXPECT_THAT(ask(post("/agui", say("r5"))).body, HasSubstr("RUN_FINISHED"));
}

TEST_P(ThreadDocuments, AreAPartOfItInAChangeOfTheState) {
    ask(post("/agui", say("r1", 60'000)));

    EXPECT_EQ(patch(60'000).status, 413);
    EXPECT_EQ(patch(30'000).status, 200);
    EXPECT_EQ(patch(60'000).status, 413);
    EXPECT_EQ(patch(35'000).status, 200) << "in place of the one before";
    EXPECT_EQ(ask(post("/agui", say("r2", 20'000))).status, 413);
    EXPECT_EQ(patch(10).status, 200);
    EXPECT_THAT(ask(post("/agui", say("r3", 20'000))).body, HasSubstr("RUN_FINISHED"));
}

INSTANTIATE_TEST_SUITE_P(Stores, ThreadDocuments, ::testing::Bool(), [](const auto& info) {
    return info.param ? "Sqlite" : "Memory";
});

} // namespace
} // namespace agui::test
