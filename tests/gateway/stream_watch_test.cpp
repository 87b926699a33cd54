#include "tests/gateway/server_fixture.hpp"
#include "tests/support/patience.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <thread>

namespace agui::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A run that continues until its only reader has left.
class StreamWatch : public server_test {
protected:
    void SetUp() override {
        answer = say_and_stall("Hello");
        start();
    }
    [[nodiscard]] static std::string request() {
        return post("/agui", run_body("t", "r"), "X-On-Disconnect: cancel\r\n");
    }
    /// The client reads the run's first text.
    void begin(raw_client& client) const {
        client.send(request());
        ASSERT_THAT(client.read_until("Hello"), HasSubstr("Hello"));
    }
    /// Reads the same run to its end. Only the loss of the first reader can end it.
    void expect_stopped() const {
        const auto deadline = std::chrono::steady_clock::now() + patience;
        while (ask(get("/agui/threads/t")).body.find("activeRunId") != std::string::npos) {
            ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "the run goes on";
            std::this_thread::yield();
        }
        const raw_reply again = ask(request());
        EXPECT_TRUE(again.complete);
        EXPECT_THAT(again.body, HasSubstr("user_stop"));
    }
};

TEST_F(StreamWatch, SendsTheHeadWithTheFirstEvent) {
    raw_client client(port());

    client.send(request());

    const std::string first = client.read_once();
    EXPECT_THAT(first, StartsWith("HTTP/1.1 200"));
    EXPECT_THAT(first, HasSubstr("RUN_STARTED"));
}

TEST_F(StreamWatch, SeesAClientLeave) {
    raw_client client(port());
    begin(client);

    client.close();

    expect_stopped();
}

TEST_F(StreamWatch, SeesAHalfClose) {
    raw_client client(port());
    begin(client);

    client.close_sending();

    expect_stopped();
}

TEST_F(StreamWatch, SeesAClientLeaveThatHasSentAByteBefore) {
    raw_client client(port());
    begin(client);

    client.send("G");
    // The answer to a later request shows that the server has read the byte.
    ASSERT_EQ(ask(get("/healthz")).status, 200);
    client.close();

    expect_stopped();
}

TEST_F(StreamWatch, SeesAHalfCloseAfterAByte) {
    raw_client client(port());
    begin(client);

    client.send("G");
    ASSERT_EQ(ask(get("/healthz")).status, 200);
    client.close_sending();

    expect_stopped();
}

TEST_F(StreamWatch, SeesAHalfCloseAfterMoreThanItTakesIn) {
    raw_client client(port());
    begin(client);

    client.send(std::string(100'000, 'G'));
    ASSERT_EQ(ask(get("/healthz")).status, 200);
    client.close_sending();

    expect_stopped();
}

TEST_F(StreamWatch, ServesTheRequestThatCameEarly) {
    raw_client client(port());
    begin(client);

    client.send(get("/healthz"));
    ASSERT_EQ(ask(post("/agui/cancel", R"({"threadId":"t"})")).body, R"({"cancelled":true})");
    EXPECT_THAT(client.read_until("0\r\n\r\n"), HasSubstr("user_stop"));

    EXPECT_EQ(client.read_reply().body, R"({"status":"ok"})");
}

TEST_F(StreamWatch, HeadOfEventsSendsNoBodyAndReadsNothing) {
    raw_client client(port());
    begin(client);
    raw_client other(port());

    other.send("HEAD /agui/threads/t/runs/r/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const raw_reply head = other.read_reply(true);
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(head.header("content-type"), "text/event-stream; charset=utf-8");
    // The next bytes are the next answer.
    other.send(get("/healthz"));
    EXPECT_EQ(other.read_reply().body, R"({"status":"ok"})");
    other.send("HEAD /agui/threads/t/runs/r/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(other.read_reply(true).status, 200);

    // A HEAD request does not count as a reader, so the run is not kept for it.
    client.close();
    expect_stopped();
}

/// A client that closes its side after its request, as `nc -N` does.
class HalfClosedClient : public server_test {
protected:
    void SetUp() override { start(); }
};

TEST_F(HalfClosedClient, GetsTheEventsThatAreThere) {
    ASSERT_TRUE(ask(post("/agui", run_body("t", "r"))).complete);
    raw_client client(port());

    client.send(get("/agui/threads/t/runs/r/events?after=0"));
    client.close_sending();

    const raw_reply reply = client.read_reply();
    EXPECT_TRUE(reply.complete);
    EXPECT_THAT(reply.body, HasSubstr("RUN_FINISHED"));
}

} // namespace
} // namespace agui::test
