#include "gateway/runs/ephemeral_threads.hpp"

#include <gmock/gmock.h>

#include <string>

namespace agui::test {
namespace {

using gateway::ephemeral_threads;
using session::thread_key;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

thread_key key(int number) { return {"p", "t" + std::to_string(number)}; }

TEST(EphemeralThreads, TheOldestGoOnceTheyAreTooLarge) {
    memory_budget budget(8'000);
    ephemeral_threads threads(&budget);

    EXPECT_THAT(threads.grown(key(1), 400), IsEmpty());
    EXPECT_THAT(threads.grown(key(2), 400), IsEmpty());
    EXPECT_THAT(threads.grown(key(1), 200), IsEmpty());
    EXPECT_EQ(budget.used(), 1'000U);
    EXPECT_THAT(threads.grown(key(3), 1), ElementsAre(key(2)));
    EXPECT_EQ(budget.used(), 601U);
}

TEST(EphemeralThreads, TheNewestStaysWhateverItsSize) {
    memory_budget budget(8'000);
    ephemeral_threads threads(&budget);

    EXPECT_THAT(threads.grown(key(1), 10), IsEmpty());
    EXPECT_THAT(threads.grown(key(2), 5'000), ElementsAre(key(1)));
    EXPECT_EQ(budget.used(), 5'000U);
    EXPECT_THAT(threads.grown(key(3), 10), ElementsAre(key(2)));
    EXPECT_EQ(budget.used(), 10U);
}

TEST(EphemeralThreads, TheOldestGoesOnceThereAreTooMany) {
    ephemeral_threads threads(nullptr);
    for (int i = 0; i < 1'000; ++i) {
        EXPECT_THAT(threads.grown(key(i), 1), IsEmpty());
    }
    EXPECT_THAT(threads.grown(key(1'000), 1), ElementsAre(key(0)));
}

} // namespace
} // namespace agui::test
