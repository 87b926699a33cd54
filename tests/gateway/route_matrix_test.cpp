// Every route of the server against every kind of caller. The rows come from the server's own table
// of routes: a route without a row here fails.

#include "tests/gateway/server_fixture.hpp"
#include "tests/gateway/shared_store.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::test {
namespace {

using gateway::auth_config;
using gateway::route_access;
using gateway::scope;
using gateway::served_route;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// How a route answers another user. It must be as if the thread had never existed.
enum class others {
    no_thread,   ///< The route names no thread.
    same_reply,  ///< As for an unknown thread, byte for byte.
    own_new_run, ///< A run begins in a thread of the other user's own, with new ids.
};

/// What a route gets from a caller that may use it. `THREAD` stands for the thread's id.
struct cell_row {
    std::string_view route; ///< "METHOD PATTERN"
    int status;             ///< The answer to the owner of the thread, who has just the scope.
    std::string_view body = {};
    others to_others = others::no_thread;
};

constexpr std::string_view run_json =
    R"({"threadId":"THREAD","runId":"RUN","messages":[{"id":"u-RUN","role":"user","content":"hi"}],)"
    R"("tools":[],"context":[],"state":null,"forwardedProps":{}})";
constexpr std::string_view steer_json =
    R"({"threadId":"THREAD","message":{"id":"s","role":"user","content":"hi"}})";
constexpr std::string_view history_json = R"({"threadId":"THREAD","runId":"h","messages":[]})";
constexpr std::string_view chat_json =
    R"({"sessionId":"THREAD","message":"hi","messages":[],"threadId":"THREAD"})";
constexpr std::string_view ui_json =
    R"({"id":"THREAD","messages":[{"id":"u-RUN","role":"user","parts":[{"type":"text","text":"x"}]}]})";
constexpr std::string_view attachment_json =
    R"({"type":"image","source":{"type":"data","value":"aGk=","mimeType":"image/png"}})";

const std::vector<cell_row>& cell_rows() {
    static const std::vector<cell_row> all{
        {"POST /agui", 200, run_json, others::own_new_run},
        {"POST /agui/agents/{agentId}", 200, run_json, others::own_new_run},
        {"POST /chat/stream", 200, chat_json, others::own_new_run},
        {"POST /chat/agents/{agentId}/stream", 200, chat_json, others::own_new_run},
        {"POST /agui/cancel", 200, R"({"threadId":"THREAD"})", others::same_reply},
        {"POST /agui/steer", 409, steer_json, others::same_reply},
        {"POST /agui/history", 200, history_json, others::same_reply},
        {"GET /agui/threads/{threadId}/runs/{runId}/events", 200, "", others::same_reply},
        {"GET /agui/capabilities", 200},
        {"GET /agui/agents/{agentId}/capabilities", 200},
        {"GET /healthz", 200},
        {"GET /readyz", 200},
        {"GET /version", 200},
        {"GET /agui/threads/{threadId}/parts/{sha256}", 404, "", others::same_reply},
        {"POST /agui/threads/{threadId}/parts", 200, attachment_json, others::same_reply},
        {"PATCH /agui/threads/{threadId}/state", 200, R"({"state":{"a":1}})", others::same_reply},
        {"POST /agui/threads/{threadId}/calls/{callId}/claim", 404, R"({"holder":"me"})",
         others::same_reply},
        {"DELETE /agui/threads/{threadId}/calls/{callId}/claim", 404, R"({"holder":"me"})",
         others::same_reply},
        {"GET /agui/threads/{threadId}/access", 200, "", others::same_reply},
        {"PATCH /agui/threads/{threadId}/access", 200, R"({"access":[]})", others::same_reply},
        {"GET /agui/runs", 200},
        {"DELETE /agui/runs/{handle}", 404},
        {"GET /agui", 200, "", others::same_reply},
        {"GET /agui/agents/{agentId}", 200, "", others::same_reply},
        {"GET /copilotkit/threads", 200},
        {"PATCH /copilotkit/threads/{threadId}", 200, R"({"name":"x"})", others::same_reply},
        {"DELETE /copilotkit/threads/{threadId}", 200, "", others::same_reply},
        {"POST /copilotkit/threads/{threadId}/archive", 200, "{}", others::same_reply},
        {"GET /copilotkit/threads/{threadId}/messages", 200, "", others::same_reply},
        {"GET /copilotkit/threads/{threadId}/events", 200, "", others::same_reply},
        {"GET /copilotkit/threads/{threadId}/state", 200, "", others::same_reply},
        {"GET /copilotkit/info", 200},
        {"POST /copilotkit/agent/{agentId}/run", 200, run_json, others::own_new_run},
        {"POST /copilotkit/agent/{agentId}/suggest", 422, run_json, others::same_reply},
        {"POST /copilotkit/agent/{agentId}/connect", 200, history_json, others::same_reply},
        {"POST /copilotkit/agent/{agentId}/stop/{threadId}", 200, "{}", others::same_reply},
        {"POST /copilotkit/threads/clear", 404, "{}"},
        {"POST /copilotkit/threads/subscribe", 404, "{}"},
        {"POST /copilotkit", 200, R"({"method":"info"})"},
        {"GET /copilotkit/*", 404},
        {"POST /ai/chat", 200, ui_json, others::own_new_run},
        {"POST /ai/agents/{agentId}/chat", 200, ui_json, others::own_new_run},
        {"GET /ai/chat/{id}/stream", 204, "", others::same_reply},
        {"GET /ai/agents/{agentId}/chat/{id}/stream", 204, "", others::same_reply},
        {"GET /ai/chat/{id}/messages", 200, "", others::same_reply},
        {"GET /ai/agents/{agentId}/chat/{id}/messages", 200, "", others::same_reply},
        {"GET /agui/threads", 200},
        {"GET /agui/usage", 200},
        {"GET /agui/threads/{threadId}", 200, "", others::same_reply},
        {"GET /agui/threads/{threadId}/messages", 200, "", others::same_reply},
        {"GET /agui/threads/{threadId}/events", 200, "", others::same_reply},
        {"GET /agui/threads/{threadId}/state", 200, "", others::same_reply},
        {"GET /agui/threads/{threadId}/pending", 200, "", others::same_reply},
        {"GET /agui/threads/{threadId}/branches", 200, "", others::same_reply},
        {"PATCH /agui/threads/{threadId}", 200, R"({"title":"x"})", others::same_reply},
        {"DELETE /agui/threads/{threadId}", 204, "", others::same_reply},
        {"POST /agui/session", 200},
        {"DELETE /agui/session", 204},
        {"GET /peer/1/ping", 0},
        {"POST /peer/1/pass", 0, "{}"},
        {"POST /peer/1/log", 0, "{}"},
        {"POST /peer/1/leave", 0, "{}"},
        {"POST /peer/1/stop", 0, "{}"},
        {"GET /console/requests", 200},
        {"GET /console/requests/{number}", 200},
        {"GET /console", 308},
        {"GET /console/*", 404},
        {"GET /*", 404},
    };
    return all;
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
    for (std::size_t at = text.find(what); at != std::string::npos;
         at = text.find(what, at + with.size())) {
        text.replace(at, what.size(), with);
    }
    return text;
}

/// Without times, and without the signatures of links, which differ between any two threads.
std::string comparable(const std::string& body) {
    static const std::regex varying(R"re(("timestamp":|token=)[^,"]*)re");
    return std::regex_replace(body, varying, "$1");
}

class RouteMatrix : public server_test {
protected:
    RouteMatrix() {
        settings.auth.emplace();
        settings.auth->kind = auth_config::mode::bearer;
        settings.auth->session.enabled = true;
        settings.server.copilotkit_path = "/copilotkit";
        settings.server.ai_path = "/ai";
        settings.server.console = true;
        settings.server.trusted_proxies = {"127.0.0.1"};
        settings.agents.front().events = {"tanstack"};
        settings.quotas.emplace_back(); // Limits nothing.
        add_token("all-of-ada", "ada", {"run", "read", "delete", "approve"});
        add_token("all-of-eve", "eve", {"run", "read", "delete", "approve"});
        add_token("this-agent-of-ada", "ada", {"agents:default:run"});
        for (const std::string right : {"read", "write", "approve"}) {
            add_token("user-with-" + right, "with-" + right, {"run", "read", "delete", "approve"});
        }
        add_token("admin-of-ada", "ada", {"admin"});
        add_token("none-of-ada", "ada", {});
        add_token("other-agent-of-ada", "ada", {"agents:other:run", "agents:other:approve"});
        for (const scope each : gateway::all_scopes) {
            const std::string name(to_string(each));
            add_token(name + "-of-ada", "ada", {name});
            std::vector<std::string> others;
            for (const scope other : gateway::all_scopes) {
                if (other != each && other != scope::admin) {
                    others.emplace_back(to_string(other));
                }
            }
            add_token("no-" + name + "-of-ada", "ada", std::move(others));
        }
        add_token("expired-of-ada", "ada", {"admin"}).expires_at = 1;
        options.store = common.open_door();
        options.log = &null_logger();
    }
    ~RouteMatrix() override { server.reset(); }

    gateway::token_config&
    add_token(std::string token, std::string user, std::vector<std::string> scopes) {
        gateway::token_config& added = settings.auth->tokens.emplace_back();
        added.name = std::move(user);
        added.token.value = std::move(token);
        added.scopes = std::move(scopes);
        return added;
    }

    static std::string by_token(std::string_view token) {
        return token.empty() ? std::string()
                             : "Authorization: Bearer " + std::string(token) + "\r\n";
    }

    /// The headers of a page of this server whose session began with the token.
    const std::string& by_cookie(const std::string& token) {
        std::string& headers = cookies[token];
        if (headers.empty()) {
            const raw_reply begun =
                ask("POST /agui/session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n" +
                    by_token(token) + "\r\n");
            EXPECT_EQ(begun.status, 200);
            const std::string set = begun.header("set-cookie");
            headers = "Cookie: " + set.substr(0, set.find(';')) + "\r\n" + page_origin;
        }
        return headers;
    }

    /// One request for the route, about a thread; without a token if it is empty.
    raw_reply send(const cell_row& row, std::string_view thread, std::string_view token) {
        return send_with(row, thread, by_token(token));
    }
    raw_reply send_with(const cell_row& row, std::string_view thread, std::string_view headers) {
        const std::size_t blank = row.route.find(' ');
        const std::string_view method = row.route.substr(0, blank);
        std::string path(row.route.substr(blank + 1));
        const bool by_query = path == "/agui" || path == "/agui/agents/{agentId}";
        for (const auto& [name, value] : std::map<std::string_view, std::string_view>{
                 {"{threadId}", thread},
                 {"{id}", thread},
                 {"{runId}", "first"},
                 {"{agentId}", "default"},
                 {"{callId}", "c1"},
                 {"{number}", "1"},
                 {"{handle}", "none"},
                 {"{sha256}", std::string_view(zeros)},
                 {"/*", "/nothing"}
             }) {
            path = replaced(path, name, value);
        }
        if (method == "GET" && by_query) {
            path += "?threadId=" + std::string(thread);
        }
        std::string body = replaced(std::string(row.body), "THREAD", thread);
        body = replaced(body, "RUN", "run-" + std::to_string(++requests));
        // An address of its own, because wrong tokens from one address are slowed.
        std::string head = std::string(method) + " " + path + " HTTP/1.1\r\nHost: localhost\r\n";
        head += "X-Forwarded-For: 203.0.113." + std::to_string(requests / 3 % 60) + "\r\n";
        head += headers;
        if (!body.empty()) {
            head +=
                "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
                "\r\n";
        }
        return ask(head + "\r\n" + body);
    }

    /// A thread of that user with one run.
    void make_thread(std::string_view thread, std::string_view token) {
        const raw_reply made = ask(post(
            "/agui", run_body(thread, "first", "the words of ada"),
            "Authorization: Bearer " + std::string(token) + "\r\n"
        ));
        ASSERT_EQ(made.status, 200);
    }

    static void expect_unauthorized(const raw_reply& reply, std::string_view challenge) {
        EXPECT_EQ(reply.status, 401);
        EXPECT_EQ(reply.header("www-authenticate"), challenge);
        EXPECT_TRUE(boost::json::parse(reply.body).as_object().contains("error"));
    }

    void check_strangers(const served_route& route, const cell_row& row, std::string_view thread) {
        const raw_reply without = send(row, thread, "");
        const raw_reply wrong = send(row, thread, "wrong");
        const raw_reply expired = send(row, thread, "expired-of-ada");
        if (route.access.is_open()) {
            EXPECT_EQ(without.status, row.status);
            EXPECT_EQ(wrong.status, row.status);
            EXPECT_EQ(expired.status, row.status);
            return;
        }
        expect_unauthorized(without, "Bearer");
        expect_unauthorized(wrong, R"(Bearer error="invalid_token")");
        expect_unauthorized(expired, R"(Bearer error="invalid_token")");
    }

    void check_scopes(const served_route& route, const cell_row& row, std::string_view thread) {
        const std::string name(route.access.needed() ? to_string(*route.access.needed()) : "");
        if (route.access.needed()) {
            const raw_reply missing = send(row, thread, "no-" + name + "-of-ada");
            EXPECT_EQ(missing.status, 403);
            EXPECT_EQ(
                missing.header("www-authenticate"),
                R"(Bearer error="insufficient_scope", scope=")" + name + "\""
            );
            EXPECT_THAT(missing.body, HasSubstr(name));
            EXPECT_EQ(send(row, thread, "none-of-ada").status, 403);
        } else if (!route.access.is_open()) {
            EXPECT_EQ(send(row, thread, "none-of-ada").status, row.status);
        }
        if (!route.access.is_open()) {
            EXPECT_THAT(send(row, thread, "admin-of-ada").status, AnyOf(row.status, 404, 409));
        }
    }

    // Scopes for another agent than that of the request and of the thread.
    void
    check_other_agent(const served_route& route, const cell_row& row, std::string_view thread) {
        const int status = send(row, thread, "other-agent-of-ada").status;
        // An invalid body is refused before its agent matters.
        const bool is_refused = route.access.needed() && row.status != 422;
        EXPECT_EQ(status, is_refused ? 403 : row.status);
    }

    // Scopes for the agent of the request and of the thread are enough where it is known.
    void check_this_agent(const served_route& route, const cell_row& row, std::string_view thread) {
        const bool is_known =
            route.access.needed() == scope::run && !route.access.needs_all_agents();
        if (is_known) {
            EXPECT_EQ(send(row, thread, "this-agent-of-ada").status, row.status);
        }
    }

    // A session opens what its token opens, and only for pages of this server.
    void check_cookies(const served_route& route, const cell_row& row, const std::string& thread) {
        const auto needed = route.access.needed();
        const std::string right(needed ? to_string(*needed) : "none");
        make_thread(thread, "all-of-ada");
        const std::string& ada = by_cookie(right + "-of-ada");
        if (route.method != "GET") {
            const std::string cookie = ada.substr(0, ada.size() - page_origin.size());
            EXPECT_EQ(send_with(row, thread, cookie).status, 403);
            EXPECT_EQ(
                send_with(row, thread, cookie + "Origin: http://evil.example\r\n").status, 403
            );
        }
        check_others(row, thread, by_cookie("all-of-eve"));
        EXPECT_EQ(send_with(row, thread, ada).status, row.status);
        if (!route.access.is_open()) {
            EXPECT_EQ(
                send_with(row, thread, "Cookie: agui-session=x\r\n" + page_origin).status, 401
            );
            EXPECT_EQ(send_with(row, thread, ada + by_token("wrong")).status, 401);
        }
        if (needed) {
            const std::string others = "no-" + right + "-of-ada";
            EXPECT_EQ(send_with(row, thread, by_cookie(others)).status, 403);
        }
    }

    std::string messages_of_ada(std::string_view thread) {
        return send({"GET /agui/threads/{threadId}/messages", 200}, thread, "all-of-ada").body;
    }

    // Another user's thread must look like one that never existed, and stay as it is.
    void check_others(const cell_row& row, std::string_view thread, std::string_view headers) {
        if (row.to_others == others::no_thread) {
            return;
        }
        const std::string before = messages_of_ada(thread);
        EXPECT_THAT(before, HasSubstr("the words of ada"));
        const std::string unknown = replaced(std::string(thread), "ada", "nil");
        const raw_reply other = send_with(row, thread, headers);
        --requests; // The same runId, so that the replies are comparable.
        const raw_reply never = send_with(row, unknown, headers);
        EXPECT_EQ(other.status, never.status);
        if (row.to_others == others::same_reply) {
            EXPECT_EQ(comparable(replaced(other.body, thread, unknown)), comparable(never.body));
        } else {
            EXPECT_EQ(other.status, 200);
        }
        EXPECT_THAT(other.body, Not(HasSubstr("the words of ada")));
        EXPECT_EQ(messages_of_ada(thread), before);
    }

    /// Opens the thread to a user for each right. Returns its shared id.
    std::string open_thread(std::string_view thread) {
        std::string list;
        for (const std::string right : {"read", "write", "approve"}) {
            list += (list.empty() ? "" : ",") + (R"({"user":"with-)" + right) + R"(","rights":")" +
                    right + "\"}";
        }
        const std::string body = R"({"access":[)" + list + "]}";
        const raw_reply opened =
            send({"PATCH /agui/threads/{threadId}/access", 200, body}, thread, "all-of-ada");
        EXPECT_EQ(opened.status, 200);
        return std::string(boost::json::parse(opened.body).at("sharedId").as_string());
    }

    // A user to whom the thread is opened may do what the right allows, and sees nothing of the
    // thread's own id. To any other user, the shared id is like one that never existed.
    void check_shared(const served_route& route, const cell_row& row, std::string_view thread) {
        if (row.to_others == others::no_thread || route.access.is_open()) {
            return; // A link to a part has its own tests.
        }
        using session::access_right;
        const std::string id = open_thread(thread);
        for (const access_right each :
             {access_right::read, access_right::write, access_right::approve}) {
            const std::string right(to_string(each));
            SCOPED_TRACE("shared " + right);
            const bool is_enough = route.access.right() && *route.access.right() <= each;
            const raw_reply reply = send(row, id, "user-with-" + right);
            // A body that is wrong for the route is refused before its thread is looked for.
            EXPECT_EQ(reply.status, is_enough || row.status == 422 ? row.status : 403);
            EXPECT_THAT(reply.body, Not(HasSubstr(thread)));
        }
        const std::string never = "shared-" + std::string(32, '0');
        const raw_reply closed = send(row, id, "all-of-eve");
        --requests;
        const raw_reply unknown = send(row, never, "all-of-eve");
        EXPECT_EQ(closed.status, unknown.status);
        EXPECT_EQ(comparable(replaced(closed.body, id, never)), comparable(unknown.body));
        EXPECT_THAT(closed.body, Not(HasSubstr("the words of ada")));
        if (row.to_others == others::own_new_run) {
            EXPECT_EQ(closed.status, 404) << "a new thread with the id would hide the shared one";
        }
    }

    shared_store common{session::make_sqlite_store({.path = folder().file("shared.db")})};
    std::map<std::string, std::string> cookies; ///< by_cookie()
    const std::string page_origin = "Origin: http://localhost\r\n";
    const std::string zeros = std::string(64, '0');
    int requests = 0;
};

TEST_F(RouteMatrix, EveryRouteChecksEveryCaller) {
    start();
    std::set<std::string> seen;
    for (const served_route& route : server->routes()) {
        const std::string name = route.method + " " + route.pattern;
        SCOPED_TRACE(name);
        const auto row = std::ranges::find(cell_rows(), name, &cell_row::route);
        if (row == cell_rows().end()) {
            ADD_FAILURE() << "the route has no row in this test";
            continue;
        }
        seen.insert(name);
        const std::string thread = "thread-of-ada-" + std::to_string(seen.size());
        make_thread(thread, "all-of-ada");
        check_strangers(route, *row, thread);
        if (route.access.is_for_peers()) {
            expect_unauthorized(
                send(*row, thread, "admin-of-ada"), R"(Bearer error="invalid_token")"
            );
            expect_unauthorized(send_with(*row, thread, by_cookie("admin-of-ada")), "Bearer");
            continue;
        }
        check_others(*row, thread, by_token("all-of-eve"));
        check_shared(route, *row, thread);
        const auto needed = route.access.needed();
        const std::string right = needed ? std::string(to_string(*needed)) : "none";
        EXPECT_EQ(send(*row, thread, right + "-of-ada").status, row->status);
        check_other_agent(route, *row, thread);
        check_this_agent(route, *row, thread);
        check_scopes(route, *row, thread);
        check_cookies(route, *row, thread + "-cookie");
    }
    EXPECT_EQ(seen.size(), cell_rows().size()) << "a row has no route";
}

} // namespace
} // namespace agui::test
