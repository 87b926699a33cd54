// The audit and the access log of a server: who did what, and nothing of what was said.

#include "gateway/audit/auth_failures.hpp"
#include "tests/gateway/server_fixture.hpp"
#include "tests/gateway/two_gateways_fixture.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace agui::test {
namespace {

namespace json = boost::json;

using gateway::auth_config;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

const std::string from_ada = "Authorization: Bearer the-token-of-ada\r\n";
const std::string from_bob = "Authorization: Bearer the-token-of-bob\r\n";
const std::string behind_proxy = "X-Forwarded-For: 2001:db8::7\r\n";

class Audit : public server_test {
protected:
    Audit() {
        settings.auth.emplace();
        settings.auth->kind = auth_config::mode::bearer;
        settings.auth->tokens = {
            token_of("ada", {"run", "read", "delete", "approve"}), token_of("bob", {"read"})
        };
        settings.auth->tokens.front().tenant = "acme";
        settings.auth->session.enabled = true;
        settings.server.trusted_proxies = {"127.0.0.1"};
        settings.audit.file = folder().file("audit");
        options.log = &log;
    }
    ~Audit() override { server.reset(); }

    static gateway::token_config
    token_of(const std::string& user, std::vector<std::string> scopes) {
        gateway::token_config token;
        token.name = user;
        token.token.value = "the-token-of-" + user;
        token.scopes = std::move(scopes);
        return token;
    }

    std::string text(std::string_view file = "audit") const {
        std::ifstream stream(folder().file(file));
        return {std::istreambuf_iterator<char>(stream), {}};
    }
    /// Each entry as text without its time, which must be there.
    std::vector<std::string> entries() const {
        std::vector<std::string> all;
        std::ifstream stream(folder().file("audit"));
        for (std::string line; std::getline(stream, line);) {
            json::object entry = json::parse(line).as_object();
            EXPECT_THAT(
                std::string(entry.at("time").as_string()), AllOf(StartsWith("20"), SizeIs(24))
            );
            entry.stable_erase(entry.find("time"));
            all.push_back(json::serialize(entry));
        }
        return all;
    }
    raw_reply send(std::string_view method, std::string_view path, const std::string& headers) {
        return ask(
            std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" +
            headers + "Content-Length: 0\r\n\r\n"
        );
    }

    memory_logger log;
};

TEST_F(Audit, HasRunsWithTheirCallers) {
    start();

    EXPECT_EQ(
        ask(post("/agui", run_body("t", "r", "the secret words"), from_ada + behind_proxy)).status,
        200
    );
    server.reset();

    const std::string common =
        R"("tenant":"acme","user":"ada","address":"2001:db8::7","thread":"t","run":"r",)"
        R"("agent":"default",)";
    EXPECT_THAT(
        entries(),
        ElementsAre(
            R"({"event":"run_began",)" + common + R"("route":"POST /agui"})",
            R"({"event":"run_ended",)" + common + R"("outcome":"completed","route":"POST /agui"})"
        )
    );
    EXPECT_THAT(text(), AllOf(Not(HasSubstr("secret words")), Not(HasSubstr("the-token"))));
}

TEST_F(Audit, HasRefusedSenders) {
    start();

    EXPECT_EQ(ask(get("/agui/threads?x=the-query")).status, 401);
    EXPECT_EQ(ask(get("/agui/threads/t", "Authorization: Bearer wrong\r\n")).status, 401);
    EXPECT_EQ(ask(post("/agui", run_body("t", "r"), from_bob)).status, 403);
    EXPECT_EQ(
        send("POST", "/agui/session", from_bob + "Origin: https://evil.example\r\n").status, 403
    );

    EXPECT_THAT(
        entries(),
        ElementsAre(
            R"({"event":"auth_failed","address":"127.0.0.1","outcome":"no_credentials","route":"GET /agui/threads"})",
            R"({"event":"auth_failed","address":"127.0.0.1","outcome":"wrong_credentials","route":"GET /agui/threads/{threadId}"})",
            R"({"event":"auth_failed","user":"bob","address":"127.0.0.1","outcome":"missing_scope","route":"POST /agui"})",
            R"({"event":"auth_failed","address":"127.0.0.1","outcome":"origin","route":"POST /agui/session"})"
        )
    );
    EXPECT_THAT(text(), AllOf(Not(HasSubstr("wrong\"")), Not(HasSubstr("the-query"))));
}

TEST_F(Audit, HasACallersMissingScopeForAnAgent) {
    settings.auth->tokens.back().scopes = {"agents:other:run"};
    start();

    EXPECT_EQ(ask(post("/agui", run_body("t", "r"), from_bob)).status, 403);

    EXPECT_THAT(
        entries(),
        ElementsAre(
            R"({"event":"auth_failed","user":"bob","address":"127.0.0.1","thread":"t","run":"r","outcome":"missing_scope","route":"POST /agui"})"
        )
    );
}

TEST_F(Audit, HasABoundedNumberOfFailures) {
    start();
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(ask(get("/agui/threads")).status, 401);
    }
    EXPECT_THAT(entries(), SizeIs(gateway::auth_failures::lines_max));
}

TEST_F(Audit, HasStopsAndDeletions) {
    start();
    EXPECT_EQ(ask(post("/agui", run_body("t", "r"), from_ada)).status, 200);
    std::filesystem::resize_file(folder().file("audit"), 0);

    EXPECT_EQ(ask(post("/agui/cancel", R"({"threadId":"t","runId":"r"})", from_ada)).status, 200);
    EXPECT_EQ(send("DELETE", "/agui/threads/t", from_ada).status, 204);
    EXPECT_EQ(send("DELETE", "/agui/threads/t", from_ada).status, 404);

    const std::string common =
        R"("tenant":"acme","user":"ada","address":"127.0.0.1","thread":"t",)";
    EXPECT_THAT(
        entries(), ElementsAre(
                       R"({"event":"run_stopped",)" + common +
                           R"("run":"r","outcome":"not_stopped","route":"POST /agui/cancel"})",
                       R"({"event":"thread_deleted",)" + common +
                           R"("outcome":"ok","route":"DELETE /agui/threads/{threadId}"})",
                       R"({"event":"thread_deleted",)" + common +
                           R"("outcome":"404","route":"DELETE /agui/threads/{threadId}"})"
                   )
    );
}

TEST_F(Audit, HasTheSenderAndTheOwnerOfASharedThread) {
    settings.auth->tokens.back().scopes = {"run", "read"};
    start();
    EXPECT_EQ(ask(post("/agui", run_body("t", "r"), from_ada)).status, 200);
    std::filesystem::resize_file(folder().file("audit"), 0);

    std::string patch = post(
        "/agui/threads/t/access", R"({"access":[{"tenant":"","user":"bob","rights":"write"}]})",
        from_ada
    );
    const raw_reply opened = ask(patch.replace(0, 4, "PATCH"));
    ASSERT_EQ(opened.status, 200);
    const std::string id(json::parse(opened.body).at("sharedId").as_string());
    EXPECT_EQ(ask(post("/agui", run_body(id, "s"), from_bob)).status, 200);
    EXPECT_EQ(ask(post("/agui/cancel", R"({"threadId":")" + id + "\"}", from_bob)).status, 200);
    server.reset();

    const std::string by_bob =
        R"("user":"bob","address":"127.0.0.1","ownerTenant":"acme","ownerUser":"ada","thread":"t",)";
    const std::string run = by_bob + R"("run":"s","agent":"default",)";
    EXPECT_THAT(
        entries(),
        ElementsAre(
            R"({"event":"access_changed","tenant":"acme","user":"ada","address":"127.0.0.1",)"
            R"("thread":"t","outcome":"ok","route":"PATCH /agui/threads/{threadId}/access"})",
            R"({"event":"run_began",)" + run + R"("route":"POST /agui"})",
            R"({"event":"run_ended",)" + run + R"("outcome":"completed","route":"POST /agui"})",
            R"({"event":"run_stopped",)" + by_bob +
                R"("outcome":"not_stopped","route":"POST /agui/cancel"})"
        )
    );
}

TEST_F(Audit, HasSendersWhoLackARightToASharedThread) {
    settings.auth->tokens.back().scopes = {"run", "read"};
    start();
    EXPECT_EQ(ask(post("/agui", run_body("t", "r"), from_ada)).status, 200);
    std::string patch = post(
        "/agui/threads/t/access", R"({"access":[{"tenant":"","user":"bob","rights":"read"}]})",
        from_ada
    );
    const raw_reply opened = ask(patch.replace(0, 4, "PATCH"));
    ASSERT_EQ(opened.status, 200);
    const std::string id(json::parse(opened.body).at("sharedId").as_string());
    std::filesystem::resize_file(folder().file("audit"), 0);

    EXPECT_EQ(ask(post("/agui", run_body(id, "s"), from_bob)).status, 403);

    EXPECT_THAT(
        entries(), ElementsAre(R"({"event":"auth_failed","user":"bob","address":"127.0.0.1",)"
                               R"("outcome":"not_allowed","route":"POST /agui"})")
    );
}

TEST_F(Audit, HasRefusedChangesOfAccess) {
    settings.auth->tokens.back().scopes = {"run", "read"};
    start();
    std::string patch = post("/agui/threads/t/access", R"({"access":[]})", from_bob);
    EXPECT_EQ(ask(patch.replace(0, 4, "PATCH")).status, 404);
    EXPECT_THAT(
        entries(),
        ElementsAre(R"({"event":"access_changed","user":"bob","address":"127.0.0.1","thread":"t",)"
                    R"("outcome":"404","route":"PATCH /agui/threads/{threadId}/access"})")
    );
}

TEST_F(Audit, HasStopsByAnAdministrator) {
    settings.auth->tokens.back().scopes = {"admin"};
    answer = say_and_stall("working");
    start();
    raw_client ada(port());
    ada.send(post("/agui", run_body("t", "r"), from_ada));
    EXPECT_THAT(ada.read_until("working"), HasSubstr("working"));
    const auto runs = json::parse(ask(get("/agui/runs", from_bob)).body);
    const std::string handle(runs.at("runs").at(0).at("handle").as_string());

    EXPECT_EQ(send("DELETE", "/agui/runs/" + handle, from_bob).status, 200);

    EXPECT_THAT(
        entries(),
        Contains(
            R"({"event":"run_stopped","user":"bob","address":"127.0.0.1","ownerTenant":"acme",)"
            R"("ownerUser":"ada","thread":"t","run":"r","outcome":"stopped",)"
            R"("route":"DELETE /agui/runs/{handle}"})"
        )
    );
}

TEST_F(Audit, HasSessions) {
    start();
    const raw_reply begun = send("POST", "/agui/session", from_ada);
    ASSERT_EQ(begun.status, 200);
    const std::string set = begun.header("set-cookie");
    const std::string cookie = "Cookie: " + set.substr(0, set.find(';')) + "\r\n";

    EXPECT_EQ(send("DELETE", "/agui/session", cookie + "Origin: http://localhost\r\n").status, 204);
    EXPECT_EQ(send("DELETE", "/agui/session", "").status, 204);

    const std::string common = R"("tenant":"acme","user":"ada","address":"127.0.0.1",)";
    EXPECT_THAT(
        entries(), ElementsAre(
                       R"({"event":"session_began",)" + common +
                           R"("outcome":"ok","route":"POST /agui/session"})",
                       R"({"event":"session_ended",)" + common +
                           R"("outcome":"ok","route":"DELETE /agui/session"})"
                   )
    );
    EXPECT_THAT(text(), Not(HasSubstr(cookie.substr(25, 30))));
}

TEST_F(Audit, HasAnswersToApprovals) {
    options.script_of = [](const gateway::model_config&) {
        return [](const runner::transport_request& request) {
            const bool is_first = request.body.find(R"("role":"tool")") == std::string::npos;
            return std::optional(is_first ? call_tool("order") : say("Ordered"));
        };
    };
    options.tools.add(
        {"order", "Orders something", {}},
        [](runner::tool_invocation) -> boost::asio::awaitable<runner::tool_outcome> {
            co_return runner::tool_outcome{runner::tool_outcome::kind::result, "done"};
        },
        {.approval = runner::approval_rule::always}
    );
    start();
    const auto body = [](const std::string& run, const std::string& rest) {
        return R"({"threadId":"t","runId":")" + run +
               R"(","protocolVersion":"1.1","messages":[{"id":"u","role":"user","content":"x"}])" +
               rest + "}";
    };
    EXPECT_EQ(ask(post("/agui", body("r1", ""), from_ada)).status, 200);
    const auto pending = json::parse(ask(get("/agui/threads/t/pending", from_ada)).body);
    const std::string id(pending.at("interrupts").at(0).at("id").as_string());
    std::filesystem::resize_file(folder().file("audit"), 0);

    EXPECT_EQ(
        ask(post(
                "/agui",
                body(
                    "r2", R"(,"resume":[{"interruptId":")" + id +
                              R"(","status":"resolved","payload":{"approved":true}}])"
                ),
                from_ada
            ))
            .status,
        200
    );

    const auto all = entries();
    ASSERT_THAT(all, SizeIs(3));
    EXPECT_EQ(
        all[0],
        R"({"event":"approval","tenant":"acme","user":"ada","address":"127.0.0.1","thread":"t","run":"r2","agent":"default","outcome":"approved","route":"POST /agui"})"
    );
    EXPECT_THAT(all[1], HasSubstr("run_began"));
    EXPECT_THAT(text(), Not(HasSubstr("order")));
}

TEST_F(Audit, IsOpenedAgainAtAReload) {
    start();
    EXPECT_EQ(ask(get("/agui/threads")).status, 401);
    std::filesystem::rename(folder().file("audit"), folder().file("audit.1"));

    EXPECT_TRUE(server->reload(settings));
    EXPECT_EQ(ask(get("/agui/threads")).status, 401);

    EXPECT_THAT(entries(), SizeIs(1));
    EXPECT_THAT(text("audit.1"), HasSubstr("no_credentials"));
}

TEST_F(Audit, OfAFullDiskRefusesNobody) {
    settings.audit.file = "/dev/full";
    settings.access_log.file = "/dev/full";
    start();
    EXPECT_EQ(ask(post("/agui", run_body("t", "r"), from_ada)).status, 200);
    server.reset();
    EXPECT_THAT(log.lines(), ::testing::Contains(HasSubstr("file=audit.file")));
    EXPECT_THAT(log.lines(), ::testing::Contains(HasSubstr("file=access_log.file")));
}

TEST_F(Audit, ThatCannotBeOpenedStopsTheStart) {
    settings.audit.file = folder().file("missing/audit");
    EXPECT_THROW(start(), std::runtime_error);
}

TEST_F(Audit, IsOffByDefault) {
    settings.audit.file.clear();
    start();
    EXPECT_EQ(ask(post("/agui", run_body("t", "r"), from_ada)).status, 200);
    EXPECT_THAT(text(), IsEmpty());
}

class AuditOfTwoGateways : public TwoGatewaysOfOneProcess {
protected:
    AuditOfTwoGateways() {
        settings.session.on_busy = gateway::busy_policy::supersede;
        settings.server.trusted_proxies = {"127.0.0.1"};
        settings.audit.file = folder().file("audit");
        settings.auth.emplace();
        settings.auth->kind = auth_config::mode::bearer;
        gateway::token_config& ada = settings.auth->tokens.emplace_back();
        ada.name = "ada";
        ada.token.value = "the-token-of-ada";
        ada.scopes = {"run", "read"};
        settings.auth->session.enabled = true;
        settings.auth->session.key.value = std::string(32, 'k');
        options.log = &log;
    }
    std::string text() const {
        std::ifstream stream(folder().file("audit"));
        return {std::istreambuf_iterator<char>(stream), {}};
    }
};

// With a cookie of A, at B, for a run that A executes.
TEST_F(AuditOfTwoGateways, APassedRequestHasItsClientsNameAndAddress) {
    start_both();
    const raw_reply begun = ask_at(
        a(), "POST /agui/session HTTP/1.1\r\nHost: localhost\r\n" + from_ada +
                 "Content-Length: 0\r\n\r\n"
    );
    ASSERT_EQ(begun.status, 200);
    const std::string set = begun.header("set-cookie");
    const std::string cookie = "Cookie: " + set.substr(0, set.find(';')) +
                               "\r\nOrigin: http://localhost\r\n" + behind_proxy;
    const auto there = open(a(), post("/agui", body_of("r"), from_ada));
    ASSERT_TRUE(model.wait_for_calls(1));

    const auto here = open(b(), post("/agui", body_of("s"), cookie));
    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_TRUE(servers[1]->runs().list().empty());
    model.answer({.text = "Hello"});
    EXPECT_THAT(rest_of(*here), HasSubstr("RUN_FINISHED"));
    servers = {};

    const std::string common =
        R"("user":"ada","address":"2001:db8::7","thread":"t","run":"s","agent":"default",)";
    const std::string all = text();
    EXPECT_THAT(all, HasSubstr(R"("event":"run_began",)" + common + R"("route":"POST /agui"})"));
    EXPECT_THAT(all, HasSubstr(R"("event":"run_ended",)" + common + R"("outcome":"completed")"));
    EXPECT_EQ(std::ranges::count(all, '\n'), 5) << all;
}

class ServerAccessLog : public Audit {
protected:
    ServerAccessLog() {
        settings.audit.file.clear();
        settings.access_log.file = folder().file("access");
    }
};

TEST_F(ServerAccessLog, HasALineForEachRequest) {
    start();
    EXPECT_EQ(
        ask(get("/agui/threads?token=the-secret",
                from_ada + behind_proxy +
                    "User-Agent: a \"browser\"\r\nReferer: https://app.example/p?code=secret\r\n"))
            .status,
        200
    );
    EXPECT_EQ(ask(post("/agui", run_body("t", "r"), from_ada)).status, 200);
    EXPECT_EQ(ask(get("/nothing")).status, 404);
    EXPECT_EQ(ask("GET / HTTP/1.1\nHost: x\n\n").status, 400);
    server.reset();

    const std::string lines = text("access");
    EXPECT_EQ(std::ranges::count(lines, '\n'), 4);
    EXPECT_THAT(
        lines,
        AllOf(
            HasSubstr("2001:db8::7 - acme/ada ["),
            HasSubstr(R"("GET /agui/threads HTTP/1.1" 200 )"),
            HasSubstr(R"("https://app.example/p" "a \x22browser\x22")"),
            HasSubstr(R"(127.0.0.1 - acme/ada [)"), HasSubstr(R"("POST /agui HTTP/1.1" 200 )"),
            HasSubstr(R"("GET /nothing HTTP/1.1" 404 )"), HasSubstr(R"("-" 400 )")
        )
    );
    EXPECT_THAT(lines, Not(HasSubstr("secret")));
}

TEST_F(ServerAccessLog, IsWrittenWhileTheServerRuns) {
    start();
    EXPECT_EQ(ask(get("/healthz")).status, 200);
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (text("access").empty()) {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline);
        std::this_thread::yield();
    }
}

// The program may end without destructors.
TEST_F(ServerAccessLog, IsWholeOnceTheServerHasEnded) {
    start();
    EXPECT_EQ(ask(get("/healthz")).status, 200);
    server->request_stop();
    server->wait();
    EXPECT_THAT(text("access"), HasSubstr("GET /healthz"));
}

TEST_F(ServerAccessLog, CountsTheBytesOfAnAnswer) {
    settings.access_log.form = gateway::access_form::json;
    start();
    const raw_reply first = ask(get("/healthz"));
    const raw_reply stream = ask(post("/agui", run_body("t", "r"), from_ada));
    server.reset();

    std::ifstream file(folder().file("access"));
    std::string line;
    ASSERT_TRUE(std::getline(file, line));
    const auto plain = json::parse(line);
    EXPECT_EQ(plain.at("path"), "/healthz");
    EXPECT_EQ(plain.at("status"), 200);
    EXPECT_GT(plain.at("bytes").to_number<std::size_t>(), first.body.size());
    EXPECT_LT(plain.at("bytes").to_number<std::size_t>(), first.body.size() + 1000);
    ASSERT_TRUE(std::getline(file, line));
    EXPECT_GT(json::parse(line).at("bytes").to_number<std::size_t>(), stream.body.size());
    EXPECT_GE(json::parse(line).at("durationMs").as_int64(), 0);
}

} // namespace
} // namespace agui::test
