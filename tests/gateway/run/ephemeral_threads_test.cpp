#include "gateway/run/ephemeral_threads.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace agui::test {
namespace {

using gateway::ephemeral_threads;
using session::thread_key;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<thread_key> keys_of(const std::vector<ephemeral_threads::entry>& gone) {
    std::vector<thread_key> keys;
    for (const ephemeral_threads::entry& each : gone) {
        keys.push_back(each.key);
    }
    return keys;
}

thread_key key(int number) { return {"p", "t" + std::to_string(number)}; }

TEST(EphemeralThreads, TheOldestAreRemovedOnceTheyAreTooLarge) {
    memory_budget budget(8'000);
    ephemeral_threads threads(&budget);

    EXPECT_THAT(keys_of(threads.grown(key(1), 400)), IsEmpty());
    EXPECT_THAT(keys_of(threads.grown(key(2), 400)), IsEmpty());
    EXPECT_THAT(keys_of(threads.grown(key(1), 200)), IsEmpty());
    EXPECT_EQ(budget.used(), 1'000U);
    EXPECT_THAT(keys_of(threads.grown(key(3), 1)), ElementsAre(key(2)));
    EXPECT_EQ(budget.used(), 601U);
}

TEST(EphemeralThreads, TheNewestStaysWhateverItsSize) {
    memory_budget budget(8'000);
    ephemeral_threads threads(&budget);

    EXPECT_THAT(keys_of(threads.grown(key(1), 10)), IsEmpty());
    EXPECT_THAT(keys_of(threads.grown(key(2), 5'000)), ElementsAre(key(1)));
    EXPECT_EQ(budget.used(), 5'000U);
    EXPECT_THAT(keys_of(threads.grown(key(3), 10)), ElementsAre(key(2)));
    EXPECT_EQ(budget.used(), 10U);
}

TEST(EphemeralThreads, TheOldestIsRemovedOnceThereAreTooMany) {
    ephemeral_threads threads(nullptr);
    for (int i = 0; i < 1'000; ++i) {
        EXPECT_THAT(keys_of(threads.grown(key(i), 1)), IsEmpty());
    }
    EXPECT_THAT(keys_of(threads.grown(key(1'000), 1)), ElementsAre(key(0)));
}

TEST(EphemeralThreads, OneThatCannotGoCountsOnAndGoesLater) {
    memory_budget budget(8'000);
    ephemeral_threads threads(&budget);
    EXPECT_THAT(keys_of(threads.grown(key(1), 600)), IsEmpty());
    const auto gone = threads.grown(key(2), 600);
    ASSERT_THAT(keys_of(gone), ElementsAre(key(1)));
    EXPECT_EQ(budget.used(), 600U);

    threads.put_back(gone[0]);

    EXPECT_EQ(budget.used(), 1'200U) << "all of it, not what is added to it later";
    EXPECT_THAT(keys_of(threads.grown(key(3), 600)), ElementsAre(key(2), key(1)));
    EXPECT_EQ(budget.used(), 600U);
}

TEST(EphemeralThreads, OneThatIsRemovedDoesNotCount) {
    memory_budget budget(8'000);
    ephemeral_threads threads(&budget);
    EXPECT_THAT(keys_of(threads.grown(key(1), 600)), IsEmpty());

    threads.removed(key(1));
    threads.removed(key(2));

    EXPECT_EQ(budget.used(), 0U);
    EXPECT_THAT(keys_of(threads.grown(key(3), 600)), IsEmpty());
}

} // namespace
} // namespace agui::test
