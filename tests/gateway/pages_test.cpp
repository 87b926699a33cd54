#include "tests/gateway/server_fixture.hpp"
#include "tests/support/patience.hpp"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace agui::test {
namespace {

using ::testing::HasSubstr;

/// A server that serves pages and also gets requests from pages of other origins.
class Pages : public server_test {
protected:
    Pages() {
        std::ofstream(folder().file("index.html")) << "<p>app</p>";
        std::ofstream(folder().file("app.js")) << "run()";
        settings.server.static_dir = folder().path();
        options.log = &log;
    }
    ~Pages() override { server.reset(); }

    [[nodiscard]] static std::string preflight(const std::string& origin) {
        return "OPTIONS /agui HTTP/1.1\r\nHost: localhost\r\nOrigin: " + origin +
               "\r\nAccess-Control-Request-Method: POST\r\n"
               "Access-Control-Request-Headers: content-type, x-team\r\n\r\n";
    }
    [[nodiscard]] std::size_t lines_with(std::string_view text) const {
        return static_cast<std::size_t>(std::ranges::count_if(
            log.lines(),
            [text](const std::string& line) { return line.find(text) != std::string::npos; }
        ));
    }

    memory_logger log;
};

const std::string wants_page = "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n";

TEST_F(Pages, ARefusedPreflightNamesTheOriginToList) {
    settings.server.cors_origins = {"https://app.example"};
    start();

    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(ask(preflight("http://localhost:3000")).status, 403);
    }
    EXPECT_EQ(lines_with("server.cors_origins origin=http://localhost:3000"), 1U);
    EXPECT_EQ(ask(preflight("https://app.example")).status, 204);
    EXPECT_EQ(lines_with("https://app.example"), 0U);
    for (int i = 0; i < 100; ++i) {
        (void)ask(preflight("https://" + std::to_string(i) + ".example"));
    }
    EXPECT_EQ(lines_with("server.cors_origins"), 50U) << "anybody can make origins up";
}

TEST_F(Pages, CredentialsAreAllowedWhereTheConfigurationSaysSo) {
    settings.server.cors_origins = {"https://app.example"};
    settings.server.cors_credentials = true;
    start();

    const raw_reply allowed = ask(preflight("https://app.example"));
    EXPECT_EQ(allowed.header("access-control-allow-origin"), "https://app.example");
    EXPECT_EQ(allowed.header("access-control-allow-credentials"), "true");
    EXPECT_EQ(allowed.header("access-control-allow-headers"), "content-type, x-team");
    const raw_reply run = ask(post("/agui", run_body("t", "r"), "Origin: https://app.example\r\n"));
    EXPECT_EQ(run.header("access-control-allow-credentials"), "true");
    EXPECT_EQ(
        ask(preflight("https://evil.example")).header("access-control-allow-credentials"), ""
    );
}

TEST_F(Pages, CredentialsAreNotAllowedOtherwise) {
    settings.server.cors_origins = {"https://app.example"};
    start();

    EXPECT_EQ(ask(preflight("https://app.example")).header("access-control-allow-credentials"), "");
}

TEST_F(Pages, AListedOriginMayUseAPrivateNetworkIfItAsks) {
    settings.server.cors_origins = {"https://app.example"};
    start();
    const auto asks = [](const std::string& origin, const std::string& wanted) {
        std::string request = preflight(origin);
        return request.insert(
            request.size() - 2, "Access-Control-Request-Private-Network: " + wanted + "\r\n"
        );
    };

    const std::string name = "access-control-allow-private-network";
    EXPECT_EQ(ask(asks("https://app.example", "true")).header(name), "true");
    EXPECT_EQ(ask(asks("https://app.example", "false")).header(name), "");
    EXPECT_EQ(ask(preflight("https://app.example")).header(name), "");
    const raw_reply refused = ask(asks("https://evil.example", "true"));
    EXPECT_EQ(refused.status, 403);
    EXPECT_EQ(refused.header(name), "");
}

TEST_F(Pages, HaveAPolicyThatCanBeSet) {
    settings.server.csp = "default-src 'self' https://cdn.example";
    start();

    const raw_reply page = ask(get("/"));
    EXPECT_EQ(page.header("content-security-policy"), "default-src 'self' https://cdn.example");
    EXPECT_EQ(page.header("x-frame-options"), "") << "frame-ancestors is the policy's to say";
}

TEST_F(Pages, HaveNoPolicyWhereItIsEmpty) {
    settings.server.csp = "";
    start();

    EXPECT_FALSE(ask(get("/")).headers.contains("content-security-policy"));
}

TEST_F(Pages, UnknownPagesOfASinglePageAppAreItsIndex) {
    settings.server.spa = true;
    start();

    const raw_reply page = ask(get("/threads/7?tab=a", wants_page));
    EXPECT_EQ(page.status, 200);
    EXPECT_EQ(page.body, "<p>app</p>");
    EXPECT_EQ(page.header("content-type"), "text/html; charset=utf-8");
    EXPECT_THAT(page.header("content-security-policy"), HasSubstr("default-src 'self'"));
    EXPECT_EQ(ask(get("/app.js", wants_page)).body, "run()");
    EXPECT_EQ(ask(get("/assets/gone.js", wants_page)).status, 404) << "a file that is not there";
    EXPECT_EQ(ask(get("/threads/7", "Accept: application/json\r\n")).status, 404);
    EXPECT_EQ(ask(get("/../secret", wants_page)).status, 404);
    EXPECT_EQ(ask(get("/agui", wants_page)).status, 405) << "routes come first";
}

TEST_F(Pages, AreNotFoundWithoutAFileOtherwise) {
    start();

    EXPECT_EQ(ask(get("/threads/7", wants_page)).status, 404);
}

// The process has no descriptor left for new connections. It logs that, but not ten times a second.
TEST_F(Pages, NoFreeDescriptorIsOneLine) {
#if defined(__has_feature)
#if __has_feature(undefined_behavior_sanitizer)
    GTEST_SKIP() << "UBSan looks at objects through a pipe, which takes descriptors";
#endif
#endif
    settings.server.heartbeat = std::chrono::milliseconds(50);
    answer = say_and_stall("Hello");
    start();
    raw_client stream(port());
    stream.send(post("/agui", run_body("t", "r")));
    ASSERT_THAT(stream.read_until("Hello"), HasSubstr("Hello"));
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const int lowest = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    rlimit few = before;
    few.rlim_cur = static_cast<rlim_t>(lowest) + 1;
    ASSERT_EQ(::close(lowest), 0);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    const auto client = std::make_unique<raw_client>(port()); // It takes the last descriptor.

    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (lines_with("cannot accept") == 0 && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::yield();
    }
    // Long enough for several attempts, which are a tenth of a second apart.
    for (int beats = 0; beats < 12; ++beats) {
        ASSERT_THAT(stream.read_until(": keep-alive"), HasSubstr(": keep-alive"));
    }
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    client->send(get("/healthz"));
    EXPECT_EQ(client->read_reply().status, 200) << "it is accepted once there is one again";
    EXPECT_EQ(lines_with("cannot accept"), 1U);
}

class Welcome : public server_test {
protected:
    ~Welcome() override { server.reset(); }
};

TEST_F(Welcome, ABrowserLearnsWhatAnswersHere) {
    settings.server.copilotkit_path = "/copilotkit";
    start();

    const raw_reply page = ask(get("/", wants_page));

    EXPECT_EQ(page.status, 200);
    EXPECT_EQ(page.header("content-type"), "text/html; charset=utf-8");
    EXPECT_EQ(page.header("vary"), "Accept");
    EXPECT_THAT(page.header("content-security-policy"), HasSubstr("default-src 'none'"));
    EXPECT_THAT(page.body, HasSubstr("<code>/copilotkit</code>"));
    EXPECT_EQ(ask(get("/?a=b", wants_page)).status, 200);
    EXPECT_EQ(ask("HEAD / HTTP/1.1\r\nHost: localhost\r\n" + wants_page + "\r\n").status, 200);
    EXPECT_EQ(ask(get("/welcome.css")).header("content-type"), "text/css; charset=utf-8");
}

TEST_F(Welcome, OtherRequestsFindNothing) {
    settings.auth.emplace();
    settings.auth->kind = gateway::auth_config::mode::bearer;
    settings.auth->token.value = "secret";
    start();

    EXPECT_EQ(ask(get("/", wants_page)).status, 200) << "it needs no token";
    for (const std::string& request :
         {get("/"), get("/", "Accept: */*\r\n"), get("/nothing", wants_page), post("/", "{}"),
          post("/nothing", "{}")}) {
        const raw_reply reply = ask(request);
        EXPECT_EQ(reply.status, 404) << request;
        EXPECT_EQ(error_code(reply), "not_found");
    }
    EXPECT_EQ(ask(get("/agui", wants_page)).status, 405);
}

TEST_F(Welcome, StandsBelowTheBasePath) {
    settings.server.base_path = "/chat";
    start();

    EXPECT_EQ(ask(get("/chat/", wants_page)).status, 200);
    EXPECT_EQ(ask(get("/chat/welcome.css", wants_page)).status, 200);
    EXPECT_EQ(ask(get("/", wants_page)).status, 404);
}

TEST_F(Welcome, GivesWayToPages) {
    std::ofstream(folder().file("index.html")) << "<p>app</p>";
    settings.server.static_dir = folder().path();
    start();

    EXPECT_EQ(ask(get("/", wants_page)).body, "<p>app</p>");
    EXPECT_EQ(ask(get("/welcome.css")).status, 404);
}

} // namespace
} // namespace agui::test
