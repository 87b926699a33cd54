// Answers of servers, over real sockets, under a budget of a few megabytes.

#include "runner/base/answer_memory.hpp"

#include "runner/http/http_transport.hpp"
#include "runner/mcp/mcp_call_result.hpp"
#include "runner/mcp/mcp_client.hpp"
#include "runner/mcp/mcp_http_channel.hpp"
#include "runner/mcp/mcp_stdio_channel.hpp"
#include "runner/openai/openai_dialect.hpp"
#include "runner/provider/http_provider.hpp"
#include "runner/tools/webhook_tool.hpp"
#include "session/base/heavy_work.hpp"
#include "tests/runner/http/http_test_server.hpp"
#include "tests/runner/openai/recording_model_sink.hpp"
#include "tests/support/coroutine_test.hpp"

#include <boost/asio/post.hpp>

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using test::chunk;
using test::chunked_header;
using test::http_test_server;
using test::response;
using test::server_connection;

constexpr std::size_t kib = 1U << 10U;
constexpr std::size_t mib = 1U << 20U;

TEST(AnswerMemory, CountsKeptDataButNoTokens) {
    memory_budget budget(mib);
    answer_memory memory(&budget);

    EXPECT_TRUE(memory.keep(4 * kib));
    EXPECT_EQ(budget.used(), 0U);
    EXPECT_TRUE(memory.keep(100 * kib));
    EXPECT_EQ(budget.used(), 128 * kib);
    EXPECT_FALSE(memory.keep(2 * mib));
    EXPECT_EQ(budget.used(), 128 * kib);
    EXPECT_TRUE(memory.keep(kib));
    EXPECT_EQ(budget.used(), 0U);
}

TEST(AnswerMemory, WithoutABudgetEverythingFits) {
    answer_memory memory(nullptr);

    EXPECT_TRUE(memory.keep(std::size_t(1) << 40U));
}

/// An array of that many zeros takes at least 12 times its length when it is parsed.
std::string zeros(std::size_t count) {
    std::string text = "[0";
    for (std::size_t i = 1; i < count; ++i) {
        text += ",0";
    }
    return text + "]";
}

/// The text that follows `"id":` in a request.
std::string id_in(const std::string& request) {
    const std::size_t begin = request.find("\"id\":") + 5;
    return request.substr(begin, request.find_first_of(",}", begin) - begin);
}

class LargeAnswers : public test::coroutine_test {
protected:
    ~LargeAnswers() override {
        if (client_) {
            run(client_->close());
        }
    }

    /// An MCP server that answers each call with this result, as a document or as an event.
    asio::awaitable<void> serve_mcp(server_connection& peer) {
        const std::string request = co_await peer.read_request();
        if (request.find("\"initialize\"") != std::string::npos) {
            co_await peer.send(response(
                R"({"jsonrpc":"2.0","id":)" + id_in(request) +
                R"(,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}})"
            ));
        } else if (request.find("\"tools/call\"") != std::string::npos) {
            const std::string answer = R"({"jsonrpc":"2.0","result":)" + mcp_result_text +
                                       R"(,"id":)" + id_in(request) + "}";
            co_await peer.send(
                as_events ? chunked_header + chunk("data: " + answer + "\n\n") + chunk("")
                          : response(answer)
            );
        } else if (request.find("\"ping\"") != std::string::npos) {
            co_await peer.send(
                response(R"({"jsonrpc":"2.0","id":)" + id_in(request) + R"(,"result":{}})")
            );
        } else {
            co_await peer.send("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
        }
    }

    mcp_client& connect(std::shared_ptr<mcp_channel> channel) {
        settings.heavy = &heavy;
        settings.listens = false;
        client_ = std::make_shared<mcp_client>(
            context().get_executor(), std::move(channel), settings, log, [] {}
        );
        EXPECT_FALSE(run(client_->connect()));
        return *client_;
    }

    mcp_client& connect(const http_test_server& server) {
        mcp_http_settings http;
        http.url = server.url("/mcp");
        http.budget = &budget;
        return connect(mcp_http_endpoint::make(http).value().channel(context().get_executor()));
    }

    static std::string describe(const mcp_result<json::object>& answer) {
        return answer ? "result" : std::string(to_string(answer.error().what));
    }

    /// Returns once the budget is as it was at the start, because the memory of an answer is
    /// released soon.
    void wait_until_free() {
        run([](asio::io_context& on, const memory_budget& of) -> asio::awaitable<void> {
            while (of.used() > 0) {
                co_await asio::post(on, asio::use_awaitable);
            }
        }(context(), budget));
    }

    /// Calls a tool and describes the result. The budget is as full as before once that result is
    /// gone.
    std::string call(mcp_client& client) {
        std::string ended = describe(run(client.call_tool("echo", {})));
        wait_until_free();
        return ended;
    }

    /// Asks the model, which answers with these frames, and describes the end.
    std::string ask_model(std::vector<std::string> frames) {
        http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
            (void)co_await peer.read_request();
            co_await peer.send(chunked_header);
            for (const std::string& frame : frames) {
                co_await peer.send(chunk(frame));
            }
            co_await peer.send(chunk(""));
            for (int i = 0; i < 500 && sent; ++i) { // Waits until all of it has been read.
                co_await asio::post(context(), asio::use_awaitable);
            }
            if (sent) {
                sent();
            }
        });
        http_endpoint endpoint;
        endpoint.base_url = server.url();
        endpoint.budget = &budget;
        http_provider_settings provider;
        provider.heavy = &heavy;
        const auto model = make_http_provider(
            make_http_client(std::move(endpoint)).value(), make_openai_dialect({}), provider
        );
        const std::vector<tool_definition> none;
        model_request request;
        request.tools = &none;
        std::string ended;
        const auto keep = [](model_provider& from, const model_request& what, model_sink& to,
                             std::string& end) -> asio::awaitable<void> {
            const model_outcome outcome = co_await from.ask(what, to);
            end = outcome                                               ? "answer"
                  : outcome.error().what == model_failure::kind::memory ? "memory"
                                                                        : outcome.error().detail;
        };
        run(keep(*model, request, sink, ended));
        wait_until_free();
        return ended;
    }

    memory_budget budget{8 * mib};
    heavy_work heavy{&budget};
    mcp_client_settings settings{.server = "fake", .client_version = "1"};
    memory_logger log;
    std::string mcp_result_text;
    bool as_events = false;
    test::recording_model_sink sink;
    std::function<void()> sent; ///< Called when the model has sent its answer.

private:
    std::shared_ptr<mcp_client> client_;
};

TEST_F(LargeAnswers, AnMcpResultThatHasNoRoomWhenItIsParsedIsAFailureOfThatCall) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await serve_mcp(peer);
    });
    mcp_client& client = connect(server);
    for (const bool events : {false, true}) {
        SCOPED_TRACE(events);
        as_events = events;
        mcp_result_text = R"({"structuredContent":)" + zeros(mib / 2) + "}";
        EXPECT_EQ(call(client), "memory");
        mcp_result_text = R"({"content":[]})";
        EXPECT_EQ(call(client), "result");
    }
}

TEST_F(LargeAnswers, AnMcpTextThatHasNoRoomIsNotReadToItsEnd) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await serve_mcp(peer);
    });
    mcp_client& client = connect(server);
    mcp_result_text = R"({"a":")" + std::string(12 * mib, 'x') + "\"}";
    for (const bool events : {false, true}) {
        SCOPED_TRACE(events);
        as_events = events;
        EXPECT_EQ(call(client), "memory");
    }
}

TEST_F(LargeAnswers, AProcessThatSaysTooMuchFailsTheCallOnly) {
    // Each line is answered, and a call gets a million zeros.
    mcp_stdio_settings stdio;
    stdio.server = "local";
    stdio.budget = &budget;
    stdio.command.command = "sh";
    stdio.command.environment = {{"PATH", "/usr/bin:/bin"}};
    stdio.command.args = {"-c", R"(
while read -r line; do
    id=${line#*'"id":'}
    id=${id%%,*}
    case "$line" in
    *'"initialize"'*)
        echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-06-18"}}' ;;
    *'"zeros"'*)
        printf '{"jsonrpc":"2.0","result":{"a":['
        head -c 500000 /dev/zero | tr '\0' 0 | sed 's/0/0,/g'
        echo '0]},"id":'$id'}' ;;
    *'"tools/call"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{}}' ;;
    esac
done
)"};
    mcp_client& client =
        connect(make_mcp_stdio_channel(context().get_executor(), std::move(stdio), log));

    EXPECT_EQ(describe(run(client.call_tool("zeros", {}))), "memory");
    EXPECT_EQ(describe(run(client.call_tool("small", {}))), "result");
    EXPECT_EQ(client.closed(), nullptr);
    wait_until_free();
}

TEST_F(LargeAnswers, ALargeMcpMessageIsParsedOnAnotherThread) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await serve_mcp(peer);
    });
    mcp_client& client = connect(server);
    mcp_result_text = R"({"a":")" + std::string(mib, 'x') + "\"}";
    std::promise<void> gate;
    asio::post(heavy.lane_of(mib), [&gate] { gate.get_future().wait(); });
    bool answered = false;
    asio::co_spawn(
        context(),
        [](mcp_client& to, bool& done) -> asio::awaitable<void> {
            const mcp_result<json::object> answer = co_await to.call_tool("echo", {});
            done = answer.has_value();
        }(client, answered),
        asio::detached
    );

    // While the thread is blocked, the text arrives, and other calls are answered.
    run([](asio::io_context& on, const memory_budget& of) -> asio::awaitable<void> {
        while (of.used() == 0) {
            co_await asio::post(on, asio::use_awaitable);
        }
    }(context(), budget));
    mcp_result_text = R"({"content":[]})";
    for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(describe(run(client.call_tool("echo", {}))), "result");
    }
    EXPECT_GE(budget.used(), mib);
    EXPECT_FALSE(answered);

    gate.set_value();
    run([](asio::io_context& on, const bool& done) -> asio::awaitable<void> {
        while (!done) {
            co_await asio::post(on, asio::use_awaitable);
        }
    }(context(), answered));
    wait_until_free();
}

TEST_F(LargeAnswers, AWebhookWhoseAnswerHasNoRoomIsAnErrorOfTheTool) {
    std::string body(4 * mib, 'x');
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        (void)co_await peer.read_request();
        co_await peer.send(response(body));
    });
    webhook_settings hook;
    hook.url = server.url("/tool");
    hook.max_result_bytes = 8 * mib;
    hook.budget = &budget;
    const tool_function tool = make_webhook_tool(hook).value();

    const tool_outcome refused = run(tool(tool_invocation()));
    EXPECT_EQ(refused.what, tool_outcome::kind::error);
    EXPECT_TRUE(
        std::get<std::string>(refused.content) ==
        "The server has not enough memory for the tool's answer."
    );
    wait_until_free();

    body.resize(mib);
    const tool_outcome taken = run(tool(tool_invocation()));
    EXPECT_EQ(taken.what, tool_outcome::kind::result);
    wait_until_free();
}

TEST_F(LargeAnswers, AChunkOfAModelThatHasNoRoomEndsTheAnswer) {
    const std::string odd = R"({"choices":)" + zeros(mib / 2) + "}";
    EXPECT_EQ(ask_model({"data: " + odd + "\n\n"}), "memory");
    EXPECT_EQ(ask_model({"data: " + odd}), "memory") << "without an end of the event";
    EXPECT_EQ(ask_model({odd}), "memory") << "an answer that is one document";
    const std::string text(12 * mib, 'x');
    EXPECT_EQ(ask_model({"data: {\"a\":\"" + text + "\"}\n\n"}), "memory") << "its bytes";
}

TEST_F(LargeAnswers, ALargeChunkOfAModelIsParsedOnAnotherThread) {
    std::promise<void> gate;
    asio::post(heavy.lane_of(mib), [&gate] { gate.get_future().wait(); });
    std::size_t before = 0;
    sent = [&] {
        before = sink.lines.size();
        gate.set_value();
    };

    EXPECT_EQ(
        ask_model(
            {R"(data: {"choices":[{"delta":{"content":")" + std::string(300 * kib, 'x') +
             "\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"}
        ),
        "answer"
    );

    EXPECT_EQ(before, 0U);
    EXPECT_EQ(sink.lines.size(), 1U);
}

TEST_F(LargeAnswers, ALargeChunkOfAModelKeepsItsPlace) {
    const std::string text(300 * kib, 'x');
    const auto says = [](const std::string& part) {
        return R"(data: {"choices":[{"delta":{"content":")" + part + "\"}}]}\n\n";
    };
    const std::string end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
                            "data: [DONE]\n\n";

    EXPECT_EQ(ask_model({says("a") + says(text) + says("b") + end}), "answer");

    EXPECT_EQ(sink.lines, std::vector<std::string>{"text a" + text + "b"});
}

} // namespace
} // namespace agui::runner
