#include "gateway/quota/running_threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace agui::gateway {
namespace {

TEST(RunningThreads, AreLimitedUntilOneEnds) {
    const auto running = std::make_shared<running_threads>();
    auto first = running->enter({{"a", 2}}, "t1");
    const auto second = running->enter({{"a", 2}}, "t2");
    EXPECT_TRUE(first.place && second.place);

    const auto refused = running->enter({{"b", 1}, {"a", 2}}, "t3");
    EXPECT_EQ(refused.refused, 1U);
    EXPECT_FALSE(refused.place);
    EXPECT_EQ(running->count("b"), 0U) << "a refused run has no place at all";

    first.place.reset();
    EXPECT_TRUE(running->enter({{"a", 2}}, "t3").place);
}

TEST(RunningThreads, ARequestOfARunningThreadIsNotRefused) {
    const auto running = std::make_shared<running_threads>();
    auto run = running->enter({{"a", 1}}, "t1");

    auto next = running->enter({{"a", 1}}, "t1");
    EXPECT_TRUE(next.place);
    EXPECT_EQ(running->count("a"), 1U);
    run.place.reset();
    EXPECT_TRUE(running->enter({{"a", 1}}, "t2").refused) << "the next run still has the place";
    next.place.reset();
    EXPECT_EQ(running->count("a"), 0U);
}

TEST(RunningThreads, WithoutALimitAreOnlyCounted) {
    const auto running = std::make_shared<running_threads>();
    std::vector<running_threads::entered> all;
    for (int i = 0; i < 5; ++i) {
        all.push_back(running->enter({{"a", 0}}, std::to_string(i)));
    }
    EXPECT_EQ(running->count("a"), 5U);
}

TEST(RunningThreads, AreExactFromManyThreads) {
    const auto running = std::make_shared<running_threads>();
    std::atomic<int> most{0};
    std::atomic<int> now{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
            for (int k = 0; k < 2'000; ++k) {
                const std::string name = std::to_string(i) + "." + std::to_string(k);
                const auto entered = running->enter({{"a", 3}}, name);
                if (entered.place) {
                    const int count = ++now;
                    int seen = most;
                    while (count > seen && !most.compare_exchange_weak(seen, count)) {
                    }
                    --now;
                }
            }
        });
    }
    for (std::thread& each : threads) {
        each.join();
    }
    EXPECT_LE(most, 3);
    EXPECT_EQ(running->count("a"), 0U);
}

} // namespace
} // namespace agui::gateway
