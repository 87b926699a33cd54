// CopilotKit's routes in the server: the form of refusals, limits, and what stays of suggestions.

#include "tests/gateway/server_fixture.hpp"
#include "tests/support/patience.hpp"

#include <gmock/gmock.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace agui::test {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::Not;

class CopilotKit : public server_test {
protected:
    CopilotKit() { settings.server.copilotkit_path = "/copilotkit"; }
    ~CopilotKit() override { server.reset(); }

    static std::string path(std::string_view below) { return "/copilotkit" + std::string(below); }
    static std::string
    envelope(std::string_view method, json::object params, std::string_view body = "null") {
        return R"({"method":")" + std::string(method) + R"(","params":)" + json::serialize(params) +
               R"(,"body":)" + std::string(body) + "}";
    }
    /// An envelope for that request below the base.
    static std::string resource(std::string_view method, std::string_view below) {
        return envelope("resource/request", {{"path", below}, {"httpMethod", method}});
    }
    /// A request for suggestions.
    static std::string suggest_body(std::string_view thread_id, std::string_view run_id) {
        json::object body = json::parse(run_body(thread_id, run_id)).as_object();
        body["tools"] = json::array{{{"name", "copilotkitSuggest"}, {"description", ""}}};
        body["forwardedProps"] = {
            {"toolChoice", {{"type", "function"}, {"function", {{"name", "copilotkitSuggest"}}}}}
        };
        return json::serialize(body);
    }
    static std::string
    request(std::string_view method, std::string_view path, std::string_view more = {}) {
        return std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" +
               std::string(more) + "\r\n";
    }
};

/// The member `error` of a refusal in CopilotKit's form.
std::string copilotkit_code(const raw_reply& reply) {
    boost::system::error_code failed;
    const json::value body = json::parse(reply.body, failed);
    const json::object* const object = failed ? nullptr : body.if_object();
    const json::value* const error = object == nullptr ? nullptr : object->if_contains("error");
    return error != nullptr && error->is_string() ? std::string(error->get_string())
                                                  : "no text: " + reply.body;
}

void expect_refusal(const raw_reply& reply, int status, std::string_view error) {
    EXPECT_EQ(reply.status, status) << reply.body;
    EXPECT_EQ(copilotkit_code(reply), error);
}

TEST_F(CopilotKit, RefusalsBeforeTheHandlerHaveItsForm) {
    settings.server.cors_origins = {"https://app.example"};
    settings.server.max_body_bytes = 4'096;
    start();

    expect_refusal(ask(get(path("/nothing"))), 404, "Not found");
    expect_refusal(ask(request("DELETE", path("/nothing"))), 404, "Not found");
    const raw_reply wrong_method = ask(request("DELETE", path("/info")));
    expect_refusal(wrong_method, 405, "Method not allowed");
    EXPECT_EQ(wrong_method.header("allow"), "GET, HEAD, OPTIONS");
    expect_refusal(
        ask(post(path("/agent/default/run"), std::string(5'000, ' '))), 413, "body_too_large"
    );
    expect_refusal(
        ask(request("POST", path(""), "Content-Length: 0\r\n")), 415, "unsupported_media_type"
    );
    expect_refusal(
        ask("GET /copilotkit/info HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 421, "wrong_host"
    );
    expect_refusal(
        ask(request(
            "OPTIONS", path("/info"),
            "Origin: https://evil.example\r\nAccess-Control-Request-Method: GET\r\n"
        )),
        403, "forbidden"
    );
    // All other paths keep the gateway's own form.
    EXPECT_EQ(error_code(ask(get("/copilotkitx"))), "not_found");
    EXPECT_EQ(error_code(ask(get("/agui"))), "method_not_allowed");
}

TEST_F(CopilotKit, ErrorsCanBeReadByPagesOfListedOrigins) {
    settings.server.cors_origins = {"https://app.example"};
    start();
    const std::string origin = "Origin: https://app.example\r\n";

    for (const std::string& each :
         {get(path("/nothing"), origin), get(path("/agent/default/run"), origin),
          post(path("/agent/nobody/run"), run_body("t", "r"), origin), post(path(""), "{}", origin),
          post(path(""), "x", origin)}) {
        const raw_reply reply = ask(each);
        EXPECT_GE(reply.status, 400);
        EXPECT_EQ(reply.header("access-control-allow-origin"), "https://app.example") << each;
    }
}

TEST_F(CopilotKit, NeedsTheTokenByBothTransports) {
    settings.auth.emplace();
    settings.auth->kind = gateway::auth_config::mode::bearer;
    settings.auth->token.value = "secret";
    start();
    const std::string token = "Authorization: Bearer secret\r\n";

    const raw_reply refused = ask(get(path("/info")));
    expect_refusal(refused, 401, "unauthorized");
    EXPECT_EQ(refused.header("www-authenticate"), "Bearer");
    expect_refusal(ask(post(path(""), R"({"method":"info"})")), 401, "unauthorized");
    expect_refusal(ask(post(path("/agent/default/run"), run_body("t", "r"))), 401, "unauthorized");
    EXPECT_EQ(ask(get(path("/info"), token)).status, 200);
    EXPECT_EQ(ask(post(path(""), R"({"method":"info"})", token)).status, 200);
}

TEST_F(CopilotKit, PagesOfTheServerDoNotAnswerForItsPaths) {
    std::ofstream(folder().file("index.html")) << "<p>app</p>";
    settings.server.static_dir = folder().path();
    settings.server.spa = true;
    start();
    const std::string page = "Accept: text/html\r\n";

    EXPECT_EQ(ask(get("/anything", page)).status, 200);
    for (const std::string_view below :
         {"/nothing", "/threads/a/b/c", "/memories", "/inspector-metadata"}) {
        expect_refusal(ask(get(path(below), page)), 404, "Not found");
    }
}

TEST_F(CopilotKit, PathsThatItDoesNotServeAreNotFound) {
    start();

    for (const std::string_view below :
         {"/threads/clear", "/threads/subscribe", "/transcribe", "/annotate", "/memories"}) {
        expect_refusal(ask(post(path(below), "{}")), 404, "Not found");
    }
    for (const std::string_view method :
         {"transcribe", "inspector/metadata", "inspector/learning"}) {
        expect_refusal(ask(post(path(""), envelope(method, {}, "{}"))), 404, "Not found");
    }
    for (const std::string_view below : {"/threads/clear", "/threads/subscribe"}) {
        expect_refusal(ask(post(path(""), resource("POST", below))), 404, "Not found");
    }
}

TEST_F(CopilotKit, IsBelowTheBasePath) {
    settings.server.base_path = "/chat";
    start();

    EXPECT_EQ(ask(get("/chat/copilotkit/info")).status, 200);
    EXPECT_THAT(
        ask(post("/chat/copilotkit/agent/default/run", run_body("t", "r"))).body,
        HasSubstr("RUN_FINISHED")
    );
    EXPECT_EQ(
        ask(post("/chat/copilotkit", resource("GET", "/threads?agentId=default"))).status, 200
    );
    expect_refusal(ask(get("/chat/copilotkit/nothing")), 404, "Not found");
    EXPECT_EQ(error_code(ask(get("/copilotkit/info"))), "not_found");
}

TEST_F(CopilotKit, AnEnvelopeMayHoldWhatTheRouteTakes) {
    settings.server.input.max_json_depth = 8;
    start();
    const auto nested = [](std::string_view run_id, std::size_t levels) {
        std::string body = run_body("t", run_id);
        const std::string state =
            std::string(levels, '[') + std::string(levels, ']'); // Inside the body's own level.
        return body.replace(body.find(R"("state":null)"), 12, R"("state":{"a":)" + state + "}");
    };
    const json::object agent{{"agentId", "default"}};

    EXPECT_EQ(ask(post(path("/agent/default/run"), nested("r1", 6))).status, 200);
    EXPECT_EQ(ask(post(path(""), envelope("agent/run", agent, nested("r2", 6)))).status, 200);
    EXPECT_EQ(ask(post(path("/agent/default/run"), nested("r3", 7))).status, 400);
    const raw_reply deep = ask(post(path(""), envelope("agent/run", agent, nested("r4", 7))));
    expect_refusal(deep, 400, "invalid_request");
    EXPECT_THAT(deep.body, HasSubstr("the body is nested deeper than 9 levels"));
    EXPECT_THAT(deep.body, Not(HasSubstr("not JSON")));
}

TEST_F(CopilotKit, ARequestInAnEnvelopeHasTheLimitsOfItsRoute) {
    start();
    const std::string stop = envelope(
        "agent/stop", {{"agentId", "default"}, {"threadId", "t"}},
        R"({"runId":")" + std::string(20'000, 'x') + R"("})"
    );

    expect_refusal(ask(post(path(""), stop)), 413, "body_too_large");
    expect_refusal(
        ask(post(path("/agent/default/stop/t"), std::string(20'000, ' '))), 413, "body_too_large"
    );
}

TEST_F(CopilotKit, AnIdThatIsNotUtf8IsNotFound) {
    start();

    for (const std::string_view below :
         {"/agent/%FF/run", "/agent/%C3/connect", "/agent/%FF/stop/t"}) {
        const raw_reply reply = ask(post(path(below), "{}"));
        expect_refusal(reply, 404, "Not found");
        EXPECT_THAT(reply.body, Not(HasSubstr("\xFF")));
    }
    EXPECT_EQ(ask(request("DELETE", "/agui/threads/%FF")).status, 404);
    EXPECT_THAT(ask(post(path("/agent/%C3%A9/run"), "{}")).body, HasSubstr("'\xC3\xA9'"));
}

TEST_F(CopilotKit, AListHasAWholeNumberAsItsLimit) {
    start();

    for (const std::string_view wrong : {"abc", "5x", "0", "-1", ""}) {
        const raw_reply reply =
            ask(get(path("/threads?agentId=default&limit=" + std::string(wrong))));
        expect_refusal(reply, 422, "invalid_input");
        EXPECT_THAT(reply.body, HasSubstr(R"("message":"limit: must be)"));
    }
    EXPECT_EQ(ask(get(path("/threads?agentId=default&limit=99999"))).status, 200);
    const raw_reply cursor = ask(get(path("/threads?cursor=no")));
    expect_refusal(cursor, 422, "invalid_input");
    EXPECT_THAT(
        cursor.body, HasSubstr(R"("message":"cursor: is not a cursor that a page returned")")
    );
}

// Suggestions.

TEST_F(CopilotKit, SuggestionsPushNoEphemeralThreadOut) {
    settings.server.max_memory_bytes = 32U << 20U; // An eighth is for ephemeral threads.
    std::atomic<int> model_calls = 0;
    options.script_of = [&](const gateway::model_config&) {
        return [&](const runner::transport_request&) {
            ++model_calls;
            return std::optional(answer);
        };
    };
    start();
    json::object kept = json::parse(run_body("kept", "r")).as_object();
    kept["forwardedProps"] = {{"ephemeral", true}};
    ASSERT_EQ(ask(post("/agui", json::serialize(kept))).status, 200);
    json::object large = json::parse(suggest_body("s", "r")).as_object();
    large["state"] = {{"text", std::string(512U << 10U, 'x')}};

    for (int i = 0; i < 10; ++i) {
        large["threadId"] = "s" + std::to_string(i);
        ASSERT_EQ(ask(post("/agui", json::serialize(large))).status, 200);
    }

    EXPECT_EQ(model_calls, 11);
    EXPECT_THAT(ask(post("/agui", json::serialize(kept))).body, HasSubstr("RUN_FINISHED"));
    EXPECT_EQ(model_calls, 11) << "its run is still known";
}

TEST_F(CopilotKit, SuggestionsHaveAnEighthOfTheRuns) {
    settings.server.max_runs = 16;
    answer = say_and_stall("Well");
    start();
    std::vector<std::unique_ptr<raw_client>> readers;
    const auto begin = [&](std::string_view path, const std::string& body) {
        readers.push_back(std::make_unique<raw_client>(port()));
        readers.back()->send(post(path, body));
        return readers.back()->read_until("Well");
    };

    EXPECT_THAT(begin("/agui", suggest_body("s1", "r")), HasSubstr("Well"));
    EXPECT_THAT(begin("/agui", suggest_body("s2", "r")), HasSubstr("Well"));
    expect_refusal(
        ask(post(path("/agent/default/suggest"), suggest_body("s3", "r"))), 503, "overloaded"
    );
    EXPECT_THAT(begin("/agui", run_body("t", "r")), HasSubstr("Well"));
    readers.front()->close();
    const auto deadline = std::chrono::steady_clock::now() + patience;
    int status = 0;
    while (status != 200 && std::chrono::steady_clock::now() < deadline) {
        raw_client reader(port());
        reader.send(post("/agui", suggest_body("s4", "r")));
        status = reader.read_head().status;
    }
    EXPECT_EQ(status, 200) << "a run that has ended gives its place back";
}

TEST_F(CopilotKit, SuggestionsEndWithAReaderThatIsCutOff) {
    settings.server.reader_buffer_bytes = 16'384;
    settings.server.lag = std::chrono::milliseconds(600);
    memory_logger log;
    options.log = &log;
    answer = flood();
    start();
    raw_client slow(port(), small_window);
    slow.send(post("/agui", suggest_body("t", "r")));
    ASSERT_EQ(slow.read_head().status, 200);
    slow.read_slowly(4'000, std::chrono::milliseconds(5));

    const auto deadline = std::chrono::steady_clock::now() + patience;
    const auto has_ended = [&log] {
        return std::ranges::any_of(log.lines(), [](const std::string& line) {
            return line.find("run ended") != std::string::npos &&
                   line.find("reason=user_stop") != std::string::npos;
        });
    };
    while (!has_ended() && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_TRUE(has_ended()) << "it goes on without a reader";
    server.reset(); // It writes to the log.
}

} // namespace
} // namespace agui::test
