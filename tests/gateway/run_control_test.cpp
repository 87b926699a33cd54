#include "gateway/run_control.hpp"

#include "tests/gateway/server_fixture.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <gmock/gmock.h>

#include <exception>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

// Runs that the embedding program itself starts, with its own provider, store and observer.

namespace agui::test {
namespace {

namespace asio = boost::asio;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A model that repeats the last message, or waits to be cancelled.
class echo_provider final : public runner::model_provider {
public:
    explicit echo_provider(std::string prefix) : prefix_(std::move(prefix)) {}

    asio::awaitable<runner::model_outcome>
    ask(const runner::model_request& request, runner::model_sink& sink) override {
        const std::string text = session::text_of(request.messages->back().content);
        sink.on_text(prefix_ + text);
        if (text == "wait") {
            asio::steady_timer never(
                co_await asio::this_coro::executor, asio::steady_timer::time_point::max()
            );
            try {
                co_await never.async_wait(asio::use_awaitable);
            } catch (const boost::system::system_error&) {
                co_return runner::model_failure{runner::model_failure::kind::cancelled, 0, {}};
            }
        }
        co_return runner::model_answer{};
    }

private:
    const std::string prefix_;
};

struct seen_event {
    std::string thread;
    std::string run;
    std::uint64_t sequence;
    std::string json;
    bool terminal;
};

class RunControl : public server_test {
protected:
    RunControl() {
        settings.models.front().provider = gateway::model_config::provider_kind::custom;
        options.provider_of = [](const gateway::model_config& model) {
            return std::make_unique<echo_provider>(model.name + " says: ");
        };
        options.observer = [this](const gateway::observed_event& event) {
            const std::lock_guard lock(mutex_);
            seen_.push_back(
                {event.thread.thread_id, event.run.run_id, event.sequence, std::string(event.json),
                 event.terminal}
            );
        };
    }
    // The server ends before the things that its runs use.
    ~RunControl() override { server.reset(); }

    /// Awaits on a thread of the program instead of one of the server.
    template <class Value>
    Value await(asio::awaitable<Value> job) {
        asio::io_context context;
        std::optional<Value> done;
        asio::co_spawn(
            context, [&]() -> asio::awaitable<void> { done.emplace(co_await std::move(job)); },
            [](const std::exception_ptr& thrown) {
                if (thrown) {
                    std::rethrow_exception(thrown);
                }
            }
        );
        context.run();
        return std::move(*done);
    }

    auto order(std::string_view run, std::string_view text = "hello") {
        return await(server->runs().start({.input = run_body("t1", run, text)}));
    }
    auto wait(const std::string& run) { return await(server->runs().wait(thread_, run)); }

    std::vector<seen_event> seen() {
        const std::lock_guard lock(mutex_);
        return seen_;
    }

    const session::thread_key thread_{"", "t1"};

private:
    std::mutex mutex_;
    std::vector<seen_event> seen_;
};

TEST_F(RunControl, StartsARunThatEndsByItself) {
    start();

    const auto made = order("r1");
    ASSERT_TRUE(made) << made.error().detail;
    EXPECT_EQ(made->thread, thread_);
    EXPECT_EQ(made->run_id, "r1");
    EXPECT_FALSE(made->repeated);

    const auto record = wait("r1");
    ASSERT_TRUE(record) << record.error().detail;
    EXPECT_EQ(record->status, session::run_status::finished);
    EXPECT_EQ(record->end_reason, "completed");
    EXPECT_THAT(
        ask(get("/agui/threads/t1/messages")).body, HasSubstr(R"("content":"main says: hello")")
    );
}

TEST_F(RunControl, TheObserverSeesEachEventOnceAsReadersDo) {
    start();
    const std::string input = R"({"threadId":"t1","runId":"r1","protocolVersion":"1.1",)"
                              R"("messages":[{"id":"u1","role":"user","content":"hello"}]})";
    ASSERT_TRUE(await(server->runs().start({.input = input})));
    ASSERT_TRUE(wait("r1"));

    const std::string stream = ask(get("/agui/threads/t1/runs/r1/events")).body;
    const std::vector<seen_event> events = seen();
    ASSERT_GE(events.size(), 4U);
    std::size_t at = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
        EXPECT_EQ(events[i].thread, "t1");
        EXPECT_EQ(events[i].run, "r1");
        EXPECT_EQ(events[i].sequence, i + 1);
        EXPECT_EQ(events[i].terminal, i + 1 == events.size());
        const std::size_t found = stream.find("data: " + events[i].json + "\n", at);
        ASSERT_NE(found, std::string::npos) << events[i].json << "\n" << stream;
        at = found + 1;
    }
    EXPECT_THAT(events.front().json, HasSubstr("RUN_STARTED"));
    EXPECT_THAT(events.back().json, HasSubstr("RUN_FINISHED"));
}

TEST_F(RunControl, TheObserverSeesRunsOfClients) {
    start();

    (void)ask(post("/agui", run_body("t2", "r9")));

    ASSERT_FALSE(seen().empty());
    EXPECT_EQ(seen().back().run, "r9");
    EXPECT_TRUE(seen().back().terminal);
}

TEST_F(RunControl, AnObserverThatThrowsHarmsNoRun) {
    options.observer = [](const gateway::observed_event&) {
        throw std::runtime_error("full");
    };
    start();

    ASSERT_TRUE(order("r1"));

    EXPECT_EQ(wait("r1").value().status, session::run_status::finished);
}

TEST_F(RunControl, ARepeatedOrderStartsNothing) {
    start();
    ASSERT_TRUE(order("r1"));
    ASSERT_TRUE(wait("r1"));
    const std::size_t before = seen().size();

    const auto again = order("r1");
    ASSERT_TRUE(again);
    EXPECT_TRUE(again->repeated);
    EXPECT_EQ(seen().size(), before);
    EXPECT_EQ(order("r1", "something else").error().code, errc::run_id_reused);
}

TEST_F(RunControl, ListsAndStopsARun) {
    start();
    EXPECT_THAT(server->runs().list(), IsEmpty());
    ASSERT_TRUE(order("r1", "wait"));

    const auto runs = server->runs().list();
    ASSERT_EQ(runs.size(), 1U);
    EXPECT_EQ(runs[0].thread, thread_);
    EXPECT_EQ(runs[0].run_id, "r1");
    EXPECT_EQ(runs[0].agent_id, "default");
    EXPECT_EQ(runs[0].readers, 0U);

    EXPECT_TRUE(await(server->runs().stop(thread_, "r1")).value());
    EXPECT_EQ(wait("r1").value().status, session::run_status::cancelled);
    EXPECT_THAT(server->runs().list(), IsEmpty());
    EXPECT_FALSE(await(server->runs().stop({"", "unknown"})).value());
}

TEST_F(RunControl, WaitsForARunThatIsUnderWay) {
    start();
    ASSERT_TRUE(order("r1", "wait"));
    std::optional<session::run_record> record;
    std::thread waiter([&] { record = wait("r1").value(); });

    EXPECT_TRUE(await(server->runs().stop(thread_)).value());
    waiter.join();

    EXPECT_EQ(record->status, session::run_status::cancelled);
}

TEST_F(RunControl, SaysWhyItDoesNotStart) {
    start();

    const auto no_json = await(server->runs().start({.input = "{"}));
    EXPECT_EQ(no_json.error().code, errc::invalid_json);
    const auto no_thread =
        await(server->runs().start({.input = R"({"runId":"r1","messages":[]})"}));
    EXPECT_EQ(no_thread.error().path, "threadId");
    const auto no_agent =
        await(server->runs().start({.input = run_body("t1", "r1"), .agent_id = "nobody"}));
    EXPECT_EQ(no_agent.error().code, errc::not_found);
    const auto long_key = await(server->runs().start(
        {.input = run_body("t1", "r1"), .idempotency_key = std::string(513, 'k')}
    ));
    EXPECT_EQ(long_key.error().code, errc::invalid_input);
    EXPECT_EQ(wait("unknown").error().code, errc::not_found);
}

TEST_F(RunControl, ThreadsOfPrincipalsAreApart) {
    start();
    const auto made =
        await(server->runs().start({.input = run_body("t1", "r1"), .principal = "ann"}));

    EXPECT_EQ(made.value().thread, (session::thread_key{"ann", "t1"}));
    ASSERT_TRUE(await(server->runs().wait({"ann", "t1"}, "r1")));
    EXPECT_EQ(wait("r1").error().code, errc::not_found);
}

TEST_F(RunControl, ServesOnlyBetweenStartAndStop) {
    server = std::make_unique<gateway::server>(settings, std::move(options));
    EXPECT_EQ(order("r1").error().code, errc::draining);

    server->start();
    ASSERT_TRUE(order("r1"));
    server->request_stop();
    server->wait();

    EXPECT_EQ(order("r2").error().code, errc::draining);
    EXPECT_EQ(wait("r1").error().code, errc::draining);
    EXPECT_THAT(server->runs().list(), IsEmpty());
}

// Each call returns, however the calls and the stop interleave.
TEST_F(RunControl, AStopLeavesNoCallWaiting) {
    start();
    std::vector<std::thread> programs;
    for (int i = 0; i < 4; ++i) {
        programs.emplace_back([this, i] {
            for (int n = 0; n < 200; ++n) {
                const std::string run = "r" + std::to_string(i) + "." + std::to_string(n);
                const auto made = await(server->runs().start({.input = run_body("t" + run, run)}));
                if (!made) {
                    EXPECT_EQ(made.error().code, errc::draining);
                    return;
                }
            }
        });
    }
    server->request_stop();
    server->wait();
    for (std::thread& one : programs) {
        one.join();
    }
    EXPECT_THAT(server->runs().list(), IsEmpty());
}

TEST_F(RunControl, TheProgramBringsItsOwnStore) {
    const std::shared_ptr<session::store> mine = session::make_memory_store();
    settings.session.store = gateway::session_config::store_kind::sqlite;
    settings.session.sqlite_path = "/nowhere/agui.db"; // It is not opened.
    options.store = mine;
    start();
    ASSERT_TRUE(order("r1"));
    ASSERT_TRUE(wait("r1"));

    EXPECT_EQ(&server->store(), mine.get());
    const auto thread = await(mine->load(thread_));
    EXPECT_EQ(thread.value().value().nodes.size(), 2U);
}

TEST_F(RunControl, AModelWithoutItsProviderIsAnError) {
    options.provider_of = nullptr;
    EXPECT_THROW(start(), std::runtime_error);

    gateway::server_options none;
    none.log = &null_logger();
    none.provider_of = [](const gateway::model_config&) {
        return nullptr;
    };
    EXPECT_THROW(gateway::server(settings, std::move(none)), std::runtime_error);
}

} // namespace
} // namespace agui::test
