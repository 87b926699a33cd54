// Two calls of the server and two of the caller in one turn.

#include "session/base/failpoint.hpp"
#include "tests/gateway/server_fixture.hpp"
#include "tests/support/patience.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::test {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using names = std::vector<std::string>;

constexpr std::string_view end_of_stream = "\r\n0\r\n\r\n";

/// Each call waits here until the test lets it end.
class gates {
public:
    [[nodiscard]] boost::asio::awaitable<void> pass(std::string name) {
        const auto gate = std::make_shared<boost::asio::steady_timer>(
            co_await boost::asio::this_coro::executor, boost::asio::steady_timer::time_point::max()
        );
        {
            const std::lock_guard lock(mutex_);
            waiting_[std::move(name)].push_back(gate);
            arrived_.notify_all();
        }
        co_await gate->async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    }

    /// Ends the call that has arrived, or the next one to arrive.
    void open(const std::string& name) {
        std::unique_lock lock(mutex_);
        ASSERT_TRUE(arrived_.wait_for(lock, patience, [&] { return !waiting_[name].empty(); }))
            << name << " was not called";
        const auto gate = waiting_[name].back();
        boost::asio::post(gate->get_executor(), [gate] { gate->cancel(); });
    }

    [[nodiscard]] std::size_t calls_of(const std::string& name) {
        const std::lock_guard lock(mutex_);
        return waiting_[name].size();
    }

    void start_over() {
        const std::lock_guard lock(mutex_);
        waiting_.clear();
    }

private:
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::map<std::string, std::vector<std::shared_ptr<boost::asio::steady_timer>>> waiting_;
};

// The ids of calls are the names of their tools: s1 and s2 belong to the server, e1 and e2 to the
// client.
class MixedTurn : public server_test {
protected:
    MixedTurn() {
        settings.session.busy_wait = std::chrono::hours(1);
        for (const std::string& name : {"s1", "s2"}) {
            options.tools.add(
                {name, "Waits", {}},
                [this,
                 name](runner::tool_invocation) -> boost::asio::awaitable<runner::tool_outcome> {
                    co_await opened.pass(name);
                    co_return runner::tool_outcome{
                        runner::tool_outcome::kind::result, "result " + name
                    };
                }
            );
        }
        options.script_of = [this](const gateway::model_config&) {
            return [this](const runner::transport_request& request) {
                return std::optional(reply_to(request));
            };
        };
        start();
    }
    ~MixedTurn() override {
        opened.start_over(); // Its timers belong to the server.
        server.reset();
    }

    runner::scripted_answer reply_to(const runner::transport_request& request) {
        const std::lock_guard lock(mutex_);
        asked_.push_back(request.body);
        if (asked_.size() > 1) {
            return say("Done");
        }
        runner::scripted_answer turn;
        std::size_t index = 0;
        for (const std::string& name : turn_) {
            turn.body += model_frame(boost::json::serialize(boost::json::value{
                {"choices",
                 {{{"index", 0},
                   {"delta",
                    {{"tool_calls",
                      {{{"index", index++},
                        {"id", name},
                        {"type", "function"},
                        {"function", {{"name", name}, {"arguments", "{}"}}}}}}}}}}}
            }));
        }
        turn.body += end_frames("tool_calls");
        return turn;
    }

    void next_thread(names turn) {
        const std::lock_guard lock(mutex_);
        turn_ = std::move(turn);
        asked_.clear();
        opened.start_over();
        thread = "t" + std::to_string(++number);
    }

    [[nodiscard]] std::vector<std::string> asked() {
        const std::lock_guard lock(mutex_);
        return asked_;
    }

    [[nodiscard]] std::string first_request() const {
        return boost::json::serialize(boost::json::value{
            {"threadId", thread},
            {"runId", "r1"},
            {"protocolVersion", "1.1"},
            {"messages", {{{"id", "u"}, {"role", "user"}, {"content", "go"}}}},
            {"tools",
             {{{"name", "e1"}, {"description", "One"}}, {{"name", "e2"}, {"description", "Two"}}}}
        });
    }

    [[nodiscard]] std::string answers(const std::string& run_id, const names& ids) const {
        boost::json::array messages;
        for (const std::string& id : ids) {
            messages.push_back({{"role", "tool"}, {"toolCallId", id}, {"content", "result " + id}});
        }
        return boost::json::serialize(boost::json::value{
            {"threadId", thread},
            {"runId", run_id},
            {"protocolVersion", "1.1"},
            {"messages", std::move(messages)}
        });
    }

    /// The calls that GET …/pending lists.
    [[nodiscard]] names pending() const {
        const raw_reply reply = ask(get("/agui/threads/" + thread + "/pending"));
        names ids;
        const boost::json::value body = boost::json::parse(reply.body);
        for (const auto& call : body.at("toolCalls").as_array()) {
            ids.emplace_back(call.at("toolCallId").as_string());
        }
        return ids;
    }

    void play(const names& turn, const names& ending, const std::vector<names>& answered);

    gates opened;
    std::string thread;
    int number = 0;

private:
    std::mutex mutex_;
    names turn_;
    std::vector<std::string> asked_; ///< The bodies of the model requests.
};

std::vector<boost::json::object> events_of(const std::string& stream) {
    std::vector<boost::json::object> events;
    for (std::size_t at = stream.find("data: {"); at != std::string::npos;
         at = stream.find("data: {", at)) {
        at += 6;
        events.push_back(
            boost::json::parse(stream.substr(at, stream.find('\n', at) - at)).as_object()
        );
    }
    return events;
}

/// The calls whose results a stream has, in order.
names results_in(const std::string& stream) {
    names ids;
    for (const boost::json::object& event : events_of(stream)) {
        if (event.at("type") == "TOOL_CALL_RESULT") {
            const std::string id(event.at("toolCallId").as_string());
            EXPECT_EQ(event.at("content").as_string(), "result " + id);
            ids.push_back(id);
        }
    }
    return ids;
}

/// The calls that a stream's end leaves to the client.
names pending_in(const std::string& stream) {
    const boost::json::object last = events_of(stream).back();
    EXPECT_EQ(last.at("type").as_string(), "RUN_FINISHED");
    names ids;
    if (const auto* listed = last.at("outcome").as_object().if_contains("pendingToolCallIds")) {
        for (const boost::json::value& id : listed->as_array()) {
            ids.emplace_back(id.as_string());
        }
    }
    return ids;
}

names only(const names& from, char kind) {
    names kept = from;
    std::erase_if(kept, [kind](const std::string& name) { return name[0] != kind; });
    return kept;
}

/// The model makes the calls of `turn`. The server's calls end in the order of `ending`, and each
/// entry of `answered` is one request.
void MixedTurn::play(const names& turn, const names& ending, const std::vector<names>& answered) {
    next_thread(turn);
    const names of_server = only(turn, 's');
    names left = only(turn, 'e');
    raw_client client(port());
    client.send(post("/agui", first_request()));
    std::string stream;
    for (const std::string& name : ending) {
        opened.open(name);
        if (name == of_server.front()) {
            // A result is shown once all results before it are shown.
            stream += client.read_until("\"result " + name + "\"");
        } else if (name == ending.front()) {
            (void)pending(); // By now the server, which has one thread, has handled the result.
            (void)pending();
        }
    }
    stream += client.read_until(end_of_stream);
    EXPECT_THAT(results_in(stream), ElementsAreArray(of_server));
    EXPECT_THAT(pending_in(stream), ElementsAreArray(left));
    EXPECT_THAT(pending(), ElementsAreArray(left));

    std::string run_id = "r1";
    for (const names& some : answered) {
        EXPECT_EQ(asked().size(), 1U) << "not before all calls are answered";
        run_id += "+";
        const raw_reply reply = ask(post("/agui", answers(run_id, some)));
        for (const std::string& id : some) {
            std::erase(left, id);
        }
        EXPECT_THAT(pending_in(reply.body), IsEmpty()) << "the calls are another run's (S5)";
        EXPECT_THAT(pending(), ElementsAreArray(left));
        EXPECT_THAT(results_in(reply.body), IsEmpty()) << "the server's were given before";
    }

    ASSERT_EQ(asked().size(), 2U);
    const boost::json::value last_request = boost::json::parse(asked().back());
    names sent;
    for (const auto& message : last_request.at("messages").as_array()) {
        if (message.at("role") == "tool") {
            sent.emplace_back(message.at("tool_call_id").as_string());
            EXPECT_EQ(message.at("content").as_string(), "result " + sent.back());
        }
    }
    EXPECT_THAT(sent, ElementsAreArray(turn)) << "in the order of the calls";
    EXPECT_EQ(opened.calls_of("s1"), 1U);
    EXPECT_EQ(opened.calls_of("s2"), 1U);
}

TEST_F(MixedTurn, EveryOrderGivesTheSameConversation) {
    const std::vector<names> turns = {
        {"s1", "e1", "s2", "e2"}, {"e1", "s1", "e2", "s2"}, {"s1", "s2", "e1", "e2"},
        {"e1", "e2", "s1", "s2"}, {"s1", "e1", "e2", "s2"}, {"e1", "s1", "s2", "e2"},
    };
    const std::vector<names> endings = {{"s1", "s2"}, {"s2", "s1"}};
    const std::vector<std::vector<names>> ways = {
        {{"e1", "e2"}}, {{"e2", "e1"}}, {{"e1"}, {"e2"}}, {{"e2"}, {"e1"}}
    };
    for (const names& turn : turns) {
        for (const names& ending : endings) {
            for (const std::vector<names>& answered : ways) {
                SCOPED_TRACE(
                    ::testing::PrintToString(turn) + ", ended " + ::testing::PrintToString(ending) +
                    ", answered " + ::testing::PrintToString(answered)
                );
                play(turn, ending, answered);
            }
        }
    }
}

// The client answers while a tool of the server still runs: it has read the call, but not the end
// of the run.
TEST_F(MixedTurn, AnAnswerIsTakenOnceTheRunHasHandedTheCallsOver) {
    next_thread({"s1", "e1", "s2", "e2"});
    raw_client client(port());
    client.send(post("/agui", first_request()));
    opened.open("s1");
    std::string stream = client.read_until("\"result s1\"");

    const raw_reply early = ask(post("/agui", answers("r2", {"e1", "e2"})));
    EXPECT_EQ(early.status, 409) << "the run is active";
    opened.open("s2");
    stream += client.read_until(end_of_stream);
    EXPECT_THAT(pending_in(stream), ElementsAre("e1", "e2"));
    const raw_reply again = ask(post("/agui", answers("r2", {"e1", "e2"})));

    EXPECT_THAT(pending_in(again.body), IsEmpty());
    EXPECT_THAT(again.body, HasSubstr("Done"));
    EXPECT_EQ(opened.calls_of("s1"), 1U);
    EXPECT_EQ(opened.calls_of("s2"), 1U);
}

#ifdef AGUI_FAILPOINTS

// The request is planned twice, first for a thread on which the calls are not handed over yet.
TEST_F(MixedTurn, EarlyAnswersAndAMessageKeepTheToolsOfTheTurn) {
    next_thread({"s1", "e1"});
    raw_client client(port());
    client.send(post("/agui", first_request()));
    EXPECT_THAT(client.read_until("\"e1\""), HasSubstr("TOOL_CALL_START"));
    std::promise<void> waits;
    std::atomic<bool> told{false};
    std::atomic<int> conflicts{0};
    const failpoint_hook hook([&](std::string_view place) {
        conflicts += place == "begin.conflict" ? 1 : 0;
        if (place == "admission.waits" && !told.exchange(true)) {
            waits.set_value();
        }
    });
    raw_client early(port());
    early.send(post(
        "/agui", boost::json::serialize(boost::json::value{
                     {"threadId", thread},
                     {"runId", "r2"},
                     {"protocolVersion", "1.1"},
                     {"messages",
                      {{{"role", "tool"}, {"toolCallId", "e1"}, {"content", "result e1"}},
                       {{"id", "u2"}, {"role", "user"}, {"content", "And then?"}}}}
                 })
    ));
    ASSERT_EQ(waits.get_future().wait_for(patience), std::future_status::ready);

    opened.open("s1");

    EXPECT_THAT(early.read_until(end_of_stream), HasSubstr("Done"));
    EXPECT_GE(conflicts, 1);
    ASSERT_EQ(asked().size(), 2U);
    EXPECT_THAT(asked().back(), HasSubstr(R"("name":"e2")")) << "the tools of the turn";
}

#endif

} // namespace
} // namespace agui::test
