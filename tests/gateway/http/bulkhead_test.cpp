#include "gateway/http/bulkhead.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <exception>
#include <memory>
#include <vector>

namespace agui::test {
namespace {

using gateway::bulkhead;

boost::asio::awaitable<void> pass_through(
    bulkhead& gate, int number, std::vector<int>& inside,
    std::vector<std::unique_ptr<bulkhead::pass>>& passes
) {
    auto pass = co_await gate.enter();
    inside.push_back(number);
    passes.push_back(std::move(pass));
}

TEST(Bulkhead, LetsSoManyThroughAndTheOthersInOrder) {
    boost::asio::io_context context;
    bulkhead gate(2, 2);
    std::vector<int> inside;
    std::vector<std::unique_ptr<bulkhead::pass>> passes;
    for (int i = 1; i <= 4; ++i) {
        boost::asio::co_spawn(
            context, pass_through(gate, i, inside, passes), [](const std::exception_ptr&) {}
        );
    }
    context.poll();
    EXPECT_EQ(inside, (std::vector<int>{1, 2}));

    passes.erase(passes.begin());
    context.poll();
    EXPECT_EQ(inside, (std::vector<int>{1, 2, 3}));
    passes.clear();
    context.poll();
    EXPECT_EQ(inside, (std::vector<int>{1, 2, 3, 4}));
    passes.clear();
    context.restart();
    // The places are free again.
    boost::asio::co_spawn(
        context, pass_through(gate, 5, inside, passes), [](const std::exception_ptr&) {}
    );
    context.poll();
    EXPECT_EQ(inside.back(), 5);
}

TEST(Bulkhead, RefusesNewcomersWhenEnoughAreWaiting) {
    boost::asio::io_context context;
    bulkhead gate(1, 1);
    std::vector<int> inside;
    std::vector<std::unique_ptr<bulkhead::pass>> passes;
    for (int i = 1; i <= 3; ++i) {
        boost::asio::co_spawn(
            context, pass_through(gate, i, inside, passes), [](const std::exception_ptr&) {}
        );
    }

    context.poll();

    EXPECT_EQ(inside, (std::vector<int>{1, 3}));
    EXPECT_NE(passes.at(0), nullptr);
    EXPECT_EQ(passes.at(1), nullptr) << "refused, the second one still waits";
    passes.at(0).reset();
    context.poll();
    EXPECT_EQ(inside, (std::vector<int>{1, 3, 2}));
}

} // namespace
} // namespace agui::test
