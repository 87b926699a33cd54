#include "gateway/peers/peer_request.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace agui::gateway {
namespace {

TEST(PeerRequest, IsReadAsItWasWritten) {
    const peer_request what{
        .key =
            {"us\xff"
             "er\n",
             "thread \"1\""},
        .run_id = "run",
        .run_number = 3'000'000'000,
        .after = 18'000'000'000'000'000'000U,
        .wish = stop_wish::superseded_if_left,
        .stream = 7
    };

    const auto read = read_peer_request(write_peer_request(what));

    ASSERT_TRUE(read);
    EXPECT_EQ(read->key.principal, what.key.principal);
    EXPECT_EQ(read->key.thread_id, what.key.thread_id);
    EXPECT_EQ(read->run_id, what.run_id);
    EXPECT_EQ(read->run_number, what.run_number);
    EXPECT_EQ(read->after, what.after);
    EXPECT_EQ(read->wish, what.wish);
    EXPECT_EQ(read->stream, what.stream);
}

TEST(PeerRequest, NamesNoRunIfNoneIsMeant) {
    EXPECT_EQ(read_peer_request(write_peer_request({{"", "t"}, {}}))->run_id, std::nullopt);
    EXPECT_EQ(read_peer_request(write_peer_request({{"", "t"}, ""}))->run_id, "");
}

TEST(PeerRequest, IsRefusedInAnyOtherShape) {
    for (const char* const body :
         {"", "[]", "{\"threadId\":1}", "{\"after\":-1}", "{\"runId\":{}}", "{\"wish\":\"\"}"}) {
        EXPECT_FALSE(read_peer_request(body)) << body;
    }
}

TEST(PeerRequest, TheResultOfAStopIsReadAsItWasWritten) {
    for (const stopped_here& what :
         {stopped_here{}, stopped_here{true, false}, stopped_here{true, true}}) {
        const auto read = read_stopped(write_stopped(what));
        ASSERT_TRUE(read);
        EXPECT_EQ(read->any, what.any);
        EXPECT_EQ(read->stopped, what.stopped);
    }
    EXPECT_FALSE(read_stopped("{}"));
    EXPECT_FALSE(read_stopped(R"({"any":1,"stopped":0})"));
}

TEST(PeerRequest, APassedRequestIsReadAsItWasWritten) {
    const std::chrono::steady_clock::time_point now{std::chrono::hours(1)};
    client_request what;
    what.method = "POST";
    what.pattern = "/agui/agents/{agentId}";
    what.path_parameters = {"a\"b"};
    what.headers = {{"idempotency-key", "k\xff"}, {"x", ""}};
    what.body = "{\"threadId\":\n\"t\"}";
    what.principal = "us\xff";
    what.sender = R"({"user":"us"})";
    what.address = {.whole = "2001:db8:1:2::3", .counted = "2001:db8:1::"};
    what.thread_id = "t";
    what.run_id = "r\n";
    what.received = now - std::chrono::milliseconds(1234);

    const auto read = read_passed(write_passed(what, now), now + std::chrono::hours(1));

    ASSERT_TRUE(read);
    EXPECT_EQ(read->method, what.method);
    EXPECT_EQ(read->pattern, what.pattern);
    EXPECT_EQ(read->path_parameters, what.path_parameters);
    EXPECT_EQ(read->headers, what.headers);
    EXPECT_EQ(read->body, what.body);
    EXPECT_EQ(read->principal, what.principal);
    EXPECT_EQ(read->sender, what.sender);
    EXPECT_EQ(read->address, what.address);
    EXPECT_EQ(read->thread_id, what.thread_id);
    EXPECT_EQ(read->run_id, what.run_id);
    EXPECT_EQ(read->received, what.received + std::chrono::hours(1));
}

TEST(PeerRequest, APassedRequestSaysHowItsThreadWasShared) {
    const std::chrono::steady_clock::time_point now{std::chrono::hours(1)};
    client_request what;
    what.received = now;
    what.shared_id = "shared-" + std::string(32, '1');
    what.right = session::access_right::write;

    const std::string written = write_passed(what, now);
    const auto read = read_passed(written, now);

    ASSERT_TRUE(read);
    EXPECT_EQ(read->shared_id, what.shared_id);
    EXPECT_EQ(read->right, session::access_right::write);
    for (const auto& [from, to] :
         {std::pair{"write", "all"}, std::pair{"shared-", "another-"}, std::pair{"right", "wrong"}
         }) {
        std::string damaged = written;
        damaged.replace(damaged.find(from), std::string_view(from).size(), to);
        EXPECT_FALSE(read_passed(damaged, now)) << to;
    }
}

TEST(PeerRequest, TheAnswerToAPassedRequestIsReadAsItWasWritten) {
    client_answer what;
    what.status = 409;
    what.headers = {{"Retry-After", "1"}};
    what.content_type = "application/json";
    what.body = "{}\n";
    what.run_id = "r";
    what.is_elsewhere = true;

    const auto read = read_answer(write_answer(what));

    ASSERT_TRUE(read);
    EXPECT_EQ(read->status, what.status);
    EXPECT_EQ(read->headers, what.headers);
    EXPECT_EQ(read->content_type, what.content_type);
    EXPECT_EQ(read->body, what.body);
    EXPECT_EQ(read->run_id, what.run_id);
    EXPECT_TRUE(read->is_elsewhere);
    for (const char* const text : {"", "{}", "{}\n", "{\"headers\":[[1]]}\n", "\n"}) {
        EXPECT_FALSE(read_answer(text)) << text;
        EXPECT_FALSE(read_passed(text, {})) << text;
    }
}

} // namespace
} // namespace agui::gateway
