#include "tests/gateway/server_fixture.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

namespace agui::test {
namespace {

class DetachedRuns : public server_test {
protected:
    DetachedRuns() { answer = say_and_stall("Hello"); }

    std::unique_ptr<raw_client> read_run(const std::string& thread) {
        auto client = std::make_unique<raw_client>(port());
        client->send(post("/agui", run_body(thread, "r")));
        EXPECT_NE(client->read_until("Hello").find("Hello"), std::string::npos);
        return client;
    }

    // A tool answer does not supersede, so that asking changes nothing.
    bool is_busy(const std::string& thread) {
        return ask(post(
                       "/agui", R"({"threadId":")" + thread +
                                    R"(","runId":"probe","messages":[{"id":"m","role":"tool",)"
                                    R"("toolCallId":"none","content":""}]})"
                   ))
                   .status == 409;
    }

    // What ends a run happens on its own; a run that is not ended in ten seconds is a failure.
    bool ends(const std::string& thread) {
        const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (is_busy(thread)) {
            if (std::chrono::steady_clock::now() > give_up) {
                return false;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return true;
    }
};

TEST_F(DetachedRuns, TheOneLongestWithoutAReaderEndsWhenThereAreTooMany) {
    settings.server.max_detached_runs = 1;
    start();
    read_run("first");

    read_run("second");

    ASSERT_TRUE(ends("first"));
    const raw_reply first = ask(post("/agui", run_body("first", "r")));
    EXPECT_NE(first.body.find("run_timeout"), std::string::npos) << first.body;
    EXPECT_TRUE(is_busy("second"));
}

TEST_F(DetachedRuns, OneThatIsReadAgainDoesNotCount) {
    settings.server.max_detached_runs = 1;
    start();
    read_run("first");
    const auto reader = read_run("first"); // The same request: it reads the same run.

    read_run("second");
    read_run("third");

    ASSERT_TRUE(ends("second"));
    EXPECT_TRUE(is_busy("first"));
    EXPECT_TRUE(is_busy("third"));
}

TEST_F(DetachedRuns, NoneIsAllowedWhereTheBoundIsZero) {
    settings.server.max_detached_runs = 0;
    start();

    read_run("first");

    EXPECT_TRUE(ends("first"));
}

} // namespace
} // namespace agui::test
