#include "session/store/lease.hpp"

#include "tests/session/store/store_fixture.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>

namespace agui::session {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;
using test::key_of;

TEST(Lease, IsHeldUntilItIsReleased) {
    lease held(key_of("t"), "r", 7);
    EXPECT_TRUE(held.is_held());
    EXPECT_FALSE(held.is_lost());
    EXPECT_EQ(held.key(), key_of("t"));
    EXPECT_EQ(held.run_id(), "r");
    EXPECT_EQ(held.token(), 7U);
    EXPECT_FALSE(held.found_orphans());

    EXPECT_TRUE(held.set_released());

    EXPECT_FALSE(held.is_held());
    EXPECT_FALSE(held.is_lost());
    EXPECT_FALSE(held.set_released());
    EXPECT_FALSE(held.set_lost());
}

TEST(Lease, EndsWithItsTerm) {
    const auto term = std::make_shared<lease_term>();
    lease held(key_of("t"), "r", 1, term);
    EXPECT_TRUE(held.is_lost()) << "a term that was never set is over";

    term->set_end(time_since_boot() + hours(1));
    EXPECT_TRUE(held.is_held());
    EXPECT_FALSE(held.is_lost());

    term->set_end(time_since_boot());
    EXPECT_FALSE(held.is_held());
    EXPECT_TRUE(held.is_lost());
}

TEST(Lease, IsNotLostOnceItWasReleased) {
    const auto term = std::make_shared<lease_term>();
    term->set_end(time_since_boot() + hours(1));
    lease held(key_of("t"), "r", 1, term);
    ASSERT_TRUE(held.set_released());

    term->set_end(nanoseconds(0));

    EXPECT_FALSE(held.is_lost());
    EXPECT_FALSE(held.is_held());
}

// A run does that which wakes up and finds that its end cannot be stored.
TEST(Lease, StaysLostIfItIsReleasedAfterItsTerm) {
    const auto term = std::make_shared<lease_term>();
    lease held(key_of("t"), "r", 1, term);
    int told = 0;
    held.on_lost([&] { ++told; });
    term->set_end(nanoseconds(0));

    EXPECT_FALSE(held.set_released());

    EXPECT_TRUE(held.is_lost());
    term->set_end(time_since_boot() + hours(1));
    EXPECT_TRUE(held.is_lost()) << "a renewal gives nothing back";
    EXPECT_FALSE(held.is_held());
    EXPECT_FALSE(held.set_lost());
    EXPECT_EQ(told, 0);
}

TEST(Lease, TellsOnceThatItIsLost) {
    lease held(key_of("t"), "r", 1);
    int told = 0;
    held.on_lost([&] { ++told; });

    EXPECT_TRUE(held.set_lost());
    EXPECT_FALSE(held.set_lost());
    EXPECT_FALSE(held.set_released());

    EXPECT_EQ(told, 1);
    EXPECT_TRUE(held.is_lost());
    held.on_lost([&] { ++told; });
    EXPECT_EQ(told, 2) << "it has been lost already";
}

TEST(Lease, TellsNobodyOfARelease) {
    lease held(key_of("t"), "r", 1);
    const auto kept = std::make_shared<int>(0);
    held.on_lost([kept] { ++*kept; });
    ASSERT_TRUE(held.set_released());
    held.on_lost([kept] { ++*kept; });

    EXPECT_EQ(*kept, 0);
    EXPECT_EQ(kept.use_count(), 1) << "what the handlers held is let go";
}

TEST(Lease, TheTimeSinceTheStartGoesOnlyForward) {
    const nanoseconds before = time_since_boot();
    EXPECT_GT(before.count(), 0);
    EXPECT_GE(time_since_boot(), before);
}

} // namespace
} // namespace agui::session
