#include "runner/tools/blocking_tool.hpp"

#include "tests/support/coroutine_test.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

namespace agui::runner {
namespace {

namespace asio = boost::asio;

tool_invocation invocation() {
    tool_invocation call;
    call.name = "slow";
    call.arguments_text = "{}";
    return call;
}

tool_outcome said(std::string text) { return {tool_outcome::kind::result, std::move(text)}; }

class BlockingTool : public test::coroutine_test {
protected:
    asio::thread_pool pool{2};
};

TEST_F(BlockingTool, RunsOnThePoolWhileTheExecutorContinues) {
    std::promise<void> release;
    std::thread::id thread;
    const tool_function tool = blocking_tool(
        [&, released = release.get_future().share()](const tool_invocation& call) {
            thread = std::this_thread::get_id();
            released.wait();
            return said("done " + call.name + call.arguments_text);
        },
        pool
    );
    // If the executor were blocked, it would never get here.
    asio::post(context(), [&release] { release.set_value(); });

    EXPECT_EQ(std::get<std::string>(run(tool(invocation())).content), "done slow{}");
    EXPECT_NE(thread, std::this_thread::get_id());
}

TEST_F(BlockingTool, AnExceptionIsTheTools) {
    const tool_function tool = blocking_tool(
        [](const tool_invocation&) -> tool_outcome { throw std::runtime_error("why"); }, pool
    );

    EXPECT_THROW(run(tool(invocation())), std::runtime_error);
}

TEST_F(BlockingTool, ACallThatIsCancelledIsNotWaitedFor) {
    std::promise<void> release;
    std::promise<void> begun;
    const tool_function tool = blocking_tool(
        [&, released = release.get_future().share()](const tool_invocation&) {
            begun.set_value();
            released.wait();
            return said("late");
        },
        pool
    );
    asio::cancellation_signal cancel;
    std::string ended;
    asio::co_spawn(
        context(), tool(invocation()),
        asio::bind_cancellation_slot(
            cancel.slot(),
            [&ended](const std::exception_ptr&, const tool_outcome& outcome) {
                ended = std::get<std::string>(outcome.content);
            }
        )
    );
    context().poll();
    begun.get_future().wait();
    cancel.emit(asio::cancellation_type::terminal);
    context().restart();
    context().run();

    EXPECT_EQ(ended, "The call was cancelled.");
    release.set_value();
    pool.join();
    context().restart();
    context().run();
}

TEST_F(BlockingTool, ACallThatIsCancelledBeforeItBeganNeverDoes) {
    asio::thread_pool one(1);
    std::promise<void> release;
    asio::post(one, [released = release.get_future().share()] { released.wait(); });
    std::atomic<int> calls = 0;
    const tool_function tool = blocking_tool(
        [&calls](const tool_invocation&) {
            ++calls;
            return said("");
        },
        one
    );
    asio::cancellation_signal cancel;
    asio::co_spawn(
        context(), tool(invocation()), asio::bind_cancellation_slot(cancel.slot(), asio::detached)
    );
    context().poll();
    cancel.emit(asio::cancellation_type::terminal);
    context().restart();
    context().run();
    release.set_value();
    one.join();

    EXPECT_EQ(calls, 0);
}

TEST_F(BlockingTool, MayOutliveTheServer) {
    std::promise<void> release;
    std::promise<void> begun;
    const tool_function tool = blocking_tool(
        [&, released = release.get_future().share()](const tool_invocation&) {
            begun.set_value();
            released.wait();
            return said("late");
        },
        pool
    );
    auto server = std::make_unique<asio::io_context>(1);
    asio::co_spawn(*server, tool(invocation()), asio::detached);
    server->poll();
    begun.get_future().wait();
    server.reset();
    release.set_value();
    pool.join();
}

} // namespace
} // namespace agui::runner
