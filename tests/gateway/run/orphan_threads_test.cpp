#include "gateway/run/orphan_threads.hpp"

#include "session/base/failpoint.hpp"
#include "tests/session/sqlite/sqlite_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string_view>

namespace agui::test {
namespace {

using gateway::conversation_key;
using gateway::orphan_threads;

class OrphanThreads : public SqliteStore {
protected:
    bool is_recovered() {
        return get(store_->find_run(thread_1, "r"))->status == session::run_status::failed;
    }
    bool recover_held() {
        const session::lease_ptr held = get(store_->acquire(thread_1, "r2"));
        const bool recovered = run(threads_.recover_held(*store_, conversation_, held));
        store_->release(held);
        return recovered;
    }
    bool recover() { return run(threads_.recover(*store_, conversation_)); }

    const conversation_key conversation_{thread_1, false};
    runner::tool_registry tools_;
    sequential_ids ids_;
    manual_clock time_;
    /// The store of a process that was killed during a run.
    const std::unique_ptr<session::store> store_ = [this] {
        const auto former = open();
        (void)begin(*former, thread_1, "r");
        return open_killed_copy("killed.db");
    }();
    orphan_threads threads_{{*store_, tools_, ids_, time_, log()}};
};

TEST_F(OrphanThreads, AreAllRecoveredAtFirst) {
    EXPECT_TRUE(run(threads_.recover_all()));

    EXPECT_TRUE(is_recovered());
}

TEST_F(OrphanThreads, AreLookedAtOnlyWhereThereMayBeOne) {
    EXPECT_TRUE(recover_held());
    EXPECT_FALSE(is_recovered());

    threads_.add(conversation_);

    EXPECT_TRUE(recover_held());
    EXPECT_TRUE(is_recovered());
}

TEST_F(OrphanThreads, AreNotTakenFromTheirHolder) {
    threads_.add(conversation_);
    const session::lease_ptr held = get(store_->acquire(thread_1, "r2"));

    EXPECT_FALSE(recover());
    EXPECT_FALSE(is_recovered());
    EXPECT_TRUE(held->is_held());

    store_->release(held);
    EXPECT_TRUE(recover());
    EXPECT_TRUE(is_recovered());
    EXPECT_FALSE(get(store_->holder(thread_1)));
}

#ifdef AGUI_FAILPOINTS

TEST_F(OrphanThreads, AreEndedSeveralAtOnce) {
    for (const char* const id : {"a", "b", "c", "d"}) {
        (void)begin(*open("several.db"), session::thread_key{"", id}, "r");
    }
    const auto several = open("several.db");
    orphan_threads threads{{*several, tools_, ids_, time_, log()}};
    int under_way = 0;
    int most = 0;
    int ended = 0;
    {
        const failpoint_hook counting([&](std::string_view place) {
            if (place == "recovery.run") {
                most = std::max(most, ++under_way);
            } else if (place == "recovery.run_ended") {
                --under_way;
                ++ended;
            }
        });
        EXPECT_TRUE(run(threads.recover_all()));
    }
    EXPECT_EQ(ended, 4);
    EXPECT_GT(most, 1);
}

TEST_F(OrphanThreads, AreTriedAgainUntilTheyAreRecovered) {
    {
        const failpoint_hook failing([](std::string_view place) {
            if (place == "recovery.commit") {
                throw std::runtime_error("the store fails");
            }
        });
        EXPECT_FALSE(run(threads_.recover_all()));
        EXPECT_FALSE(recover());
        EXPECT_FALSE(is_recovered());
    }

    EXPECT_TRUE(recover());
    EXPECT_TRUE(is_recovered());
}

#endif

} // namespace
} // namespace agui::test
