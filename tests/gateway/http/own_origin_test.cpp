#include "gateway/http/own_origin.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace agui::test {
namespace {

using gateway::http_request;

http_request
request_with(std::vector<std::pair<std::string, std::string>> headers, bool plain = false) {
    http_request request;
    request.method = "POST";
    request.headers = std::move(headers);
    request.plain_loopback = plain;
    return request;
}

bool is_allowed(const http_request& request, bool from_proxy = false) {
    gateway::access_settings access;
    access.cors_origins = {"https://page.example"};
    access.public_origin = "https://public.example:8443";
    return !gateway::origin_problem(request, access, from_proxy);
}

bool is_plain(
    const char* peer, const http_request& request, bool from_proxy = false,
    std::string public_origin = {}
) {
    gateway::access_settings access;
    access.public_origin = std::move(public_origin);
    return gateway::is_plain_loopback(
        boost::asio::ip::make_address(peer), request, access, from_proxy
    );
}

TEST(OwnOrigin, OfAnUnsafeMethodIsThatOfTheHost) {
    const auto asks = [](const std::string& host, const std::string& origin) {
        return is_allowed(request_with({{"host", host}, {"origin", origin}}));
    };
    EXPECT_TRUE(asks("app.example", "https://app.example"));
    EXPECT_TRUE(asks("App.example:443", "https://app.example"));
    EXPECT_TRUE(asks("app.example:8443", "https://app.example:8443"));
    EXPECT_TRUE(asks("app.example", "https://page.example")) << "listed";
    EXPECT_TRUE(asks("10.0.0.1:8080", "https://public.example:8443")) << "server.public_url";
    EXPECT_FALSE(asks("app.example", "http://app.example")) << "anybody on the way can be that";
    EXPECT_FALSE(asks("app.example", "https://app.example:8443"));
    EXPECT_FALSE(asks("app.example", "https://app.example.evil.example"));
    EXPECT_FALSE(asks("app.example", "https://evil.example"));
    EXPECT_FALSE(asks("app.example", "https://"));
    EXPECT_FALSE(asks("", "https://"));
    EXPECT_FALSE(asks("app.example", "null"));
    EXPECT_FALSE(asks("app.example", ""));
    EXPECT_FALSE(is_allowed(request_with({{"host", "app.example"}})));
    EXPECT_FALSE(is_allowed(request_with(
        {{"host", "app.example"}, {"origin", "https://app.example"}, {"origin", "https://x.example"}
        }
    )));
}

TEST(OwnOrigin, DoesNotMatterForSafeMethods) {
    for (const char* method : {"GET", "HEAD", "OPTIONS"}) {
        http_request request = request_with({{"host", "app.example"}});
        request.method = method;
        EXPECT_TRUE(is_allowed(request)) << method;
    }
    for (const char* method : {"POST", "PATCH", "DELETE", "PUT", "get"}) {
        http_request request = request_with({{"host", "app.example"}});
        request.method = method;
        EXPECT_FALSE(is_allowed(request)) << method;
    }
}

TEST(OwnOrigin, IsPlainOnThisMachineOnly) {
    const auto asks = [](bool plain, const std::string& origin) {
        return is_allowed(request_with({{"host", "localhost:8080"}, {"origin", origin}}, plain));
    };
    EXPECT_TRUE(asks(true, "http://localhost:8080"));
    EXPECT_FALSE(asks(true, "http://localhost:5173")) << "another server of this machine";
    EXPECT_FALSE(asks(true, "http://127.0.0.1:8080"));
    EXPECT_FALSE(asks(false, "http://localhost:8080"));
}

TEST(OwnOrigin, MayBeNamedByATrustedProxy) {
    const http_request request = request_with(
        {{"host", "gateway:8080"},
         {"x-forwarded-host", "app.example"},
         {"origin", "https://app.example"}}
    );
    EXPECT_TRUE(is_allowed(request, true));
    EXPECT_FALSE(is_allowed(request, false));
    EXPECT_FALSE(is_allowed(
        request_with(
            {{"host", "gateway:8080"},
             {"x-forwarded-host", "evil.example, app.example"},
             {"origin", "https://evil.example"}}
        ),
        true
    ));
}

TEST(PlainLoopback, NeedsALoopbackPeerAndHost) {
    EXPECT_TRUE(is_plain("127.0.0.1", request_with({{"host", "localhost:8080"}})));
    EXPECT_TRUE(is_plain("::1", request_with({{"host", "[::1]:8080"}})));
    EXPECT_TRUE(is_plain("::ffff:127.0.0.1", request_with({{"host", "127.0.0.1"}})));
    EXPECT_FALSE(is_plain("10.0.0.1", request_with({{"host", "localhost:8080"}})));
    EXPECT_FALSE(is_plain("127.0.0.1", request_with({{"host", "app.example"}})));
    EXPECT_FALSE(is_plain("127.0.0.1", request_with({})));
}

TEST(PlainLoopback, IsNotWhatAProxyOrAPageCallsHttps) {
    using header = std::pair<std::string, std::string>;
    for (const header& each :
         {header("x-forwarded-proto", "https"), header("forwarded", "for=1.2.3.4;proto=HTTPS"),
          header("origin", "https://app.example")}) {
        EXPECT_FALSE(is_plain("127.0.0.1", request_with({{"host", "localhost"}, each})))
            << each.first;
    }
    EXPECT_TRUE(
        is_plain("127.0.0.1", request_with({{"host", "localhost"}, {"x-forwarded-proto", "http"}}))
    );
    // What clients are told is https, even if the proxy on this machine says nothing.
    const http_request local = request_with({{"host", "localhost"}});
    EXPECT_FALSE(is_plain("127.0.0.1", local, false, "https://app.example"));
    EXPECT_TRUE(is_plain("127.0.0.1", local, false, "http://localhost:8080"));
    const http_request proxied =
        request_with({{"host", "localhost"}, {"x-forwarded-host", "app.example"}});
    EXPECT_FALSE(is_plain("127.0.0.1", proxied, true));
}

} // namespace
} // namespace agui::test
