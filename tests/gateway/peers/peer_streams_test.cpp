#include "gateway/peers/peer_streams.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace agui::gateway {
namespace {

TEST(PeerStreams, TheOneThatIsNamedIsLeft) {
    peer_streams streams;
    int left = 0;
    const peer_streams::member one(streams, {2, 1}, [&] { left += 1; });
    const peer_streams::member other(streams, {3, 1}, [&] { left += 10; });

    EXPECT_TRUE(streams.leave({3, 1}));
    EXPECT_EQ(left, 10);
    EXPECT_TRUE(streams.leave({2, 1}));
    EXPECT_EQ(left, 11);
    EXPECT_FALSE(streams.leave({2, 2}));
}

TEST(PeerStreams, OneThatHasEndedIsNotLeft) {
    peer_streams streams;
    std::optional<peer_streams::member> one;
    one.emplace(streams, peer_streams::name{2, 1}, [] { ADD_FAILURE(); });
    one.reset();

    EXPECT_FALSE(streams.leave({2, 1}));
}

// A gateway that has lost its connection asks again before this gateway notices the loss.
TEST(PeerStreams, TheLaterOneOfTheSameNameIsMeant) {
    peer_streams streams;
    int left = 0;
    std::optional<peer_streams::member> earlier;
    earlier.emplace(streams, peer_streams::name{2, 1}, [&] { left += 1; });
    const peer_streams::member later(streams, {2, 1}, [&] { left += 10; });
    earlier.reset();

    EXPECT_TRUE(streams.leave({2, 1}));
    EXPECT_EQ(left, 10);
}

} // namespace
} // namespace agui::gateway
