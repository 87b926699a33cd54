// Which tools clients may offer: tools.client_names and agents.client_tools, on every route that
// begins a run.
#include "tests/gateway/server_fixture.hpp"

#include <gmock/gmock.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace agui::test {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::Not;

class ClientTools : public server_test {
protected:
    ClientTools() {
        settings.server.copilotkit_path = "/copilotkit";
        settings.server.ai_path = "/ai";
        settings.tools.client_names = {"paint", "page_*"};
        answer = say("done");
        options.script_of = [this](const gateway::model_config&) {
            return [this](const runner::transport_request& request) {
                asked.push_back(request.body);
                return std::optional(answer);
            };
        };
    }
    ~ClientTools() override { server.reset(); }

    static json::array tools_of(std::initializer_list<std::string_view> names) {
        json::array tools;
        for (const std::string_view name : names) {
            tools.push_back({{"name", name}, {"description", "said by the page"}});
        }
        return tools;
    }

    static std::string
    with_tools(std::string_view body, std::initializer_list<std::string_view> names) {
        json::object whole = json::parse(body).as_object();
        whole["tools"] = tools_of(names);
        return json::serialize(whole);
    }

    /// A run of that thread and id that offers tools of these names.
    static std::string offer(
        std::initializer_list<std::string_view> names, std::string_view thread = "t",
        std::string_view run = "r"
    ) {
        return with_tools(run_body(thread, run), names);
    }

    /// The path in the JSON body of a refusal.
    static std::string path_of_error(const raw_reply& reply) {
        return std::string(json::parse(reply.body).at("error").at("path").as_string());
    }

    std::vector<std::string> asked; ///< Bodies of the requests to the model.
};

TEST_F(ClientTools, OtherNamesAreRefusedBeforeAnythingIsStored) {
    start();

    const raw_reply refused = ask(post("/agui", offer({"paint", "wipe_disk"})));

    EXPECT_EQ(refused.status, 422);
    EXPECT_EQ(error_code(refused), "tool_not_allowed");
    EXPECT_EQ(path_of_error(refused), "tools[1].name");
    EXPECT_THAT(refused.body, HasSubstr("wipe_disk"));
    EXPECT_TRUE(asked.empty());
    EXPECT_THAT(ask(get("/agui/threads/t/messages")).body, Not(HasSubstr("hello")));
    EXPECT_THAT(ask(get("/agui/threads")).body, Not(HasSubstr("threadId")));
}

TEST_F(ClientTools, AllowedNamesAndBeginningsAreOffered) {
    start();

    EXPECT_EQ(ask(post("/agui", offer({"paint", "page_scroll", "page_"}))).status, 200);

    ASSERT_EQ(asked.size(), 1U);
    EXPECT_THAT(asked[0], HasSubstr("page_scroll"));
    for (const std::string_view other : {"Paint", "paint2", "pain", "page", "a_page_", "*"}) {
        EXPECT_EQ(ask(post("/agui", offer({other}, "t2"))).status, 422) << other;
    }
}

TEST_F(ClientTools, EveryRouteThatBeginsARunRefusesOtherNames) {
    start();
    const std::string chat = R"({"id":"t","messages":[{"id":"u","role":"user",)"
                             R"("parts":[{"type":"text","text":"hello"}]}]})";
    const std::string session = R"({"sessionId":"t","messageId":"m","message":"hello"})";

    for (const std::string_view path : {"/agui", "/agui/agents/default"}) {
        EXPECT_EQ(error_code(ask(post(path, offer({"evil"})))), "tool_not_allowed") << path;
    }
    EXPECT_EQ(error_code(ask(post("/ai/chat", with_tools(chat, {"evil"})))), "tool_not_allowed");
    EXPECT_EQ(
        error_code(ask(post("/chat/stream", with_tools(session, {"evil"})))), "tool_not_allowed"
    );
    const raw_reply single = ask(post(
        "/copilotkit",
        R"({"method":"agent/run","params":{"agentId":"default"},"body":)" + offer({"evil"}) + "}"
    ));
    const raw_reply rest = ask(post("/copilotkit/agent/default/run", offer({"evil"})));
    for (const raw_reply& reply : {single, rest}) {
        EXPECT_EQ(reply.status, 422) << reply.body;
        EXPECT_THAT(reply.body, HasSubstr("tool_not_allowed"));
    }
    EXPECT_TRUE(asked.empty());

    EXPECT_EQ(ask(post("/ai/chat", with_tools(chat, {"paint"}))).status, 200);
    EXPECT_EQ(ask(post("/chat/stream", with_tools(session, {"paint"}))).status, 200);
    EXPECT_EQ(ask(post("/copilotkit/agent/default/run", offer({"paint"}, "t3"))).status, 200);
    EXPECT_EQ(asked.size(), 3U);
}

TEST_F(ClientTools, AnEmptyListAllowsThoseOfTheConfigurationAlone) {
    settings.tools.client_names.emplace();
    auto& configured = settings.tools.external.emplace_back();
    configured.definition.name = "known";
    configured.definition.description = "said by the configuration";
    configured.always = false;
    start();

    EXPECT_EQ(ask(post("/agui", offer({"known"}))).status, 200);
    EXPECT_EQ(error_code(ask(post("/agui", offer({"paint"}, "t2")))), "tool_not_allowed");

    ASSERT_EQ(asked.size(), 1U);
    EXPECT_THAT(asked[0], HasSubstr("said by the configuration"));
    EXPECT_THAT(asked[0], Not(HasSubstr("said by the page")));
}

TEST_F(ClientTools, AnAgentMayHaveAListOfItsOwn) {
    settings.agents.front().client_tools = {"draw"};
    gateway::agent_config other = settings.agents.front();
    other.id = "other";
    other.client_tools.reset();
    settings.agents.push_back(other);
    start();

    EXPECT_EQ(ask(post("/agui", offer({"draw"}))).status, 200);
    EXPECT_EQ(ask(post("/agui", offer({"paint"}, "t2"))).status, 422);
    EXPECT_EQ(ask(post("/agui/agents/other", offer({"paint"}, "t3"))).status, 200);
    EXPECT_EQ(ask(post("/agui/agents/other", offer({"draw"}, "t4"))).status, 422);
}

TEST_F(ClientTools, OfAThreadAreLeftOutWhereTheyAreNotAllowed) {
    gateway::agent_config other = settings.agents.front();
    other.id = "other";
    other.client_tools.emplace();
    settings.agents.push_back(other);
    answer = call_tool("paint");
    start();
    (void)ask(post("/agui", offer({"paint"}, "t", "r1")));
    const std::string pending = ask(get("/agui/threads/t/pending")).body;
    const std::string call =
        std::string(json::parse(pending).at("toolCalls").at(0).at("toolCallId").as_string());
    answer = say("done");
    asked.clear();

    // The answer of a call brings no tools, so the thread's own hold.
    const json::object next{
        {"threadId", "t"},
        {"runId", "r2"},
        {"messages", {{{"role", "tool"}, {"toolCallId", call}, {"content", "ok"}}}}
    };
    EXPECT_EQ(ask(post("/agui/agents/other", json::serialize(next))).status, 200);

    ASSERT_EQ(asked.size(), 1U);
    EXPECT_THAT(asked[0], Not(HasSubstr("said by the page")));
}

TEST_F(ClientTools, ARepeatReadsItsRunAlthoughTheListHasChanged) {
    use_sqlite();
    settings.tools.client_names.reset();
    start();
    const raw_reply first = ask(post("/agui", offer({"old"})));
    EXPECT_EQ(first.status, 200);

    server.reset();
    settings.tools.client_names = {"paint"};
    options.log = &null_logger();
    options.script_of = [this](const gateway::model_config&) {
        return [this](const runner::transport_request&) {
            return std::optional(answer);
        };
    };
    start();
    EXPECT_EQ(ask(post("/agui", offer({"old"}))).body, first.body);
    EXPECT_EQ(ask(post("/agui", offer({"old"}, "t", "r2"))).status, 422);
}

TEST_F(ClientTools, SuggestionsMayAlwaysOfferTheirTool) {
    settings.tools.client_names.emplace();
    answer = call_tool("copilotkitSuggest", R"({"suggestions":[]})");
    start();
    json::object body = json::parse(offer({"copilotkitSuggest"})).as_object();

    EXPECT_EQ(ask(post("/agui", json::serialize(body))).status, 422) << "it is a usual run";
    body["forwardedProps"] = {
        {"toolChoice", {{"type", "function"}, {"function", {{"name", "copilotkitSuggest"}}}}}
    };
    EXPECT_EQ(ask(post("/agui", json::serialize(body))).status, 200);
}

} // namespace
} // namespace agui::test
