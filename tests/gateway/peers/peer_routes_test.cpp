// The answers to other gateways, over real sockets.

#include "gateway/auth/caller.hpp"
#include "gateway/peers/entry_frames.hpp"
#include "gateway/peers/peer_request.hpp"
#include "tests/gateway/two_gateways_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace agui::test {
namespace {

using gateway::client_request;
using gateway::entries_end;
using gateway::peer_request;
using ::testing::HasSubstr;

class PeerRoutes : public TwoGatewaysOfOneProcess {
protected:
    void start() {
        start_both();
        third = common->open();
        address = *outcome_of(third->find_gateway(1)).value();
    }
    void TearDown() override { third.reset(); }

    [[nodiscard]] std::string headers() const {
        return "Authorization: Bearer " + address.secret +
               "\r\nAgui-Peer-To: " + std::to_string(address.number) + "\r\nAgui-Peer-From: 3\r\n";
    }
    [[nodiscard]] std::string ask_for(std::string_view path, const peer_request& what) const {
        return post(path, gateway::write_peer_request(what), headers());
    }
    [[nodiscard]] std::string log_of(std::string_view run_id, std::uint64_t after = 0) const {
        return ask_for(
            gateway::peer_log_path,
            {.key = {"", "t"}, .run_id = std::string(run_id), .after = after, .stream = 1}
        );
    }
    gateway::run_entries entries_in(std::string_view body, std::uint64_t after = 0) {
        gateway::run_entries all;
        EXPECT_TRUE(gateway::entry_frame_reader(after).add(body, all)) << body;
        return all;
    }
    static client_request request_for(std::string_view pattern, std::string body) {
        client_request what;
        what.method = "POST";
        what.pattern = pattern;
        what.body = std::move(body);
        what.received = std::chrono::steady_clock::now();
        return what;
    }
    [[nodiscard]] raw_reply send_passed(const client_request& what, const std::string& with) const {
        const std::string body = gateway::write_passed(what, std::chrono::steady_clock::now());
        return ask_at(a(), post(gateway::peer_pass_path, body, with));
    }
    [[nodiscard]] result<gateway::client_answer>
    pass(const client_request& what, const std::string& with) const {
        return gateway::read_answer(send_passed(what, with).body);
    }
    std::unique_ptr<raw_client> begin_run() {
        auto reader = open(a(), post("/agui", body_of("r")));
        EXPECT_TRUE(model.wait_for_calls(1));
        return reader;
    }
    std::size_t readers_at_a() {
        const auto runs = servers[0]->runs().list();
        return runs.empty() ? 0 : runs[0].readers;
    }

    std::shared_ptr<session::store> third; ///< The store, opened as by another process.
    session::peer_address address;         ///< The first gateway's address.
};

TEST_F(PeerRoutes, NeedTheSecretOfTheProcess) {
    start();
    const std::string wrong =
        "Authorization: Bearer " + std::string(64, '0') + "\r\nAgui-Peer-To: 1\r\n";

    EXPECT_EQ(ask_at(a(), get(gateway::peer_ping_path)).status, 401);
    EXPECT_EQ(ask_at(a(), get(gateway::peer_ping_path, wrong)).status, 401);
    EXPECT_EQ(ask_at(a(), get(gateway::peer_ping_path, headers())).status, 204);
    EXPECT_EQ(ask_at(b(), get(gateway::peer_ping_path, headers())).status, 401) << "it has its own";
    EXPECT_EQ(address.secret.size(), 64U);
    EXPECT_NE(outcome_of(third->find_gateway(2)).value()->secret, address.secret);
}

TEST_F(PeerRoutes, HandleAPassedRequestAsIfItHadArrivedHere) {
    start();
    const client_request what = request_for("/agui", body_of("r"));

    const auto answered = pass(what, headers());

    ASSERT_TRUE(answered);
    EXPECT_EQ(answered->status, 200);
    EXPECT_EQ(answered->run_id, "r");
    EXPECT_TRUE(model.wait_for_calls(1));
    const auto refused = pass(request_for("/agui", "{"), headers());
    EXPECT_EQ(refused->status, 400);
    EXPECT_THAT(refused->body, HasSubstr("invalid_json"));
    EXPECT_EQ(refused->run_id, "");
}

TEST_F(PeerRoutes, KnowTheSenderOfAPassedRequest) {
    start();
    gateway::caller who{.principal = "acme/ada", .tenant = "acme", .user = "ada"};
    who.scopes.add("run");
    client_request what = request_for("/agui", body_of("r"));
    what.principal = who.principal;
    what.sender = gateway::write_caller(who);

    EXPECT_EQ(pass(what, headers())->run_id, "r");
    EXPECT_TRUE(outcome_of(third->summary({"acme/ada", "t"})).value());
    EXPECT_FALSE(outcome_of(third->summary({"", "t"})).value());

    what.principal = "acme/eve";
    EXPECT_EQ(send_passed(what, headers()).status, 422);
    what.sender = "{";
    EXPECT_EQ(send_passed(what, headers()).status, 422);
    what.sender = "";
    EXPECT_EQ(send_passed(what, headers()).status, 422) << "only threads without a user have none";
    EXPECT_EQ(model.calls(), 1U);
}

TEST_F(PeerRoutes, KnowTheThreadThatIsSharedWithTheSender) {
    start();
    gateway::caller who{.principal = "eve", .user = "eve"};
    who.scopes.add("run");
    const std::string id = "shared-" + std::string(32, '1');
    client_request what = request_for("/agui", run_body(id, "r"));
    what.principal = "ada";
    what.thread_id = "t";
    what.sender = gateway::write_caller(who);
    what.shared_id = id;
    what.right = session::access_right::read;

    EXPECT_EQ(pass(what, headers())->status, 403);
    what.right = session::access_right::write;
    EXPECT_EQ(pass(what, headers())->run_id, "r");

    EXPECT_TRUE(outcome_of(third->summary({"ada", "t"})).value());
    EXPECT_FALSE(outcome_of(third->summary({"eve", id})).value());
    what.sender = "";
    EXPECT_EQ(send_passed(what, headers()).status, 422);
}

TEST_F(PeerRoutes, CheckTheScopesOfAPassedRequest) {
    start();
    gateway::caller who{.principal = "ada", .user = "ada"};
    who.scopes.add("read");
    client_request what = request_for("/agui/steer", "{");
    what.principal = who.principal;
    what.sender = gateway::write_caller(who);

    const auto refused = pass(what, headers());

    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->status, 403) << "before its body is read";
    EXPECT_THAT(refused->body, HasSubstr("\\\"run\\\""));
}

// Several gateways must not pass a request around among themselves.
TEST_F(PeerRoutes, PassNothingOnAgain) {
    start();
    const auto there = open(b(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));

    const auto answered = pass(request_for("/agui", body_of("s")), headers());

    EXPECT_TRUE(answered->is_elsewhere);
    EXPECT_EQ(model.calls(), 1U);
}

TEST_F(PeerRoutes, HandleOnlyRequestsThatMayBePassedOn) {
    start();

    EXPECT_EQ(send_passed(request_for("/agui/cancel", "{}"), headers()).status, 404);
    EXPECT_EQ(send_passed(request_for(gateway::peer_pass_path, "{}"), headers()).status, 404);
    EXPECT_EQ(send_passed(request_for("/agui", body_of("r")), {}).status, 401);
    const std::string other = "Authorization: Bearer " + address.secret + "\r\nAgui-Peer-To: 2\r\n";
    EXPECT_EQ(send_passed(request_for("/agui", body_of("r")), other).status, 421);
    EXPECT_EQ(model.calls(), 0U);
}

// A client that sends a gateway's headers is still a client.
TEST_F(PeerRoutes, OtherRoutesReadNoHeaderOfGateways) {
    settings.auth.emplace();
    settings.auth->kind = gateway::auth_config::mode::bearer;
    settings.auth->token.value = "token";
    start();

    EXPECT_EQ(ask_at(a(), post("/agui", body_of("r"), headers())).status, 401);
    EXPECT_EQ(model.calls(), 0U);
}

TEST_F(PeerRoutes, DoNotExistWithoutOtherProcesses) {
    server_test::start();

    EXPECT_EQ(ask(get(gateway::peer_ping_path)).status, 404);
}

// An old address may lead to another process: its owner has ended or lost its leases.
TEST_F(PeerRoutes, RefuseARequestThatIsMeantForAnotherNumber) {
    start();
    fake->end_leases(1);

    EXPECT_EQ(ask_at(a(), get(gateway::peer_ping_path, headers())).status, 421);
    EXPECT_EQ(ask_at(a(), log_of("r")).status, 421);
}

TEST_F(PeerRoutes, AreServedWhateverTheHostHeaderSays) {
    settings.server.allowed_hosts = {"app.example"};
    start();

    EXPECT_EQ(ask_at(a(), get("/version")).status, 421);
    EXPECT_EQ(ask_at(a(), get(gateway::peer_ping_path, headers())).status, 204);
}

TEST_F(PeerRoutes, ShowARunAsEntries) {
    start();
    const auto there = begin_run();
    raw_client here(a());
    here.send(log_of("r"));
    raw_reply reply = here.read_head();
    ASSERT_EQ(reply.status, 200);
    EXPECT_EQ(reply.header("content-type"), "application/x-agui-entries");
    ASSERT_TRUE(comes_true([&] { return readers_at_a() == 2; }));
    model.answer({.text = "Hello"});
    here.read_body(reply);
    ASSERT_TRUE(reply.complete);

    const gateway::run_entries all = entries_in(reply.body);

    EXPECT_EQ(all.end, entries_end::ended);
    const std::string stored = ask_at(b(), get(events_path("r"))).body;
    std::vector<std::string> events;
    for (const session::log_entry& each : all.entries) {
        events.push_back(each.json);
    }
    EXPECT_EQ(events, events_in(stored));
    EXPECT_EQ(ask_at(a(), log_of("r")).status, 204) << "it has ended: the store has it";
}

TEST_F(PeerRoutes, SayThatARunIsNotHere) {
    start();

    EXPECT_EQ(ask_at(a(), log_of("r")).status, 204);
    const auto there = begin_run();
    EXPECT_EQ(ask_at(a(), log_of("other")).status, 204);
    EXPECT_EQ(ask_at(a(), log_of("r", 1000)).status, 204) << "entries that it never had";
    const auto of_run = [&](std::int64_t number) {
        return ask_for(
            gateway::peer_log_path,
            {.key = {"", "t"}, .run_id = "r", .run_number = number, .stream = 1}
        );
    };
    EXPECT_EQ(ask_at(a(), of_run(1000)).status, 204) << "an earlier run of that id";
    EXPECT_EQ(ask_at(a(), post(gateway::peer_log_path, "[]", headers())).status, 422);
}

TEST_F(PeerRoutes, EndARunWhoseReadersHaveLeft) {
    settings.server.on_disconnect = {.what = gateway::disconnect_policy::kind::cancel, .grace = {}};
    start();
    const auto there = begin_run();
    raw_client here(a());
    here.send(log_of("r"));
    ASSERT_TRUE(comes_true([&] { return readers_at_a() == 2; }));
    there->close();
    ASSERT_TRUE(comes_true([&] { return readers_at_a() == 1; }));

    peer_request stream;
    stream.stream = 1;

    EXPECT_EQ(ask_at(a(), ask_for(gateway::peer_leave_path, stream)).status, 204);

    EXPECT_TRUE(comes_true([&] { return servers[0]->runs().list().empty(); }));
    EXPECT_THAT(ask_at(b(), get(events_path("r"))).body, HasSubstr("user_stop"));
}

TEST_F(PeerRoutes, DoNotTakeABrokenConnectionForLeaving) {
    settings.server.on_disconnect = {.what = gateway::disconnect_policy::kind::cancel, .grace = {}};
    start();
    const auto there = begin_run();
    raw_client here(a());
    here.send(log_of("r"));
    ASSERT_TRUE(comes_true([&] { return readers_at_a() == 2; }));
    there->close();
    ASSERT_TRUE(comes_true([&] { return readers_at_a() == 1; }));

    here.close();

    ASSERT_TRUE(comes_true([&] { return readers_at_a() == 0; }));
    const auto again = open(a(), get(events_path("r")));
    model.answer({.text = "Hello"});
    EXPECT_THAT(rest_of(*again), HasSubstr("RUN_FINISHED"));
}

TEST_F(PeerRoutes, StopTheRunsOfThisGateway) {
    start();
    const auto there = begin_run();
    const peer_request other{{"", "t"}, "other"};
    const peer_request run{{"", "t"}, "r"};

    EXPECT_EQ(
        ask_at(a(), ask_for(gateway::peer_stop_path, other)).body,
        R"({"any":false,"stopped":false})"
    );
    EXPECT_EQ(
        ask_at(a(), ask_for(gateway::peer_stop_path, run)).body, R"({"any":true,"stopped":true})"
    );

    EXPECT_THAT(rest_of(*there), HasSubstr("user_stop"));
}

// The stop was on its way for a long time.
TEST_F(PeerRoutes, AStopOfAThreadDoesNotAffectLaterRequests) {
    start();
    const auto there = begin_run();
    peer_request what;
    what.key = {"", "t"};
    what.age = std::chrono::minutes(1);

    EXPECT_EQ(
        ask_at(a(), ask_for(gateway::peer_stop_path, what)).body, R"({"any":false,"stopped":false})"
    );

    model.answer({.text = "Hello"});
    EXPECT_THAT(rest_of(*there), HasSubstr("RUN_FINISHED"));
}

TEST_F(PeerRoutes, LetARunGiveWayIfItHasNoReaders) {
    start();
    const auto there = begin_run();
    const peer_request if_left{
        .key = {"", "t"}, .run_id = "r", .wish = gateway::stop_wish::superseded_if_left
    };
    const std::string request = ask_for(gateway::peer_stop_path, if_left);
    EXPECT_EQ(ask_at(a(), request).body, R"({"any":true,"stopped":false})");

    there->close();
    ASSERT_TRUE(comes_true([&] { return readers_at_a() == 0; }));

    EXPECT_EQ(ask_at(a(), request).body, R"({"any":true,"stopped":true})");
    EXPECT_THAT(ask_at(b(), get(events_path("r"))).body, HasSubstr("superseded"));
}

TEST_F(PeerRoutes, LetARunGiveWay) {
    start();
    const auto there = begin_run();
    const peer_request what{
        .key = {"", "t"}, .run_id = "r", .wish = gateway::stop_wish::superseded
    };

    EXPECT_EQ(
        ask_at(a(), ask_for(gateway::peer_stop_path, what)).body, R"({"any":true,"stopped":true})"
    );

    EXPECT_THAT(rest_of(*there), HasSubstr("superseded"));
}

TEST_F(PeerRoutes, AreServedWhileAllConnectionsAreTaken) {
    settings.server.max_connections = 1;
    start();
    const auto there = begin_run();
    EXPECT_EQ(ask_at(a(), get("/version")).status, 503);

    raw_client here(a());
    here.send(log_of("r"));
    EXPECT_THAT(here.read_until("RUN_STARTED"), HasSubstr("200 OK"));
    for (int i = 0; i < 40; ++i) { // More connections than the reserve has places.
        EXPECT_EQ(ask_at(a(), get("/healthz")).status, 200);
    }
    model.answer({.text = "Hello"});
    EXPECT_THAT(here.read_until("ended\n"), HasSubstr("RUN_FINISHED"));
}

} // namespace
} // namespace agui::test
