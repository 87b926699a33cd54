#include "tests/runner/http/http_transport_case.hpp"

namespace agui::runner {
namespace {

using namespace http_transport_case;

TEST(HttpEndpoint, RefusesUrlsThatCannotBeUsed) {
    for (const std::string url :
         {"", "localhost:80", "ftp://example.org", "http://", "http://user:pw@example.org",
          "http://example.org/#x", "http://example.org:0", "http://example.org:70000",
          "http://a%20b/", "http://exa mple.org", "/v1"}) {
        SCOPED_TRACE(url);
        http_endpoint endpoint;
        endpoint.base_url = url;
        const auto made = make_http_client(endpoint);
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().code, errc::invalid_input);
        EXPECT_EQ(made.error().detail.find("pw"), std::string::npos);
    }
}

TEST(HttpEndpoint, TakesUsualUrls) {
    for (const std::string url :
         {"http://example.org", "https://example.org/v1", "http://127.0.0.1:4010/v1/",
          "http://[::1]:8080", "HTTPS://Example.org",
          "https://example.org/v1?api-version=2024-10-21"}) {
        SCOPED_TRACE(url);
        http_endpoint endpoint;
        endpoint.base_url = url;
        EXPECT_TRUE(make_http_client(endpoint));
    }
}

TEST(HttpEndpoint, RefusesHeadersThatWouldBreakTheFraming) {
    const std::vector<std::pair<std::string, std::string>> headers = {
        {"Host", "x"},
        {"Content-Length", "1"},
        {"transfer-encoding", "chunked"},
        {"X Y", "z"},
        {"", "z"},
        {"X", "a\r\nY: secret"},
        {"X", "a\nb"},
    };
    for (const auto& header : headers) {
        SCOPED_TRACE(header.first);
        http_endpoint endpoint;
        endpoint.base_url = "http://example.org";
        endpoint.headers = {header};
        const auto made = make_http_client(endpoint);
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().detail.find("secret"), std::string::npos);
    }
}

TEST(HttpEndpoint, RefusesACaFileThatCannotBeRead) {
    http_endpoint endpoint;
    endpoint.base_url = "https://example.org";
    endpoint.ca_file = "no/such/file.pem";

    const auto made = make_http_client(endpoint);

    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().detail.substr(0, 8), "ca_file:");
}

} // namespace
} // namespace agui::runner
