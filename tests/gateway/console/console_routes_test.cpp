// The console: its page, and the route that shows what models were sent.

#include "tests/gateway/server_fixture.hpp"

#include "gateway/console/kept_requests.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace agui::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Console : public server_test {
protected:
    Console() { settings.server.console = true; }

    gateway::model_config& model() { return settings.models.front(); }
    void run(std::string_view thread, std::string_view text, std::string_view headers = {}) {
        const std::string id = "run-" + std::to_string(++runs_);
        EXPECT_EQ(ask(post("/agui", run_body(thread, id, text), headers)).status, 200);
    }
    [[nodiscard]] boost::json::array listed(std::string_view query = "") const {
        const auto body = json_of("/console/requests" + std::string(query));
        return body.at("requests").as_array();
    }

private:
    int runs_ = 0;
};

TEST_F(Console, ShowsWhatTheModelWasSent) {
    start();
    run("a", "first");
    run("b", "other");
    run("a", "second");

    const boost::json::array all = listed();
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].at("number").to_number<int>(), 3) << "the newest first";
    EXPECT_EQ(all[0].at("threadId").as_string(), "a");
    EXPECT_EQ(all[0].at("runId").as_string(), "run-3");
    EXPECT_EQ(all[0].at("model").as_string(), "main");
    EXPECT_EQ(all[0].at("outcome").as_string(), "stop");
    EXPECT_GE(
        all[0].at("endedAt").to_number<std::int64_t>(), all[0].at("at").to_number<std::int64_t>()
    );
    EXPECT_FALSE(all[0].as_object().contains("body"));
    EXPECT_EQ(listed("?threadId=a").size(), 2U);
    EXPECT_EQ(listed("?threadId=c").size(), 0U);

    const boost::json::value one = json_of("/console/requests/3");
    EXPECT_EQ(one.at("body").as_string().size(), all[0].at("bytes").to_number<std::size_t>());
    const auto body = boost::json::parse(one.at("body").as_string());
    const boost::json::array& messages = body.at("messages").as_array();
    ASSERT_EQ(messages.size(), 3U) << "user, assistant, user";
    EXPECT_EQ(messages[2].at("content").as_string(), "second");
    for (const char* number : {"4", "0", "x", "3x", "-1", "18446744073709551616"}) {
        EXPECT_EQ(ask(get("/console/requests/" + std::string(number))).status, 404) << number;
    }
    EXPECT_EQ(ask(get("/console/requests?threadId=%zz")).status, 422);
}

TEST_F(Console, DoesNotExistUnlessItIsTurnedOn) {
    settings.server.console = false;
    start();
    run("a", "hello");
    for (const char* path :
         {"/console", "/console/", "/console/app.js", "/console/requests", "/console/requests/1"}) {
        EXPECT_EQ(ask(get(path)).status, 404) << path;
    }
}

TEST_F(Console, NeedsTheTokenForEverythingButItsPage) {
    settings.auth.emplace();
    settings.auth->kind = gateway::auth_config::mode::bearer;
    settings.auth->token.value = "the-token";
    start();
    const std::string token = "Authorization: Bearer the-token\r\n";
    run("a", "hello", token);

    for (const char* path : {"/console/requests", "/console/requests/1"}) {
        const raw_reply refused = ask(get(path));
        EXPECT_EQ(refused.status, 401) << path;
        EXPECT_THAT(refused.body, Not(HasSubstr("hello"))) << path;
        EXPECT_EQ(ask(get(path, token)).status, 200) << path;
    }
    EXPECT_EQ(ask(get("/console/")).status, 200);
}

TEST_F(Console, ShowsNoSecretAndNoWordsOfAServer) {
    model().api_key.value = "sk-the-key";
    model().headers = {{"X-Team", "the header's value"}};
    model().base_url = "http://models.internal/v1?code=the-query";
    model().extra_body = {{"account", "the \"quoted\" string"}};
    settings.tools.webhooks.emplace_back().definition.name = "look_up";
    settings.tools.webhooks.back().url = "http://127.0.0.1:1/?pass=the-pass";
    answer.status = 500;
    answer.body = R"({"error":"words of the server, with sk-the-key"})";
    start();
    run("a", "I tell you sk-the-key, the header's value, the-query and the-pass.");

    const boost::json::array all = listed();
    ASSERT_GE(all.size(), 1U);
    EXPECT_EQ(all[0].at("outcome").as_string(), "unavailable");
    for (const std::string path : {"/console/requests", "/console/requests/1"}) {
        const raw_reply shown = ask(get(path));
        EXPECT_EQ(shown.status, 200);
        for (const char* secret :
             {"sk-the-key", "the header's value", "the-query", "the-pass", "quoted", "X-Team",
              "Authorization", "models.internal", "words of the server"}) {
            EXPECT_THAT(shown.body, Not(HasSubstr(secret))) << path;
        }
    }
    EXPECT_THAT(
        ask(get("/console/requests/1")).body,
        HasSubstr("I tell you [secret], [secret], [secret] and [secret].")
    );
}

TEST_F(Console, ShowsARequestWhoseAnswerIsStillComing) {
    answer = say_and_stall("Hello");
    start();
    raw_client reader(port());
    reader.send(post("/agui", run_body("a", "r")));
    (void)reader.read_until("Hello");
    EXPECT_EQ(listed().at(0).at("outcome").as_string(), "active");
    EXPECT_FALSE(listed().at(0).as_object().contains("endedAt"));

    EXPECT_EQ(ask(post("/agui/cancel", R"({"threadId":"a"})")).status, 200);
    EXPECT_EQ(listed().at(0).at("outcome").as_string(), "cancelled");
}

TEST_F(Console, KeepsALimitedNumberOfRequests) {
    start();
    constexpr std::size_t most = gateway::kept_requests::requests_max;
    for (std::size_t i = 0; i < most + 2; ++i) {
        run("t" + std::to_string(i), "hello");
    }
    EXPECT_EQ(listed().size(), most);
    EXPECT_EQ(ask(get("/console/requests/2")).status, 404);
    EXPECT_EQ(ask(get("/console/requests/3")).status, 200);
}

TEST_F(Console, ShowsALargeRequestWithoutItsBody) {
    start();
    run("a", std::string(runner::call_observer::body_bytes_max, 'x'));

    const boost::json::value one = json_of("/console/requests/1");
    EXPECT_TRUE(one.at("body").is_null());
    EXPECT_FALSE(one.at("kept").as_bool());
    EXPECT_GT(one.at("bytes").to_number<std::size_t>(), runner::call_observer::body_bytes_max);
    EXPECT_EQ(one.at("outcome").as_string(), "stop");
}

TEST_F(Console, ServesItsPageBelowItsPath) {
    settings.server.base_path = "/chat-app";
    start();

    const raw_reply page = ask(get("/chat-app/console/"));
    EXPECT_EQ(page.status, 200);
    EXPECT_EQ(page.header("content-type"), "text/html; charset=utf-8");
    EXPECT_THAT(page.header("content-security-policy"), HasSubstr("default-src 'self'"));
    EXPECT_EQ(page.header("x-frame-options"), "DENY");
    EXPECT_EQ(
        ask(get("/chat-app/console/app.js")).header("content-type"),
        "text/javascript; charset=utf-8"
    );
    const raw_reply folder = ask(get("/chat-app/console"));
    EXPECT_EQ(folder.status, 308);
    EXPECT_EQ(folder.header("location"), "./console/");
    EXPECT_EQ(ask(get("/chat-app/console/nothing.js")).status, 404);
    EXPECT_EQ(ask(get("/chat-app/")).status, 404) << "the demo's page is not there";
    EXPECT_THAT(
        ask(get("/chat-app/", "Accept: text/html\r\n")).body, HasSubstr("href=\"console/\"")
    );
}

} // namespace
} // namespace agui::test
