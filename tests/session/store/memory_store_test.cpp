// Details of the store in memory, besides the contract of all stores.
#include "session/base/failpoint.hpp"
#include "tests/session/store/store_fixture.hpp"
#include "tests/support/patience.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

namespace agui::session {
namespace {

using test::key_of;
using test::run_of;

class MemoryStore : public test::coroutine_test {};

#ifdef AGUI_FAILPOINTS

TEST_F(MemoryStore, AThreadThatIsCopiedHoldsUpNoOther) {
    const std::unique_ptr<store> subject = make_memory_store();
    ASSERT_TRUE(
        run(subject->begin(key_of("one"), run_of("r"), test::user_turn("m", "Hello"), std::nullopt))
    );
    ASSERT_TRUE(run(subject->begin(key_of("other"), run_of("r"), {}, std::nullopt)));
    int copies = 0;
    std::future<bool> other;
    std::future_status seen = std::future_status::deferred;
    {
        const failpoint_hook hook([&](std::string_view place) {
            if (place != "store.thread_copied" || ++copies > 1) {
                return;
            }
            std::promise<bool> found;
            other = found.get_future();
            // Applied on another thread while this one copies.
            std::thread([&subject, found = std::move(found)]() mutable {
                boost::asio::io_context context(1);
                boost::asio::co_spawn(
                    context, subject->find_run(key_of("other"), "r"),
                    [&found](const std::exception_ptr&, const auto& run) {
                        found.set_value(run && run->has_value());
                    }
                );
                context.run();
            }).detach();
            seen = other.wait_for(test::patience);
        });

        const auto view = run(subject->look_up(key_of("one"), "next"));

        ASSERT_TRUE(view && view->thread);
        EXPECT_EQ(view->thread->nodes.size(), 1U);
    }
    EXPECT_EQ(copies, 1);
    EXPECT_EQ(seen, std::future_status::ready) << "one thread waits for another one's copy";
    EXPECT_TRUE(other.get());
}

#endif

} // namespace
} // namespace agui::session
