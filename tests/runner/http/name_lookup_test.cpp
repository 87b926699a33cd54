#include "runner/http/name_lookup.hpp"

#include "runner/http/http_transport.hpp"
#include "tests/runner/http/http_test_server.hpp"
#include "tests/support/coroutine_test.hpp"
#include "tests/support/patience.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

namespace asio = boost::asio;
using std::chrono::seconds;

/// A resolver whose names hang until they are released.
class test_resolver : public std::enable_shared_from_this<test_resolver> {
public:
    name_lookup::function function() {
        return [self = shared_from_this()](const std::string& host) {
            return self->look_up(host);
        };
    }

    /// Names that begin with "slow" return after this.
    void release() {
        const std::lock_guard lock(mutex_);
        released_ = true;
        changed_.notify_all();
    }

    [[nodiscard]] int asked(const std::string& host) {
        const std::lock_guard lock(mutex_);
        return asked_[host];
    }
    void wait_until_asked(int times) { wait(times, begun_); }
    void wait_until_answered(int times) { wait(times, answered_); }

private:
    void wait(int times, const int& count) {
        std::unique_lock lock(mutex_);
        ASSERT_TRUE(changed_.wait_for(lock, test::patience, [&] { return count >= times; }));
    }

    looked_up look_up(const std::string& host) {
        std::unique_lock lock(mutex_);
        ++asked_[host];
        ++begun_;
        changed_.notify_all();
        if (host.starts_with("slow")) {
            changed_.wait(lock, [this] { return released_; });
        }
        ++answered_;
        changed_.notify_all();
        if (host.starts_with("unknown")) {
            return {asio::error::host_not_found, {}};
        }
        return {{}, {asio::ip::make_address("127.0.0.1")}};
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, int> asked_;
    int begun_ = 0;
    int answered_ = 0;
    bool released_ = false;
};

class NameLookup : public test::coroutine_test {
protected:
    ~NameLookup() override { resolver->release(); }

    void pass(name_lookup::clock::duration duration) { *time = time->load() + duration; }

    looked_up find(const std::string& host) {
        return run(names->find(host, name_lookup::clock::now() + test::patience));
    }

    /// Starts a look-up, and counts in `ends` that it has ended.
    void start(asio::io_context& on, const std::string& host, asio::cancellation_signal& by) {
        asio::co_spawn(
            on, names->find(host, name_lookup::clock::now() + seconds(3600)),
            asio::bind_cancellation_slot(
                by.slot(),
                [this](std::exception_ptr, looked_up result) {
                    ++ends;
                    last = result.ec;
                }
            )
        );
    }

    std::shared_ptr<test_resolver> resolver = std::make_shared<test_resolver>();
    /// Used by threads that may outlive the test.
    std::shared_ptr<std::atomic<name_lookup::clock::time_point>> time =
        std::make_shared<std::atomic<name_lookup::clock::time_point>>(name_lookup::clock::now());
    std::shared_ptr<name_lookup> names =
        std::make_shared<name_lookup>(resolver->function(), [shown = time] {
            return shown->load();
        });
    asio::cancellation_signal stop;
    int ends = 0;
    boost::system::error_code last;
};

TEST_F(NameLookup, OneNameThatHangsDelaysNoOther) {
    start(context(), "slow", stop);

    EXPECT_EQ(find("fast").addresses, std::vector{asio::ip::make_address("127.0.0.1")});
    EXPECT_EQ(find("unknown").ec, asio::error::host_not_found);
    EXPECT_EQ(ends, 0);

    stop.emit(asio::cancellation_type::terminal);
    context().restart();
    context().run(); // It returns because nothing waits for the look-up.
    EXPECT_EQ(ends, 1);
    EXPECT_EQ(last, asio::error::operation_aborted);
}

TEST_F(NameLookup, AllWaitersForANameGetTheSameAnswer) {
    asio::cancellation_signal other;
    start(context(), "slow", stop);
    start(context(), "slow", other);
    context().restart();
    context().poll();
    resolver->wait_until_asked(1);
    stop.emit(asio::cancellation_type::terminal);
    context().poll();
    EXPECT_EQ(ends, 1);

    resolver->release();
    context().run();

    EXPECT_EQ(ends, 2);
    EXPECT_FALSE(last);
    EXPECT_EQ(resolver->asked("slow"), 1);
}

TEST_F(NameLookup, KeepsAnswersForAWhile) {
    EXPECT_FALSE(find("fast").ec);
    pass(name_lookup::found_time - std::chrono::nanoseconds(1));
    EXPECT_FALSE(find("fast").ec);
    EXPECT_EQ(resolver->asked("fast"), 1);
    pass(std::chrono::nanoseconds(1));
    EXPECT_FALSE(find("fast").ec);
    EXPECT_EQ(resolver->asked("fast"), 2);

    EXPECT_TRUE(find("unknown").ec);
    pass(name_lookup::not_found_time - std::chrono::nanoseconds(1));
    EXPECT_TRUE(find("unknown").ec);
    EXPECT_EQ(resolver->asked("unknown"), 1);
    pass(std::chrono::nanoseconds(1));
    EXPECT_TRUE(find("unknown").ec);
    EXPECT_EQ(resolver->asked("unknown"), 2);
}

TEST_F(NameLookup, BoundsItsThreads) {
    std::vector<asio::cancellation_signal> stops(name_lookup::threads_max);
    for (std::size_t i = 0; i < stops.size(); ++i) {
        start(context(), "slow" + std::to_string(i), stops[i]);
    }
    start(context(), "fast", stop);
    context().restart();
    context().poll();
    resolver->wait_until_asked(static_cast<int>(name_lookup::threads_max));
    EXPECT_EQ(resolver->asked("fast"), 0);

    resolver->release();
    context().run();

    EXPECT_EQ(ends, static_cast<int>(name_lookup::threads_max) + 1);
    EXPECT_EQ(resolver->asked("fast"), 1);
}

TEST_F(NameLookup, EndsAtItsDeadline) {
    const looked_up result = run(names->find("slow", name_lookup::clock::now()));

    EXPECT_EQ(result.ec, asio::error::timed_out);
}

TEST_F(NameLookup, SurvivesAContextThatIsDestroyedWhileANameHangs) {
    {
        asio::io_context other(1);
        start(other, "slow", stop);
        other.poll();
        resolver->wait_until_asked(1);
    }
    resolver->release();
    resolver->wait_until_answered(1);

    EXPECT_FALSE(find("slow").ec); // By the same thread or another one: both look-ups have ended.
    EXPECT_EQ(ends, 0);
}

TEST_F(NameLookup, SurvivesItsOwnEnd) {
    start(context(), "slow", stop);
    context().restart();
    context().poll();
    resolver->wait_until_asked(1);

    names.reset();
    resolver->release();
    context().run();

    EXPECT_EQ(ends, 1);
    EXPECT_FALSE(last);
}

TEST(NameLookupDeathTest, TheEndOfTheProcessDoesNotWaitForANameThatHangs) {
    const auto end_while_it_hangs = [] {
        const auto resolver = std::make_shared<test_resolver>();
        name_lookup names(resolver->function());
        asio::io_context context(1);
        asio::co_spawn(
            context, names.find("slow", name_lookup::clock::now() + seconds(3600)),
            [](std::exception_ptr, const looked_up&) {}
        );
        context.poll();
        resolver->wait_until_asked(1);
        std::exit(0);
    };

    EXPECT_EXIT(end_while_it_hangs(), ::testing::ExitedWithCode(0), "");
}

TEST_F(NameLookup, ATransportWhoseNameHangsIsCancelledAndDelaysNoOther) {
    test::http_test_server server(
        context(),
        [](test::server_connection& peer) -> asio::awaitable<void> {
            co_await peer.read_request();
            co_await peer.send(test::response("ok"));
        }
    );
    const auto transport_to = [&](const std::string& host) {
        http_endpoint endpoint;
        endpoint.base_url = "http://" + host + ":" + std::to_string(server.port());
        endpoint.names = names;
        return make_http_client(endpoint).value();
    };
    const auto status_of = [](std::shared_ptr<http_client> transport) -> asio::awaitable<int> {
        const transport_request request{.target = "/", .headers = {}, .body = "{}"};
        const auto posted = co_await transport->send(request);
        co_return posted ? (*posted)->status() : -static_cast<int>(posted.error().what);
    };
    int slow_status = 0;
    asio::co_spawn(
        context(), status_of(transport_to("slow")),
        asio::bind_cancellation_slot(
            stop.slot(), [&](std::exception_ptr, int status) { slow_status = status; }
        )
    );

    EXPECT_EQ(run(status_of(transport_to("fast"))), 200);

    EXPECT_EQ(slow_status, 0);
    stop.emit(asio::cancellation_type::terminal);
    context().restart();
    context().poll();
    EXPECT_EQ(slow_status, -static_cast<int>(transport_failure::kind::cancelled));
}

} // namespace
} // namespace agui::runner
