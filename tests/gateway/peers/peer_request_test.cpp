#include "gateway/peers/peer_request.hpp"

#include <gtest/gtest.h>

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
        .after = 18'000'000'000'000'000'000U,
        .wish = stop_wish::superseded_if_left,
        .stream = 7
    };

    const auto read = read_peer_request(write_peer_request(what));

    ASSERT_TRUE(read);
    EXPECT_EQ(read->key.principal, what.key.principal);
    EXPECT_EQ(read->key.thread_id, what.key.thread_id);
    EXPECT_EQ(read->run_id, what.run_id);
    EXPECT_EQ(read->after, what.after);
    EXPECT_EQ(read->wish, what.wish);
    EXPECT_EQ(read->stream, what.stream);
}

TEST(PeerRequest, NamesNoRunIfNoneIsMeant) {
    EXPECT_EQ(read_peer_request(write_peer_request({{"", "t"}, {}}))->run_id, std::nullopt);
    EXPECT_EQ(read_peer_request(write_peer_request({{"", "t"}, ""}))->run_id, "");
}

TEST(PeerRequest, OfAnotherShapeIsRefused) {
    for (const char* const body :
         {"", "[]", "{\"threadId\":1}", "{\"after\":-1}", "{\"runId\":{}}", "{\"wish\":\"\"}"}) {
        EXPECT_FALSE(read_peer_request(body)) << body;
    }
}

TEST(PeerRequest, WhatAStopHasMetIsReadAsItWasWritten) {
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

} // namespace
} // namespace agui::gateway
