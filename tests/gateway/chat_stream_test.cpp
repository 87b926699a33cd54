// The chat stream over HTTP: POST /chat/stream and the frames of a run read again.

#include "tests/gateway/queue_fixture.hpp"
#include "tests/gateway/server_fixture.hpp"
#include "tests/runner/http/http_test_server.hpp"

#include <boost/json/parse.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace agui::test {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

struct chat_frame {
    std::string id; ///< Empty if there is none.
    json::object data;

    [[nodiscard]] json::array messages() const { return data.at("messages").as_array(); }
    [[nodiscard]] bool finished() const { return data.at("msgStatus") == "finished"; }
};

std::vector<chat_frame> frames_of(std::string_view stream) {
    std::vector<chat_frame> frames;
    while (!stream.empty()) {
        std::string_view frame = stream.substr(0, stream.find("\n\n"));
        stream.remove_prefix(std::min(stream.size(), frame.size() + 2));
        chat_frame read;
        if (frame.starts_with("id: ")) {
            read.id = frame.substr(4, frame.find('\n') - 4);
            frame.remove_prefix(frame.find('\n') + 1);
        }
        EXPECT_TRUE(frame.starts_with("data: ")) << frame;
        read.data = json::parse(frame.substr(6)).as_object();
        frames.push_back(std::move(read));
    }
    return frames;
}

/// The type, value and status of each message, as `content "Hello" generated`.
std::vector<std::string> told(const json::array& messages) {
    std::vector<std::string> lines;
    for (const json::value& one : messages) {
        lines.push_back(
            std::string(one.at("type").as_string()) + " " + json::serialize(one.at("value")) + " " +
            std::string(one.at("status").as_string())
        );
    }
    return lines;
}

std::string error_of(const raw_reply& reply) {
    const json::value body = json::parse(reply.body);
    const json::object& error = body.at("error").as_object();
    const json::value* path = error.if_contains("path");
    return std::to_string(reply.status) + " " + std::string(error.at("code").as_string()) +
           (path == nullptr ? "" : " " + std::string(path->as_string()));
}

std::string chat(std::string_view body, std::string_view headers = {}) {
    return post("/chat/stream", body, headers);
}

std::string read_again(std::string_view query, std::string_view run = "m") {
    return get("/agui/threads/s/runs/" + std::string(run) + "/events" + std::string(query));
}

const std::string hello_body = R"({"sessionId":"s","messageId":"m","message":"hello"})";

class ChatStream : public server_test, public ::testing::WithParamInterface<store_kind> {
protected:
    ChatStream() {
        if (GetParam() == store_kind::sqlite) {
            use_sqlite();
        }
        answer = say("there.");
        answer.body = text_frame("Hello ") + answer.body;
    }

    void restart() {
        server.reset();
        options.log = &null_logger();
        options.script_of = [this](const gateway::model_config&) {
            return [this](const runner::transport_request&) {
                return std::optional(answer);
            };
        };
        start();
    }
};

/// Uses a store that survives a restart.
class StoredChatStream : public ChatStream {};

TEST_P(ChatStream, IdsThatAreNotGivenAreMade) {
    start();
    const raw_reply reply = ask(chat(R"({"message":"hello"})"));

    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.header("content-type"), "text/event-stream; charset=utf-8");
    EXPECT_TRUE(reply.complete);
    const std::vector<chat_frame> frames = frames_of(reply.body);
    ASSERT_EQ(frames.size(), 5U);
    const std::string session(frames[0].data.at("sessionId").as_string());
    const std::string message(frames[0].data.at("messageId").as_string());
    EXPECT_EQ(session.size(), 36U);
    EXPECT_EQ(message.size(), 36U);
    EXPECT_NE(session, message);
    for (const chat_frame& frame : frames) {
        EXPECT_EQ(frame.data.at("sessionId").as_string(), session);
        EXPECT_EQ(frame.data.at("messageId").as_string(), message);
        EXPECT_EQ(frame.finished(), &frame == &frames.back());
    }
    EXPECT_EQ(frames[1].messages().at(0).at("id").as_string(), message + "-0");
    EXPECT_THAT(ask(get("/agui/threads/" + session + "/messages")).body, HasSubstr("Hello there."));
}

TEST_P(ChatStream, TheSameBodyReplaysAndAnotherIsRefused) {
    start();
    const raw_reply first = ask(chat(hello_body));

    EXPECT_EQ(ask(chat(hello_body)).body, first.body);
    const std::vector<chat_frame> full = frames_of(
        ask(chat(R"({"messageId":"m","sessionId":"s","message":"hello","responseMode":"full"})"))
            .body
    );
    ASSERT_EQ(full.size(), 1U) << "of a run that has ended, the last frame";
    EXPECT_TRUE(full[0].finished());
    EXPECT_THAT(told(full[0].messages()), ElementsAre(R"(content "Hello there." generated)"));
    EXPECT_EQ(
        error_of(ask(chat(R"({"sessionId":"s","messageId":"m","message":"hello?"})"))),
        "409 run_id_reused messageId"
    );
}

TEST_P(ChatStream, ARepeatFindsTheSessionThatItsMessageMade) {
    start();
    const raw_reply first = ask(chat(R"({"messageId":"m","message":"hello"})"));

    EXPECT_EQ(frames_of(first.body).at(0).data.at("sessionId"), "m");
    EXPECT_EQ(ask(chat(R"({"messageId":"m","message":"hello"})")).body, first.body);
    EXPECT_EQ(ask(chat(R"({"messageId":"m","message":"hello?"})")).status, 409);
}

TEST_P(ChatStream, ARepeatMayNameTheSessionThatWasMade) {
    start();
    const raw_reply first = ask(chat(R"({"messageId":"m","message":"hello"})"));

    EXPECT_EQ(ask(chat(R"({"sessionId":"m","messageId":"m","message":"hello"})")).body, first.body);
}

TEST_P(ChatStream, ARepeatUnderAnIdempotencyKeyReadsTheFirstRun) {
    start();
    const std::string key = "Idempotency-Key: k1\r\n";
    const raw_reply first = ask(chat(R"({"sessionId":"s","message":"hello"})", key));

    EXPECT_EQ(frames_of(first.body).back().data.at("msgStatus"), "finished");
    EXPECT_EQ(ask(chat(R"({"sessionId":"s","message":"hello"})", key)).body, first.body);
    EXPECT_EQ(
        ask(chat(R"({"sessionId":"s","messageId":"other","message":"hello"})", key)).body,
        first.body
    );
    const raw_reply refused = ask(chat(R"({"sessionId":"s","message":"hello?"})", key));
    EXPECT_EQ(error_of(refused), "409 run_id_reused Idempotency-Key");
    EXPECT_THAT(refused.body, HasSubstr("this key was already used"));
}

TEST_P(ChatStream, AKeyFindsTheSessionThatWasMadeForIt) {
    start();
    const std::string body = R"({"message":"hello"})";
    const raw_reply first = ask(chat(body, "Idempotency-Key: k1\r\n"));

    EXPECT_EQ(ask(chat(body, "Idempotency-Key: k1\r\n")).body, first.body);
    const json::object frame = frames_of(first.body).at(0).data;
    EXPECT_EQ(frame.at("sessionId").as_string().size(), 36U);
    const json::object other =
        frames_of(ask(chat(body, "Idempotency-Key: k2\r\n")).body).at(0).data;
    EXPECT_NE(other.at("sessionId"), frame.at("sessionId"));
    EXPECT_NE(other.at("messageId"), frame.at("messageId"));
}

TEST_P(ChatStream, IsReadAgainFromAnyFrameOn) {
    start();
    const raw_reply whole = ask(chat(hello_body));
    const std::vector<chat_frame> frames = frames_of(whole.body);
    ASSERT_EQ(frames.size(), 5U);

    EXPECT_EQ(ask(read_again("?form=chat-stream")).body, whole.body);
    for (std::size_t i = 0; i < frames.size(); ++i) {
        SCOPED_TRACE(i);
        const std::string query = "?form=chat-stream&after=" + frames[i].id;
        const raw_reply rest = ask(read_again(query));
        EXPECT_EQ(frames_of(rest.body).size(), frames.size() - i - 1);
        EXPECT_THAT(whole.body, EndsWith(rest.body));
        const raw_reply full = ask(read_again(query + "&responseMode=full"));
        EXPECT_EQ(frames_of(full.body).size(), i + 1 < frames.size() ? 1U : 0U);
    }
    EXPECT_EQ(error_of(ask(read_again("?form=chat"))), "422 invalid_input form");
    EXPECT_EQ(
        error_of(ask(read_again("?form=chat-stream&responseMode=all"))),
        "422 invalid_input responseMode"
    );
    EXPECT_THAT(
        error_of(ask(read_again("?form=chat-stream&after=99"))), HasSubstr("cursor_expired")
    );
    EXPECT_THAT(ask(read_again("?form=ag-ui")).body, HasSubstr("TEXT_MESSAGE_CONTENT"));
    EXPECT_THAT(ask(read_again("")).body, HasSubstr(R"("protocolVersion":"1.1")"))
        << "the run was begun by a client of the newest version";
}

TEST_P(StoredChatStream, TheSameFramesAfterARestart) {
    start();
    const std::string whole = ask(chat(hello_body)).body;
    restart();

    EXPECT_EQ(ask(read_again("?form=chat-stream")).body, whole);
    EXPECT_EQ(ask(chat(hello_body)).body, whole);
    const std::vector<chat_frame> frames = frames_of(whole);
    EXPECT_THAT(whole, EndsWith(ask(read_again("?form=chat-stream&after=" + frames[1].id)).body));
}

TEST_P(StoredChatStream, AfterItsPeriodTheFramesAddUpToTheSame) {
    settings.session.replay = std::chrono::seconds(0);
    start();
    const std::vector<chat_frame> frames = frames_of(ask(chat(hello_body)).body);
    const std::vector<chat_frame> fewer = frames_of(ask(read_again("?form=chat-stream")).body);

    ASSERT_EQ(fewer.size() + 1, frames.size());
    EXPECT_THAT(told(fewer[1].messages()), ElementsAre(R"(content "Hello there." generating)"));
    EXPECT_EQ(fewer.back().data, frames.back().data);
    // The reader has the first of the pieces that were joined since, so it gets only the rest.
    const std::vector<chat_frame> rest =
        frames_of(ask(read_again("?form=chat-stream&after=" + frames[1].id)).body);
    EXPECT_THAT(told(rest.at(0).messages()), ElementsAre(R"(content "there." generating)"));
    EXPECT_EQ(rest.size() + 2, frames.size());
}

TEST_P(ChatStream, AHandOffIsAnsweredOnTheSameRoute) {
    answer = call_tool("paint", R"({"color":"red"})");
    start();
    const std::vector<chat_frame> asked = frames_of(
        ask(chat(
                R"({"sessionId":"s","messageId":"m","message":"red","tools":[{"name":"paint","description":"","parameters":{}}]})"
            ))
            .body
    );
    EXPECT_THAT(
        told(asked.back().messages()),
        ElementsAre(
            R"(tool_call_request {"toolCallId":"c1","toolName":"paint","arguments":{"color":"red"},"pending":true} generated)"
        )
    );
    EXPECT_TRUE(asked.back().finished());

    const std::string unknown =
        R"({"sessionId":"s","toolResults":[{"toolCallId":"c1","content":""},{"toolCallId":"x","content":""}]})";
    EXPECT_EQ(error_of(ask(chat(unknown))), "422 unknown_tool_call toolResults[1].toolCallId");
    EXPECT_THAT(
        ask(chat(R"({"sessionId":"s","toolResults":[{"toolCallId":"c1","content":"done"}]})")).body,
        HasSubstr("finished")
    );
    EXPECT_THAT(
        ask(get("/agui/threads/s/messages")).body,
        HasSubstr(R"("role":"tool","content":"done","toolCallId":"c1")")
    );
}

TEST_P(ChatStream, ACallOfOneRouteIsAnsweredOnTheOther) {
    answer = call_tool("paint");
    start();
    ask(post("/agui", body_of("r1", "red", "s")));
    answer = say("Done");
    const raw_reply reply =
        ask(chat(R"({"sessionId":"s","toolResults":[{"toolCallId":"c1","content":"ok"}]})"));
    EXPECT_THAT(
        told(frames_of(reply.body).at(1).messages()), ElementsAre(R"(content "Done" generating)")
    );

    answer = call_tool("paint");
    ask(chat(R"({"sessionId":"s2","message":"blue",)"
             R"("tools":[{"name":"paint","description":"","parameters":{}}]})"));
    answer = say("Done again");
    const raw_reply events = ask(post(
        "/agui",
        R"({"threadId":"s2","runId":"r2","messages":[{"id":"a","role":"tool","toolCallId":"c1",)"
        R"("content":"ok"}]})"
    ));
    EXPECT_THAT(events.body, HasSubstr("Done again"));
}

TEST_P(ChatStream, AnAgentHasItsOwnPath) {
    settings.agents.push_back(settings.agents.front());
    settings.agents.back().id = "other";
    start();

    EXPECT_THAT(ask(post("/chat/agents/other/stream", hello_body)).body, HasSubstr("finished"));
    EXPECT_EQ(ask(post("/chat/agents/none/stream", hello_body)).status, 404);
}

TEST_P(ChatStream, AModelThatCannotBeChosenIsRefused) {
    start();
    const auto with_model = [](const std::string& model) {
        return chat(R"({"message":"hello","model":")" + model + "\"}");
    };
    const std::string own = settings.agents.at(0).models.at(0);

    EXPECT_EQ(error_of(ask(with_model("unknown"))), "422 invalid_input model");
    EXPECT_EQ(ask(with_model(own)).status, 200);
    EXPECT_EQ(ask(with_model("")).status, 200);
}

TEST_P(ChatStream, TheRulesOfAccessApply) {
    settings.auth.emplace();
    settings.auth->kind = gateway::auth_config::mode::bearer;
    settings.auth->token.value = "secret";
    start();

    EXPECT_EQ(ask(chat(hello_body)).status, 401);
    EXPECT_EQ(ask(chat(hello_body, "Authorization: Bearer secret\r\n")).status, 200);
    EXPECT_EQ(
        error_of(ask(chat(hello_body, "Authorization: Bearer secret\r\nX-On-Disconnect: no\r\n"))),
        "422 invalid_input"
    );
    EXPECT_EQ(ask(get("/chat/stream", "Authorization: Bearer secret\r\n")).status, 405);
}

TEST_P(ChatStream, ABodyThatIsTooLargeIsRefused) {
    settings.server.max_body_bytes = 2000;
    start();

    EXPECT_EQ(
        error_of(ask(chat(R"({"message":")" + std::string(2000, 'x') + R"("})"))),
        "413 body_too_large"
    );
}

TEST_P(ChatStream, ARunThatEndsByALimitSaysWhich) {
    settings.agents.front().max_rounds = 1;
    options.tools.add(
        {"look", "Sees nothing", {}},
        [](runner::tool_invocation) -> boost::asio::awaitable<runner::tool_outcome> {
            co_return runner::tool_outcome{runner::tool_outcome::kind::result, {}};
        }
    );
    answer = call_tool("look");
    start();
    const std::vector<chat_frame> frames = frames_of(
        ask(chat(R"({"sessionId":"s","messageId":"m","message":"x","responseMode":"full"})")).body
    );

    EXPECT_TRUE(frames.back().finished());
    const json::array messages = frames.back().messages();
    EXPECT_EQ(messages.back().at("type"), "error");
    EXPECT_EQ(messages.back().at("value").at("code"), "max_rounds_exceeded");
}

TEST_P(ChatStream, WithoutCapacityItIsRefused) {
    settings.server.max_runs = 1;
    answer = say_and_stall("Hello");
    start();
    raw_client first(port());
    first.send(chat(hello_body));
    EXPECT_THAT(first.read_until("Hello"), HasSubstr("200"));

    const raw_reply refused = ask(chat(R"({"sessionId":"other","message":"hello"})"));

    EXPECT_EQ(refused.status, 503);
    EXPECT_FALSE(refused.header("retry-after").empty());
}

TEST_P(ChatStream, TakesALargeMessageByDefault) {
    start();
    const std::string large(3U << 20U, 'x');

    EXPECT_THAT(ask(chat(R"({"message":")" + large + R"("})")).body, HasSubstr("finished"));
}

/// Has a tool that records the headers that are passed to it.
class WorkspaceRoot : public server_test {
protected:
    using headers = std::vector<std::pair<std::string, std::string>>;

    WorkspaceRoot() {
        options.tools.add(
            {"look", "Sees the call", {}},
            [this](runner::tool_invocation call) -> boost::asio::awaitable<runner::tool_outcome> {
                seen = std::move(call.headers);
                co_return runner::tool_outcome{runner::tool_outcome::kind::external, {}};
            }
        );
        answer = call_tool("look");
    }
    ~WorkspaceRoot() override { server.reset(); }

    const headers none;
    headers seen{{"not", "called"}};
};

TEST_F(WorkspaceRoot, IsPassedToToolsThatListIt) {
    auto& hook = settings.tools.webhooks.emplace_back();
    hook.definition.name = "hook";
    hook.url = "http://127.0.0.1:1/";
    hook.pass_headers = {"x-workspace-root"};
    start();

    ask(chat(
        R"({"message":"x","workspaceRoot":"/home/ann"})", "X-Workspace-Root: /somewhere/else\r\n"
    ));
    EXPECT_EQ(seen, (headers{{"x-workspace-root", "/home/ann"}}));
    ask(chat(R"({"message":"x"})", "X-Workspace-Root: /somewhere/else\r\n"));
    EXPECT_EQ(seen, none) << "only the body says it";
}

TEST_F(WorkspaceRoot, IsKeptFromToolsIfNoneListsIt) {
    start();

    ask(chat(
        R"({"message":"x","workspaceRoot":"/home/ann"})", "X-Workspace-Root: /somewhere/else\r\n"
    ));
    EXPECT_EQ(seen, none);
}

/// A webhook on a thread of its own that keeps the requests it gets.
class webhook {
public:
    webhook()
        : server_(context_, [this](server_connection& peer) { return serve(peer); }),
          thread_([this] { context_.run(); }) {}
    ~webhook() {
        context_.stop();
        thread_.join();
    }
    webhook(const webhook&) = delete;
    webhook& operator=(const webhook&) = delete;

    [[nodiscard]] std::string url() const { return server_.url("/"); }
    [[nodiscard]] std::string requests() const {
        const std::lock_guard lock(mutex_);
        return requests_;
    }

private:
    boost::asio::awaitable<void> serve(server_connection& peer) {
        for (;;) {
            const std::string request = co_await peer.read_request();
            if (request.empty()) {
                co_return;
            }
            {
                const std::lock_guard lock(mutex_);
                requests_ += request;
            }
            co_await peer.send(response("done"));
        }
    }

    boost::asio::io_context context_{1};
    http_test_server server_;
    mutable std::mutex mutex_;
    std::string requests_;
    std::thread thread_;
};

TEST_F(WorkspaceRoot, IsSentToTheWebhookThatListsItAndToNoOther) {
    webhook listing;
    webhook other;
    for (const auto& [name, hook] : {std::pair("listing", &listing), std::pair("other", &other)}) {
        auto& tool = settings.tools.webhooks.emplace_back();
        tool.definition.name = name;
        tool.url = hook->url();
    }
    settings.tools.webhooks.front().pass_headers = {"x-workspace-root"};
    const auto rounds = std::make_shared<std::atomic<int>>(0);
    options.script_of = [rounds](const gateway::model_config&) {
        return [rounds](const runner::transport_request&) {
            const int round = (*rounds)++;
            return std::optional(
                round == 0   ? call_tool("listing")
                : round == 1 ? call_tool("other")
                             : say("Done")
            );
        };
    };
    start();

    const raw_reply reply = ask(chat(R"({"message":"x","workspaceRoot":"/home/ann"})"));

    EXPECT_THAT(reply.body, HasSubstr("Done"));
    EXPECT_THAT(listing.requests(), HasSubstr("x-workspace-root: /home/ann\r\n"));
    EXPECT_THAT(other.requests(), HasSubstr("POST /"));
    EXPECT_THAT(other.requests(), Not(HasSubstr("/home/ann")));
    server.reset(); // Ends before the webhooks to which it is connected.
}

INSTANTIATE_TEST_SUITE_P(
    Stores, ChatStream, ::testing::Values(store_kind::memory, store_kind::sqlite),
    [](const auto& one) { return one.param == store_kind::memory ? "Memory" : "Sqlite"; }
);

INSTANTIATE_TEST_SUITE_P(
    Stores, StoredChatStream, ::testing::Values(store_kind::sqlite),
    [](const auto&) { return "Sqlite"; }
);

// ---- While a run is active ---------------------------------------------------------------------

/// Uses a model that answers when the test lets it.
class ChatStreamLive : public queue_test {
protected:
    std::unique_ptr<raw_client> open_chat(std::string_view body) {
        auto client = std::make_unique<raw_client>(port());
        client->send(chat(body));
        EXPECT_THAT(client->read_until(R"("messages":[]})"), HasSubstr("HTTP/1.1 200"));
        return client;
    }
    /// The messageId in the first frame of the stream that this client reads.
    static std::string message_id_of(raw_client& client) {
        const std::string first = client.read_until(R"("messages":[]})");
        EXPECT_THAT(first, HasSubstr("HTTP/1.1 200"));
        const json::value frame = json::parse(first.substr(first.find('{', first.find("data: "))));
        return std::string(frame.at("messageId").as_string());
    }
};

class StoredChatStreamLive : public ChatStreamLive {};

TEST_P(ChatStreamLive, ARunOfEachRouteIsReadInBothForms) {
    settings.session.on_busy = gateway::busy_policy::reject;
    start();
    const auto own = open_chat(R"({"sessionId":"t","messageId":"m","message":"hello"})");
    ASSERT_TRUE(model.wait_for_calls(1));
    raw_client events(port());
    events.send(get("/agui/threads/t/runs/m/events"));
    EXPECT_THAT(events.read_until("RUN_STARTED"), HasSubstr("200"));
    EXPECT_EQ(error_of(ask(post("/agui", body_of("r")))), "409 thread_busy");
    EXPECT_EQ(error_of(ask(chat(R"({"sessionId":"t","message":"x"})"))), "409 thread_busy");
    model.answer({.text = "One"});
    EXPECT_THAT(rest_of(*own), HasSubstr("finished"));
    EXPECT_THAT(rest_of(events), HasSubstr(R"("delta":"One")"));

    const auto other = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_EQ(
        model.request(1), (std::vector<std::string>{"user: hello", "assistant: One", "user: r"})
    );
    raw_client frames(port());
    frames.send(get("/agui/threads/t/runs/r/events?form=chat-stream&responseMode=full"));
    EXPECT_THAT(frames.read_until(R"("messages":[]})"), HasSubstr("200"));
    EXPECT_EQ(error_of(ask(chat(R"({"sessionId":"t","message":"x"})"))), "409 thread_busy");
    model.answer({.text = "Two"});
    EXPECT_THAT(rest_of(*other), HasSubstr("RUN_FINISHED"));
    const std::string rest = rest_of(frames);
    EXPECT_THAT(rest, HasSubstr(R"("type":"content","value":"Two")"));
    EXPECT_THAT(rest, HasSubstr("finished"));
}

TEST_P(ChatStreamLive, TheConversationIsTheGatewaysWhateverClientsSend) {
    settings.session.history.mode = session::history_mode::client;
    start();
    for (std::size_t i = 0; i < 2; ++i) {
        const auto one = std::make_unique<raw_client>(port());
        one->send(chat(R"({"sessionId":"t","message":"hello"})", "X-Client-History: full\r\n"));
        ASSERT_TRUE(model.wait_for_calls(i + 1));
        model.answer({.text = "One"});
        EXPECT_THAT(rest_of(*one), HasSubstr("finished"));
    }

    EXPECT_EQ(
        model.request(1), (std::vector<std::string>{"user: hello", "assistant: One", "user: hello"})
    );
}

TEST_P(ChatStreamLive, AStopIsTold) {
    start();
    const auto own = open_chat(R"({"sessionId":"t","messageId":"m","message":"hello"})");
    ASSERT_TRUE(model.wait_for_calls(1));

    EXPECT_EQ(
        ask(post("/agui/cancel", R"({"threadId":"t","runId":"m"})")).body, R"({"cancelled":true})"
    );

    const std::string rest = rest_of(*own);
    EXPECT_THAT(rest, HasSubstr(R"("msgStatus":"finished","stopReason":"user_stop")"));
    EXPECT_THAT(rest, Not(HasSubstr(R"("type":"error")")));
}

TEST_P(ChatStreamLive, AMessageThatAnotherRunHasAnsweredShowsTheAnswer) {
    start();
    const auto first = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto second = open_chat(R"({"sessionId":"t","messageId":"q1","message":"q1"})");
    const auto third = open_chat(R"({"sessionId":"t","messageId":"q2","message":"q2"})");
    model.answer({.text = "One"});
    EXPECT_THAT(rest_of(*first), HasSubstr("RUN_FINISHED"));
    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_EQ(
        model.request(1),
        (std::vector<std::string>{"user: r", "assistant: One", "user: q1", "user: q2"})
    );
    model.answer({.text = "Both"});

    EXPECT_THAT(rest_of(*second), HasSubstr(R"("value":"Both")"));
    const std::string rest = rest_of(*third);
    EXPECT_THAT(rest, HasSubstr(R"("value":"Both")"));
    EXPECT_THAT(rest, HasSubstr(R"("msgStatus":"finished")"));
}

TEST_P(StoredChatStreamLive, AWaitingMessageSurvivesARestart) {
    start();
    const auto first = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    const std::string body = R"({"sessionId":"t","messageId":"q1","message":"q1"})";
    const auto waiting = open_chat(body);
    server.reset();
    use_model();
    start();

    raw_client again(port());
    again.send(chat(body));
    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(model.request(1).back(), "user: q1");
    model.answer({.text = "At last"});

    EXPECT_THAT(again.read_until("finished"), HasSubstr(R"("value":"At last")"));
}

TEST_P(StoredChatStreamLive, AWaitingMessageIsFoundByItsKey) {
    start();
    const auto first = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    const std::string request =
        chat(R"({"sessionId":"t","message":"q1"})", "Idempotency-Key: k\r\n");
    raw_client waiting(port());
    waiting.send(request);
    const std::string id = message_id_of(waiting);
    raw_client repeat(port());
    repeat.send(request);
    EXPECT_EQ(message_id_of(repeat), id);
    server.reset();
    use_model();
    start();

    raw_client again(port());
    again.send(request);
    EXPECT_EQ(message_id_of(again), id) << "also if an earlier process has queued it";
    ASSERT_TRUE(model.wait_for_calls(2));
    model.answer({.text = "At last"});
    EXPECT_THAT(again.read_until("finished"), HasSubstr(R"("value":"At last")"));
}

INSTANTIATE_TEST_SUITE_P(
    Stores, ChatStreamLive, ::testing::Values(store_kind::memory, store_kind::sqlite),
    [](const auto& one) { return one.param == store_kind::memory ? "Memory" : "Sqlite"; }
);

INSTANTIATE_TEST_SUITE_P(
    Stores, StoredChatStreamLive, ::testing::Values(store_kind::sqlite),
    [](const auto&) { return "Sqlite"; }
);

} // namespace
} // namespace agui::test
