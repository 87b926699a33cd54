#include "runner/http/http_redirect.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace agui::runner {
namespace {

/// The URL that a redirect leads to, or the detail of its refusal after its first words.
std::string
led(std::string_view from, std::string_view location, int status = 307,
    http_method method = http_method::post) {
    const transport_result<http_url> to = follow_redirect(
        parse_http_url(from).value(), {.status = status, .method = method, .location = location}
    );
    if (to) {
        return std::string(to->tls ? "https://" : "http://") + to->authority + to->path + to->query;
    }
    EXPECT_EQ(to.error().what, transport_failure::kind::redirect);
    const std::string start = "it answered with the redirect " + std::to_string(status) + " ";
    EXPECT_TRUE(to.error().detail.starts_with(start)) << to.error().detail;
    return to.error().detail.substr(start.size());
}

TEST(HttpRedirect, LeadsToTheSameOrigin) {
    struct expectation {
        std::string_view from;
        std::string_view location;
        std::string_view to;
    };
    for (const expectation& each : std::vector<expectation>{
             {"http://a.example/mcp", "http://a.example/mcp/", "http://a.example/mcp/"},
             {"http://a.example/mcp", "/mcp/", "http://a.example/mcp/"},
             {"http://a.example/v1/mcp?key=1", "mcp/?key=1", "http://a.example/v1/mcp/?key=1"},
             {"http://a.example/v1/mcp?key=1", "?key=2", "http://a.example/v1/mcp?key=2"},
             {"http://a.example/v1/mcp", "../v2/./mcp", "http://a.example/v2/mcp"},
             {"http://a.example", "mcp", "http://a.example/mcp"},
             {"http://a.example/mcp", "//a.example/x", "http://a.example/x"},
             {"http://a.example/mcp", "HTTP://A.Example:80/x#part", "http://A.Example/x"},
             {"https://a.example/mcp", "https://a.example:443/x", "https://a.example/x"},
             {"https://a.example:443/mcp", "https://a.example/x", "https://a.example/x"},
             {"http://[::1]:8080/mcp", "http://[::1]:8080/x", "http://[::1]:8080/x"},
             {"http://a.example/mcp", "https://a.example/mcp", "https://a.example/mcp"},
             {"http://a.example:8080/mcp", "https://a.example:8443/x", "https://a.example:8443/x"},
         }) {
        SCOPED_TRACE(each.location);
        EXPECT_EQ(led(each.from, each.location), each.to);
        EXPECT_EQ(led(each.from, each.location, 308), each.to);
    }
}

TEST(HttpRedirect, DoesNotLeadToAnotherOrigin) {
    const std::string reason = "to another origin, which is not followed, Location: ";
    EXPECT_EQ(led("http://a.example/", "http://b.example/x"), reason + "http://b.example/x");
    EXPECT_EQ(led("http://a.example/", "//b.example/x"), reason + "http://b.example/x");
    EXPECT_EQ(
        led("http://a.example/", "http://a.example:8080/"), reason + "http://a.example:8080/"
    );
    EXPECT_EQ(led("http://a.example/", "http://x.a.example/"), reason + "http://x.a.example/");
    EXPECT_EQ(led("https://a.example/", "http://a.example/"), reason + "http://a.example/");
    EXPECT_EQ(
        led("https://a.example/", "https://a.example:8443/"), reason + "https://a.example:8443/"
    );
    EXPECT_EQ(
        led("https://a.example/", "https://b.example/x?key=1#f"), reason + "https://b.example/x"
    );
}

TEST(HttpRedirect, DoesNotLeadToUnusableUrls) {
    const std::string reason = "whose Location is not a URL for requests, Location: ";
    EXPECT_EQ(led("http://a.example/", "ftp://a.example/x"), reason + "ftp://a.example/x");
    EXPECT_EQ(led("http://a.example/", "http://u:p@a.example/x"), reason + "http://a.example/x");
    EXPECT_EQ(led("http://a.example/", "http:///x"), reason + "http:///x");
    EXPECT_EQ(led("http://a.example/", "http://a.example/\xC3\xA4"), "whose Location is not a URL");
    EXPECT_EQ(led("http://a.example/", "http://a.example/ x"), "whose Location is not a URL");
}

TEST(HttpRedirect, KeepsTheMethod) {
    const std::string reason = "which does not keep the method and is not followed, Location: ";
    for (const int status : {301, 302, 303}) {
        EXPECT_EQ(led("http://a.example/", "/x", status), reason + "http://a.example/x");
        EXPECT_EQ(
            led("http://a.example/", "/x", status, http_method::delete_),
            reason + "http://a.example/x"
        );
    }
    EXPECT_EQ(led("http://a.example/", "/x", 301, http_method::get), "http://a.example/x");
    EXPECT_EQ(led("http://a.example/", "/x", 302, http_method::get), "http://a.example/x");
    EXPECT_EQ(led("http://a.example/", "/x", 303, http_method::get), reason + "http://a.example/x");
    EXPECT_EQ(led("http://a.example/", "/x", 307, http_method::delete_), "http://a.example/x");
}

TEST(HttpRedirect, IsOnlyOneOfFiveStatuses) {
    for (const int status : {200, 204, 300, 304, 305, 306, 309, 401}) {
        EXPECT_FALSE(is_redirect(status)) << status;
    }
    for (const int status : {301, 302, 303, 307, 308}) {
        EXPECT_TRUE(is_redirect(status)) << status;
    }
}

} // namespace
} // namespace agui::runner
