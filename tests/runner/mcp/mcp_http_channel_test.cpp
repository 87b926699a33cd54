#include "runner/mcp/mcp_http_channel.hpp"

#include "runner/mcp/mcp_limits.hpp"
#include "tests/runner/http/http_test_server.hpp"
#include "tests/support/coroutine_test.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

namespace asio = boost::asio;
using test::chunk;
using test::event;
using test::http_test_server;
using test::server_connection;
using list = std::vector<std::string>;
using std::chrono::milliseconds;

const std::string accepted = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n";
const std::string not_allowed = "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n";

std::string json_answer(std::string_view body, std::string_view header = {}) {
    return "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\n" +
           std::string(header) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           std::string(body);
}

std::string sse(std::string_view data) { return chunk("data: " + std::string(data) + "\n\n"); }

class McpHttpChannel : public test::coroutine_test, protected mcp_channel::receiver {
protected:
    ~McpHttpChannel() override {
        if (channel_) {
            run(channel_->close());
        }
    }

    mcp_channel& open(const http_test_server& server, mcp_http_endpoint::headers own = {}) {
        mcp_http_settings settings;
        settings.url = server.url("/mcp?key=1");
        settings.headers = {{"Authorization", "Bearer k"}};
        settings.reopen_min = milliseconds(1);
        settings.reopen_max = milliseconds(2);
        channel_ = mcp_http_endpoint::make(settings).value().channel(
            context().get_executor(), std::move(own)
        );
        EXPECT_FALSE(channel_->open(*this));
        return *channel_;
    }

    /// Sends a request with the id 1 to a server that answers with these bytes and closes.
    void ask(std::string bytes) {
        http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
            co_await peer.read_request();
            co_await peer.send(bytes);
        });
        mcp_channel& channel = open(server);
        channel.send("{}", 1);
        until([this] { return !unanswered.empty(); });
        run(channel.close());
    }

    template <class Condition>
    void until(Condition condition) {
        run([](asio::io_context& on, Condition so) -> asio::awaitable<void> {
            asio::steady_timer pause(on);
            while (!so()) {
                pause.expires_after(milliseconds(1));
                co_await pause.async_wait(asio::use_awaitable);
            }
        }(context(), condition));
    }

    asio::awaitable<void> on_message(std::string text) override {
        heard.push_back(std::move(text));
        co_return;
    }
    void on_unanswered(std::int64_t request, mcp_failure why) override {
        unanswered.emplace(request, std::move(why));
    }
    void on_closed(mcp_failure why) override { closed = std::move(why); }

    static bool has(const std::string& request, std::string_view line) {
        return request.find("\r\n" + std::string(line) + "\r\n") != std::string::npos;
    }

    list heard;
    std::map<std::int64_t, mcp_failure> unanswered;
    std::optional<mcp_failure> closed;

private:
    std::shared_ptr<mcp_channel> channel_;
};

TEST_F(McpHttpChannel, PostsARequestAndReadsJson) {
    std::string request;
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        request = co_await peer.read_request();
        co_await peer.send(json_answer("{\"a\":1}"));
    });
    open(server).send("{\"x\":1}", 1);
    until([&] { return !heard.empty(); });
    EXPECT_EQ(heard, list{"{\"a\":1}"});
    EXPECT_TRUE(request.starts_with("POST /mcp?key=1 HTTP/1.1\r\n")) << request;
    EXPECT_TRUE(has(request, "Accept: application/json, text/event-stream")) << request;
    EXPECT_TRUE(has(request, "Content-Type: application/json")) << request;
    EXPECT_TRUE(has(request, "Authorization: Bearer k")) << request;
    EXPECT_EQ(request.find("MCP-Protocol-Version"), std::string::npos);
    EXPECT_EQ(request.find("Mcp-Session-Id"), std::string::npos);
    EXPECT_TRUE(request.ends_with("\r\n\r\n{\"x\":1}"));
}

TEST_F(McpHttpChannel, FollowsRedirectsWithEveryMethod) {
    list moved;
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        const std::string asked = co_await peer.read_request();
        const std::string method = asked.substr(0, asked.find(' '));
        if (!asked.starts_with(method + " /mcp/ ")) {
            co_await peer.send(
                "HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:" + std::to_string(server.port()) +
                "/mcp/\r\nContent-Length: 0\r\n\r\n"
            );
            co_return;
        }
        EXPECT_TRUE(has(asked, "Authorization: Bearer k")) << asked;
        EXPECT_EQ(has(asked, "Mcp-Session-Id: s1"), !moved.empty()) << asked;
        moved.push_back(method);
        co_await peer.send(
            method == "GET" ? not_allowed : json_answer("{\"a\":1}", "Mcp-Session-Id: s1\r\n")
        );
    });
    mcp_channel& channel = open(server);
    channel.send("{}", 1);
    until([&] { return !heard.empty(); });
    channel.listen();
    until([&] { return moved.size() == 2; });
    run(channel.close());
    EXPECT_EQ(moved, (list{"POST", "GET", "DELETE"}));
}

TEST_F(McpHttpChannel, NamesARedirectThatItDoesNotFollow) {
    ask("HTTP/1.1 307 Go\r\nLocation: https://b.example/mcp\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(unanswered.at(1).what, mcp_failure::kind::refused);
    EXPECT_TRUE(unanswered.at(1).not_taken);
    EXPECT_EQ(
        unanswered.at(1).detail, "it answered with the redirect 307 to another origin, which is "
                                 "not followed, Location: https://b.example/mcp"
    );
}

TEST_F(McpHttpChannel, SendsTheHeadersOfItsCaller) {
    std::string request;
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        request = co_await peer.read_request();
        co_await peer.send(json_answer("{}"));
    });
    open(server, {{"x-tenant", "t"}}).send("{}", 1);
    until([&] { return !heard.empty(); });
    EXPECT_TRUE(has(request, "x-tenant: t")) << request;
    EXPECT_TRUE(has(request, "Authorization: Bearer k")) << request;
}

TEST_F(McpHttpChannel, ReadsAnEventStream) {
    ask(test::chunked_header + chunk(": hello\n\n") + sse("{\"a\":1}") +
        chunk("event: message\nid: 7\ndata: {\"b\":\ndata: 2}\n\n") +
        chunk("event: other\ndata: {\"c\":3}\n\n") + chunk("data: {\"d\":4}\n") + chunk(""));
    EXPECT_EQ(heard, (list{"{\"a\":1}", "{\"b\":\n2}", "{\"d\":4}"}));
    EXPECT_EQ(unanswered.at(1).what, mcp_failure::kind::lost);
}

TEST_F(McpHttpChannel, PassesEventsOnWhileTheStreamIsOpen) {
    event go_on(context());
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(test::chunked_header + sse("1"));
        co_await go_on.wait();
        co_await peer.send(sse("2") + chunk(""));
    });
    open(server).send("{}", 1);
    until([&] { return heard == list{"1"}; });
    EXPECT_TRUE(unanswered.empty());
    go_on.set();
    until([&] { return !unanswered.empty(); });
    EXPECT_EQ(heard, (list{"1", "2"}));
}

TEST_F(McpHttpChannel, KeepsToItsSessionAndVersion) {
    list requests;
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        requests.push_back(co_await peer.read_request());
        co_await peer.send(
            peer.number == 0 ? json_answer("{}", "Mcp-Session-Id: abc\r\n")
                             : json_answer("{}", "Mcp-Session-Id: another\r\n")
        );
    });
    mcp_channel& channel = open(server);
    channel.send("{}", 1);
    until([&] { return heard.size() == 1; });
    channel.use_version("2025-06-18");
    for (int id = 2; id < 4; ++id) {
        channel.send("{}", id);
        until([&] { return heard.size() == static_cast<std::size_t>(id); });
        EXPECT_TRUE(has(requests.back(), "Mcp-Session-Id: abc")) << requests.back();
        EXPECT_TRUE(has(requests.back(), "MCP-Protocol-Version: 2025-06-18")) << requests.back();
    }
    run(channel.close());
    until([&] { return requests.size() == 4; });
    EXPECT_TRUE(requests.back().starts_with("DELETE /mcp?key=1 HTTP/1.1\r\n")) << requests.back();
    EXPECT_TRUE(has(requests.back(), "Mcp-Session-Id: abc"));
}

TEST_F(McpHttpChannel, RefusesASessionIdThatNoHeaderCanHave) {
    ask(json_answer("{}", "Mcp-Session-Id: a b\r\n"));
    EXPECT_EQ(unanswered.at(1).what, mcp_failure::kind::protocol);
    EXPECT_TRUE(heard.empty());
}

TEST_F(McpHttpChannel, BoundsTheSessionId) {
    ask(json_answer(
        "{}", "Mcp-Session-Id: " + std::string(mcp_session_id_bytes_max + 1, 'a') + "\r\n"
    ));
    EXPECT_EQ(unanswered.at(1).what, mcp_failure::kind::protocol);
}

TEST_F(McpHttpChannel, ReportsOtherStatuses) {
    ask("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(unanswered.at(1).what, mcp_failure::kind::refused);
    EXPECT_EQ(unanswered.at(1).detail, "it answered with status 500");
    EXPECT_FALSE(unanswered.at(1).session_over);
}

TEST_F(McpHttpChannel, OnlyARequestThatIsSaidToBeAtFaultWasNotTaken) {
    for (const auto& [status, not_taken] : std::map<std::string, bool>{
             {"302 Found", false},
             {"400 Bad Request", true},
             {"404 Not Found", true},
             {"499 Other", true},
             {"500 Oops", false},
             {"504 Gateway Timeout", false}
         }) {
        SCOPED_TRACE(status);
        unanswered.clear();
        ask(test::response("", status));
        EXPECT_EQ(unanswered.at(1).not_taken, not_taken);
    }
}

TEST_F(McpHttpChannel, OnlyA404InASessionEndsIt) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(
            peer.number == 1 ? json_answer("{}", "Mcp-Session-Id: abc\r\n")
                             : test::response("", "404 Not Found")
        );
    });
    mcp_channel& channel = open(server);
    channel.send("{}", 1);
    until([&] { return unanswered.contains(1); });
    EXPECT_FALSE(unanswered.at(1).session_over);
    channel.send("{}", 2);
    until([&] { return unanswered.contains(2); });
    channel.use_version("2025-06-18");
    channel.send("{}", 3);
    until([&] { return unanswered.contains(3); });
    EXPECT_TRUE(unanswered.at(3).session_over);
}

TEST_F(McpHttpChannel, ReadsAnAnswerWhateverItsType) {
    const auto typed = [](std::string_view type, std::string_view body) {
        return "HTTP/1.1 200 OK\r\n" + std::string(type) +
               "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
    };
    for (const std::string type :
         {"", "Content-Type: text/plain\r\n", "Content-Type:\r\n",
          "Content-Type: application/json-rpc\r\n", "Content-Type: text/event-stream\r\n"}) {
        SCOPED_TRACE(type);
        for (const auto& [body, message] : std::map<std::string, std::string>{
                 {"{\"a\":1}", "{\"a\":1}"},
                 {"\r\n [{\"a\":1}]", "\r\n [{\"a\":1}]"},
                 {"\xEF\xBB\xBF{}", "\xEF\xBB\xBF{}"},
                 {"event: message\ndata: {\"a\":1}\n\n", "{\"a\":1}"},
                 {": hello\n\ndata: 1\n\n", "1"}
             }) {
            heard.clear();
            unanswered.clear();
            ask(typed(type, body));
            EXPECT_EQ(heard, list{message}) << body;
        }
    }
}

TEST_F(McpHttpChannel, ReadsAnAnswerWithoutATypeThatIsCutAnywhere) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        std::string bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        for (const char c : std::string(peer.number == 0 ? "\n{\"a\":1}" : "\ndata: 2\n\n")) {
            bytes += chunk(std::string(1, c));
        }
        for (const char c : bytes + chunk("")) {
            co_await peer.send(std::string(1, c));
        }
    });
    mcp_channel& channel = open(server);
    channel.send("{}", 1);
    until([&] { return unanswered.contains(1); });
    channel.send("{}", 2);
    until([&] { return unanswered.contains(2); });
    EXPECT_EQ(heard, (list{"\n{\"a\":1}", "2"}));
}

TEST_F(McpHttpChannel, ReportsAnAnswerThatIsNeitherJsonNorAStream) {
    for (const std::string body : {"hi", "<html>", "", "dat", "\"{}\""}) {
        SCOPED_TRACE(body);
        unanswered.clear();
        ask(test::response(body));
        EXPECT_EQ(unanswered.at(1).what, mcp_failure::kind::protocol);
        EXPECT_TRUE(heard.empty());
    }
}

TEST_F(McpHttpChannel, ReportsA202ForARequest) {
    ask(accepted);
    EXPECT_EQ(unanswered.at(1).what, mcp_failure::kind::protocol);
}

TEST_F(McpHttpChannel, ReportsALostConnection) {
    ask(test::chunked_header + sse("1"));
    EXPECT_EQ(unanswered.at(1).what, mcp_failure::kind::lost);
}

TEST_F(McpHttpChannel, ReportsAServerThatCannotBeReached) {
    std::optional<http_test_server> server;
    server.emplace(context(), [](server_connection&) -> asio::awaitable<void> { co_return; });
    mcp_channel& channel = open(*server);
    server.reset();
    channel.send("{}", 1);
    until([&] { return !unanswered.empty(); });
    EXPECT_EQ(unanswered.at(1).what, mcp_failure::kind::unavailable);
    EXPECT_TRUE(unanswered.at(1).not_taken);
}

TEST_F(McpHttpChannel, BoundsADocument) {
    ask(json_answer("{" + std::string(mcp_message_bytes_max, ' ')));
    EXPECT_EQ(unanswered.at(1).detail, "one of its messages is too long");
    unanswered.clear();
    ask(json_answer(std::string(mcp_message_bytes_max + 1, ' ')));
    EXPECT_EQ(unanswered.at(1).detail, "its answer is neither JSON nor an event stream");
    EXPECT_TRUE(heard.empty());
}

TEST_F(McpHttpChannel, BoundsAnEvent) {
    ask(test::chunked_header + sse(std::string(mcp_message_bytes_max + 1, ' ')) + chunk(""));
    EXPECT_EQ(unanswered.at(1).detail, "one of its messages is too long");
}

TEST_F(McpHttpChannel, ForgettingARequestClosesItsConnection) {
    event gone(context());
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(test::chunked_header + sse("1"));
        co_await peer.wait_for_close();
        gone.set();
    });
    mcp_channel& channel = open(server);
    channel.send("{}", 1);
    until([&] { return !heard.empty(); });
    channel.forget(1);
    run(gone.wait());
    channel.forget(1);
    channel.forget(77);
}

TEST_F(McpHttpChannel, DeliversANotification) {
    std::string request;
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        request = co_await peer.read_request();
        co_await peer.send(peer.number == 0 ? accepted : test::response("", "400 Bad Request"));
    });
    mcp_channel& channel = open(server);
    EXPECT_FALSE(run(channel.deliver("{\"n\":1}")));
    EXPECT_TRUE(request.ends_with("{\"n\":1}"));
    EXPECT_EQ(run(channel.deliver("{}")).value().what, mcp_failure::kind::refused);
}

TEST_F(McpHttpChannel, BoundsRepliesUnderWay) {
    event end(context());
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await end.wait();
        co_await peer.send(accepted);
    });
    mcp_channel& channel = open(server);
    for (std::size_t i = 0; i < 2 * mcp_replies_max; ++i) {
        channel.send("{}", std::nullopt);
    }
    until([&] { return server.accepted() == static_cast<int>(mcp_replies_max); });
    end.set();
    channel.send("{}", 1); // The runs bound the number of requests.
    until([&] { return unanswered.contains(1); });
    EXPECT_EQ(server.accepted(), static_cast<int>(mcp_replies_max) + 1);
}

TEST_F(McpHttpChannel, ReceivesMessagesThatTheServerSendsOnItsOwn) {
    list requests;
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        requests.push_back(co_await peer.read_request());
        if (peer.number == 0) {
            co_await peer.send(json_answer("{}", "Mcp-Session-Id: abc\r\n"));
        } else if (peer.number == 1) {
            co_await peer.send(test::chunked_header + sse("1") + chunk("")); // Cut by a proxy.
        } else {
            co_await peer.send(test::chunked_header + sse("2"));
            co_await peer.wait_for_close();
        }
    });
    mcp_channel& channel = open(server);
    channel.send("{}", 1);
    until([&] { return heard.size() == 1; });
    channel.use_version("2025-06-18");
    channel.listen();
    until([&] { return heard.size() == 3; });
    EXPECT_EQ(heard, (list{"{}", "1", "2"}));
    EXPECT_TRUE(requests[1].starts_with("GET /mcp?key=1 HTTP/1.1\r\n")) << requests[1];
    EXPECT_TRUE(has(requests[1], "Accept: text/event-stream"));
    EXPECT_TRUE(has(requests[1], "Mcp-Session-Id: abc"));
    EXPECT_FALSE(closed);
}

TEST_F(McpHttpChannel, AServerMayHaveNothingToSay) {
    for (const std::string& answer :
         {not_allowed, test::response("", "404 Not Found"), test::response("hello")}) {
        int gets = 0;
        http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
            const std::string request = co_await peer.read_request();
            if (request.starts_with("GET")) {
                ++gets;
                co_await peer.send(answer);
            } else {
                co_await peer.send(accepted);
            }
        });
        mcp_channel& channel = open(server);
        channel.listen();
        until([&] { return gets == 1; });
        EXPECT_FALSE(run(channel.deliver("{}")));
        EXPECT_FALSE(closed);
        run(channel.close());
        EXPECT_EQ(gets, 1);
    }
}

TEST_F(McpHttpChannel, NoticesAServerThatWasStartedAgain) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(
            peer.number == 0 ? test::chunked_header + chunk("")
                             : test::response("", "400 Bad Request")
        );
    });
    open(server).listen();
    until([&] { return closed.has_value(); });
    EXPECT_EQ(closed->detail, "it answered with status 400");
}

TEST_F(McpHttpChannel, NoticesAServerThatIsGone) {
    std::optional<http_test_server> server;
    event end(context());
    server.emplace(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(test::chunked_header + sse("1"));
        co_await end.wait();
    });
    open(*server).listen();
    until([&] { return !heard.empty(); });
    server->close();
    end.set();
    until([&] { return closed.has_value(); });
    EXPECT_EQ(closed->what, mcp_failure::kind::unavailable);
}

TEST_F(McpHttpChannel, CloseEndsEverythingSilently) {
    event gone(context());
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(test::chunked_header + sse("1"));
        co_await peer.wait_for_close();
        gone.set();
    });
    mcp_channel& channel = open(server);
    channel.send("{}", 1);
    until([&] { return !heard.empty(); });
    run(channel.close());
    run(gone.wait());
    EXPECT_TRUE(unanswered.empty());
    EXPECT_FALSE(closed);
}

TEST(McpHttpEndpoint, RefusesUrlsThatCannotBeUsed) {
    for (const std::string url : {"", "/mcp", "ftp://example.org", "http://user@example.org/"}) {
        mcp_http_settings settings;
        settings.url = url;
        EXPECT_FALSE(mcp_http_endpoint::make(settings)) << url;
    }
}

TEST(McpHttpEndpoint, RefusesCertificatesThatCannotBeRead) {
    mcp_http_settings settings;
    settings.url = "https://example.org/mcp";
    settings.ca_file = "no/such/file.pem";

    const auto made = mcp_http_endpoint::make(settings);

    ASSERT_FALSE(made);
    EXPECT_TRUE(made.error().detail.starts_with("ca_file:")) << made.error().detail;
}

TEST_F(McpHttpChannel, AFlushWaitsForNotificationsAndReplies) {
    bool received = false;
    bool flushed = false;
    asio::steady_timer hold(context(), asio::steady_timer::time_point::max());
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        received = true;
        co_await hold.async_wait(asio::as_tuple(asio::use_awaitable));
        co_await peer.send(accepted);
    });
    mcp_channel& channel = open(server);
    channel.send("{}", std::nullopt);
    asio::co_spawn(
        context(), channel.flush(std::chrono::steady_clock::time_point::max()),
        [&](const std::exception_ptr&) { flushed = true; }
    );
    until([&] { return received; });
    EXPECT_FALSE(flushed);

    hold.cancel();
    until([&] { return flushed; });
}

TEST_F(McpHttpChannel, AFlushHasAnEnd) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.read_request(); // The request is never answered.
    });
    mcp_channel& channel = open(server);
    channel.send("{}", std::nullopt);

    run(channel.flush(std::chrono::steady_clock::now() + milliseconds(5)));
}

} // namespace
} // namespace agui::runner
