// Threads that are kept after a read. They are bounded, and never differ from the tables.
#include "session/sqlite/sqlite_db.hpp"
#include "session/sqlite/thread_cache.hpp"
#include "tests/session/sqlite/sqlite_fixture.hpp"

#include <string>

namespace agui::session {
namespace {

using test::run_of;
using test::SqliteStore;
using test::thread_1;
using test::user_turn;

thread_record record_of(std::uint64_t version, std::uint64_t bytes = 100) {
    thread_record record;
    record.version = version;
    record.bytes = bytes;
    return record;
}

TEST(ThreadCache, GivesAThreadAsLongAsItsVersionIsTheSame) {
    thread_cache cache(10'000);
    EXPECT_FALSE(cache.find(1, 5));
    cache.keep(1, record_of(5));
    EXPECT_TRUE(cache.find(1, 5));
    EXPECT_FALSE(cache.find(2, 5));
    EXPECT_FALSE(cache.find(1, 6));
    EXPECT_FALSE(cache.find(1, 5)) << "it is of no use any more";
    EXPECT_EQ(cache.bytes(), 0U);
}

TEST(ThreadCache, ChangesWithTheTransaction) {
    thread_cache cache(100'000);
    cache.keep(1, record_of(5));
    const changes first = user_turn("m1", "Hello");
    const changes second = user_turn("m2", "More", 1);
    cache.stage(1, 5, first);
    cache.stage(1, 6, second);
    cache.stage(2, 1, first);
    EXPECT_TRUE(cache.find(1, 5)) << "not before it is committed";
    cache.committed();
    const auto found = cache.find(1, 7);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->nodes.size(), 2U);

    cache.stage(1, 7, second);
    cache.rolled_back();
    cache.committed();
    EXPECT_TRUE(cache.find(1, 7));
    cache.stage(1, 9, second);
    cache.committed();
    EXPECT_FALSE(cache.find(1, 7)) << "something was missed";
}

TEST(ThreadCache, DropsTheLeastRecentlyUsed) {
    thread_cache cache(10'000);
    for (std::int64_t thread = 1; thread <= 3; ++thread) {
        cache.keep(thread, record_of(1, 2000));
    }
    EXPECT_TRUE(cache.find(1, 1));
    cache.keep(4, record_of(1, 2000));
    EXPECT_FALSE(cache.find(2, 1));
    EXPECT_TRUE(cache.find(1, 1));
    EXPECT_TRUE(cache.find(3, 1));
    EXPECT_TRUE(cache.find(4, 1));
    cache.keep(5, record_of(1, 50'000));
    EXPECT_FALSE(cache.find(5, 1)) << "one that is too large is not kept";
    EXPECT_TRUE(cache.find(1, 1)) << "nor do others go for it";
    EXPECT_LE(cache.bytes(), 10'000U);
    cache.keep(1, record_of(1));
    cache.forget(1);
    EXPECT_FALSE(cache.find(1, 1));
}

class CachedThreads : public SqliteStore {
protected:
    void expect_same(store& one, store& other) {
        const auto cached = get(one.load(thread_1)).value();
        const auto read = get(other.load(thread_1)).value();
        EXPECT_EQ(cached.version, read.version);
        EXPECT_EQ(cached.title, read.title);
        EXPECT_EQ(cached.archived, read.archived);
        EXPECT_EQ(cached.metadata, read.metadata);
        EXPECT_EQ(cached.bytes, read.bytes);
        EXPECT_EQ(cached.updated_at, read.updated_at);
        EXPECT_EQ(cached.created_at, read.created_at);
        EXPECT_EQ(cached.last_run_at, read.last_run_at);
        EXPECT_EQ(cached.head, read.head);
        EXPECT_EQ(cached.state, read.state);
        EXPECT_EQ(cached.offered_tools, read.offered_tools);
        EXPECT_EQ(cached.context, read.context);
        EXPECT_EQ(cached.last_request_had_history, read.last_request_had_history);
        EXPECT_EQ(cached.branches.size(), read.branches.size());
        EXPECT_EQ(cached.calls.size(), read.calls.size());
        ASSERT_EQ(cached.nodes.size(), read.nodes.size());
        for (std::size_t i = 0; i < read.nodes.size(); ++i) {
            EXPECT_EQ(cached.nodes[i].parent, read.nodes[i].parent);
            EXPECT_EQ(cached.nodes[i].run_id, read.nodes[i].run_id);
            EXPECT_EQ(
                text_of(cached.nodes[i].message.content), text_of(read.nodes[i].message.content)
            );
        }
    }
};

TEST_F(CachedThreads, EqualTheTables) {
    const std::unique_ptr<store> subject = open();
    get(subject->begin(thread_1, run_of("run_1"), user_turn("m0", "Hello")));
    (void)get(subject->load(thread_1)); // From here on the thread is kept.
    node_index number = 1;
    const auto commit = [&](changes change) {
        done(subject->commit(thread_1, std::move(change)));
        expect_same(*subject, *open_killed_copy("copy.db"));
    };
    commit(user_turn("m1", "More \u00e4", number++, 2000));
    changes labels;
    labels.title = "A title";
    labels.archived = true;
    labels.metadata = json_text(R"({"a":1})");
    labels.at = 3000;
    commit(labels);
    changes documents;
    documents.state = json_text(R"({"color":"red"})");
    documents.offered_tools = boost::json::array{boost::json::object{{"name", "paint"}}};
    documents.context = boost::json::array{"x"};
    documents.last_request_had_history = true;
    commit(documents);
    changes branch = user_turn("m2", "Another", 0);
    branch.branches = {{1, {.tip = number, .updated_at = 4000}}};
    branch.messages.edit_each([](stored_message& node) { node.parent = 0; });
    branch.head = 1;
    branch.calls.push_back({.id = "call_1", .name = "paint", .run_id = "run_1"});
    commit(branch);
    get(subject->begin(thread_1, run_of("run_2", 9000), user_turn("m3", "Again", number + 1)));
    expect_same(*subject, *open_killed_copy("copy.db"));
}

TEST_F(CachedThreads, AreNotReadAgain) {
    const std::unique_ptr<store> subject = open();
    get(subject->begin(thread_1, run_of("run_1"), user_turn("m0", "Hello")));
    EXPECT_EQ(get(subject->load(thread_1))->nodes.size(), 1U);
    const auto before = get(subject->load(thread_1));
    const auto after = get(subject->load(thread_1));
    EXPECT_EQ(&before->nodes[0], &after->nodes[0]) << "the same object, not another reading of it";
    EXPECT_TRUE(get(subject->remove(thread_1)));
    EXPECT_FALSE(get(subject->load(thread_1)));
}

} // namespace
} // namespace agui::session
