// A stop at every moment of a run, from the first byte of its POST to its terminal: by POST
// /agui/cancel, by a dropped connection and by the end of the server. The places that the code
// names (session/base/failpoint.hpp) are the moments: the stop is sent while the run stands at one
// of them, and the run goes on only when the server has counted it. The model and the tool count
// what is asked of them afterwards.

#include "runner/hooks/plugin.hpp"
#include "session/base/failpoint.hpp"
#include "tests/gateway/gated_model.hpp"
#include "tests/gateway/server_fixture.hpp"
#include "tests/support/patience.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace agui::test {
namespace {

#ifdef AGUI_FAILPOINTS

using ::testing::HasSubstr;
using ::testing::Not;

/// One passing of a place.
struct moment {
    std::string place;
    int passing = 1;
};

bool is_one_of(const std::vector<moment>& all, const moment& one) {
    return std::ranges::any_of(all, [&](const moment& other) {
        return other.place == one.place && other.passing == one.passing;
    });
}

/// These places must be passed, in the order of a run; stops at other places are tested as well.
const std::vector<moment> all_moments = {
    {"connection.head_read"},
    {"connection.body_read"},
    {"agui.input_read"},
    {"admission.arrived"},
    {"admission.turn_taken"},
    {"admission.looked_up"},
    {"admission.admitted"},
    {"admission.thread_taken"},
    {"admission.settled"},
    {"begin.loaded"},
    {"begin.planned"},
    {"begin.stored"},
    {"launch.registered"},
    {"run.start"},
    {"loop.begun"},
    {"loop.ask_model"},
    {"quota.reserve"},
    {"quota.reserved"},
    {"model.ask"},
    {"stream.read"},
    {"stream.written"},
    {"model.answering"},
    {"model.read"},
    {"run.reasoning"},
    {"run.text"},
    {"run.text", 2},
    {"run.call"},
    {"run.arguments"},
    {"run.arguments", 2},
    {"run.call", 2},
    {"run.turn_ended"},
    {"loop.model_answered"},
    {"run.commit"},
    {"run.committed"},
    {"loop.turn_stored"},
    {"batch.starting"},
    {"test.tool_running"},
    {"batch.finished"},
    {"batch.starting", 2},
    {"loop.tools_finished"},
    {"run.commit", 2},
    {"run.committed", 2},
    {"run.result"},
    {"loop.results_stored"},
    {"test.tool_running", 2},
    {"loop.ask_model", 2},
    {"model.ask", 2},
    {"model.answering", 2},
    {"run.text", 3},
    {"run.text", 4},
    {"loop.model_answered", 2},
    {"loop.ending"},
};

// If a place is passed more often, only so many passings are tested.
constexpr int passings_max = 4;

/// Watches the places of one run, and acts at one of them.
class run_watch {
public:
    explicit run_watch(gated_model& model)
        : model_(model), hook_([this](std::string_view place) { on_place(place); }) {}

    /// Prepares for the next run: `act` is called at `where`, on the thread that passes it.
    void arm(std::optional<moment> where, std::function<void()> act) {
        const std::lock_guard lock(mutex_);
        where_ = std::move(where);
        act_ = std::move(act);
        passed_.clear();
        order_.clear();
        fired_ = false;
        acted_ = false;
        begun_ = false;
        watching_ = true;
    }
    /// From here on, passings are ignored.
    void disarm() {
        const std::lock_guard lock(mutex_);
        watching_ = false;
    }

    /// Returns once the place has been passed since arm(); false if that takes too long.
    bool wait_for(const std::string& place) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, test::patience, [&] { return passed_[place] > 0; });
    }
    [[nodiscard]] int passed(const std::string& place) {
        const std::lock_guard lock(mutex_);
        return passed_[place];
    }
    /// To be called after the run. Returns true if `act` was called and has returned; otherwise it
    /// will never be called.
    [[nodiscard]] bool done() {
        std::unique_lock lock(mutex_);
        if (!fired_) {
            watching_ = false;
            return false;
        }
        return changed_.wait_for(lock, 2 * test::patience, [&] { return acted_; });
    }
    [[nodiscard]] std::vector<moment> order() {
        const std::lock_guard lock(mutex_);
        return order_;
    }

private:
    void on_place(std::string_view place) {
        std::function<void()> act;
        {
            const std::lock_guard lock(mutex_);
            // A thread may only now pass a place that belongs to the run before.
            begun_ = begun_ || place == "connection.head_read";
            if (!watching_ || !begun_) {
                return;
            }
            const std::string name(place);
            const int count = ++passed_[name];
            if (!fired_) {
                order_.push_back({name, count});
            }
            changed_.notify_all();
            if (place == "run.event" && !fired_) {
                model_.let_through();
            }
            if (!fired_ && where_ && where_->place == name && where_->passing == count) {
                fired_ = true;
                model_.hold();
                act = act_;
            }
        }
        if (act) {
            act();
            const std::lock_guard lock(mutex_);
            acted_ = true;
            changed_.notify_all();
        }
    }

    gated_model& model_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<moment> where_;
    std::function<void()> act_;
    std::map<std::string, int> passed_;
    std::vector<moment> order_;
    bool fired_ = false;
    bool acted_ = false;
    bool begun_ = false; ///< The request of the next run has arrived.
    bool watching_ = false;
    failpoint_hook hook_; ///< Declared last, because it calls the other members.
};

/// A plugin each of whose hooks continues in another handler.
class slow_plugin final : public runner::plugin {
public:
    boost::asio::awaitable<runner::turn_clean_up> on_turn_start(runner::plugin_turn& /*turn*/
    ) override {
        co_await pass("test.turn_start");
        co_return [] {
            return pass("test.clean_up");
        };
    }
    boost::asio::awaitable<void>
    on_before_request(runner::plugin_turn& /*turn*/, runner::request_draft& /*request*/) override {
        co_await pass("test.before_request");
    }
    void on_stream_data(
        runner::plugin_turn& /*turn*/, const session::message& /*so_far*/,
        const runner::stream_data& /*data*/
    ) override {
        check_failpoint("test.stream_data");
    }
    boost::asio::awaitable<void>
    on_after_request(runner::plugin_turn& /*turn*/, runner::after_request& /*request*/) override {
        co_await pass("test.after_request");
    }
    boost::asio::awaitable<void>
    on_message_append(runner::plugin_turn& /*turn*/, runner::appended_message& /*value*/) override {
        co_await pass("test.message_append");
    }
    boost::asio::awaitable<void>
    on_turn_end(runner::plugin_turn& /*turn*/, runner::stop_reason /*reason*/) override {
        co_await pass("test.turn_end");
    }

private:
    static boost::asio::awaitable<void> pass(std::string_view place) {
        check_failpoint(place);
        co_await boost::asio::post(
            co_await boost::asio::this_coro::executor, boost::asio::use_awaitable
        );
    }
};

enum class stop_store { memory, sqlite };

class StopMoments : public server_test, public ::testing::WithParamInterface<stop_store> {
protected:
    StopMoments() {
        settings.models.at(0).provider = gateway::model_config::provider_kind::openai;
        settings.models.at(0).base_url = model.url();
        settings.models.at(0).parameters.model = "m";
        settings.server.threads = 2; // The run may be held on one of the two threads.
        settings.server.drain = std::chrono::seconds(0);
        settings.agents.at(0).max_parallel_tools = 1;
        settings.quotas.emplace_back(); // Limits nothing, but counts.
        if (GetParam() == stop_store::sqlite) {
            use_sqlite();
        }
        add_tool();
    }
    ~StopMoments() override { server.reset(); }

    // A tool that continues in another handler, as if it had waited.
    void add_tool() {
        options.tools.add(
            {"count", "Counts", {}},
            [this](runner::tool_invocation) -> boost::asio::awaitable<runner::tool_outcome> {
                tools_started += 1;
                tools_started_late += stopped ? 1 : 0;
                check_failpoint("test.tool_running");
                co_await boost::asio::post(
                    co_await boost::asio::this_coro::executor, boost::asio::use_awaitable
                );
                co_return runner::tool_outcome{
                    runner::tool_outcome::kind::result, std::string("1")
                };
            }
        );
    }

    void next_run() {
        number += 1;
        thread = "t" + std::to_string(number);
        stopped = false;
        tools_started = 0;
        tools_started_late = 0;
        model.start_over();
    }

    [[nodiscard]] std::string body(std::string_view run_id, std::string_view text) const {
        return run_body(thread, run_id, text);
    }

    /// All moments of a run that nobody stops, without the later passings of busy places.
    std::vector<moment> moments_of_a_run() {
        next_run();
        watch.arm(std::nullopt, {});
        const raw_reply whole = ask(post("/agui", body("r", "please count")));
        watch.disarm();
        EXPECT_THAT(whole.body, HasSubstr("RUN_FINISHED")) << whole.body;
        EXPECT_THAT(whole.body, Not(HasSubstr("RUN_ERROR")));
        EXPECT_EQ(tools_started, 2);
        std::vector<moment> found = watch.order();
        // A connection is accepted before its first byte arrives.
        std::erase_if(found, [](const moment& one) {
            return one.passing > passings_max || one.place == "listener.accepted";
        });
        for (const moment& one : all_moments) {
            EXPECT_TRUE(is_one_of(found, one)) << one.place << " " << one.passing;
        }
        return found;
    }

    /// Waits until the run of `thread` has ended and no reader could keep it from being stopped.
    bool ends() {
        const auto give_up = std::chrono::steady_clock::now() + test::patience;
        while (std::chrono::steady_clock::now() < give_up) {
            const raw_reply seen = ask(get("/agui/threads/" + thread));
            const bool has_begun = seen.body.find(R"("createdAt":0)") == std::string::npos;
            if (seen.status == 200 && has_begun &&
                seen.body.find("activeRunId") == std::string::npos) {
                return true;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return false;
    }

    /// Waits until each answer of the model is complete or was closed.
    bool model_is_left_alone() {
        const auto give_up = std::chrono::steady_clock::now() + test::patience;
        while (model.open() > 0 && std::chrono::steady_clock::now() < give_up) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return model.open() == 0;
    }

    /// Stops by POST /agui/cancel, with this member beside the threadId.
    void stop_at_every_moment(std::string_view run_id_member);

    void expect_next_run() {
        model.start_over();
        raw_client client(port());
        client.send(post("/agui", body("next", "go on")));
        const raw_reply next = client.read_reply();
        EXPECT_EQ(next.status, 200) << next.body;
        // Another answer shows that the connection has passed the places of the first one.
        client.send(get("/healthz"));
        EXPECT_EQ(client.read_reply().status, 200);
        EXPECT_THAT(next.body, HasSubstr("fine"));
        EXPECT_THAT(next.body, HasSubstr("RUN_FINISHED"));
    }

    gated_model model;                // Declared before the server, which sends requests to it.
    std::atomic<bool> stopped{false}; ///< The server has counted the stop.
    std::atomic<int> tools_started{0};
    std::atomic<int> tools_started_late{0};
    int number = 0;
    std::string thread;
    run_watch watch{model};
};

int count_of(std::string_view text, std::string_view what) {
    int count = 0;
    for (std::size_t at = text.find(what); at != std::string_view::npos;
         at = text.find(what, at + what.size())) {
        ++count;
    }
    return count;
}

// Threads of the store pass these places, beside the run.
bool is_of_the_store(std::string_view place) {
    return place.starts_with("store.") || place.starts_with("journal.") || place == "log.durable";
}

void StopMoments::stop_at_every_moment(std::string_view run_id_member) {
    start();
    int stopped_at = 0;
    for (const moment& where : moments_of_a_run()) {
        SCOPED_TRACE(where.place + " " + std::to_string(where.passing));
        next_run();
        // One of the two connections belongs to the thread that is not held.
        raw_client stops[] = {raw_client(port()), raw_client(port())};
        // Accepted in advance, because accepting takes a thread, too.
        for (raw_client& one : stops) {
            one.send(get("/healthz"));
            ASSERT_EQ(one.read_reply().status, 200);
        }
        int tools_before = -1;
        int asked_before = -1;
        bool too_late = false;
        watch.arm(where, [&] {
            tools_before = tools_started;
            asked_before = watch.passed("model.ask");
            for (raw_client& one : stops) {
                one.send(post(
                    "/agui/cancel",
                    R"({"threadId":")" + thread + "\"" + std::string(run_id_member) + "}"
                ));
            }
            EXPECT_TRUE(watch.wait_for("cancel.counted"));
            stopped = true;
            too_late = watch.passed("run.finish") > 0;
        });

        const raw_reply stream = ask(post("/agui", body("r", "please count")));

        const bool is_required = is_one_of(all_moments, where);
        if (!watch.done()) { // Some passings, such as writes of a stream, do not occur in each run.
            EXPECT_FALSE(is_required) << "not passed";
            continue;
        }
        bool told = false;
        for (raw_client& one : stops) {
            const raw_reply reply = one.read_reply();
            EXPECT_EQ(reply.status, 200);
            told = told || reply.body == R"({"cancelled":true})";
        }
        const int asked_after = watch.passed("model.ask");
        watch.disarm();
        const bool was_stopped = stream.body.find(R"("user_stop")") != std::string::npos;
        EXPECT_EQ(told, was_stopped);
        EXPECT_TRUE(was_stopped || too_late || is_of_the_store(where.place)) << stream.body;
        stopped_at += is_required && was_stopped ? 1 : 0;
        EXPECT_TRUE(stream.complete);
        EXPECT_EQ(count_of(stream.body, R"("RUN_STARTED")"), 1);
        EXPECT_EQ(count_of(stream.body, R"("RUN_FINISHED")"), 1) << stream.body;
        EXPECT_EQ(count_of(stream.body, R"("RUN_ERROR")"), 0) << stream.body;
        if (is_of_the_store(where.place)) {
            // The run continues meanwhile, so one tool may start, but no more.
            EXPECT_LE(tools_started_late, 1);
        } else {
            EXPECT_EQ(tools_started_late, 0);
            EXPECT_EQ(tools_started, tools_before);
            EXPECT_EQ(asked_after, asked_before) << "the model was asked after the stop";
        }
        EXPECT_TRUE(model_is_left_alone());
        EXPECT_EQ(ask(get("/agui/threads/" + thread + "/runs/r/events")).body, stream.body);
        expect_next_run();
    }
    EXPECT_EQ(stopped_at, static_cast<int>(all_moments.size()));
}

TEST_P(StopMoments, ARequestedStopIsNeverLost) { stop_at_every_moment(R"(,"runId":"r")"); }

TEST_P(StopMoments, AStopOfTheThreadIsNeverLost) { stop_at_every_moment(""); }

TEST_P(StopMoments, AStopOfARunWithPluginsIsNeverLost) {
    options.plugins = {std::make_shared<slow_plugin>()};
    stop_at_every_moment(R"(,"runId":"r")");
}

// The gateway notices a little later that a client has disconnected. The run may continue until
// then, but the lost connection must end it. The model is held from that moment on, so that nothing
// else ends the run.
TEST_P(StopMoments, ADroppedConnectionIsNeverLost) {
    start();
    const std::string header = "X-On-Disconnect: cancel\r\n";
    (void)moments_of_a_run();
    for (const moment& where : all_moments) {
        if (where.place == "loop.ending" ||
            (where.place == "loop.model_answered" && where.passing == 2)) {
            // The model's answer is complete, so the run ends before the gateway notices the
            // disconnect.
            continue;
        }
        SCOPED_TRACE(where.place + " " + std::to_string(where.passing));
        next_run();
        raw_client client(port());
        watch.arm(where, [&client] { client.close(); });

        client.send(post("/agui", body("r", "please count"), header));

        EXPECT_TRUE(watch.wait_for(where.place));
        EXPECT_TRUE(ends());
        watch.disarm();
        const raw_reply stream = ask(get("/agui/threads/" + thread + "/runs/r/events"));
        EXPECT_THAT(stream.body, HasSubstr(R"("user_stop")"));
        EXPECT_TRUE(model_is_left_alone());
        expect_next_run();
    }
}

TEST_P(StopMoments, TheEndOfTheServerIsNeverLost) {
    const gateway::config own = settings;
    start();
    const std::vector<moment> moments = moments_of_a_run();
    for (const moment& where : all_moments) {
        SCOPED_TRACE(where.place + " " + std::to_string(where.passing));
        server.reset();
        settings = own;
        options = {};
        options.log = &null_logger();
        add_tool();
        start();
        next_run();
        watch.arm(where, [this] {
            server->request_stop();
            server->request_stop();
        });

        const raw_reply reply = ask(post("/agui", body("r", "please count")));

        EXPECT_TRUE(watch.done());
        watch.disarm();
        EXPECT_TRUE(reply.complete);
        const bool is_over = reply.status == 503 || // A refused request has begun nothing.
                             reply.body.find(R"("code":"shutdown")") != std::string::npos ||
                             where.place == "loop.ending" || where.place == "loop.model_answered";
        EXPECT_TRUE(is_over) << reply.body;
        EXPECT_TRUE(model_is_left_alone());
        EXPECT_TRUE(server->wait_bounded(test::patience));
    }
}

INSTANTIATE_TEST_SUITE_P(
    Stores, StopMoments, ::testing::Values(stop_store::memory, stop_store::sqlite),
    [](const auto& of) { return of.param == stop_store::memory ? "Memory" : "Sqlite"; }
);

#endif

} // namespace
} // namespace agui::test
