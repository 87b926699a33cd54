#include "runner/tools/webhook_tool.hpp"

#include "tests/runner/http/http_test_server.hpp"
#include "tests/support/coroutine_test.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

namespace asio = boost::asio;
using test::chunk;
using test::chunked_header;
using test::event;
using test::http_test_server;
using test::response;
using test::server_connection;

constexpr asio::ip::tcp::socket::message_flags tcp_peek = asio::ip::tcp::socket::message_peek;

tool_invocation invocation() {
    tool_invocation call;
    call.name = "get_weather";
    call.arguments = {{"city", "Bern"}};
    call.arguments_text = R"({"city":"Bern"})";
    call.call_id = "call_1";
    call.thread_id = "thread_1";
    call.run_id = "run_1";
    call.agent_id = "default";
    return call;
}

class WebhookTool : public test::coroutine_test {
protected:
    static tool_function make(webhook_settings settings) {
        return make_webhook_tool(std::move(settings)).value();
    }

    static webhook_settings settings_for(const http_test_server& server) {
        webhook_settings settings;
        settings.url = server.url("/weather?key=secret");
        return settings;
    }

    /// Returns "result: …" or "error: …".
    std::string call(const tool_function& tool) {
        const tool_outcome outcome = run(tool(invocation()));
        const std::string kind = outcome.what == tool_outcome::kind::result  ? "result: "
                                 : outcome.what == tool_outcome::kind::error ? "error: "
                                                                             : "unavailable: ";
        return kind + std::get<std::string>(outcome.content);
    }

    /// The detail for the log of a call that fails.
    std::string log_detail_of(const tool_function& tool) {
        return run(tool(invocation())).log_detail;
    }

    /// The tool's outcome if the server sends these bytes and closes.
    std::string answer_to(std::string bytes) {
        http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
            co_await peer.read_request();
            co_await peer.send(bytes);
        });
        return call(make(settings_for(server)));
    }
};

TEST_F(WebhookTool, FollowsARedirectOfItsServer) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        const std::string asked = co_await peer.read_request();
        co_await peer.send(
            asked.starts_with("POST /weather?") && asked.ends_with("}")
                ? "HTTP/1.1 307 Go\r\nLocation: /weather/\r\nContent-Length: 0\r\n\r\n"
                : response(
                      asked.starts_with("POST /weather/ ") && asked.ends_with("}") ? "sunny" : ""
                  )
        );
    });
    EXPECT_EQ(call(make(settings_for(server))), "result: sunny");
}

TEST_F(WebhookTool, NamesARedirectThatItDoesNotFollowInTheLogOnly) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(
            "HTTP/1.1 302 Found\r\nLocation: https://b.example/login\r\nContent-Length: 0\r\n\r\n"
        );
    });
    const tool_outcome outcome = run(make(settings_for(server))(invocation()));
    EXPECT_EQ(
        std::get<std::string>(outcome.content),
        "The tool answered with a redirect that is not followed."
    );
    EXPECT_EQ(
        outcome.log_detail, "redirect: it answered with the redirect 302 to another origin, which "
                            "is not followed, Location: https://b.example/login"
    );
}

TEST_F(WebhookTool, PostsTheCallAndReturnsTheBody) {
    std::string seen;
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        seen = co_await peer.read_request();
        co_await peer.send(response("sunny"));
    });
    webhook_settings settings = settings_for(server);
    settings.headers = {{"X-Key", "k"}};

    EXPECT_EQ(call(make(settings)), "result: sunny");
    EXPECT_TRUE(seen.starts_with("POST /weather?key=secret HTTP/1.1\r\n")) << seen;
    EXPECT_NE(seen.find("\r\nX-Key: k\r\n"), std::string::npos);
    EXPECT_TRUE(
        seen.ends_with("\r\n\r\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Bern\"},"
                       "\"toolCallId\":\"call_1\","
                       "\"threadId\":\"thread_1\",\"runId\":\"run_1\",\"agentId\":\"default\"}")
    ) << seen;
}

class WebhookOfCallers : public WebhookTool {
protected:
    /// Calls a webhook whose server records the requests.
    std::string call_as(std::string_view sender, std::string_view passed = {}) {
        http_test_server server(
            context(),
            [this](server_connection& peer) -> asio::awaitable<void> {
                seen.push_back(co_await peer.read_request());
                co_await peer.send(answer);
            }
        );
        webhook_settings settings = settings_for(server);
        settings.headers = {{"X-Key", "k"}, {"authorization", "Bearer of-the-gateway"}};
        settings.pass_headers = {"authorization", "x-trace"};
        settings.callers = callers;
        tool_invocation made = invocation();
        made.principal = "owner";
        made.sender = sender;
        made.headers = {{"authorization", "Bearer of-the-request"}};
        if (!passed.empty()) {
            made.headers.emplace_back("x-upstream-authorization", passed);
        }
        const tool_outcome outcome = run(make(settings)(std::move(made)));
        return (outcome.what == tool_outcome::kind::error ? "error: " : "result: ") +
               std::get<std::string>(outcome.content);
    }
    std::string sent() const {
        const std::string& request = seen.back();
        const std::size_t at = request.find("uthorization: ") + 14;
        EXPECT_EQ(request.find("uthorization: ", at), std::string::npos) << "twice: " << request;
        return request.substr(at, request.find("\r\n", at) - at);
    }

    std::shared_ptr<stored_credentials> stored =
        std::make_shared<stored_credentials>(stored_credentials::by_principal{
            {"ada", "hers"},
            {"acme/ada", "Basic of-acme"},
            {"owner", "of-the-owner"},
            {"", "nobody"}
        });
    caller_credentials callers{.stored = stored};
    std::string answer = response("done");
    std::vector<std::string> seen;
};

TEST_F(WebhookOfCallers, IsSentTheCredentialsOfItsCallerAndNoOthers) {
    EXPECT_EQ(call_as("ada"), "result: done");
    EXPECT_EQ(sent(), "Bearer hers");
    EXPECT_NE(seen.back().find("X-Key: k\r\n"), std::string::npos);
    EXPECT_EQ(call_as("acme/ada"), "result: done");
    EXPECT_EQ(sent(), "Basic of-acme") << "it has a scheme";
    for (const std::string& request : seen) {
        EXPECT_EQ(request.find("of-the-gateway"), std::string::npos) << request;
        EXPECT_EQ(request.find("of-the-request"), std::string::npos) << request;
    }
}

TEST_F(WebhookOfCallers, IsNotCalledForCallersWithoutCredentials) {
    for (const std::string_view other : {"bob", "Ada", "acme/bob", "acme", ""}) {
        EXPECT_EQ(
            call_as(other), "error: The tool was not called: it needs credentials of the user, and "
                            "there are none with this request."
        ) << other;
    }
    EXPECT_TRUE(seen.empty());
}

TEST_F(WebhookOfCallers, UsesNewCredentialsFromTheNextCallOn) {
    EXPECT_EQ(call_as("ada"), "result: done");
    stored->replace({{"ada", "newer"}});
    EXPECT_EQ(call_as("ada"), "result: done");
    EXPECT_EQ(sent(), "Bearer newer");
    stored->replace({});
    EXPECT_TRUE(call_as("ada").starts_with("error: "));
    EXPECT_EQ(seen.size(), 2U);
}

TEST_F(WebhookOfCallers, TakesThemFromAHeaderOfTheRequest) {
    callers = {.header = "X-Token", .passed_in = "x-upstream-authorization"};
    EXPECT_TRUE(call_as("ada").starts_with("error: ")) << "the header is missing";
    EXPECT_TRUE(seen.empty());

    EXPECT_EQ(call_as("ada", "fresh"), "result: done");
    EXPECT_NE(seen.back().find("X-Token: fresh\r\n"), std::string::npos) << seen.back();
    EXPECT_EQ(seen.back().find("x-upstream"), std::string::npos) << seen.back();

    callers = {.passed_in = "x-upstream-authorization", .stored = stored};
    EXPECT_EQ(call_as("ada", "fresh"), "result: done");
    EXPECT_EQ(sent(), "Bearer fresh") << "it is newer than the stored one";
    EXPECT_EQ(call_as("ada"), "result: done");
    EXPECT_EQ(sent(), "Bearer hers");
}

TEST_F(WebhookOfCallers, SendsThemToNoOtherHost) {
    http_test_server other(context(), [](server_connection&) -> asio::awaitable<void> {
        ADD_FAILURE() << "it was sent something";
        co_return;
    });
    answer = "HTTP/1.1 307 Go\r\nLocation: " + other.url("/") + "\r\nContent-Length: 0\r\n\r\n";

    EXPECT_EQ(call_as("ada"), "error: The tool answered with a redirect that is not followed.");
    EXPECT_EQ(seen.size(), 1U);
    EXPECT_EQ(other.accepted(), 0);
}

TEST_F(WebhookTool, TakesAnEmptyAnswer) {
    EXPECT_EQ(answer_to("HTTP/1.1 204 No Content\r\n\r\n"), "result: ");
}

TEST_F(WebhookTool, ReportsOtherStatusesWithoutTheBody) {
    EXPECT_EQ(
        answer_to(response("stack trace", "500 Internal Server Error")),
        "error: The tool answered with status 500."
    );
    EXPECT_EQ(answer_to(response("x", "302 Found")), "error: The tool answered with status 302.");
}

TEST_F(WebhookTool, ReportsALostConnection) {
    EXPECT_EQ(
        answer_to("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"),
        "error: The connection to the tool was lost before its answer was complete."
    );
    EXPECT_EQ(answer_to("SMTP here\r\n\r\n"), "error: The tool's answer could not be read.");
}

TEST_F(WebhookTool, ReportsAToolThatCannotBeReached) {
    std::optional<http_test_server> server;
    server.emplace(context(), [](server_connection&) -> asio::awaitable<void> { co_return; });
    const tool_function tool = make(settings_for(*server));
    server.reset();

    EXPECT_EQ(call(tool), "unavailable: The tool could not be reached.");
}

TEST_F(WebhookTool, TellsTheLogWhyItFailedWithoutUrlAndBody) {
    std::optional<http_test_server> server;
    server.emplace(context(), [](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(
            peer.number == 0 ? response("stack trace", "503 Service Unavailable")
                             : "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"
        );
    });
    const tool_function tool = make(settings_for(*server));

    EXPECT_EQ(log_detail_of(tool), "The tool answered with status 503.");
    EXPECT_EQ(log_detail_of(tool).substr(0, 6), "lost: ");
    server.reset();
    EXPECT_EQ(log_detail_of(tool), "connect: Connection refused");
}

TEST_F(WebhookTool, NeverCallsTwice) {
    int requests = 0;
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        const std::string first = co_await peer.read_request();
        requests += first.empty() ? 0 : 1;
        if (peer.number == 0) {
            co_await peer.send(response("first"));
            const std::string second = co_await peer.read_request();
            requests += second.empty() ? 0 : 1;
        }
    });
    const tool_function tool = make(settings_for(server));

    EXPECT_EQ(call(tool), "result: first");
    EXPECT_EQ(
        call(tool), "error: The connection to the tool was lost before its answer was complete."
    );
    EXPECT_EQ(requests, 2);
}

TEST_F(WebhookTool, BoundsTheAnswer) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(chunked_header + chunk("12345") + chunk("67890") + chunk(""));
    });
    webhook_settings settings = settings_for(server);
    settings.max_result_bytes = 10;
    EXPECT_EQ(call(make(settings)), "result: 1234567890");

    settings.max_result_bytes = 9;
    EXPECT_EQ(call(make(settings)), "result: 1234567890") << "to be cut where it is stored";
}

TEST_F(WebhookTool, KeepsLittleOfAnAnswerThatIsTooLong) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(chunked_header + chunk("1234567\u20ac") + chunk("\u20ac\u20ac"));
        co_await peer.wait_for_close(); // It does not wait for the end.
    });
    webhook_settings settings = settings_for(server);
    settings.max_result_bytes = 8;

    EXPECT_EQ(call(make(settings)), "result: 1234567\u20ac");
}

TEST_F(WebhookTool, SaysForWhomItIsCalled) {
    std::string seen;
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        seen = co_await peer.read_request();
        co_await peer.send(response("sunny"));
    });
    webhook_settings settings = settings_for(server);
    settings.headers = {{"X-Key", "k"}};
    settings.pass_headers = {"authorization", "x-key"};
    tool_invocation made = invocation();
    made.principal = "ann";
    made.headers = {
        {"traceparent", "00-1-2-01"},
        {"authorization", "Bearer hers"},
        {"cookie", "not listed"},
        {"x-key", "forged"}
    };
    const tool_function tool = make(settings);

    run(tool(made));

    EXPECT_NE(seen.find(R"("agentId":"default","principal":"ann"})"), std::string::npos) << seen;
    EXPECT_NE(seen.find("\r\ntraceparent: 00-1-2-01\r\n"), std::string::npos) << seen;
    EXPECT_NE(seen.find("\r\nauthorization: Bearer hers\r\n"), std::string::npos) << seen;
    EXPECT_NE(seen.find("\r\nX-Key: k\r\n"), std::string::npos) << seen;
    EXPECT_EQ(seen.find("not listed"), std::string::npos) << seen;
    EXPECT_EQ(seen.find("forged"), std::string::npos) << seen;
    EXPECT_EQ(seen.find("Idempotency-Key"), std::string::npos) << seen;
}

TEST_F(WebhookTool, AGetHasTheArgumentsInItsQuery) {
    std::string seen;
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        seen = co_await peer.read_request();
        co_await peer.send(response("sunny"));
    });
    webhook_settings settings = settings_for(server);
    settings.method = http_method::get;
    tool_invocation made = invocation();
    made.arguments = {{"city", "K\u00f6ln & more"}, {"days", 2}, {"in", {"C", true}}};
    made.principal = "ann b";
    made.call_id = "call\r\nX-Forged: 1";
    const tool_function tool = make(settings);

    run(tool(made));

    EXPECT_TRUE(seen.starts_with(
        "GET /weather?key=secret&city=K%C3%B6ln%20%26%20more&days=2&in=%5B%22C%22%2Ctrue%5D "
        "HTTP/1.1\r\n"
    )) << seen;
    for (const std::string line :
         {"X-Agui-Tool-Call-Id: call%0D%0AX-Forged:%201", "X-Agui-Thread-Id: thread_1",
          "X-Agui-Run-Id: run_1", "X-Agui-Agent-Id: default", "X-Agui-Principal: ann%20b",
          "Idempotency-Key: ann%20b/thread_1/call%0D%0AX-Forged:%201"}) {
        EXPECT_NE(seen.find("\r\n" + line + "\r\n"), std::string::npos) << line << seen;
    }
    EXPECT_EQ(seen.find("Content-"), std::string::npos) << seen;
}

TEST_F(WebhookTool, GetsNoKeyThatAnotherCallHasToo) {
    std::string seen;
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        seen = co_await peer.read_request();
        co_await peer.send(response("sunny"));
    });
    webhook_settings settings = settings_for(server);
    settings.idempotent = true;
    const auto key_of = [&](std::string principal, std::string thread, std::string call) {
        tool_invocation made = invocation();
        made.principal = std::move(principal);
        made.thread_id = std::move(thread);
        made.call_id = std::move(call);
        run(make(settings)(made));
        constexpr std::string_view name = "\r\nIdempotency-Key: ";
        const std::size_t at = seen.find(name) + name.size();
        return seen.substr(at, seen.find('\r', at) - at);
    };

    EXPECT_EQ(key_of("ann", "a/b", "c"), "ann/a%2Fb/c");
    EXPECT_EQ(key_of("ann/a", "b", "c"), "ann%2Fa/b/c");
    EXPECT_EQ(key_of("ann%2Fa", "b", "c"), "ann%252Fa/b/c");
    EXPECT_EQ(key_of("", "ann", "a/b/c"), "ann/a%2Fb%2Fc");
}

TEST_F(WebhookTool, GetsTheAnswersToItsQuestions) {
    std::string seen;
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        seen = co_await peer.read_request();
        co_await peer.send(response("sunny"));
    });
    webhook_settings settings = settings_for(server);
    settings.idempotent = true;
    tool_invocation made = invocation();
    made.inputs = {{{"unit", "C"}}, nullptr};

    run(make(settings)(made));
    EXPECT_NE(seen.find(R"("inputs":[{"unit":"C"},null]})"), std::string::npos) << seen;
    EXPECT_NE(seen.find("\r\nIdempotency-Key: thread_1/call_1//2\r\n"), std::string::npos) << seen;
    settings.method = http_method::get;
    run(make(settings)(made));
    EXPECT_NE(seen.find("\r\nX-Agui-Inputs: [{\"unit\":\"C\"},null]\r\n"), std::string::npos)
        << seen;
}

class WebhookRetry : public WebhookTool {
protected:
    // The tool's outcome for these answers, one for each attempt. For "" the connection is closed.
    std::string answers(std::vector<std::string> all, webhook_settings settings) {
        seen.clear();
        http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
            seen.push_back(co_await peer.read_request());
            const std::string& answer = all.at(std::min(seen.size(), all.size()) - 1);
            if (!answer.empty()) {
                co_await peer.send(answer);
            }
        });
        settings.url = server.url("/weather");
        settings.retry_pause = std::chrono::milliseconds(0);
        return call(make(settings));
    }

    static std::string busy(const std::string& header = {}) {
        return "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n" + header + "\r\n";
    }

    static webhook_settings idempotent() {
        webhook_settings settings;
        settings.idempotent = true;
        return settings;
    }

    std::vector<std::string> seen;
};

TEST_F(WebhookRetry, RepeatableCallsAreRepeated) {
    webhook_settings get;
    get.method = http_method::get;
    for (const webhook_settings& settings : {idempotent(), get}) {
        EXPECT_EQ(answers({busy(), "", response("sunny")}, settings), "result: sunny");
        ASSERT_EQ(seen.size(), 3U);
        EXPECT_EQ(seen[0].substr(0, 4), settings.idempotent ? "POST" : "GET ");
        EXPECT_NE(seen[0].find("\r\nIdempotency-Key: thread_1/call_1\r\n"), std::string::npos);
        EXPECT_EQ(seen[1], seen[0]);
        EXPECT_EQ(seen[2], seen[0]);
    }
}

TEST_F(WebhookRetry, ThreeAttemptsAreAll) {
    EXPECT_EQ(answers({busy()}, idempotent()), "error: The tool answered with status 503.");
    EXPECT_EQ(seen.size(), 3U);
}

TEST_F(WebhookRetry, OtherCallsAreNotRepeated) {
    EXPECT_EQ(
        answers({busy(), response("sunny")}, {}), "error: The tool answered with status 503."
    );
    EXPECT_EQ(seen.size(), 1U);
    EXPECT_EQ(
        answers({"", response("sunny")}, {}),
        "error: The connection to the tool was lost before its answer was complete."
    );
    EXPECT_EQ(seen.size(), 1U);
}

TEST_F(WebhookRetry, AnAnswerThatWouldBeTheSameIsNotAskedForAgain) {
    for (const std::string status : {"400 Bad Request", "500 Internal Server Error", "302 Found"}) {
        EXPECT_EQ(
            answers({response("", status), response("sunny")}, idempotent()),
            "error: The tool answered with status " + status.substr(0, 3) + "."
        );
        EXPECT_EQ(seen.size(), 1U);
    }
}

TEST_F(WebhookRetry, RetryAfterIsHonouredUpToABound) {
    EXPECT_EQ(
        answers({busy("Retry-After: 11\r\n"), response("sunny")}, idempotent()),
        "error: The tool answered with status 503."
    );
    EXPECT_EQ(seen.size(), 1U);
    EXPECT_EQ(
        answers({busy("Retry-After: 0\r\n"), response("sunny")}, idempotent()), "result: sunny"
    );
    webhook_settings short_of_time = idempotent();
    short_of_time.timeout = std::chrono::milliseconds(200);
    EXPECT_EQ(
        answers({busy("Retry-After: 9\r\n"), response("sunny")}, short_of_time),
        "error: The tool did not answer in time."
    );
    EXPECT_EQ(seen.size(), 1U);
}

TEST_F(WebhookTool, ReplacesBytesThatAreNotText) {
    const std::string unknown = "\xEF\xBF\xBD";
    for (const std::string bytes :
         {"\xFF", "\x80", "\xC3", "\xED\xA0\x80", "\xF5", "\xE2\x82", "\xF0\x9F\x98"}) {
        SCOPED_TRACE(::testing::PrintToString(bytes));
        EXPECT_EQ(answer_to(response("a" + bytes)), "result: a" + unknown);
    }
    EXPECT_EQ(answer_to(response("caf\xE9 ol\xE9")), "result: caf" + unknown + " ol" + unknown);
    const std::string good = "a\xC3\xA9\xE2\x82\xAC\xED\x9F\xBF\xF0\x9F\x98\x80\xF4\x8F\xBF\xBF";
    EXPECT_EQ(answer_to(response(good)), "result: " + good);
}

TEST_F(WebhookTool, ReplacedBytesDoNotMakeAnAnswerLonger) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(response(std::string(100, '\xFF')));
    });
    webhook_settings settings = settings_for(server);
    settings.max_result_bytes = 20;
    EXPECT_EQ(call(make(settings)).size(), std::string("result: ").size() + 24);
}

TEST_F(WebhookTool, GivesUpAtTheDeadlineOfTheWholeCall) {
    event closed(context());
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(chunked_header);
        // The server sends bytes all the time, but the answer does not end.
        for (bool open = true; open;) {
            co_await peer.send(chunk("x"));
            asio::steady_timer pause(peer.socket.get_executor(), std::chrono::milliseconds(1));
            co_await pause.async_wait(asio::use_awaitable);
            boost::system::error_code ec;
            peer.socket.non_blocking(true);
            char byte = 0;
            peer.socket.receive(asio::buffer(&byte, 1), tcp_peek, ec);
            open = ec == asio::error::would_block;
        }
        closed.set();
    });
    webhook_settings settings = settings_for(server);
    settings.timeout = std::chrono::milliseconds(30);

    EXPECT_EQ(call(make(settings)), "error: The tool did not answer in time.");
    run(closed.wait());
}

TEST_F(WebhookTool, ClosesTheConnectionWhenItIsCancelled) {
    event closed(context());
    asio::cancellation_signal stop;
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        stop.emit(asio::cancellation_type::terminal);
        co_await peer.wait_for_close();
        closed.set();
    });
    const tool_function tool = make(settings_for(server));
    std::optional<tool_outcome> outcome;
    asio::co_spawn(
        context(), tool(invocation()),
        asio::bind_cancellation_slot(
            stop.slot(), [&](std::exception_ptr, tool_outcome got) { outcome = std::move(got); }
        )
    );

    run(closed.wait());

    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->what, tool_outcome::kind::error);
}

TEST(WebhookSettings, RefusesUrlsThatCannotBeUsed) {
    for (const std::string url :
         {"", "/weather", "ftp://example.org", "http://user@example.org/"}) {
        SCOPED_TRACE(url);
        webhook_settings settings;
        settings.url = url;
        const auto made = make_webhook_tool(settings);
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().code, errc::invalid_input);
    }
}

} // namespace
} // namespace agui::runner
