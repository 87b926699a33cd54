// Long threads are read in slices, so that other jobs run in between.
#include "session/base/failpoint.hpp"
#include "tests/session/sqlite/sqlite_fixture.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <future>
#include <optional>
#include <utility>

namespace agui::session {
namespace {

#ifdef AGUI_FAILPOINTS

using test::key_of;
using test::SqliteStore;
using test::thread_1;
using test::user_message;

class SqliteSlices : public SqliteStore {
protected:
    void make_thread(store& subject, const thread_key& key, std::size_t messages) {
        changes change;
        for (std::size_t i = 0; i < messages; ++i) {
            change.messages.push_back(user_message(
                "m" + std::to_string(i), std::string(16U << 10U, 'x'),
                i == 0 ? no_node : static_cast<node_index>(i - 1)
            ));
        }
        change.branches.push_back(
            {0, {.tip = static_cast<node_index>(messages - 1), .updated_at = 1}}
        );
        get(subject.begin(key, test::run_of("run_1"), change));
    }
};

TEST_F(SqliteSlices, AShortReadDoesNotWaitForALongOne) {
    const std::unique_ptr<store> subject = open();
    make_thread(*subject, thread_1, 500); // 8 MB
    make_thread(*subject, key_of("short"), 1);
    boost::asio::thread_pool others(2);
    std::atomic<int> slices = 0;
    std::atomic<int> slices_before_short = -1;
    std::promise<void> is_queued;
    std::optional<std::future<result<std::optional<thread_summary>>>> found;
    const failpoint_hook hook([&](std::string_view name) {
        if (name != "store.read_slice") {
            return;
        }
        if (++slices == 1) {
            // The long read is in progress on this thread, so the short one comes after it.
            found = boost::asio::co_spawn(
                others,
                [](store& asked, std::atomic<int>& now, std::atomic<int>& then,
                   std::promise<void>& queued
                ) -> boost::asio::awaitable<result<std::optional<thread_summary>>> {
                    auto call = asked.summary(key_of("short"));
                    queued.set_value();
                    auto summary = co_await std::move(call);
                    then = now.load();
                    co_return summary;
                }(*subject, slices, slices_before_short, is_queued),
                boost::asio::use_future
            );
            is_queued.get_future().wait();
        }
    });

    const auto thread = get(subject->load(thread_1));
    const auto summary = found->get();

    ASSERT_TRUE(summary);
    EXPECT_TRUE(summary->has_value());
    EXPECT_EQ(thread->nodes.size(), 500U);
    EXPECT_GE(slices, 30) << "256 KB each";
    EXPECT_LT(slices_before_short, slices) << "the long read was over first";
}

TEST_F(SqliteSlices, AWriteBetweenSlicesIsNotRead) {
    boost::asio::thread_pool others(1); // It outlives the store, whose thread releases it last.
    const std::unique_ptr<store> subject = open();
    make_thread(*subject, thread_1, 100);
    std::optional<std::future<result<void>>> written;
    const failpoint_hook hook([&](std::string_view name) {
        if (name == "store.read_slice" && !written) {
            written = boost::asio::co_spawn(
                others, subject->commit(thread_1, test::user_turn("late", "Late", 100)),
                boost::asio::use_future
            );
        }
    });

    const auto thread = get(subject->load(thread_1));
    EXPECT_TRUE(written->get());

    EXPECT_EQ(thread->nodes.size(), 100U);
    EXPECT_EQ(thread->branches.at(0).tip, 99U);
    EXPECT_EQ(get(subject->load(thread_1))->nodes.size(), 101U);
}

TEST_F(SqliteSlices, AThreadThatIsRemovedInBetweenIsNotFound) {
    boost::asio::thread_pool others(1); // It outlives the store, whose thread releases it last.
    const std::unique_ptr<store> subject = open();
    make_thread(*subject, thread_1, 400);
    std::optional<std::future<result<bool>>> removed;
    const failpoint_hook hook([&](std::string_view name) {
        if (name == "store.read_slice" && !removed) {
            removed =
                boost::asio::co_spawn(others, subject->remove(thread_1), boost::asio::use_future);
        }
    });

    const auto thread = run(subject->load(thread_1));
    EXPECT_TRUE(removed->get());

    // The read gives the whole thread or nothing, whichever job came first.
    ASSERT_TRUE(thread);
    EXPECT_TRUE(!*thread || (*thread)->nodes.size() == 400U);
}

TEST_F(SqliteSlices, OtherThreadsThatAreRemovedInBetweenDoNotBeginItAgain) {
    boost::asio::io_context others; // It outlives the store, whose thread releases it last.
    const std::unique_ptr<store> subject = open();
    make_thread(*subject, thread_1, 300);
    const int others_to_remove = 60;
    for (int i = 0; i < others_to_remove; ++i) {
        make_thread(*subject, key_of("other_" + std::to_string(i)), 1);
    }
    int slices = 0;
    int removed = 0;
    const failpoint_hook hook([&](std::string_view name) {
        if (name == "store.read_slice" && ++slices <= others_to_remove) {
            // This is the store's thread, so the job is queued before the next slice.
            boost::asio::co_spawn(
                others, subject->remove(key_of("other_" + std::to_string(slices - 1))),
                [&](const std::exception_ptr&, const result<bool>& outcome) {
                    removed += outcome && *outcome ? 1 : 0;
                }
            );
            others.poll();
        }
    });

    const auto thread = get(subject->load(thread_1));

    ASSERT_TRUE(thread);
    EXPECT_EQ(thread->nodes.size(), 300U);
    EXPECT_LE(slices, 25) << "4.8 MB, 256 KB each";
    others.restart();
    others.run();
    EXPECT_EQ(removed, slices);
}

TEST_F(SqliteSlices, AThreadMadeInItsPlaceInBetweenIsNotMixedWithIt) {
    boost::asio::io_context others; // It outlives the store, whose thread releases it last.
    const std::unique_ptr<store> subject = open();
    make_thread(*subject, thread_1, 100);
    bool replaced = false;
    const failpoint_hook hook([&](std::string_view name) {
        if (name == "store.read_slice" && !std::exchange(replaced, true)) {
            const auto ignored = [](const std::exception_ptr&, const auto&...) {
            };
            // All jobs are in one batch, so the old thread's rows are gone when the new one begins.
            boost::asio::co_spawn(others, subject->remove(thread_1), ignored);
            for (int step = 0; step < 10; ++step) {
                boost::asio::co_spawn(others, subject->drop_logs({}), ignored);
            }
            boost::asio::co_spawn(
                others,
                subject->begin(thread_1, test::run_of("run_2"), test::user_turn("new", "New")),
                ignored
            );
            others.poll();
        }
    });

    const auto thread = get(subject->load(thread_1));

    ASSERT_TRUE(thread);
    ASSERT_EQ(thread->nodes.size(), 1U);
    EXPECT_EQ(thread->nodes[0].message.id, "new");
    others.restart();
    others.run();
}

TEST_F(SqliteSlices, PartsOfALongThreadAreReadInSlicesToo) {
    const std::unique_ptr<store> subject = open();
    changes change;
    for (std::uint32_t i = 0; i < 200; ++i) {
        stored_message turn = user_message("m" + std::to_string(i), std::string(16U << 10U, 'x'));
        turn.message.role = role::assistant;
        const std::string call = "c" + std::to_string(i);
        turn.message.tool_calls = {{call, "paint", "{}", {}, {}}};
        change.messages.push_back(std::move(turn));
        change.branches.push_back({i, {.tip = i, .updated_at = 1}});
        change.calls.push_back(
            {call, "paint", "run_1", call_owner::external, call_status::pending, i}
        );
    }
    get(subject->begin(thread_1, test::run_of("run_1"), change));
    int slices = 0;
    const failpoint_hook hook([&](std::string_view name) {
        slices += name == "store.read_slice" ? 1 : 0;
    });

    const auto pending = get(subject->pending_calls(thread_1));
    EXPECT_GE(std::exchange(slices, 0), 10) << "3.2 MB, 256 KB each";
    const auto branches = get(subject->branches(thread_1));
    EXPECT_GE(slices, 10);

    ASSERT_EQ(pending->size(), 200U);
    EXPECT_EQ(pending->at(199).message_id, "m199");
    ASSERT_EQ(branches->size(), 200U);
    EXPECT_EQ(branches->at(199).last_message_id, "m199");
}

#endif

} // namespace
} // namespace agui::session
