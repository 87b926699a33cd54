#include "session/base/memory_budget.hpp"

#include "session/base/json_memory.hpp"

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace agui::test {
namespace {

TEST(MemoryBudget, GivesUpToItsLimitAndNotOneByteMore) {
    memory_budget budget(1000);
    memory_share share(&budget);

    EXPECT_TRUE(share.grow_to(1000));
    EXPECT_FALSE(share.grow_to(1001));
    EXPECT_EQ(share.held(), 1000U) << "a refusal takes nothing";
    EXPECT_EQ(budget.used(), 1000U);
    share.shrink_to(400);
    EXPECT_EQ(budget.used(), 400U);
}

TEST(MemoryBudget, ASmallTakerHasTheReserve) {
    memory_budget budget(1000, 100);
    memory_share large(&budget);
    memory_share small(&budget, memory_use::small);

    EXPECT_FALSE(large.grow_to(901));
    EXPECT_TRUE(large.grow_to(900));
    EXPECT_TRUE(small.grow_to(100));
    EXPECT_FALSE(small.grow_to(101));
}

TEST(MemoryBudget, ALargeTakerLeavesRoomToOrdinaryOnes) {
    memory_budget budget(1000, 100);
    memory_share large(&budget, memory_use::large);
    memory_share ordinary(&budget);

    EXPECT_FALSE(large.grow_to(801));
    EXPECT_TRUE(large.grow_to(800));
    EXPECT_TRUE(ordinary.grow_to(100));
    EXPECT_FALSE(ordinary.grow_to(101));
}

TEST(MemoryBudget, ABudgetOfReservedMemoryUsesItBeforeTheReservationGrows) {
    memory_budget budget(1000);
    memory_share reserved(&budget);
    ASSERT_TRUE(reserved.grow_to(600));
    memory_share others(&budget);
    ASSERT_TRUE(others.grow_to(300));
    {
        memory_budget work(reserved, 200);
        memory_share part(&work);
        EXPECT_TRUE(part.grow_to(400));
        EXPECT_EQ(budget.used(), 900U) << "it was reserved";
        EXPECT_TRUE(part.grow_to(500));
        EXPECT_EQ(budget.used(), 1000U);
        EXPECT_FALSE(part.grow_to(501));
        part.shrink_to(0);
        EXPECT_EQ(work.used(), 200U);
        part.grow_anyway_to(900);
        EXPECT_EQ(budget.used(), 1400U);
    }
    EXPECT_EQ(reserved.held(), 1100U) << "what it has grown by stays";
    reserved.shrink_to(0);
    EXPECT_EQ(budget.used(), 300U);
}

TEST(MemoryBudget, MemoryThatCannotBeRefusedStillCounts) {
    memory_budget budget(1000);
    memory_share log(&budget);
    memory_share other(&budget);

    log.grow_anyway_to(1500);

    EXPECT_EQ(budget.used(), 1500U);
    EXPECT_FALSE(other.grow_to(1));
}

TEST(MemoryBudget, AShareIsGivenBackOnce) {
    memory_budget budget(1000);
    {
        memory_share first(&budget);
        ASSERT_TRUE(first.grow_to(300));
        memory_share second(std::move(first));
        memory_share third(&budget);
        ASSERT_TRUE(third.grow_to(200));
        third = std::move(second);
        EXPECT_EQ(budget.used(), 300U);
    }
    EXPECT_EQ(budget.used(), 0U);
}

TEST(MemoryBudget, TakesInSteps) {
    memory_budget budget(1000);
    memory_share share(&budget, memory_use::ordinary, 64);

    EXPECT_TRUE(share.grow_to(1));
    EXPECT_EQ(budget.used(), 64U);
    EXPECT_TRUE(share.grow_to(64));
    EXPECT_EQ(budget.used(), 64U);
    share.shrink_to(0);
    EXPECT_EQ(budget.used(), 0U);
}

TEST(MemoryBudget, WithoutABudgetNothingIsRefused) {
    memory_share share;
    EXPECT_TRUE(share.grow_to(1U << 30U));
}

TEST(MemoryBudget, CountsTheMemoryOfManyThreads) {
    memory_budget budget(64);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&budget] {
            for (int n = 0; n < 10'000; ++n) {
                memory_share share(&budget);
                if (share.grow_to(20)) {
                    EXPECT_LE(budget.used(), 64U);
                }
            }
        });
    }
    for (std::thread& one : threads) {
        one.join();
    }
    EXPECT_EQ(budget.used(), 0U);
}

std::string zeros(std::size_t count) {
    std::string text = "[0";
    for (std::size_t i = 1; i < count; ++i) {
        text += ",0";
    }
    return text + "]";
}

TEST(JsonMemory, CountsValuesForAsLongAsTheyLive) {
    memory_budget budget(1U << 20U);
    {
        const boost::json::value parsed = boost::json::parse(
            R"({"a":[1,2,{"b":"a text that is not short"}]})", make_json_storage(&budget)
        );
        EXPECT_GT(budget.used(), 0U);
        EXPECT_EQ(parsed.at("a").as_array().size(), 3U);
    }
    EXPECT_EQ(budget.used(), 0U);
}

TEST(JsonMemory, RefusesValuesThatDoNotFit) {
    memory_budget budget(1U << 20U);

    EXPECT_NO_THROW((void)boost::json::parse(zeros(10'000), make_json_storage(&budget)));
    EXPECT_THROW(
        (void)boost::json::parse(zeros(100'000), make_json_storage(&budget)), memory_refused
    );
    EXPECT_EQ(budget.used(), 0U) << "also after a refusal";
}

} // namespace
} // namespace agui::test
