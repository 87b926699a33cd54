// Approvals over HTTP: in every view, across restarts and failures, and under one runId.
#include "session/base/failpoint.hpp"
#include "session/base/log.hpp"
#include "session/conversation/run_segment.hpp"
#include "tests/gateway/server_fixture.hpp"
#include "tests/support/patience.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace agui::test {
namespace {

namespace json = boost::json;

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Approvals : public server_test {
protected:
    Approvals() { use_sqlite(); }
    ~Approvals() override { server.reset(); }

    // Each server takes the options.
    void start() {
        options = {};
        options.log = &log;
        options.script_of = [this](const gateway::model_config&) {
            return [this](const runner::transport_request& request) {
                const bool is_first = request.body.find(R"("role":"tool")") == std::string::npos;
                ++asked;
                return std::optional(
                    is_first ? call_tool("order", R"({"item":1})") : say("Ordered")
                );
            };
        };
        options.tools.add(
            {"order", "Orders something", {}},
            [this](runner::tool_invocation call) -> boost::asio::awaitable<runner::tool_outcome> {
                ++executed;
                run_of_call = call.run_id;
                if (fails) {
                    throw std::runtime_error("no paper");
                }
                co_return runner::tool_outcome{runner::tool_outcome::kind::result, "done"};
            },
            {.approval = runner::approval_rule::always}
        );
        server_test::start();
    }

    void restart() {
        server.reset();
        start();
    }

    static std::string body(std::string_view run_id, std::string_view resume = {}) {
        std::string made = R"({"threadId":"t","runId":")" + std::string(run_id) +
                           R"(","protocolVersion":"1.1","messages":[)" +
                           R"({"id":"u1","role":"user","content":"Order"}])";
        return made + (resume.empty() ? "" : R"(,"resume":)" + std::string(resume)) + "}";
    }

    raw_reply run(std::string_view run_id, std::string_view resume = {}) {
        return ask(post("/agui", body(run_id, resume)));
    }

    json::array interrupts() {
        const auto pending = json::parse(ask(get("/agui/threads/t/pending")).body);
        return pending.at("interrupts").as_array();
    }

    // Asks for the approval of one call.
    void ask_person() {
        EXPECT_THAT(run("r1").body, HasSubstr(R"("outcome":{"type":"interrupt")"));
        const json::array open = interrupts();
        ASSERT_EQ(open.size(), 1U);
        id = open[0].at("id").as_string();
    }

    std::string resume(std::string_view payload = R"({"approved":true})") const {
        return R"([{"interruptId":")" + id + R"(","status":"resolved","payload":)" +
               std::string(payload) + "}]";
    }

    std::string history() {
        return ask(post(
                       "/agui/history",
                       R"({"threadId":"t","runId":"h","protocolVersion":"1.1","messages":[]})"
                   ))
            .body;
    }

    std::atomic<int> asked = 0;
    std::atomic<int> executed = 0;
    bool fails = false;
    std::string run_of_call;
    std::string id;
    memory_logger log;
};

TEST_F(Approvals, AreShownByEveryViewAcrossARestart) {
    start();
    ask_person();
    for (const bool again : {false, true}) {
        if (again) {
            restart();
        }
        const json::array open = interrupts();
        ASSERT_EQ(open.size(), 1U);
        EXPECT_EQ(open[0].at("toolCallId").as_string(), "c1");
        EXPECT_EQ(open[0].at("metadata").at("input"), json::value({{"item", 1}}));
        EXPECT_THAT(history(), HasSubstr(json::serialize(open)));
        EXPECT_THAT(ask(get("/agui/threads/t/pending")).body, HasSubstr(R"("toolCalls":[])"));
        const std::string messages = ask(get("/agui/threads/t/messages")).body;
        EXPECT_THAT(messages, Not(HasSubstr("missing")));
        EXPECT_THAT(
            messages,
            HasSubstr(
                R"("metadata":{"custom":{"agui":{"interrupts":)" + json::serialize(open) + "}}}"
            )
        );
    }

    EXPECT_THAT(run("r2", resume()).body, HasSubstr("Ordered"));
    EXPECT_EQ(executed, 1);
    EXPECT_TRUE(interrupts().empty());
    EXPECT_THAT(history(), Not(HasSubstr("interrupt")));
    EXPECT_THAT(ask(get("/agui/threads/t/messages")).body, Not(HasSubstr("interrupt")));
    restart();
    EXPECT_THAT(run("r2", resume()).body, HasSubstr("Ordered")); // The same run again.
    EXPECT_THAT(run("r3", resume()).body, HasSubstr(R"("outcome":{"type":"success"})"));
    EXPECT_THAT(run("r4", resume(R"({"approved":false})")).body, HasSubstr("resume_rejected"));
    EXPECT_EQ(executed, 1);
    EXPECT_EQ(asked, 2);
}

TEST_F(Approvals, OfAnotherThreadOrPrincipalAreUnknown) {
    start();
    ask_person();
    const std::string other =
        R"({"threadId":"t2","runId":"r","messages":[],"resume":)" + resume() + "}";

    EXPECT_THAT(ask(post("/agui", other)).body, Not(HasSubstr("done")));
    EXPECT_EQ(executed, 0);
    EXPECT_EQ(interrupts().size(), 1U);
}

TEST_F(Approvals, AreTakenByOneOfManyRequests) {
    start();
    ask_person();
    std::vector<std::thread> clients;
    std::atomic<int> accepted = 0;
    for (int i = 0; i < 8; ++i) {
        clients.emplace_back([this, i, &accepted] {
            const raw_reply reply = run("many " + std::to_string(i), resume());
            EXPECT_TRUE(reply.status == 200 || reply.status == 409) << reply.status;
            accepted += reply.status == 200 ? 1 : 0;
        });
    }
    for (std::thread& each : clients) {
        each.join();
    }

    EXPECT_EQ(executed, 1);
    EXPECT_GE(accepted, 1);
}

TEST_F(Approvals, ContinueTheRunUnderItsOwnId) {
    start();
    ask_person();
    const std::string first = run("r1").body; // The same bytes as before.
    const raw_reply second = run("r1", resume());

    EXPECT_THAT(second.body, StartsWith("id: 1000000001\ndata: {\"type\":\"RUN_STARTED\""));
    EXPECT_THAT(second.body, HasSubstr(R"("runId":"r1")"));
    EXPECT_THAT(second.body, Not(HasSubstr("\\u001f")));
    EXPECT_EQ(run_of_call, "r1");
    EXPECT_EQ(run("r1", resume()).body, second.body);
    EXPECT_EQ(run("r1").body, first);
    EXPECT_EQ(executed, 1);
    EXPECT_EQ(error_code(run("r1", resume(R"({"approved":false})"))), "run_id_reused");

    const auto events = [this](std::uint64_t after) {
        return ask(
            get("/agui/threads/t/runs/r1/events?protocolVersion=1.1&after=" + std::to_string(after))
        );
    };
    const auto last_of = [](const std::string& stream) {
        const std::size_t at = stream.rfind("id: ") + 4;
        return std::stoull(stream.substr(at, stream.find('\n', at) - at));
    };
    EXPECT_EQ(events(0).body, first);
    EXPECT_EQ(events(last_of(first)).body, second.body);
    EXPECT_EQ(events(1'000'000'000).body, second.body);
    EXPECT_EQ(events(last_of(second.body)).status, 204);
    const std::string chat = "/agui/threads/t/runs/r1/events?form=chat-stream&after=1000000000";
    EXPECT_THAT(ask(get(chat)).body, StartsWith("id: 10000000"));
    EXPECT_EQ(error_code(events(last_of(second.body) + 1)), "cursor_expired");
    EXPECT_EQ(error_code(events(5'000'000'000)), "cursor_expired");
    const std::string unknown = "/agui/threads/t/runs/none/events?after=5000000000";
    EXPECT_EQ(error_code(ask(get(unknown))), "not_found");
    for (const std::string path : {"/agui/threads/t/events", "/agui/threads/t", "/agui/threads"}) {
        EXPECT_THAT(ask(get(path)).body, Not(HasSubstr("\\u001f"))) << path;
    }
    restart();
    EXPECT_EQ(run("r1", resume()).body, second.body);
    EXPECT_EQ(executed, 1);
}

TEST_F(Approvals, LogAContinuedRunUnderItsOwnId) {
    fails = true;
    start();
    ask_person();
    EXPECT_THAT(run("r1", resume()).body, HasSubstr("RUN_FINISHED"));

    const std::vector<std::string> lines = log.lines();
    EXPECT_THAT(lines, Contains(AllOf(HasSubstr("tool failed"), HasSubstr("run=r1 "))));
    EXPECT_THAT(lines, Contains(AllOf(HasSubstr("run ended"), HasSubstr("run=r1 "))).Times(2));
    EXPECT_THAT(lines, Each(Not(HasSubstr("\\x1f"))));
}

TEST_F(Approvals, WarnOfAContinuedRunUnderItsOwnId) {
    start();
    ask_person();
    json::object continued = json::parse(body("r1", resume())).as_object();
    continued["unheardOf"] = 1;
    continued["tools"] = json::parse(R"([{"name":"order","description":"","parameters":{}}])");
    json::array& messages = continued["messages"].as_array();
    const std::string_view lost = R"({"id":"t0","role":"tool","toolCallId":"none","content":""})";
    messages.insert(messages.begin(), json::parse(lost));
    EXPECT_THAT(ask(post("/agui", json::serialize(continued))).body, HasSubstr("Ordered"));

    const std::vector<std::string> lines = log.lines();
    for (const std::string what :
         {"unknown member", "a server tool has its name", "a tool result without its call"}) {
        EXPECT_THAT(lines, Contains(AllOf(HasSubstr(what), HasSubstr("run=r1"))));
    }
    EXPECT_THAT(lines, Each(Not(HasSubstr("\\x1f"))));
}

TEST_F(Approvals, ContinueARunUnderItsIdOnlySoOften) {
    start();
    ask_person();
    const auto answer = [this](std::uint32_t number) {
        return run(
            "r1", R"([{"interruptId":"none","status":"resolved","payload":)" +
                      std::to_string(number) + "}]"
        );
    };
    for (std::uint32_t segment = 2; segment <= session::segments_max; ++segment) {
        ASSERT_EQ(answer(segment).status, 200);
    }

    const raw_reply refused = answer(0);

    EXPECT_EQ(refused.status, 409);
    EXPECT_EQ(error_code(refused), "run_id_reused");
    EXPECT_THAT(run("r2", resume()).body, HasSubstr("Ordered")) << "under another id";
}

#ifdef AGUI_FAILPOINTS

class ApprovalsUnderOneId : public Approvals {
protected:
    ApprovalsUnderOneId() { settings.server.threads = 2; } // The run is held on one of them.

    // Continues the run under its own id. At one place it sends a request, and goes on when that
    // has come to another place.
    std::string run_with(
        std::string_view where, raw_client& client, const std::string& request,
        std::string_view until
    ) {
        std::atomic<bool> sent = false;
        std::atomic<bool> reached = false;
        const failpoint_hook hook([&](std::string_view place) {
            if (place == until) {
                reached = true;
            } else if (place == where && !sent.exchange(true)) {
                client.send(request);
                for (const auto give_up = std::chrono::steady_clock::now() + patience;
                     !reached && std::chrono::steady_clock::now() < give_up;) {
                    std::this_thread::yield();
                }
            }
        });
        std::string stream = run("r1", resume()).body;
        EXPECT_TRUE(reached);
        return stream;
    }
};

class ApprovalsStopped : public ApprovalsUnderOneId,
                         public ::testing::WithParamInterface<std::string_view> {};

TEST_P(ApprovalsStopped, UnderTheSameId) {
    const std::string stop = post("/agui/cancel", R"({"threadId":"t","runId":"r1"})");
    start();
    ask_person();
    raw_client canceller(port());

    const std::string stopped = run_with(GetParam(), canceller, stop, "cancel.counted");

    EXPECT_EQ(canceller.read_reply().body, R"({"cancelled":true})");
    EXPECT_THAT(stopped, HasSubstr(R"("outcome":{"type":"cancelled"})"));
    EXPECT_EQ(executed, 0);
    EXPECT_THAT(ask(stop).body, HasSubstr("true"));
    EXPECT_TRUE(interrupts().empty());
    EXPECT_THAT(history(), HasSubstr("The call was cancelled before it was executed."));
}

// Before the request is known to continue the run, and while the run holds its thread.
INSTANTIATE_TEST_SUITE_P(
    Places, ApprovalsStopped, ::testing::Values("admission.turn_taken", "loop.approved"),
    [](const auto& tested) { return tested.index == 0 ? "admitted" : "running"; }
);

TEST_F(ApprovalsUnderOneId, TakeMessages) {
    const std::string message = post(
        "/agui/steer",
        R"({"threadId":"t","runId":"r1","message":{"id":"s","role":"user","content":"More"}})"
    );
    start();
    ask_person();
    raw_client sender(port());

    const std::string stream = run_with("loop.executing", sender, message, "steer.waits");

    const std::string answer = sender.read_reply().body;
    EXPECT_THAT(answer, StartsWith(R"({"taken":true,"runId":"r1","seq":1)"));
    const std::string number = std::to_string(json::parse(answer).at("seq").to_number<int>());
    EXPECT_THAT(stream, HasSubstr("id: " + number + "\ndata: {\"type\":\"MESSAGES_SNAPSHOT\""));
    EXPECT_EQ(ask(message).body, answer) << "after its end";
}

// What a crash at a place leaves behind.
struct lost_at {
    std::string_view place;
    int executed;  ///< How often the tool runs in all, after the same answer again.
    bool is_known; ///< The run's end can say that the tool was not started.
};

void PrintTo(const lost_at& value, std::ostream* out) { *out << value.place; }

class ApprovalsLost : public Approvals, public ::testing::WithParamInterface<lost_at> {};

TEST_P(ApprovalsLost, AreExecutedOnceAtMost) {
    start();
    ask_person();
    {
        bool is_lost = false;
        // From the place on, nothing of the run is stored any more, as if the process were killed.
        const failpoint_hook hook([&is_lost](std::string_view place) {
            is_lost = is_lost || place == GetParam().place;
            if (is_lost &&
                (place == GetParam().place || place == "run.finish" || place == "run.commit")) {
                throw std::runtime_error("killed");
            }
        });
        EXPECT_THAT(run("r2", resume()).body, HasSubstr("RUN_ERROR"));
        EXPECT_TRUE(is_lost);
    }
    restart();
    EXPECT_EQ(interrupts().size(), GetParam().is_known ? 1U : 0U);
    if (!GetParam().is_known) {
        EXPECT_THAT(history(), HasSubstr("whether it had any effect is unknown"));
    }

    EXPECT_THAT(run("r3", resume()).body, HasSubstr(R"("outcome":{"type":"success"})"));
    EXPECT_THAT(run("r4", resume()).body, HasSubstr(R"("outcome":{"type":"success"})"));
    EXPECT_EQ(executed, GetParam().executed);
}

INSTANTIATE_TEST_SUITE_P(
    Places, ApprovalsLost,
    ::testing::Values(
        lost_at{"loop.begun", 1, true}, lost_at{"loop.approved", 1, true},
        lost_at{"loop.executing", 0, false}, lost_at{"loop.tools_finished", 1, false}
    ),
    [](const auto& tested) {
        std::string name(tested.param.place.substr(5));
        std::erase(name, '_');
        return name;
    }
);

TEST_F(Approvals, AreOpenAgainAfterAFailureBeforeTheTool) {
    start();
    ask_person();
    {
        const failpoint_hook hook([](std::string_view place) {
            if (place == "loop.approved") {
                throw std::runtime_error("no memory");
            }
        });
        EXPECT_THAT(run("r2", resume()).body, HasSubstr(R"("code":"internal")"));
    }
    ASSERT_EQ(interrupts().size(), 1U);
    EXPECT_EQ(interrupts()[0].at("id").as_string(), id);

    EXPECT_THAT(run("r3", resume()).body, HasSubstr("Ordered"));
    EXPECT_EQ(executed, 1);
}

#endif

} // namespace
} // namespace agui::test
