#include "gateway/log/log_readers.hpp"

#include "tests/support/coroutine_test.hpp"

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/post.hpp>

#include <cstddef>
#include <deque>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace agui::gateway {
namespace {

using leaving = log_readers::leaving;

class LogReaders : public test::coroutine_test {
protected:
    // A reader that counts how often it is resumed.
    resumption counting() {
        return {context().get_executor(), boost::asio::any_completion_handler<void()>([this] {
                    ++resumed_;
                })};
    }

    void settle() {
        context().restart();
        context().poll();
    }

    log_readers readers_{context().get_executor()};
    int resumed_ = 0;
};

TEST_F(LogReaders, GoOnTogether) {
    std::deque<log_readers::waiter> waiters;
    for (int i = 0; i < 40; ++i) {
        waiters.emplace_back(context().get_executor());
    }
    for (log_readers::waiter& each : waiters) {
        readers_.wait(each, counting());
    }
    log_readers::resumptions ready;

    readers_.take_all(ready);
    EXPECT_EQ(ready.size(), 40U);
    log_readers::resume(ready);
    settle();

    EXPECT_EQ(resumed_, 40);
    EXPECT_FALSE(readers_.take(waiters.front())) << "it does not wait any more";
}

TEST_F(LogReaders, GoOnAtOnceOnlyInTheThreadOfTheirExecutor) {
    const auto resume_one = [this] {
        log_readers::waiter one(context().get_executor());
        readers_.wait(one, counting());
        log_readers::resumptions ready;
        readers_.take_all(ready);
        log_readers::resume(ready);
    };

    resume_one();
    EXPECT_EQ(resumed_, 0) << "this thread does not run the executor";
    settle();
    EXPECT_EQ(resumed_, 1);

    boost::asio::post(context(), [&] {
        resume_one();
        EXPECT_EQ(resumed_, 2);
    });
    settle();
    EXPECT_EQ(resumed_, 2);
}

TEST_F(LogReaders, ThatThrowDoSoInTheirExecutor) {
    const auto executor = context().get_executor();
    log_readers::waiter one(executor);
    readers_.wait(one, resumption(executor, boost::asio::any_completion_handler<void()>([] {
                                      throw std::runtime_error("of a reader");
                                  })));
    log_readers::resumptions ready;
    readers_.take_all(ready);

    boost::asio::post(executor, [&] { EXPECT_NO_THROW(log_readers::resume(ready)); });

    EXPECT_THROW(settle(), std::runtime_error);
}

TEST_F(LogReaders, AreTakenOneByOne) {
    log_readers::waiter first(context().get_executor());
    log_readers::waiter second(context().get_executor());
    readers_.wait(first, counting());
    readers_.wait(second, counting());

    auto taken = readers_.take(first);
    ASSERT_TRUE(taken);
    std::move(*taken).post();
    settle();
    EXPECT_EQ(resumed_, 1);

    EXPECT_FALSE(readers_.take(first));
    log_readers::resumptions rest;
    readers_.take_all(rest);
    EXPECT_EQ(rest.size(), 1U);
}

TEST_F(LogReaders, TellOfEachChangeAndOfTheLast) {
    std::vector<std::pair<std::size_t, leaving>> changes;
    std::vector<leaving> last;
    readers_.set_handler([&](std::size_t count, leaving how) { changes.emplace_back(count, how); });
    readers_.set_last_handler([&](leaving how) { last.push_back(how); });

    readers_.add();
    readers_.add();
    readers_.remove(leaving::left);
    readers_.remove(leaving::cut_off);
    EXPECT_TRUE(changes.empty()) << "posted, not called";
    settle();

    using change = std::pair<std::size_t, leaving>;
    EXPECT_EQ(
        changes,
        (std::vector<change>{
            {1, leaving::left}, {2, leaving::left}, {1, leaving::left}, {0, leaving::cut_off}
        })
    );
    EXPECT_EQ(last, std::vector{leaving::cut_off});
}

TEST_F(LogReaders, TellOfNoLastOneAfterTheEnd) {
    int told = 0;
    readers_.set_last_handler([&](leaving) { ++told; });
    const std::function<void(leaving)> taken = readers_.take_last_handler();

    readers_.add();
    readers_.remove(leaving::left);
    settle();

    EXPECT_TRUE(taken);
    EXPECT_EQ(told, 0);
}

} // namespace
} // namespace agui::gateway
