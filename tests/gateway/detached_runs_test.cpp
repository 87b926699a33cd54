#include "tests/gateway/server_fixture.hpp"
#include "tests/support/patience.hpp"

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

    // Waits up to ten seconds for the thread's run to end by itself. Returns false if it has not.
    bool ends(const std::string& thread) {
        const auto give_up = std::chrono::steady_clock::now() + patience;
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
    const auto reader = read_run("first"); // The same request, so it reads the same run.

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

/// A reader that is cut off has not left, so detached_seconds applies to its run and
/// X-On-Disconnect does not.
class CutOffReader : public DetachedRuns {
protected:
    CutOffReader() { settings.server.detached = std::chrono::seconds(1); }

    /// A run whose readers must take that many pieces of that size, one a millisecond.
    void speak(int pieces, std::size_t bytes) {
        answer = say_and_stall(std::string(bytes, 'x'));
        const std::string piece = answer.body;
        for (int i = 1; i < pieces; ++i) {
            answer.body += piece;
        }
        answer.stall_after_frames = static_cast<std::size_t>(pieces);
        answer.pace = std::chrono::milliseconds(1);
    }
    void send_run(raw_client& client) const {
        client.send(post("/agui", run_body("t", "r"), "X-On-Disconnect: cancel\r\n"));
        ASSERT_EQ(client.read_head().status, 200);
    }
    void expect_ended_as_detached() {
        ASSERT_TRUE(ends("t"));
        const raw_reply whole = ask(post("/agui", run_body("t", "r")));
        EXPECT_EQ(whole.body.find("user_stop"), std::string::npos);
        EXPECT_NE(whole.body.find(R"("code":"run_timeout")"), std::string::npos);
    }
};

TEST_F(CutOffReader, OneThatTakesNothingHasNotLeft) {
    settings.server.stall = std::chrono::milliseconds(1000);
    speak(9, 4'000'000);
    start();
    raw_client silent(port(), small_window);
    send_run(silent);

    silent.wait_for_reset();

    expect_ended_as_detached();
}

TEST_F(CutOffReader, OneThatIsTooSlowHasNotLeft) {
    settings.server.reader_buffer_bytes = 16'384;
    settings.server.lag = std::chrono::milliseconds(600);
    speak(4'000, 8'000);
    start();
    raw_client slow(port(), small_window);
    send_run(slow);

    slow.read_slowly(4'000, std::chrono::milliseconds(5)); // It reads slowly until it is cut off.

    expect_ended_as_detached();
}

} // namespace
} // namespace agui::test
