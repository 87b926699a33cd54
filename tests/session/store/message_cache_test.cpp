// The kept messages of long threads are bounded and counted, and never those of another thread.
#include "session/store/message_cache.hpp"
#include "tests/session/store/store_contract_case.hpp"

#include <string>
#include <utility>

namespace agui::session {
namespace {

thread_record thread_of(std::string id, std::size_t messages) {
    thread_record made;
    made.key = {"", std::move(id)};
    for (std::size_t i = 0; i < messages; ++i) {
        stored_message node;
        node.parent = i == 0 ? no_node : static_cast<node_index>(i - 1);
        node.message.content = "Hello";
        made.nodes.push_back(std::move(node));
    }
    return made;
}

TEST(MessageCache, KeepsTheMessagesOfLongThreads) {
    message_cache cache(nullptr);
    cache.keep(1, thread_of("short", 10));
    EXPECT_FALSE(cache.find({"", "short"}).messages);
    const thread_record given = thread_of("long", 1000);
    cache.keep(2, given);
    const message_cache::kept found = cache.find(given.key);
    ASSERT_TRUE(found.messages);
    EXPECT_EQ(found.thread, 2);
    EXPECT_EQ(found.messages->size(), 1000U);
    EXPECT_EQ(&(*found.messages)[7], &given.nodes[7]) << "shared, not copied";
    EXPECT_FALSE(cache.find({"other", "long"}).messages);
    cache.forget(given.key);
    EXPECT_FALSE(cache.find(given.key).messages);
    EXPECT_EQ(cache.bytes(), 0U);
}

TEST(MessageCache, DropsTheLeastRecentlyUsed) {
    message_cache cache(nullptr, 2'000'000); // Room for two.
    cache.keep(1, thread_of("a", 1000));
    cache.keep(2, thread_of("b", 1000));
    EXPECT_TRUE(cache.find({"", "a"}).messages);
    cache.keep(3, thread_of("c", 1000));
    EXPECT_TRUE(cache.find({"", "a"}).messages);
    EXPECT_FALSE(cache.find({"", "b"}).messages);
    cache.keep(4, thread_of("d", 10'000));
    EXPECT_FALSE(cache.find({"", "d"}).messages) << "one that is too large is not kept";
    EXPECT_TRUE(cache.find({"", "c"}).messages) << "nor do others go for it";
    EXPECT_LE(cache.bytes(), 2'000'000U);
}

TEST(MessageCache, CountsAndLeavesRoomForOthers) {
    memory_budget budget(32'000'000, 8'000'000); // Large uses may take 16 MB, and the cache 2 MB.
    {
        message_cache cache(&budget);
        cache.keep(1, thread_of("a", 1000));
        EXPECT_EQ(budget.used(), cache.bytes());
        cache.keep(2, thread_of("b", 1000));
        cache.keep(3, thread_of("c", 1000));
        EXPECT_FALSE(cache.find({"", "a"}).messages);
        EXPECT_TRUE(cache.find({"", "c"}).messages);
        EXPECT_EQ(budget.used(), cache.bytes());
        EXPECT_LE(budget.used(), 2'000'000U);
        memory_share other(&budget);
        other.grow_anyway_to(16'000'000);
        cache.keep(3, thread_of("c", 1200));
        EXPECT_EQ(cache.bytes(), 0U);
        EXPECT_EQ(budget.used(), 16'000'000U);
    }
    EXPECT_EQ(budget.used(), 0U);
}

} // namespace
} // namespace agui::session
