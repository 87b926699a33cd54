// Plugins of an embedding program, as their effects appear to a client.
#include "runner/hooks/plugin.hpp"
#include "tests/gateway/server_fixture.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace agui::test {
namespace {

namespace json = boost::json;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string offered =
    R"(,"tools":[{"name":"paint","description":"","parameters":{"type":"object"}}])";

class fake_plugin final : public runner::plugin {
public:
    std::function<void(runner::appended_message&)> append;
    std::function<void(runner::after_request&)> after;

    boost::asio::awaitable<void>
    on_message_append(runner::plugin_turn& /*turn*/, runner::appended_message& value) override {
        if (append) {
            append(value);
        }
        co_return;
    }
    boost::asio::awaitable<void>
    on_after_request(runner::plugin_turn& /*turn*/, runner::after_request& request) override {
        if (after) {
            after(request);
        }
        co_return;
    }
};

class Plugins : public server_test {
protected:
    Plugins() {
        options.plugins.push_back(plugin);
        options.script_of = [this](const gateway::model_config&) {
            return [this](const runner::transport_request& request) {
                const std::lock_guard lock(mutex_);
                asked_.push_back(json::serialize(json::parse(request.body).at("messages")));
                return std::optional(answer);
            };
        };
    }

    raw_reply run(std::string_view run_id, std::string_view messages) {
        return ask(post(
            "/agui", R"({"threadId":"t","protocolVersion":"1.1","runId":")" + std::string(run_id) +
                         R"(","messages":[)" + std::string(messages) + "]" + offered + "}"
        ));
    }

    [[nodiscard]] std::vector<std::string> asked() const {
        const std::lock_guard lock(mutex_);
        return asked_;
    }

    std::shared_ptr<fake_plugin> plugin = std::make_shared<fake_plugin>();

private:
    mutable std::mutex mutex_;
    std::vector<std::string> asked_;
};

const std::string hello_message = R"({"id":"m1","role":"user","content":"hello"})";

TEST_F(Plugins, ACallThatAPluginRemovesGetsAnErrorResultAndIsNotPending) {
    plugin->append = [](runner::appended_message& value) {
        value.message.tool_calls.clear();
        value.message.content = std::string("No painting here.");
    };
    answer = call_tool("paint");
    start();

    const std::string body = run("r1", hello_message).body;

    const auto end = body.find("TOOL_CALL_END");
    const auto result = body.find("TOOL_CALL_RESULT");
    const auto snapshot = body.find("MESSAGES_SNAPSHOT");
    const auto finished = body.find("RUN_FINISHED");
    ASSERT_NE(finished, std::string::npos) << body;
    EXPECT_LT(end, result);
    EXPECT_LT(result, snapshot);
    EXPECT_LT(snapshot, finished);
    EXPECT_THAT(
        body, AllOf(HasSubstr("The call was not allowed."), Not(HasSubstr("pendingToolCallIds")))
    );
    EXPECT_THAT(
        body.substr(snapshot), AllOf(HasSubstr("No painting here."), Not(HasSubstr("\"c1\"")))
    );
    EXPECT_THAT(ask(get("/agui/threads/t/pending")).body, Not(HasSubstr("\"c1\"")));
}

TEST_F(Plugins, AChangedMessageIsSentAsASnapshotBeforeTheTerminal) {
    plugin->append = [](runner::appended_message& value) {
        value.message.content = std::string("Good day");
    };
    answer = say("Hi there");
    start();

    const std::string body = run("r1", hello_message).body;

    const auto snapshot = body.find("MESSAGES_SNAPSHOT");
    ASSERT_NE(snapshot, std::string::npos) << body;
    EXPECT_LT(snapshot, body.find("RUN_FINISHED"));
    EXPECT_THAT(body.substr(snapshot), AllOf(HasSubstr("hello"), HasSubstr("Good day")));
    EXPECT_THAT(
        ask(get("/agui/threads/t/messages")).body,
        AllOf(HasSubstr("Good day"), Not(HasSubstr("Hi there")))
    );
}

TEST_F(Plugins, AChangedMessageReachesReadersOfTheChatStream) {
    plugin->append = [](runner::appended_message& value) {
        value.message.content = std::string("Good day");
    };
    answer = say("Hi there");
    start();
    const std::string body = R"({"sessionId":"t","messageId":"m","message":"hello")";

    const std::string pieces = ask(post("/chat/stream", body + "}")).body;
    const std::string whole = ask(post("/chat/stream", body + R"(,"responseMode":"full"})")).body;

    EXPECT_THAT(pieces, AllOf(HasSubstr(R"("value":"Good day")"), HasSubstr(R"("replace":true)")));
    EXPECT_THAT(
        whole, AllOf(
                   HasSubstr("finished"), HasSubstr(R"("value":"Good day")"),
                   Not(HasSubstr("Hi there")), Not(HasSubstr("replace"))
               )
    );
}

TEST_F(Plugins, WithoutAChangeThereIsNoSnapshot) {
    answer = say("Hi there");
    start();

    EXPECT_THAT(
        run("r1", hello_message).body, AllOf(HasSubstr("RUN_FINISHED"), Not(HasSubstr("SNAPSHOT")))
    );
}

TEST_F(Plugins, ARequestWithAnOpenExternalCallIsMadeAfterItsAnswer) {
    plugin->after = [](runner::after_request& request) {
        if (!request.message().tool_calls.empty()) {
            session::message more;
            more.content = std::string("And be quick");
            request.append_and_request(more);
        }
    };
    answer = call_tool("paint");
    start();

    const std::string first = run("r1", hello_message).body;
    ASSERT_THAT(first, HasSubstr(R"("pendingToolCallIds":["c1"])"));
    EXPECT_EQ(asked().size(), 1U);
    answer = say("Painted");
    const std::string second =
        run("r2", R"({"id":"t1","role":"tool","toolCallId":"c1","content":"blue"})").body;

    EXPECT_THAT(second, AllOf(HasSubstr("Painted"), HasSubstr("RUN_FINISHED")));
    ASSERT_EQ(asked().size(), 2U);
    const std::string last = asked()[1];
    EXPECT_LT(last.find(R"("tool_calls")"), last.find("blue"));
    EXPECT_LT(last.find("blue"), last.find("And be quick")) << "a valid history: " << last;
}

TEST_F(Plugins, AMessageFromASnapshotIsKnownInTheNextRequest) {
    plugin->after = [](runner::after_request& request) {
        session::message more;
        more.id = "added";
        more.content = std::string("A note");
        if (session::text_of(request.message().content) == "One") {
            request.append(more);
        }
    };
    answer = say("One");
    start();
    ASSERT_THAT(run("r1", hello_message).body, HasSubstr("A note"));
    answer = say("Two");

    // A client that keeps the whole history sends back the messages of the snapshot.
    const json::array stored =
        json::parse(ask(get("/agui/threads/t/messages")).body).at("messages").as_array();
    std::string history;
    for (const json::value& each : stored) {
        history += json::serialize(each) + ",";
    }
    ASSERT_THAT(
        run("r2", history + R"({"id":"m2","role":"user","content":"go on"})").body, HasSubstr("Two")
    );

    const std::string last = asked().at(1);
    EXPECT_LT(last.find("One"), last.find("A note"));
    EXPECT_LT(last.find("A note"), last.find("go on"));
}

} // namespace
} // namespace agui::test
