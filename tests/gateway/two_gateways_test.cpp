// Two gateways on one store: a client may come to either with each request.

#include "session/base/failpoint.hpp"
#include "tests/gateway/queue_fixture.hpp"
#include "tests/gateway/shared_store.hpp"
#include "tests/session/postgres/postgres_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace agui::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view stop_run = R"({"threadId":"t","runId":"r"})";

// The JSON of the events of a stream, in order.
std::vector<std::string> events_in(std::string_view stream) {
    std::vector<std::string> events;
    constexpr std::string_view mark = "data: ";
    for (std::size_t at = stream.find(mark); at != std::string_view::npos;
         at = stream.find(mark, at)) {
        at += mark.size();
        events.emplace_back(stream.substr(at, stream.find('\n', at) - at));
    }
    return events;
}

// The stores that two servers use at once.
class common_store {
public:
    virtual ~common_store() = default;
    virtual std::shared_ptr<session::store> open() = 0;
    /// What was opened first has lost its leases, and does not know it yet.
    virtual void end_first_leases() = 0;
};

class doors final : public common_store {
public:
    explicit doors(const temporary_folder& folder)
        : store_(session::make_sqlite_store({.path = folder.file("shared.db")})) {}
    std::shared_ptr<session::store> open() override { return store_.open_door(); }
    void end_first_leases() override { store_.end_leases(1); }
    [[nodiscard]] shared_store& store() noexcept { return store_; }

private:
    shared_store store_;
};

class postgres final : public common_store {
public:
    std::shared_ptr<session::store> open() override {
        return session::make_postgres_store(database_.settings());
    }
    // As another process does once they have expired.
    void end_first_leases() override {
        sql_session sql(database_.url());
        sql("UPDATE agui.gateways SET expires = clock_timestamp() - interval '1 s' "
            "WHERE id = (SELECT min(id) FROM agui.gateways)");
        sql("SELECT agui.fence(min(id)) FROM agui.gateways");
    }

private:
    postgres_database database_;
};

enum class common_store_kind { doors, postgres };

// With the fake store. Its base class is for all.
class TwoGatewaysOfOneProcess : public server_test {
protected:
    TwoGatewaysOfOneProcess() {
        settings.server.threads = 2;
        settings.models.front().provider = gateway::model_config::provider_kind::custom;
        settings.session.busy_wait = std::chrono::milliseconds(0);
        options.provider_of = [this](const gateway::model_config&) {
            return model.make_provider();
        };
    }
    ~TwoGatewaysOfOneProcess() override { servers = {}; }

    virtual std::unique_ptr<common_store> make_common() {
        auto made = std::make_unique<doors>(folder());
        fake = &made->store();
        return made;
    }

    void start_both() {
        common = make_common();
        for (std::size_t i = 0; i < servers.size(); ++i) {
            gateway::server_options own = options;
            own.store = common->open();
            servers[i] = std::make_unique<gateway::server>(settings, std::move(own));
            ports[i] = servers[i]->start();
        }
    }

    [[nodiscard]] std::uint16_t a() const { return ports[0]; }
    [[nodiscard]] std::uint16_t b() const { return ports[1]; }

    static raw_reply ask_at(std::uint16_t port, std::string_view bytes) {
        raw_client client(port);
        client.send(bytes);
        return client.read_reply();
    }

    /// Sends, and reads until the answer holds `text`.
    static std::unique_ptr<raw_client>
    open(std::uint16_t port, std::string_view request, std::string_view text = "RUN_STARTED") {
        auto client = std::make_unique<raw_client>(port);
        client->send(request);
        const std::string head = client->read_until(text);
        EXPECT_THAT(head, HasSubstr(text));
        return client;
    }
    static std::string rest_of(raw_client& client) { return client.read_until("\r\n0\r\n\r\n"); }

    static std::string events_path(std::string_view run_id, std::string_view query = {}) {
        return "/agui/threads/t/runs/" + std::string(run_id) + "/events" + std::string(query);
    }

    /// Waits for what comes by itself, ten seconds at most.
    template <class Condition>
    static bool comes_true(Condition condition) {
        const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (!condition()) {
            if (std::chrono::steady_clock::now() > give_up) {
                return false;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return true;
    }

    /// The run that holds thread `t`, as that gateway says. Empty: none.
    std::string active_run_at(std::uint16_t port) {
        const std::string body = ask_at(port, get("/agui/threads/t")).body;
        const std::size_t at = body.find(R"("activeRunId":")");
        return at == std::string::npos ? std::string()
                                       : body.substr(at + 15, body.find('"', at + 15) - at - 15);
    }

    held_model model;
    std::unique_ptr<common_store> common;
    shared_store* fake = nullptr;
    std::array<std::unique_ptr<gateway::server>, 2> servers;
    std::array<std::uint16_t, 2> ports{};
};

class TwoGateways : public TwoGatewaysOfOneProcess,
                    public ::testing::WithParamInterface<common_store_kind> {
protected:
    void SetUp() override {
        if (GetParam() == common_store_kind::postgres) {
            AGUI_NEEDS_POSTGRES();
        }
    }
    std::unique_ptr<common_store> make_common() override {
        if (GetParam() == common_store_kind::postgres) {
            return std::make_unique<postgres>();
        }
        return TwoGatewaysOfOneProcess::make_common();
    }
};

INSTANTIATE_TEST_SUITE_P(
    Stores, TwoGateways, ::testing::Values(common_store_kind::doors, common_store_kind::postgres),
    [](const auto& kind) { return kind.param == common_store_kind::doors ? "Fake" : "Postgres"; }
);

TEST_P(TwoGateways, ARunIsReadThroughTheOtherOneWhileItGoesOn) {
    start_both();
    raw_client there(a());
    there.send(post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto here = open(b(), get(events_path("r")));

    model.answer({.text = "Hello"});
    const std::string rest = rest_of(*here);

    EXPECT_THAT(rest, HasSubstr("RUN_FINISHED"));
    const std::string whole = there.read_reply().body;
    EXPECT_THAT(whole, HasSubstr("Hello"));
    EXPECT_EQ(ask_at(b(), get(events_path("r"))).body, whole);
    EXPECT_EQ(
        ask_at(b(), get(events_path("r", "?after=1"))).body, whole.substr(whole.find("id: 2"))
    );
    std::vector<std::string> expected = events_in(whole);
    expected.erase(expected.begin()); // RUN_STARTED, which open() has read.
    EXPECT_EQ(events_in(rest), expected);
}

TEST_P(TwoGateways, ARunThatEndsWhileItIsBeingFoundIsReadToItsEnd) {
    start_both();
    for (int i = 0; i < 20; ++i) {
        const std::string run_id = "r" + std::to_string(i);
        raw_client there(a());
        there.send(post("/agui", body_of(run_id)));
        ASSERT_TRUE(model.wait_for_calls(static_cast<std::size_t>(i) + 1));
        auto reply =
            std::async(std::launch::async, [&] { return ask_at(b(), get(events_path(run_id))); });
        model.answer({.text = "Hello"});
        const std::string whole = there.read_reply().body;
        EXPECT_EQ(reply.get().body, whole);
    }
}

// Where the run was, its next request must not find it still there.
TEST_P(TwoGateways, TheThreadIsFreeForWhoeverHasSeenTheEndAtTheOtherOne) {
    start_both();
    for (int i = 0; i < 30; ++i) {
        const std::string run_id = "r" + std::to_string(i);
        raw_client there(a());
        there.send(post("/agui", body_of(run_id)));
        EXPECT_THAT(there.read_until("RUN_STARTED"), HasSubstr("200 OK")) << run_id;
        ASSERT_TRUE(model.wait_for_calls(static_cast<std::size_t>(i) + 1));
        const auto here = open(b(), get(events_path(run_id)));
        model.answer({.text = "Hello"});
        EXPECT_THAT(here->read_until("RUN_FINISHED"), HasSubstr("RUN_FINISHED"));
    }
}

TEST_P(TwoGateways, ARunIsStoppedThroughTheOtherOne) {
    start_both();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));

    EXPECT_EQ(ask_at(b(), post("/agui/cancel", stop_run)).body, R"({"cancelled":true})");

    EXPECT_THAT(rest_of(*there), HasSubstr("user_stop"));
}

TEST_P(TwoGateways, AStopThatNamesNoRunStopsTheOneElsewhere) {
    start_both();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));

    EXPECT_EQ(
        ask_at(b(), post("/agui/cancel", R"({"threadId":"t"})")).body, R"({"cancelled":true})"
    );

    EXPECT_THAT(rest_of(*there), HasSubstr("user_stop"));
}

TEST_P(TwoGateways, AStopOfAnotherRunStopsNothingElsewhere) {
    start_both();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));

    EXPECT_EQ(
        ask_at(b(), post("/agui/cancel", R"({"threadId":"t","runId":"other"})")).body,
        R"({"cancelled":false})"
    );

    model.answer({.text = "Hello"});
    EXPECT_THAT(rest_of(*there), HasSubstr("RUN_FINISHED"));
}

// The stop overtakes the request, and reaches the other gateway.
TEST_P(TwoGateways, AStopAppliesToARequestThatComesToTheOtherOneLater) {
    start_both();
    ask_at(b(), post("/agui/cancel", stop_run));

    const raw_reply reply = ask_at(a(), post("/agui", body_of("r")));

    EXPECT_THAT(reply.body, HasSubstr("user_stop"));
    EXPECT_EQ(model.calls(), 0U);
}

TEST_P(TwoGateways, ARequestThatIsRepeatedAtTheOtherOneReadsTheSameRun) {
    start_both();
    raw_client there(a());
    there.send(post("/agui", body_of("r"), "Idempotency-Key: k\r\n"));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto by_id = open(b(), post("/agui", body_of("r"), "Idempotency-Key: k\r\n"));
    const auto by_key = open(b(), post("/agui", body_of("r"), "Idempotency-Key: k\r\n"));

    EXPECT_EQ(ask_at(b(), post("/agui", body_of("r", "other"))).status, 409);
    model.answer({.text = "Hello"});

    const std::string whole = there.read_reply().body;
    EXPECT_THAT(rest_of(*by_id), HasSubstr("RUN_FINISHED"));
    EXPECT_THAT(rest_of(*by_key), HasSubstr("RUN_FINISHED"));
    EXPECT_EQ(ask_at(b(), post("/agui", body_of("r"), "Idempotency-Key: k\r\n")).body, whole);
    EXPECT_EQ(model.calls(), 1U);
}

TEST_P(TwoGateways, ABusyThreadIsBusyAtBoth) {
    settings.session.supersede_detached = false;
    start_both();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));

    const raw_reply refused = ask_at(b(), post("/agui", body_of("s")));

    EXPECT_EQ(refused.status, 409);
    EXPECT_THAT(refused.body, HasSubstr(R"("activeRunId":"r")"));
    EXPECT_EQ(active_run_at(b()), "r");
    EXPECT_EQ(
        ask_at(b(), "DELETE /agui/threads/t HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 409
    );
    model.answer({.text = "Hello"});
    EXPECT_THAT(rest_of(*there), HasSubstr("RUN_FINISHED"));
}

TEST_P(TwoGateways, ANewMessageSupersedesARunElsewhere) {
    settings.session.on_busy = gateway::busy_policy::supersede;
    start_both();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));

    const auto here = open(b(), post("/agui", body_of("s")));
    EXPECT_THAT(rest_of(*there), HasSubstr("superseded"));
    ASSERT_TRUE(model.wait_for_calls(2));
    model.answer({.text = "Hello"});

    EXPECT_THAT(rest_of(*here), HasSubstr("RUN_FINISHED"));
}

TEST_P(TwoGateways, ANewMessageSupersedesOnlyARunElsewhereThatWasLeft) {
    settings.session.busy_wait = std::chrono::seconds(10);
    start_both();
    auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    raw_client here(b());
    here.send(post("/agui", body_of("s")));
    // While somebody reads it, it is not superseded.
    EXPECT_EQ(
        ask_at(
            b(), post(
                     "/agui", R"({"threadId":"t","runId":"a","messages":[{"id":"x",)"
                              R"("role":"tool","toolCallId":"c","content":""}]})"
                 )
        )
            .status,
        409
    );

    there->close();
    EXPECT_THAT(here.read_until("RUN_STARTED"), HasSubstr("RUN_STARTED"));
    ASSERT_TRUE(model.wait_for_calls(2));
    model.answer({.text = "Hello"});

    EXPECT_THAT(rest_of(here), HasSubstr("RUN_FINISHED"));
    EXPECT_THAT(ask_at(a(), get(events_path("r"))).body, HasSubstr("superseded"));
}

TEST_P(TwoGateways, AReaderElsewhereKeepsARunGoingUntilItLeaves) {
    settings.server.on_disconnect = {.what = gateway::disconnect_policy::kind::cancel, .grace = {}};
    start_both();
    auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    auto here = open(b(), get(events_path("r")));
    ASSERT_TRUE(comes_true([&] { return servers[0]->runs().list().at(0).readers == 2; }));

    there->close();
    ASSERT_TRUE(comes_true([&] { return servers[0]->runs().list().at(0).readers == 1; }));
    EXPECT_EQ(active_run_at(b()), "r");

    here->close();
    EXPECT_TRUE(comes_true([&] { return servers[0]->runs().list().empty(); }));
    EXPECT_THAT(ask_at(b(), get(events_path("r"))).body, HasSubstr("user_stop"));
}

TEST_P(TwoGateways, HistoryIsFollowedByARunElsewhere) {
    start_both();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    raw_client here(b());
    here.send(post(
        "/agui/history", R"({"threadId":"t","runId":"h","messages":[],"tools":[],"context":[],)"
                         R"("state":null,"forwardedProps":{"follow":true}})"
    ));
    const std::string recorded = here.read_until("RUN_FINISHED");
    EXPECT_THAT(recorded, HasSubstr(R"("id":"r-u")"));
    EXPECT_THAT(here.read_until(R"("runId":"r")"), HasSubstr("RUN_STARTED"));

    model.answer({.text = "Hello"});

    EXPECT_THAT(rest_of(here), HasSubstr("Hello"));
    EXPECT_THAT(rest_of(*there), HasSubstr("RUN_FINISHED"));
}

TEST_P(TwoGateways, AHandOffIsAnsweredAtTheOtherOne) {
    start_both();
    model.answer({.text = {}, .call_id = "c1"});
    EXPECT_THAT(ask_at(a(), post("/agui", body_of("r"))).body, HasSubstr("TOOL_CALL_END"));
    model.answer({.text = "Painted"});

    const raw_reply reply = ask_at(b(), post("/agui", answer_body("s", "c1")));

    EXPECT_THAT(reply.body, HasSubstr("Painted"));
}

TEST_P(TwoGateways, AMessageForAThreadThatIsBusyElsewhereWaitsForItsTurn) {
    settings.session.on_busy = gateway::busy_policy::enqueue;
    start_both();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto here = open(b(), post("/agui", body_of("s")));
    EXPECT_EQ(model.calls(), 1U);

    model.answer({.text = "One"});
    EXPECT_THAT(rest_of(*there), HasSubstr("RUN_FINISHED"));
    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(model.request(1), ElementsAre("user: r", "assistant: One", "user: s"));
    model.answer({.text = "Two"});

    EXPECT_THAT(rest_of(*here), HasSubstr("Two"));
}

TEST_P(TwoGateways, MessagesThatWaitAtBothAreAnsweredTogether) {
    settings.session.on_busy = gateway::busy_policy::enqueue;
    start_both();
    const auto first = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto at_a = open(a(), post("/agui", body_of("s")));
    const auto at_b = open(b(), post("/agui", body_of("u")));

    model.answer({.text = "One"});
    EXPECT_THAT(rest_of(*first), HasSubstr("RUN_FINISHED"));
    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(model.request(1), ElementsAre("user: r", "assistant: One", "user: s", "user: u"));
    model.answer({.text = "Together"});

    EXPECT_THAT(rest_of(*at_a), HasSubstr("Together"));
    EXPECT_THAT(rest_of(*at_b), HasSubstr("Together"));
    EXPECT_EQ(model.calls(), 2U) << "one model loop a thread";
}

// The client lost its connection while it waited, and tries again at the other gateway.
TEST_P(TwoGateways, ARequestThatWaitsAtBothIsOneRun) {
    settings.session.on_busy = gateway::busy_policy::enqueue;
    start_both();
    const auto first = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto at_a = open(a(), post("/agui", body_of("s")));
    const auto at_b = open(b(), post("/agui", body_of("s")));

    model.answer({.text = "One"});
    EXPECT_THAT(rest_of(*first), HasSubstr("RUN_FINISHED"));
    ASSERT_TRUE(model.wait_for_calls(2));
    model.answer({.text = "Two"});

    const std::string shown_at_a = rest_of(*at_a);
    EXPECT_THAT(shown_at_a, HasSubstr("Two"));
    EXPECT_EQ(events_in(rest_of(*at_b)), events_in(shown_at_a));
    EXPECT_EQ(model.calls(), 2U);
}

TEST_P(TwoGateways, ALostRunIsEndedByTheOther) {
    start_both();
    raw_client there(a());
    there.send(post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto here = open(b(), get(events_path("r")));

    common->end_first_leases();

    const std::string rest = rest_of(*here);
    EXPECT_THAT(rest, HasSubstr("RUN_ERROR"));
    model.answer({.text = "too late"});
    const std::string lost = there.read_reply().body;
    EXPECT_THAT(lost, Not(HasSubstr("too late")));
    EXPECT_EQ(lost, ask_at(b(), get(events_path("r"))).body) << "it read on what the other has";
    EXPECT_TRUE(comes_true([&] { return servers[0]->runs().list().empty(); }));
    const std::string stored = ask_at(a(), get(events_path("r"))).body;
    EXPECT_THAT(stored, HasSubstr("RUN_ERROR"));
    EXPECT_THAT(stored, Not(HasSubstr("too late")));
}

TEST_P(TwoGateways, ALostRunIsEndedBeforeTheThreadsNextRun) {
    start_both();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    common->end_first_leases();

    model.forget_answers();
    raw_client here(b());
    here.send(post("/agui", body_of("s")));
    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(ask_at(b(), get(events_path("r"))).body, HasSubstr("RUN_ERROR"));
    // What the former holder's model says reaches nobody.
    model.answer({.text = "first"});
    model.answer({.text = "second"});

    const std::string answered = here.read_reply().body;
    EXPECT_THAT(answered, HasSubstr("RUN_FINISHED"));
    EXPECT_THAT(ask_at(a(), get(events_path("r"))).body, Not(HasSubstr("first")));
}

TEST_F(TwoGatewaysOfOneProcess, AreNotReadyWhileTheStoreCannotBeUsed) {
    start_both();
    EXPECT_EQ(ask_at(a(), get("/readyz")).status, 200);

    fake->set_unavailable(1, "the server \"db\" does not answer");
    const raw_reply refused = ask_at(a(), get("/readyz"));
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(
        refused.body,
        R"({"status":"store_unavailable","reason":"the server \"db\" does not answer"})"
    );
    EXPECT_EQ(ask_at(b(), get("/readyz")).status, 200);

    fake->set_unavailable(1, {});
    EXPECT_EQ(ask_at(a(), get("/readyz")).status, 200);
}

// As a process does that was stopped for longer than its leases, before anything has told it.
TEST_F(TwoGatewaysOfOneProcess, OfARunWhoseLeaseIsOverOnlyItsEndAtTheOtherIsShown) {
    start_both();
    raw_client there(a());
    there.send(post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));

    common->end_first_leases();
    model.answer({.text = "Hello", .call_id = "c1"});
    const std::string shown = there.read_reply().body;

    // The other one ends it, and what it had said by then is all that is there.
    EXPECT_EQ(model.calls(), 1U);
    const std::string stored = ask_at(b(), get(events_path("r"))).body;
    EXPECT_THAT(stored, HasSubstr("RUN_ERROR"));
    EXPECT_THAT(stored, Not(HasSubstr("Hello")));
    EXPECT_EQ(shown, stored);
}

TEST_F(TwoGatewaysOfOneProcess, AReaderElsewhereGetsAnEndEvenIfTheLogIsGone) {
    start_both();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    raw_client here(b());
    here.send(get(events_path("r")));
    ASSERT_THAT(here.read_until("RUN_STARTED"), HasSubstr("RUN_STARTED"));

    fake->lose_logs(2);
    model.answer({.text = "Hello"});

    EXPECT_THAT(rest_of(*there), HasSubstr("RUN_FINISHED"));
    const std::string rest = rest_of(here);
    EXPECT_THAT(rest, HasSubstr("RUN_ERROR"));
    EXPECT_THAT(rest, HasSubstr(R"("code":"internal")"));
}

// The client has a stream without an end, but with heartbeats, until the store answers again.
TEST_F(TwoGatewaysOfOneProcess, TheEndOfALostRunIsShownOnceTheStoreCanBeRead) {
    start_both();
    raw_client there(a());
    there.send(post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    fake->set_unavailable(1, "the server does not answer");
    common->end_first_leases();
    model.answer({.text = "Hello"});
    const std::string stored = ask_at(b(), get(events_path("r"))).body;
    ASSERT_TRUE(comes_true([&] { return fake->refused_reads(1) > 1; }));

    fake->set_unavailable(1, {});

    EXPECT_EQ(there.read_reply().body, stored);
    EXPECT_THAT(stored, HasSubstr("RUN_ERROR"));
}

#ifdef AGUI_FAILPOINTS

// Holds whatever comes to a place first, until it is let go.
class held_place {
public:
    explicit held_place(std::string_view place)
        : hook_([this, place](std::string_view reached) {
              std::unique_lock lock(mutex_);
              if (reached != place || std::exchange(came_, true)) {
                  return;
              }
              changed_.notify_all();
              changed_.wait(lock, [this] { return let_go_; });
          }) {}
    ~held_place() { let_go(); }

    bool wait_until_it_comes() {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::seconds(10), [this] { return came_; });
    }
    void let_go() {
        const std::lock_guard lock(mutex_);
        let_go_ = true;
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool came_ = false;
    bool let_go_ = false;
    failpoint_hook hook_; ///< Last: it uses the others.
};

// Neither finds the other's run when it looks; the store decides.
TEST_P(TwoGateways, OfTheSameRequestAtBothOneBecomesTheRun) {
    start_both();
    held_place at_b("admission.looked_up");
    raw_client here(b());
    here.send(post("/agui", body_of("r")));
    ASSERT_TRUE(at_b.wait_until_it_comes());
    raw_client there(a());
    there.send(post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));

    at_b.let_go();
    EXPECT_THAT(here.read_until("RUN_STARTED"), HasSubstr("200 OK"));
    model.answer({.text = "Hello"});

    const std::string whole = there.read_reply().body;
    EXPECT_THAT(rest_of(here), HasSubstr("RUN_FINISHED"));
    EXPECT_THAT(whole, HasSubstr("Hello"));
    EXPECT_EQ(model.calls(), 1U);
}

TEST_P(TwoGateways, TheSameRequestIsFoundAlsoOnceItsRunHasEnded) {
    start_both();
    held_place at_b("admission.looked_up");
    raw_client here(b());
    here.send(post("/agui", body_of("r")));
    ASSERT_TRUE(at_b.wait_until_it_comes());
    model.answer({.text = "Hello"});
    const std::string whole = ask_at(a(), post("/agui", body_of("r"))).body;

    at_b.let_go();

    EXPECT_EQ(here.read_reply().body, whole);
    EXPECT_EQ(model.calls(), 1U);
}

TEST_P(TwoGateways, AnotherRequestWithThatRunIdIsRefused) {
    start_both();
    held_place at_b("admission.looked_up");
    raw_client here(b());
    here.send(post("/agui", body_of("r", "something else")));
    ASSERT_TRUE(at_b.wait_until_it_comes());
    model.answer({.text = "Hello"});
    ask_at(a(), post("/agui", body_of("r")));

    at_b.let_go();

    EXPECT_THAT(here.read_reply().body, HasSubstr("run_id_reused"));
    EXPECT_EQ(model.calls(), 1U);
}

#endif

} // namespace
} // namespace agui::test
