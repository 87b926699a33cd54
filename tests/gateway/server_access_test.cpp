// Access to the server: hosts, origins and tokens, and the pages that need no token.

#include "tests/gateway/server_fixture.hpp"

#include <gmock/gmock.h>

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

namespace agui::test {
namespace {

using ::testing::Contains;

using ServerTest = server_test;

TEST_F(ServerTest, ServesTheHostsThatItKnows) {
    start();

    for (const char* host : {"localhost", "127.0.0.1:1", "[::1]:8080", "LOCALHOST:80"}) {
        SCOPED_TRACE(host);
        EXPECT_EQ(
            ask("GET /version HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n").status, 200
        );
    }
    const raw_reply rebound = ask("GET /version HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    EXPECT_EQ(rebound.status, 421);
    EXPECT_EQ(error_code(rebound), "wrong_host");
    EXPECT_NE(rebound.body.find("server.allowed_hosts"), std::string::npos);
    EXPECT_EQ(ask("GET /healthz HTTP/1.1\r\nHost: 10.0.0.7:8080\r\n\r\n").status, 200)
        << "probes use addresses";
}

TEST_F(ServerTest, LetsPagesOfListedOriginsReadAnswersAndErrors) {
    settings.server.cors_origins = {"https://app.example"};
    start();
    const std::string origin = "Origin: https://app.example\r\n";

    const raw_reply preflight =
        ask("OPTIONS /agui HTTP/1.1\r\nHost: localhost\r\n" + origin +
            "Access-Control-Request-Method: POST\r\n"
            "Access-Control-Request-Headers: content-type,authorization\r\n\r\n");
    EXPECT_EQ(preflight.status, 204);
    EXPECT_EQ(preflight.header("access-control-allow-origin"), "https://app.example");
    EXPECT_EQ(preflight.header("access-control-allow-methods"), "POST, OPTIONS");
    EXPECT_EQ(preflight.header("access-control-allow-headers"), "content-type,authorization");
    EXPECT_EQ(preflight.header("vary"), "Origin");
    for (const std::string& request :
         {post("/agui", run_body("t", "r"), origin), post("/agui", "x", origin),
          get("/nowhere", origin), get("/agui", origin)}) {
        EXPECT_EQ(ask(request).header("access-control-allow-origin"), "https://app.example")
            << request;
    }
}

// A browser shows a refused preflight as a problem with CORS, whatever its status is.
TEST_F(ServerTest, LetsPagesReadTheRefusalOfAMistypedPathOrMethod) {
    settings.server.cors_origins = {"https://app.example"};
    start();
    const auto preflight = [this](std::string_view path, std::string_view method, auto origin) {
        return ask(
            "OPTIONS " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\nOrigin: https://" +
            origin + ".example\r\nAccess-Control-Request-Method: " + std::string(method) +
            "\r\n\r\n"
        );
    };

    const raw_reply no_path = preflight("/nowhere", "PUT", "app");
    EXPECT_EQ(no_path.status, 204);
    EXPECT_EQ(no_path.header("access-control-allow-origin"), "https://app.example");
    EXPECT_EQ(no_path.header("access-control-allow-methods"), "PUT");
    const raw_reply no_method = preflight("/agui", "PUT", "app");
    EXPECT_EQ(no_method.status, 204);
    EXPECT_EQ(no_method.header("access-control-allow-methods"), "POST, OPTIONS, PUT");
    EXPECT_EQ(no_method.header("allow"), "POST, OPTIONS");
    EXPECT_EQ(
        preflight("/agui", "PUT<", "app").header("access-control-allow-methods"), "POST, OPTIONS"
    );
    EXPECT_EQ(preflight("/nowhere", "PUT", "evil").status, 403);
    EXPECT_EQ(ask("OPTIONS /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 404);
    const raw_reply framing = ask("POST /agui HTTP/1.1\r\nHost: localhost\r\nOrigin: "
                                  "https://app.example\r\nContent-Length: 007\r\n\r\n");
    EXPECT_EQ(framing.status, 400);
    EXPECT_EQ(framing.header("access-control-allow-origin"), "https://app.example");
}

TEST_F(ServerTest, TellsPagesOfOtherOriginsNothing) {
    settings.server.cors_origins = {"https://app.example"};
    start();

    const raw_reply preflight = ask("OPTIONS /agui HTTP/1.1\r\nHost: localhost\r\n"
                                    "Origin: https://evil.example\r\n"
                                    "Access-Control-Request-Method: POST\r\n\r\n");
    EXPECT_EQ(preflight.status, 403);
    EXPECT_EQ(preflight.header("access-control-allow-origin"), "");
    const raw_reply simple = ask(get("/version", "Origin: https://app.example.evil\r\n"));
    EXPECT_EQ(simple.header("access-control-allow-origin"), "");
    EXPECT_EQ(
        ask("OPTIONS /agui HTTP/1.1\r\nHost: localhost\r\n\r\n").header("allow"), "POST, OPTIONS"
    );
}

TEST_F(ServerTest, DemandsTheBearerToken) {
    settings.auth.emplace();
    settings.auth->kind = gateway::auth_config::mode::bearer;
    settings.auth->token.value = "secret";
    start();
    const std::string body = run_body("t", "r");

    for (const char* header :
         {"", "Authorization: Bearer wrong\r\n", "Authorization: Bearer secre\r\n",
          "Authorization: Bearer secrets\r\n", "Authorization: Basic secret\r\n",
          "Authorization: secret\r\n", "Authorization: Bearer\r\n",
          "Authorization: Bearer x\r\nAuthorization: Bearer secret\r\n"}) {
        SCOPED_TRACE(header);
        const raw_reply reply = ask(post("/agui", body, header));
        EXPECT_EQ(reply.status, 401);
        EXPECT_EQ(error_code(reply), "unauthorized");
        EXPECT_EQ(
            reply.header("www-authenticate"),
            *header == '\0' ? "Bearer" : R"(Bearer error="invalid_token")"
        );
    }
    EXPECT_EQ(ask(post("/agui", body, "Authorization: Bearer secret\r\n")).status, 200);
    EXPECT_EQ(ask(get("/version")).status, 401);
    EXPECT_EQ(ask(get("/healthz")).status, 200);
    EXPECT_EQ(ask(get("/readyz")).status, 200);
}

TEST_F(ServerTest, SlowsAndLogsWrongTokens) {
    memory_logger log;
    options.log = &log;
    settings.server.trusted_proxies = {"127.0.0.1"};
    settings.auth.emplace();
    settings.auth->kind = gateway::auth_config::mode::bearer;
    settings.auth->token.value = "a-token-of-sufficient-length";
    start();
    const std::string from = "X-Forwarded-For: 203.0.113.9\r\n";
    const auto begun = std::chrono::steady_clock::now();

    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(ask(get("/version", from + "Authorization: Bearer guess\r\n")).status, 401);
    }

    EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(100 + 200));
    EXPECT_THAT(
        log.lines(),
        Contains("warning requests with a wrong bearer token were refused address=203.0.113.9 "
                 "count=1")
    );
    EXPECT_EQ(ask(get("/version", from)).status, 401) << "without a token, nothing was guessed";
    EXPECT_EQ(
        ask(get("/version", from + "Authorization: Bearer a-token-of-sufficient-length\r\n"))
            .status,
        200
    );
    server.reset();
}

TEST_F(ServerTest, ServesTheBuiltInPage) {
    options.demo_page = true;
    start();

    const raw_reply page = ask(get("/"));
    EXPECT_EQ(page.status, 200);
    EXPECT_EQ(page.header("content-type"), "text/html; charset=utf-8");
    EXPECT_NE(page.header("content-security-policy").find("default-src 'self'"), std::string::npos);
    EXPECT_EQ(page.header("x-frame-options"), "DENY");
    EXPECT_NE(page.body.find("<html"), std::string::npos);
    EXPECT_EQ(ask(get("/app.js")).header("content-type"), "text/javascript; charset=utf-8");
    EXPECT_EQ(ask(get("/nothing.js")).status, 404);
    EXPECT_EQ(ask(post("/nothing", "{}")).status, 404);
    EXPECT_EQ(ask(get("/agui")).status, 405);
}

TEST_F(ServerTest, ServesNothingOutsideItsFolder) {
    namespace fs = std::filesystem;
    const fs::path& folder = this->folder().path();
    fs::create_directory(folder / "web");
    std::ofstream(folder / "secret.txt") << "secret";
    std::ofstream(folder / "web" / "index.html") << "<p>index</p>";
    std::ofstream(folder / "web" / ".hidden") << "secret";
    fs::create_symlink("../secret.txt", folder / "web" / "link.txt");
    settings.server.static_dir = (folder / "web").string();
    start();

    EXPECT_EQ(ask(get("/")).body, "<p>index</p>");
    for (const char* path :
         {"/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "/link.txt", "/.hidden",
          "/x/../index.html", "//index.html", "/web", "/%5c..%5csecret.txt"}) {
        SCOPED_TRACE(path);
        EXPECT_EQ(ask(get(path)).status, 404);
    }
}

} // namespace
} // namespace agui::test
