#include "gateway/http/connection_places.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace agui::gateway {
namespace {

using namespace std::chrono_literals;
using place_ptr = std::unique_ptr<connection_places::place>;
using shortage = connection_places::shortage;

/// Allows three connections, two of them from one client, and a reserve of two, one for each
/// client. Connections that have been idle for five seconds may be evicted.
class ConnectionPlaces : public ::testing::Test {
protected:
    place_ptr enter(const std::string& client = "") {
        auto entered = places_.admit(client, now).place;
        if (entered) {
            const std::size_t number = asked.size();
            asked.push_back(false);
            entered->on_evict([this, number] { asked[number] = true; });
        }
        return entered;
    }
    place_ptr idle(const std::string& client = "") {
        auto entered = enter(client);
        if (entered) {
            entered->mark_idle(now);
        }
        return entered;
    }
    /// Returns nullopt if even the reserve has no place.
    static std::optional<shortage> reason(const place_ptr& entered) {
        return entered ? std::optional(entered->reserve_because()) : std::nullopt;
    }
    static bool is_whole(const place_ptr& entered) { return reason(entered) == shortage::none; }

    connection_places::time_point now{1h};
    /// True for each connection that was asked to end, in the order of entering.
    std::vector<bool> asked;

private:
    connection_places places_{
        {.all = 3, .per_client = 2, .reserve = 2, .reserve_per_client = 1, .idle = 5s}
    };
};

TEST_F(ConnectionPlaces, AreOfTheReserveOnceAllAreTaken) {
    std::vector<place_ptr> taken;
    for (int i = 0; i < 3; ++i) {
        taken.push_back(enter());
        EXPECT_TRUE(is_whole(taken.back()));
    }

    taken.push_back(enter());
    EXPECT_EQ(reason(taken.back()), shortage::of_all);
    taken.erase(taken.begin());
    EXPECT_TRUE(is_whole(enter()));
}

TEST_F(ConnectionPlaces, TheOneThatHasBeenIdleLongestGivesWay) {
    const auto first = idle();
    now += 1s;
    const auto second = idle();
    now += 1s;
    const auto busy = enter();
    first->mark_busy();
    first->mark_idle(now);
    now += 5s;

    EXPECT_TRUE(is_whole(enter()));
    EXPECT_EQ(asked, (std::vector{false, true, false, false}));
}

TEST_F(ConnectionPlaces, OneThatHasBeenIdleForAShortTimeKeepsItsPlace) {
    const place_ptr taken[] = {idle(), idle(), idle()};
    now += 5s - 1ms;

    EXPECT_EQ(reason(enter()), shortage::of_all);
    now += 1ms;
    EXPECT_TRUE(is_whole(enter()));
    EXPECT_EQ(asked, (std::vector{true, false, false, false, false}));
}

TEST_F(ConnectionPlaces, ABusyOneNeverGivesWay) {
    const place_ptr taken[] = {idle(), idle(), idle()};
    for (const place_ptr& one : taken) {
        one->mark_busy();
    }
    now += 1h;

    EXPECT_EQ(reason(enter()), shortage::of_all);
    EXPECT_EQ(asked, (std::vector{false, false, false, false}));
}

TEST_F(ConnectionPlaces, ARequestThatCameFirstKeepsThePlaceInUse) {
    const auto asked_late = idle();
    auto leaving = enter();
    const auto third = enter();
    now += 5s;
    const auto successor = enter();
    ASSERT_TRUE(is_whole(successor));
    ASSERT_TRUE(asked[0]);

    asked_late->mark_busy();
    asked_late->mark_idle(now);
    leaving.reset();
    EXPECT_EQ(reason(enter()), shortage::of_all) << "four minus one are three";
}

TEST_F(ConnectionPlaces, OneClientHasAShareOfThem) {
    const place_ptr taken[] = {enter("a"), enter("a")};

    EXPECT_EQ(reason(enter("a")), shortage::of_clients);
    EXPECT_TRUE(is_whole(enter("b")));
    EXPECT_TRUE(is_whole(enter("")));
}

TEST_F(ConnectionPlaces, AClientWithItsShareEvictsNobody) {
    const auto other = idle("b");
    const place_ptr taken[] = {enter("a"), enter("a")};
    now += 1h;

    std::vector<place_ptr> more;
    for (int i = 0; i < 100; ++i) {
        more.push_back(enter("a"));
    }
    EXPECT_EQ(reason(more.front()), shortage::of_clients);
    EXPECT_EQ(more.back(), nullptr) << "nor has it more than one place of the reserve";
    EXPECT_EQ(std::ranges::count(asked, true), 0);
    EXPECT_TRUE(is_whole(enter("c"))) << "in place of the one that is idle";
    EXPECT_TRUE(asked[0]);
}

TEST_F(ConnectionPlaces, OneClientCannotFillTheReserve) {
    const place_ptr taken[] = {enter(), enter(), enter()};
    const place_ptr more[] = {enter("a"), enter("a"), enter("b")};

    EXPECT_EQ(reason(more[0]), shortage::of_all);
    EXPECT_EQ(more[1], nullptr);
    EXPECT_EQ(reason(more[2]), shortage::of_all);
}

TEST_F(ConnectionPlaces, ReservedPlacesDoNotKeepIdleConnectionsFromBeingEvicted) {
    const place_ptr taken[] = {enter(), enter(), idle()};
    std::vector<place_ptr> reserve;
    for (int i = 0; i < 4; ++i) {
        reserve.push_back(enter());
    }
    ASSERT_EQ(enter(), nullptr) << "two of the reserve are still ending";
    now += 5s;

    EXPECT_TRUE(is_whole(enter()));
}

TEST_F(ConnectionPlaces, NoMoreAreInUseThanMayBeEndingBesides) {
    std::vector<place_ptr> taken;
    std::size_t whole = 0;
    for (int i = 0; i < 100; ++i) {
        taken.push_back(idle());
        now += 5s;
        whole += is_whole(taken.back()) ? 1 : 0;
        for (std::size_t at = 0; at < taken.size(); ++at) {
            if (taken[at] && is_whole(taken[at]) && asked[at]) {
                taken[at]->mark_busy(); // Each time, its request came before the eviction.
                taken[at]->mark_idle(now);
            }
        }
    }

    EXPECT_LE(whole, 3U + 2U);
}

TEST_F(ConnectionPlaces, AClientsOwnIdleOneGivesWayToItsNext) {
    const auto other = idle("b");
    now += 1s;
    const auto busy = enter("a");
    const auto own = idle("a");
    now += 5s;

    EXPECT_TRUE(is_whole(enter("a")));
    EXPECT_EQ(asked, (std::vector{false, false, true, false}));
}

TEST_F(ConnectionPlaces, TheOldestOfTheReserveGivesWay) {
    const place_ptr taken[] = {enter(), enter(), enter()};
    const auto first = enter();
    const auto second = enter();

    const auto third = enter();
    EXPECT_EQ(reason(third), shortage::of_all);
    EXPECT_EQ(asked, (std::vector{false, false, false, true, false, false}));
}

TEST_F(ConnectionPlaces, NoMoreGiveWayThanCanBeOwed) {
    const place_ptr taken[] = {enter(), enter(), enter()};
    std::vector<place_ptr> reserve;
    for (int i = 0; i < 4; ++i) {
        reserve.push_back(enter());
        ASSERT_NE(reserve.back(), nullptr);
    }

    EXPECT_EQ(enter(), nullptr) << "two of the reserve are still ending";
    reserve.erase(reserve.begin());
    EXPECT_NE(enter(), nullptr);
}

TEST_F(ConnectionPlaces, AreFreeAgainWhateverTheyWereUsedFor) {
    for (int i = 0; i < 3; ++i) {
        std::vector<place_ptr> taken;
        taken.push_back(idle("a"));
        now += 5s;
        for (int more = 0; more < 8; ++more) {
            taken.push_back(enter(more % 2 == 0 ? "a" : ""));
        }
        for (std::size_t at = 0; at < taken.size(); at += 2) {
            if (taken[at]) {
                taken[at]->mark_busy();
            }
        }
    }

    const place_ptr all[] = {enter("a"), enter("a"), enter("b")};
    for (const place_ptr& one : all) {
        EXPECT_TRUE(is_whole(one));
    }
    const place_ptr reserve[] = {enter(), enter()};
    for (const place_ptr& one : reserve) {
        EXPECT_EQ(reason(one), shortage::of_all);
    }
}

TEST_F(ConnectionPlaces, OneThatIsExemptCountsAgainstNoLimit) {
    std::vector<place_ptr> exempt;
    for (int i = 0; i < 10; ++i) {
        exempt.push_back(enter("client"));
        ASSERT_TRUE(is_whole(exempt.back()));
        exempt.back()->exempt();
        exempt.back()->mark_idle(now);
        exempt.back()->mark_busy();
        exempt.back()->exempt();
    }
    std::vector<place_ptr> taken;
    for (int i = 0; i < 3; ++i) {
        taken.push_back(enter());
        EXPECT_TRUE(is_whole(taken.back()));
    }

    exempt.clear();
    EXPECT_EQ(reason(enter()), shortage::of_all);
    taken.clear();
    EXPECT_TRUE(is_whole(enter("client")));
}

TEST_F(ConnectionPlaces, OneOfTheReserveThatIsExemptLeavesItToOthers) {
    std::vector<place_ptr> taken;
    for (int i = 0; i < 3; ++i) {
        taken.push_back(enter());
    }
    std::vector<place_ptr> exempt;
    for (int i = 0; i < 5; ++i) {
        exempt.push_back(enter("client"));
        ASSERT_EQ(reason(exempt.back()), shortage::of_all);
        exempt.back()->exempt();
        EXPECT_TRUE(is_whole(exempt.back()));
    }
    EXPECT_EQ(reason(enter("client")), shortage::of_all);
    EXPECT_EQ(std::ranges::count(asked, true), 0);
}

// It was to give way, but its request came first.
TEST_F(ConnectionPlaces, OneThatIsEvictedMayBecomeExempt) {
    auto evicted = idle();
    const auto second = enter();
    const auto third = enter();
    now += 5s;
    auto next = enter();
    ASSERT_TRUE(is_whole(next));
    ASSERT_TRUE(asked.at(0));

    evicted->exempt();
    evicted.reset();

    next.reset();
    EXPECT_TRUE(is_whole(enter()));
}

} // namespace
} // namespace agui::gateway
