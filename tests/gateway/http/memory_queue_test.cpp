#include "gateway/http/memory_queue.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

namespace agui::test {
namespace {

using gateway::memory_queue;

class MemoryQueue : public ::testing::Test {
protected:
    /// Of its 100 bytes, two are for small uses and two for ordinary ones.
    memory_budget budget{100, 2};
    memory_queue queue{budget};
    std::vector<int> called;

    void ask(std::optional<memory_queue::place>& place, int number, std::size_t bytes) {
        place.emplace(queue, bytes, [this, number] { called.push_back(number); });
    }
};

TEST_F(MemoryQueue, GivesMemoryAtOnceWhileThereIsSome) {
    std::optional<memory_queue::place> first;
    std::optional<memory_queue::place> second;
    ask(first, 1, 60);
    ask(second, 2, 36);

    EXPECT_TRUE(first->has_turn());
    EXPECT_TRUE(second->has_turn());
    EXPECT_TRUE(called.empty()) << "nobody has waited";
    EXPECT_EQ(budget.used(), 96U);
    memory_share taken = first->take();
    first.reset();
    EXPECT_EQ(budget.used(), 96U);
    taken.shrink_to(0);
    EXPECT_EQ(budget.used(), 36U);
}

TEST_F(MemoryQueue, ServesTheFirstFirstEvenIfAnotherNeedsLess) {
    std::optional<memory_queue::place> holder;
    std::optional<memory_queue::place> large;
    std::optional<memory_queue::place> small;
    ask(holder, 1, 50);
    ask(large, 2, 90);
    ask(small, 3, 10);
    queue.serve();
    EXPECT_FALSE(large->has_turn());
    EXPECT_FALSE(small->has_turn()) << "it fits, but it came later";

    holder.reset();
    EXPECT_FALSE(large->has_turn()) << "the queue does not watch the budget";
    queue.serve();
    EXPECT_TRUE(large->has_turn());
    EXPECT_FALSE(small->has_turn());
    large.reset();
    queue.serve();
    EXPECT_TRUE(small->has_turn());
    EXPECT_EQ(called, (std::vector<int>{2, 3}));
}

TEST_F(MemoryQueue, TheNextIsServedWhenTheFirstLeaves) {
    std::optional<memory_queue::place> holder;
    std::optional<memory_queue::place> large;
    std::optional<memory_queue::place> small;
    ask(holder, 1, 50);
    ask(large, 2, 90);
    ask(small, 3, 10);

    large.reset();

    EXPECT_TRUE(small->has_turn());
    EXPECT_EQ(called, (std::vector<int>{3}));
    EXPECT_EQ(budget.used(), 60U);
}

TEST_F(MemoryQueue, LeavesRoomForOtherUses) {
    std::optional<memory_queue::place> place;
    ask(place, 1, 97);
    EXPECT_FALSE(place->has_turn());

    ask(place, 2, 96);
    memory_share ordinary(&budget);
    memory_share small(&budget, memory_use::small);
    EXPECT_TRUE(place->has_turn());
    EXPECT_TRUE(ordinary.grow_to(2));
    EXPECT_FALSE(ordinary.grow_to(3));
    EXPECT_TRUE(small.grow_to(2));
}

// Meant for the thread sanitizer: connections of several threads come and go.
TEST(MemoryQueueThreads, NothingIsLostWhileManyComeAndGo) {
    memory_budget budget(100);
    memory_queue queue(budget);
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&queue] {
            for (int round = 0; round < 500; ++round) {
                memory_queue::place place(queue, 60, [] {});
                if (round % 3 == 0) { // It leaves, whether it had its turn or not.
                    continue;
                }
                while (!place.has_turn()) {
                    queue.serve();
                }
                const memory_share taken = place.take();
                EXPECT_EQ(taken.held(), 60U);
            }
        });
    }
    for (std::thread& each : threads) {
        each.join();
    }
    EXPECT_EQ(budget.used(), 0U);
}

} // namespace
} // namespace agui::test
