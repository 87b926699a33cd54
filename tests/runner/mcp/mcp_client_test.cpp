#include "runner/mcp/mcp_client.hpp"

#include "runner/mcp/mcp_limits.hpp"
#include "tests/runner/http/http_test_server.hpp"
#include "tests/runner/mcp/fake_mcp_server.hpp"
#include "tests/support/coroutine_test.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace agui::runner {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using test::fake_mcp_server;
using test::text_result;
using channel = fake_mcp_server::channel;
using list = std::vector<std::string>;
constexpr auto never = std::chrono::steady_clock::time_point::max();

class McpClient : public test::coroutine_test {
protected:
    ~McpClient() override {
        if (client_) {
            run(client_->close());
        }
    }

    mcp_client& client() {
        if (!client_) {
            client_ = std::make_shared<mcp_client>(
                context().get_executor(), server.open(context().get_executor()), settings, log,
                [this] { ++changes; }
            );
        }
        return *client_;
    }

    /// Returns "ready", or the failure.
    std::string connect() {
        const auto failed = run(client().connect());
        return failed ? std::string(to_string(failed->what)) + ": " + failed->detail : "ready";
    }

    /// Calls a tool, and describes the result.
    std::string call(std::string_view name = "echo") {
        return describe(run(client().call_tool(name, {{"a", 1}})));
    }

    static std::string describe(const mcp_result<json::object>& answer) {
        if (answer) {
            return json::serialize(*answer);
        }
        return std::string(to_string(answer.error().what)) + ": " + answer.error().detail;
    }

    /// Waits until the server has received so many messages.
    void hear(std::size_t count) {
        run([](asio::io_context& on, fake_mcp_server& from,
               std::size_t wanted) -> asio::awaitable<void> {
            while (from.heard.size() < wanted) {
                co_await asio::post(on, asio::use_awaitable);
            }
        }(context(), server, count));
    }

    fake_mcp_server server;
    mcp_client_settings settings{.server = "fake", .client_version = "1.2.3"};
    memory_logger log;
    int changes = 0;

private:
    std::shared_ptr<mcp_client> client_;
};

TEST_F(McpClient, ShakesHands) {
    EXPECT_EQ(connect(), "ready");
    EXPECT_EQ(
        server.heard,
        (list{
            R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",)"
            R"("capabilities":{},"clientInfo":{"name":"agui-gateway","version":"1.2.3"}}})",
            R"({"jsonrpc":"2.0","method":"notifications/initialized"})"
        })
    );
    EXPECT_EQ(server.version, "2025-06-18");
    EXPECT_EQ(server.listening, 1);
    EXPECT_EQ(client().closed(), nullptr);
}

TEST_F(McpClient, SpeaksAnOlderVersion) {
    server.speaks = "2025-03-26";
    EXPECT_EQ(connect(), "ready");
    EXPECT_EQ(server.version, "2025-03-26");
}

TEST_F(McpClient, SpeaksANewerVersion) {
    server.speaks = "2025-11-25";
    EXPECT_EQ(connect(), "ready");
    EXPECT_EQ(server.version, "2025-11-25");
    EXPECT_EQ(run(client().list_tools()).value().tools.size(), 1U);
}

TEST_F(McpClient, SpeaksADraftOfTheProtocol) {
    server.speaks = "DRAFT-2026-v1";
    EXPECT_EQ(connect(), "ready");
    EXPECT_EQ(server.version, "DRAFT-2026-v1");
}

TEST_F(McpClient, RefusesAVersionThatNoHeaderCanHave) {
    for (const std::string version : {"2026-01-01\r\nX: y", "2026 01", ""}) {
        fake_mcp_server odd;
        odd.speaks = version;
        const auto one = std::make_shared<mcp_client>(
            context().get_executor(), odd.open(context().get_executor()), settings, log, [] {}
        );
        const auto failed = run(one->connect());
        ASSERT_TRUE(failed) << version;
        EXPECT_EQ(failed->what, mcp_failure::kind::protocol);
        run(one->close());
    }
}

TEST_F(McpClient, RefusesAVersionThatIsTooOld) {
    server.speaks = "1999-01-01";
    EXPECT_EQ(connect(), "protocol: its version of the protocol is too old");
    EXPECT_NE(client().closed(), nullptr);
    EXPECT_EQ(server.methods(), list{"initialize"});
}

TEST_F(McpClient, RefusesAGreetingThatIsNone) {
    for (const std::string greeting :
         {"{}", "null", R"({"protocolVersion":1,"capabilities":{}})",
          R"({"protocolVersion":null,"capabilities":{}})"}) {
        SCOPED_TRACE(greeting);
        fake_mcp_server odd;
        odd.instead = [&](channel& over, const json::object& message) {
            over.result(message, json::parse(greeting));
        };
        const auto one = std::make_shared<mcp_client>(
            context().get_executor(), odd.open(context().get_executor()), settings, log, [] {}
        );
        const auto failed = run(one->connect());
        ASSERT_TRUE(failed);
        EXPECT_EQ(failed->what, mcp_failure::kind::protocol);
        run(one->close());
    }
}

TEST_F(McpClient, TellsWhyItCannotConnect) {
    server.refuse_open = mcp_failure{.what = mcp_failure::kind::unavailable, .detail = "no file"};
    EXPECT_EQ(connect(), "unavailable: no file");
    EXPECT_EQ(call(), "unavailable: no file");
}

TEST_F(McpClient, TheHandshakeHasADeadlineAndIsNotCancelled) {
    settings.connect_timeout = std::chrono::milliseconds(5);
    server.instead = [](channel&, const json::object&) {
    };
    EXPECT_EQ(connect(), "timeout: no answer in time");
    EXPECT_EQ(server.methods(), list{"initialize"}); // MCP forbids to cancel this request.
}

TEST_F(McpClient, ARefusedInitializedNotificationFailsTheSession) {
    server.refuse_delivery = mcp_failure{.what = mcp_failure::kind::refused, .detail = "no"};
    EXPECT_EQ(connect(), "refused: no");
    EXPECT_EQ(server.listening, 0);
}

TEST_F(McpClient, ListsAllPages) {
    connect();
    server.instead = [](channel& over, const json::object& message) {
        const json::object& params = message.at("params").as_object();
        const bool second = params.contains("cursor") && params.at("cursor") == "two";
        over.result(
            message, json::parse(
                         second ? R"({"tools":[{"name":"b","inputSchema":{"type":"object"}},)"
                                  R"({"name":"a","inputSchema":{"type":"object"}},7]})"
                                : R"({"tools":[{"name":"a","inputSchema":{"type":"object"}}],)"
                                  R"("nextCursor":"two"})"
                     )
        );
    };
    const auto listed = run(client().list_tools()).value();
    ASSERT_EQ(listed.tools.size(), 2U);
    EXPECT_EQ(listed.tools[0].name, "a");
    EXPECT_EQ(listed.tools[1].name, "b");
    EXPECT_EQ(listed.left_out, 2U); // The second `a`, and the entry that is no tool.
}

TEST_F(McpClient, OfToolsThatAreShownAlikeTheListHasOneWhateverTheirOrder) {
    connect();
    std::vector<std::string> names{
        "get\xE2\x80\x8B", "\x01get", "get", "put\xE2\x80\x8B", "p\xE2\x80\x8But"
    };
    for (int order = 0; order < 2; ++order) {
        server.tools = names;
        auto listed = run(client().list_tools()).value();
        std::ranges::sort(listed.tools, {}, &mcp_tool::name);
        ASSERT_EQ(listed.tools.size(), 2U);
        EXPECT_EQ(listed.tools[0].name, "get") << "the one that is shown as it is";
        EXPECT_EQ(listed.tools[1].name, "put\xE2\x80\x8B");
        EXPECT_EQ(listed.left_out, 3U);
        std::ranges::reverse(names);
    }
}

TEST_F(McpClient, ARepeatedCursorEndsTheList) {
    connect();
    server.heard.clear();
    server.instead = [](channel& over, const json::object& message) {
        over.result(
            message, json::parse(R"({"tools":[{"name":"a","inputSchema":{"type":"object"}}],)"
                                 R"("nextCursor":"again"})")
        );
    };
    const auto listed = run(client().list_tools()).value();
    EXPECT_EQ(listed.tools.size(), 1U);
    EXPECT_EQ(server.heard.size(), 2U);
}

TEST_F(McpClient, CursorsThatTakeTurnsEndTheList) {
    connect();
    server.heard.clear();
    server.instead = [](channel& over, const json::object& message) {
        const json::object& params = message.at("params").as_object();
        const bool odd = params.contains("cursor") && params.at("cursor") == "a";
        over.result(message, {{"tools", json::array{}}, {"nextCursor", odd ? "b" : "a"}});
    };
    EXPECT_TRUE(run(client().list_tools()));
    EXPECT_EQ(server.heard.size(), 3U);
}

TEST_F(McpClient, BoundsTheNumberOfPages) {
    connect();
    server.heard.clear();
    server.instead = [](channel& over, const json::object& message) {
        const std::string id = json::serialize(message.at("id"));
        over.result(
            message,
            json::parse(
                R"({"tools":[{"name":"t)" + id + R"(","inputSchema":{"type":"object"}}],)" +
                R"("nextCursor":"c)" + id + R"("})"
            )
        );
    };
    const auto listed = run(client().list_tools()).value();
    EXPECT_EQ(listed.tools.size(), mcp_list_pages_max);
    EXPECT_EQ(listed.left_out, 1U);
    EXPECT_EQ(server.heard.size(), mcp_list_pages_max);
}

TEST_F(McpClient, KeepsTheToolsBeforeAPageThatFails) {
    connect();
    server.instead = [](channel& over, const json::object& message) {
        if (message.at("params").as_object().contains("cursor")) {
            over.say(
                R"({"jsonrpc":"2.0","id":)" + json::serialize(message.at("id")) +
                R"(,"error":{"code":-32602,"message":"Invalid cursor"}})"
            );
            return;
        }
        over.result(
            message, json::parse(R"({"tools":[{"name":"a","inputSchema":{"type":"object"}}],)"
                                 R"("nextCursor":"p2"})")
        );
    };
    const auto listed = run(client().list_tools()).value();
    EXPECT_EQ(listed.tools.size(), 1U);
    EXPECT_EQ(listed.left_out, 1U);
}

TEST_F(McpClient, AnInvalidFirstPageFailsTheList) {
    connect();
    server.instead = [](channel& over, const json::object& message) {
        over.result(message, {{"tools", "none"}});
    };
    EXPECT_EQ(run(client().list_tools()).error().detail, "its answer to tools/list cannot be read");
}

TEST_F(McpClient, BoundsAllDefinitionsTogether) {
    connect();
    int page = 0;
    server.instead = [&](channel& over, const json::object& message) {
        json::array tools;
        for (int i = 0; i < 10; ++i) {
            tools.push_back(
                {{"name", std::to_string(page) + "." + std::to_string(i)},
                 {"inputSchema", {{"type", "object"}, {"x", std::string(60'000, 'x')}}}}
            );
        }
        ++page;
        json::object result{{"tools", tools}};
        if (page < 10) {
            result["nextCursor"] = std::to_string(page);
        }
        over.result(message, result);
    };
    const auto listed = run(client().list_tools()).value();
    EXPECT_EQ(listed.tools.size() + listed.left_out, 100U);
    EXPECT_EQ(listed.tools.size(), mcp_definitions_bytes_max / 60'000);
}

TEST_F(McpClient, ListsToolsThatAreNotDeclared) {
    for (const std::string greeting :
         {R"({"protocolVersion":"2025-06-18","capabilities":{}})",
          R"({"protocolVersion":"2025-06-18","capabilities":{"tools":null,"logging":null}})",
          R"({"protocolVersion":"2025-06-18","capabilities":null,"serverInfo":null})",
          R"({"protocolVersion":"2025-06-18","capabilities":[],"instructions":null})"}) {
        SCOPED_TRACE(greeting);
        fake_mcp_server odd;
        odd.instead = [&](channel& over, const json::object& message) {
            over.result(
                message, json::parse(
                             message.at("method") == "initialize"
                                 ? greeting
                                 : R"({"tools":[{"name":"a","inputSchema":{"type":"object"}}]})"
                         )
            );
        };
        const auto one = std::make_shared<mcp_client>(
            context().get_executor(), odd.open(context().get_executor()), settings, log, [] {}
        );
        EXPECT_FALSE(run(one->connect()));
        EXPECT_EQ(run(one->list_tools()).value().tools.size(), 1U);
        run(one->close());
    }
}

TEST_F(McpClient, AServerThatDeclaresNoToolsMayRefuseToListThem) {
    server.instead = [](channel& over, const json::object& message) {
        if (message.at("method") == "initialize") {
            over.result(
                message, json::parse(R"({"protocolVersion":"2025-06-18","capabilities":{}})")
            );
            return;
        }
        over.say(
            R"({"jsonrpc":"2.0","id":)" + json::serialize(message.at("id")) +
            R"(,"error":{"code":-32601,"message":"Method not found"}})"
        );
    };
    connect();
    const auto listed = run(client().list_tools()).value();
    EXPECT_TRUE(listed.tools.empty());
    EXPECT_EQ(listed.left_out, 0U);
    EXPECT_EQ(client().closed(), nullptr);
}

TEST_F(McpClient, TakesAnswersWhoseIdIsAText) {
    server.instead = [](channel& over, const json::object& message) {
        const json::value result =
            message.at("method") == "initialize"
                ? json::parse(R"({"protocolVersion":"2025-06-18","capabilities":{"tools":{}}})")
                : text_result("hi");
        over.say(
            R"({"jsonrpc":"2.0","id":")" + json::serialize(message.at("id")) + R"(","result":)" +
            json::serialize(result) + "}"
        );
    };
    EXPECT_EQ(connect(), "ready");
    EXPECT_EQ(call(), R"({"content":[{"type":"text","text":"hi"}]})");
}

TEST_F(McpClient, CallsATool) {
    connect();
    server.heard.clear();
    server.answer = [](channel& over, const json::object& message) {
        over.result(message, text_result("hi"));
    };
    EXPECT_EQ(call(), R"({"content":[{"type":"text","text":"hi"}]})");
    EXPECT_EQ(
        server.heard, list{R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":)"
                           R"({"name":"echo","arguments":{"a":1},"_meta":{"progressToken":2}}})"}
    );
}

TEST_F(McpClient, PassesAnErrorOn) {
    connect();
    server.answer = [](channel& over, const json::object& message) {
        over.say(
            R"({"jsonrpc":"2.0","id":)" + json::serialize(message.at("id")) +
            R"(,"error":{"code":-32602,"message":"Unknown tool"}})"
        );
    };
    const auto answer = run(client().call_tool("x", {}));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().what, mcp_failure::kind::error);
    EXPECT_EQ(answer.error().detail, "JSON-RPC error -32602");
    EXPECT_EQ(answer.error().upstream, "Unknown tool");
    EXPECT_EQ(client().closed(), nullptr);
}

TEST_F(McpClient, CutsTheTextOfAnError) {
    connect();
    server.answer = [](channel& over, const json::object& message) {
        std::string text = R"(\u202e\u001b)";
        for (int i = 0; i < 600; ++i) {
            text += "\xF0\x9F\x98\x80";
        }
        over.say(
            R"({"jsonrpc":"2.0","id":)" + json::serialize(message.at("id")) +
            R"(,"error":{"code":-32602,"message":")" + text + R"("}})"
        );
    };
    const auto answer = run(client().call_tool("x", {}));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().upstream.size(), 499U * 4);
    EXPECT_TRUE(answer.error().upstream.starts_with("\xF0\x9F\x98\x80"));
    EXPECT_TRUE(answer.error().upstream.ends_with("\xF0\x9F\x98\x80"));
}

TEST_F(McpClient, IgnoresMessagesOfOtherCalls) {
    connect();
    server.answer = [](channel& over, const json::object& message) {
        over.say("listening on port 1");
        over.say(R"({"jsonrpc":"2.0","id":99,"result":{}})");
        over.say(R"({"jsonrpc":"2.0","id":0,"result":{}})");
        over.say(R"({"jsonrpc":"2.0","id":"x","result":{}})");
        over.say(R"({"jsonrpc":"2.0","id":-1,"error":{"code":1,"message":"x"}})");
        over.say(R"({"jsonrpc":"2.0","method":"notifications/unheard-of","params":{"a":1}})");
        over.say(R"({"jsonrpc":"2.0","method":"notifications/progress"})");
        over.say(
            R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x"}})"
        );
        over.result(message, text_result("hi"));
        over.result(message, text_result("again"));
    };
    EXPECT_EQ(call(), R"({"content":[{"type":"text","text":"hi"}]})");
    EXPECT_EQ(client().closed(), nullptr);
}

// Valid messages with random changes. The worst that may happen is a failed call.
TEST_F(McpClient, SurvivesWhateverTheServerSends) {
    const list samples{
        R"({"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"hi"}]}})",
        R"({"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no","data":null}})",
        R"({"jsonrpc":"2.0","id":"a","method":"sampling/createMessage","params":{}})",
        R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":3}})",
        R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})",
        R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"result":{}}])"
    };
    connect();
    std::minstd_rand random(1);
    const auto below = [&random](std::size_t end) {
        return random() % end;
    };
    server.answer = [&](channel& over, const json::object& message) {
        if (!message.contains("method") || message.at("method") != "tools/call") {
            return;
        }
        for (int i = 0; i < 50; ++i) {
            std::string text = samples[below(samples.size())];
            for (std::size_t changes_left = 1 + below(4); changes_left > 0; --changes_left) {
                const std::size_t at = below(text.size());
                switch (below(4)) {
                case 0:
                    text[at] = static_cast<char>(below(256));
                    break;
                case 1:
                    text.erase(at, 1 + below(8));
                    break;
                case 2:
                    text.insert(at, text.substr(below(text.size()), below(16)));
                    break;
                default:
                    text.insert(at, 1, "{}[],:\"0"[below(8)]);
                }
            }
            over.say(text);
        }
        over.result(message, text_result("the end"));
    };
    for (int i = 0; i < 100; ++i) {
        (void)call();
    }
    server.answer = [](channel& over, const json::object& message) {
        if (message.contains("id")) {
            over.result(message, text_result("hi"));
        }
    };
    EXPECT_EQ(call(), R"({"content":[{"type":"text","text":"hi"}]})");
}

TEST_F(McpClient, AMalformedAnswerEndsTheCallAtOnce) {
    connect();
    server.answer = [](channel& over, const json::object& message) {
        over.say(R"({"jsonrpc":"2.0","id":)" + json::serialize(message.at("id")) + "}");
    };
    EXPECT_EQ(call(), "protocol: its answer has neither a result nor an error");
}

TEST_F(McpClient, AnswersPingAndRefusesEverythingElse) {
    connect();
    server.heard.clear();
    const auto over = server.last.lock();
    over->say(R"({"jsonrpc":"2.0","id":"p","method":"ping"})");
    for (const std::string method :
         {"sampling/createMessage", "elicitation/create", "roots/list", "unheard/of"}) {
        over->say(R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"(","params":{}})");
    }
    hear(5);
    const std::string refused =
        R"({"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}})";
    EXPECT_EQ(
        server.heard,
        (list{R"({"jsonrpc":"2.0","id":"p","result":{}})", refused, refused, refused, refused})
    );
}

TEST_F(McpClient, ACallHasADeadlineOfWhichTheServerIsTold) {
    settings.call_timeout = std::chrono::milliseconds(5);
    server.answer = [](channel& over, const json::object& message) {
        if (message.at("method") == "ping") {
            over.result(message, json::object{});
        }
    };
    connect();
    server.heard.clear();

    EXPECT_EQ(call(), "timeout: no answer in time");
    hear(2);
    EXPECT_EQ(
        server.heard.at(1), R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":)"
                            R"({"requestId":2,"reason":"There was no answer in time."}})"
    );
    EXPECT_EQ(server.forgotten.back(), 2);
}

TEST_F(McpClient, ASilentServerIsDisconnected) {
    settings.call_timeout = std::chrono::milliseconds(5);
    settings.ping_timeout = std::chrono::milliseconds(5);
    connect();
    EXPECT_EQ(call(), "timeout: no answer in time");
    run([](asio::io_context& on, mcp_client& one) -> asio::awaitable<void> {
        while (one.closed() == nullptr) {
            co_await asio::post(on, asio::use_awaitable);
        }
    }(context(), client()));
    EXPECT_EQ(server.methods().back(), "notifications/cancelled");
    EXPECT_GT(changes, 0);
}

TEST_F(McpClient, ProgressProlongsACall) {
    settings.call_timeout = std::chrono::milliseconds(400);
    connect();
    server.answer = [this](channel& over, const json::object& message) {
        if (message.at("method") != "tools/call") {
            return;
        }
        const json::value token = message.at("params").at("_meta").at("progressToken");
        asio::co_spawn(
            context(),
            [](std::shared_ptr<channel> to, json::object asked, std::string line
            ) -> asio::awaitable<void> {
                const auto begun = std::chrono::steady_clock::now();
                asio::steady_timer pause(co_await asio::this_coro::executor);
                while (std::chrono::steady_clock::now() - begun < std::chrono::milliseconds(800)) {
                    to->say(line);
                    pause.expires_after(std::chrono::milliseconds(1));
                    co_await pause.async_wait(asio::use_awaitable);
                }
                to->result(asked, text_result("done"));
            }(over.shared_from_this(), message,
              R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":)" +
                  json::serialize(token) + R"(,"progress":1}})"),
            asio::detached
        );
    };
    EXPECT_EQ(call(), R"({"content":[{"type":"text","text":"done"}]})");
}

TEST_F(McpClient, ProgressDoesNotProlongACallForEver) {
    settings.call_timeout = std::chrono::milliseconds(40);
    settings.call_max = std::chrono::milliseconds(60);
    connect();
    server.heard.clear();
    server.answer = [this](channel& over, const json::object& message) {
        if (message.at("method") != "tools/call") {
            return;
        }
        asio::co_spawn(
            context(),
            [](std::shared_ptr<channel> to, const list& heard) -> asio::awaitable<void> {
                asio::steady_timer pause(co_await asio::this_coro::executor);
                while (heard.size() == 1) {
                    to->say(R"({"jsonrpc":"2.0","method":"notifications/progress",)"
                            R"("params":{"progressToken":2,"progress":1}})");
                    pause.expires_after(std::chrono::milliseconds(1));
                    co_await pause.async_wait(asio::use_awaitable);
                }
            }(over.shared_from_this(), server.heard),
            asio::detached
        );
    };
    EXPECT_EQ(call(), "timeout: no answer in time");
    hear(2);
    EXPECT_EQ(server.methods().back(), "notifications/cancelled");
    EXPECT_EQ(client().closed(), nullptr);
}

TEST_F(McpClient, ACancelledCallEndsAtOnceAndTellsTheServer) {
    connect();
    server.heard.clear();
    asio::cancellation_signal stop;
    server.answer = [&](channel&, const json::object& message) {
        if (message.at("method") == "tools/call") {
            stop.emit(asio::cancellation_type::terminal);
        }
    };
    std::optional<std::string> outcome;
    asio::co_spawn(
        context(), client().call_tool("echo", {}),
        asio::bind_cancellation_slot(
            stop.slot(), [&](std::exception_ptr thrown, const mcp_result<json::object>& answer
                         ) { outcome = thrown ? "thrown" : describe(answer); }
        )
    );
    hear(2);
    EXPECT_EQ(outcome, "cancelled: cancelled");
    EXPECT_EQ(
        server.heard.at(1), R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":)"
                            R"({"requestId":2,"reason":"The run was stopped."}})"
    );
    EXPECT_EQ(server.forgotten.back(), 2);
    EXPECT_EQ(client().closed(), nullptr);
}

TEST_F(McpClient, ACallThatIsCancelledBeforeItBeginsIsNotSent) {
    connect();
    server.heard.clear();
    server.answer = [](channel& over, const json::object& message) {
        if (message.contains("id")) {
            over.result(message, json::object{});
        }
    };
    asio::cancellation_signal stop;
    std::optional<std::string> outcome;
    asio::co_spawn(
        context(),
        [](mcp_client& one) -> asio::awaitable<mcp_result<json::object>> {
            co_await asio::this_coro::throw_if_cancelled(false);
            asio::steady_timer waiting(co_await asio::this_coro::executor, never);
            co_await waiting.async_wait(asio::as_tuple(asio::use_awaitable));
            mcp_result<json::object> answer = co_await one.call_tool("echo", {});
            co_return answer;
        }(client()),
        asio::bind_cancellation_slot(
            stop.slot(), [&](std::exception_ptr thrown, const mcp_result<json::object>& answer
                         ) { outcome = thrown ? "thrown" : describe(answer); }
        )
    );
    stop.emit(asio::cancellation_type::terminal);
    EXPECT_TRUE(run(client().check()));
    EXPECT_EQ(outcome, "cancelled: cancelled");
    EXPECT_EQ(server.methods(), list{"ping"});
}

TEST_F(McpClient, SaysThatTheToolsHaveChanged) {
    connect();
    EXPECT_EQ(client().tools_notices(), 0U);
    server.last.lock()->say(R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})");
    server.answer = [](channel& over, const json::object& message) {
        over.result(message, text_result("hi"));
    };
    call();
    EXPECT_EQ(changes, 1);
    EXPECT_EQ(client().tools_notices(), 1U);
}

TEST_F(McpClient, TheEndOfTheChannelEndsEveryCall) {
    connect();
    server.answer = [](channel& over, const json::object&) {
        over.die();
    };
    EXPECT_EQ(call(), "lost: it died");
    EXPECT_EQ(call(), "lost: it died");
    ASSERT_NE(client().closed(), nullptr);
    EXPECT_EQ(changes, 1);
}

TEST_F(McpClient, ARequestThatFailsAloneLeavesTheSession) {
    connect();
    server.answer = [](channel& over, const json::object& message) {
        if (message.at("method") == "ping") {
            over.result(message, json::object{});
        } else {
            over.unanswered(message, {.what = mcp_failure::kind::lost, .detail = "cut"});
        }
    };
    server.heard.clear();
    EXPECT_EQ(call(), "lost: cut");
    hear(2);
    EXPECT_EQ(server.methods(), (list{"tools/call", "ping"}));
    EXPECT_TRUE(run(client().check()));
    EXPECT_EQ(client().closed(), nullptr);
}

TEST_F(McpClient, AServerThatDoesNotAnswerThePingIsDisconnected) {
    connect();
    server.answer = [](channel& over, const json::object& message) {
        over.unanswered(
            message, {.what = mcp_failure::kind::refused, .detail = "status 400", .not_taken = true}
        );
    };
    EXPECT_EQ(call(), "refused: status 400");
    EXPECT_FALSE(run(client().check()));
    EXPECT_EQ(client().closed()->detail, "status 400");
}

TEST_F(McpClient, ASessionThatTheServerHasForgottenIsOver) {
    connect();
    server.answer = [](channel& over, const json::object& message) {
        over.unanswered(
            message,
            {.what = mcp_failure::kind::refused, .detail = "status 404", .session_over = true}
        );
    };
    EXPECT_EQ(call(), "refused: status 404");
    EXPECT_NE(client().closed(), nullptr);
}

TEST_F(McpClient, CloseEndsPendingCalls) {
    connect();
    std::optional<std::string> outcome;
    asio::co_spawn(
        context(), client().call_tool("echo", {}),
        [&](std::exception_ptr, const mcp_result<json::object>& answer) {
            outcome = describe(answer);
        }
    );
    hear(3);
    run(client().close());
    run(client().close());
    hear(3);
    EXPECT_EQ(server.closed, 1);
    EXPECT_EQ(call(), "closed: the session was closed");
    EXPECT_EQ(outcome, "closed: the session was closed");
    EXPECT_EQ(changes, 0);
}

} // namespace
} // namespace agui::runner
