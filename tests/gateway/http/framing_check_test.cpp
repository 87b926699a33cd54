#include "gateway/http/framing_check.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace agui::gateway {
namespace {

/// Checks a head as a connection does: scans, parses and compares it.
std::variant<body_framing, framing_problem> check(const std::string& block) {
    const head_scan scan = scan_head(block, 0);
    if (scan.what == head_scan::state::refused) {
        return framing_problem{std::string(scan.problem)};
    }
    if (scan.what == head_scan::state::need_more) {
        return framing_problem{"incomplete"};
    }
    auto parsed = parse_head(std::string_view(block).substr(0, scan.size));
    if (auto* problem = std::get_if<framing_problem>(&parsed)) {
        return *problem;
    }
    return check_framing(std::get<request_head>(parsed));
}

bool accepted(const std::string& block) {
    const auto checked = check(block);
    if (const auto* problem = std::get_if<framing_problem>(&checked)) {
        EXPECT_NE(problem->text, "incomplete") << block;
        return false;
    }
    return true;
}

std::string post(std::string_view fields) {
    return "POST /agui HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n";
}

TEST(FramingCheck, AcceptsRequestsOfRealClients) {
    EXPECT_TRUE(accepted("GET / HTTP/1.1\r\nHost: localhost:8080\r\n\r\n"));
    EXPECT_TRUE(accepted("GET /a%20b?x=1&y=%2F HTTP/1.1\r\nHost: [::1]:8080\r\nAccept: */*\r\n\r\n")
    );
    EXPECT_TRUE(accepted("GET / HTTP/1.0\r\n\r\n"));
    EXPECT_TRUE(accepted(post("Content-Length: 12\r\nContent-Type:application/json\r\n")));
    EXPECT_TRUE(accepted(post("Transfer-Encoding: chunked\r\n")));
    EXPECT_TRUE(accepted(post("Transfer-Encoding: Chunked\r\n")));
    EXPECT_TRUE(accepted(post("Content-Length: 0\r\n")));
}

TEST(FramingCheck, SaysHowTheBodyEnds) {
    const auto sized = check(post("Content-Length: 120\r\n"));
    EXPECT_FALSE(std::get<body_framing>(sized).chunked);
    EXPECT_EQ(std::get<body_framing>(sized).length, 120U);

    const auto chunked = check(post("Transfer-Encoding: chunked\r\n"));
    EXPECT_TRUE(std::get<body_framing>(chunked).chunked);

    const auto none = check(post(""));
    EXPECT_FALSE(std::get<body_framing>(none).chunked);
    EXPECT_EQ(std::get<body_framing>(none).length, 0U);
}

TEST(FramingCheck, RefusesEveryOtherTransferEncoding) {
    for (const char* value :
         {"chunked, identity", "chunked, chunked", "identity", "xchunked", "gzip, chunked",
          "identity, chunked", "gzip", "chunked;q=1", "\"chunked\"", "chunked,", ",chunked", "",
          "chunked\x0b", "c hunked"}) {
        SCOPED_TRACE(value);
        const std::string field = "Transfer-Encoding: " + std::string(value) + "\r\n";
        EXPECT_FALSE(accepted(post(field)));
        EXPECT_FALSE(accepted(post(field + "Content-Length: 5\r\n")));
    }
}

TEST(FramingCheck, RefusesAmbiguousLengths) {
    for (const char* fields :
         {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
          "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
          "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
          "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
          "Content-Length: 5\r\nContent-Length: 5\r\n",
          "Content-Length: 5\r\nContent-Length: 6\r\n", "Content-Length: 5, 5\r\n",
          "Content-Length: +5\r\n", "Content-Length: -5\r\n", "Content-Length: 005\r\n",
          "Content-Length: 0x5\r\n", "Content-Length: 5 5\r\n", "Content-Length: \r\n",
          "Content-Length: 5.0\r\n", "Content-Length: 5a\r\n",
          "Content-Length: 99999999999999999999\r\n", "Content-Length: 18446744073709551617\r\n"}) {
        SCOPED_TRACE(fields);
        EXPECT_FALSE(accepted(post(fields)));
    }
}

TEST(FramingCheck, RefusesChunkedOnOldHttp) {
    EXPECT_FALSE(accepted("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"));
}

TEST(FramingCheck, DemandsExactlyOneValidHost) {
    for (const char* fields :
         {"", "Host: a\r\nHost: a\r\n", "Host: a\r\nHost: b\r\n", "Host: a@b\r\n", "Host: a/b\r\n",
          "Host: a, b\r\n", "Host: \r\n", "Host: a b\r\n", "Host: a:80:90\r\n", "Host: a:port\r\n",
          "Host: [::1\r\n", "Host: []\r\n", "Host: a%2eb\r\n", "Host: a\\b\r\n"}) {
        SCOPED_TRACE(fields);
        EXPECT_FALSE(accepted("GET / HTTP/1.1\r\n" + std::string(fields) + "\r\n"));
    }
}

TEST(FramingCheck, DemandsAnOriginFormTarget) {
    for (const char* target :
         {"http://b/", "//", "*", "a", "b:80", "/a#b", "/a b", "?x=1", "/\x80"}) {
        SCOPED_TRACE(target);
        const bool expected = std::string_view(target) == "//"; // This target is a path, too.
        EXPECT_EQ(
            accepted("GET " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n\r\n"), expected
        );
    }
}

TEST(FramingCheck, RefusesFoldedLines) {
    EXPECT_FALSE(accepted(post("X-A: b\r\n c\r\n")));
    EXPECT_FALSE(accepted(post("Transfer-Encoding:\r\n chunked\r\n")));
    EXPECT_FALSE(accepted(post("X-A: b\r\n\tc\r\n")));
    EXPECT_FALSE(accepted(" GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
}

TEST(FramingCheck, RefusesOddLineEndsAndControlCharacters) {
    EXPECT_FALSE(accepted("GET / HTTP/1.1\nHost: a\n\n"));
    EXPECT_FALSE(accepted("GET / HTTP/1.1\r\nHost: a\n\r\n"));
    EXPECT_FALSE(accepted("GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n"));
    EXPECT_FALSE(accepted(post("X-A: b\r\r\n")));
    EXPECT_FALSE(accepted(post(std::string("X-A: \0\r\n", 8))));
    EXPECT_FALSE(accepted(post("X-A: \x7f\r\n")));
    EXPECT_FALSE(accepted(post("X-A: \x01\r\n")));
}

TEST(FramingCheck, RefusesMalformedHeads) {
    for (const char* block :
         {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", "GET / HTTP/1.2\r\nHost: a\r\n\r\n",
          "GET /\r\nHost: a\r\n\r\n", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
          "G(T / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / http/1.1\r\nHost: a\r\n\r\n",
          "GET / HTTP/1.1\r\nHost a\r\n\r\n", "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
          "GET / HTTP/1.1\r\nHost: a\r\nContent-Length : 5\r\n\r\n",
          "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n"}) {
        SCOPED_TRACE(block);
        EXPECT_FALSE(accepted(block));
    }
}

TEST(FramingCheck, FindsTheSameEndWhereverTheBytesAreCut) {
    const std::string block = post("Content-Length: 5\r\nX-A: b\r\n");
    const std::string received = block + "12345";
    for (std::size_t cut = 1; cut < block.size(); ++cut) {
        SCOPED_TRACE(cut);
        ASSERT_EQ(scan_head(received.substr(0, cut), 0).what, head_scan::state::need_more);
        const head_scan rest = scan_head(received, cut);
        ASSERT_EQ(rest.what, head_scan::state::complete);
        ASSERT_EQ(rest.size, block.size());
    }
}

TEST(FramingCheck, ScansHeadOfATlsClientAsRefused) {
    EXPECT_EQ(
        scan_head(std::string_view("\x16\x03\x01\x02\x00", 5), 0).what, head_scan::state::refused
    );
}

struct decoded {
    chunked_decoder::state state;
    std::string body;
    std::size_t used;
};

decoded decode(std::string_view bytes, std::size_t max_body = 1'000'000) {
    chunked_decoder decoder(max_body);
    decoded result{};
    result.used = decoder.feed(bytes, result.body);
    result.state = decoder.status();
    return result;
}

TEST(ChunkedDecoder, JoinsChunksAndLeavesTheNextRequest) {
    const decoded result = decode("5\r\nhello\r\n6;a=b\r\n world\r\n0\r\n\r\nGET /");

    EXPECT_EQ(result.state, chunked_decoder::state::complete);
    EXPECT_EQ(result.body, "hello world");
    EXPECT_EQ(result.used, std::string_view("5\r\nhello\r\n6;a=b\r\n world\r\n0\r\n\r\n").size());
}

TEST(ChunkedDecoder, DropsTrailers) {
    const decoded result = decode("1\r\na\r\n0\r\nAuthorization: Bearer x\r\nX: y\r\n\r\n");

    EXPECT_EQ(result.state, chunked_decoder::state::complete);
    EXPECT_EQ(result.body, "a");
}

TEST(ChunkedDecoder, GivesTheSameBodyWhereverTheBytesAreCut) {
    const std::string bytes = "A\r\n0123456789\r\n3;x\r\nabc\r\n0\r\nT: 1\r\n\r\n";
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
        SCOPED_TRACE(cut);
        chunked_decoder decoder(100);
        std::string body;
        ASSERT_EQ(decoder.feed(std::string_view(bytes).substr(0, cut), body), cut);
        ASSERT_EQ(decoder.feed(std::string_view(bytes).substr(cut), body), bytes.size() - cut);
        ASSERT_EQ(decoder.status(), chunked_decoder::state::complete);
        ASSERT_EQ(body, "0123456789abc");
    }
}

TEST(ChunkedDecoder, RefusesMalformedChunks) {
    for (const char* bytes :
         {"g\r\n", "\r\n", "-1\r\n", "+1\r\n", "0x1\r\n", " 1\r\n", "1 \r\n", "1\n", "1\r\naX",
          "1\r\na\n", "1\r\na\r1", "123456789\r\n", "1;\n", "0\r\nX: y\n", "0\r\n\n", ";\r\n"}) {
        SCOPED_TRACE(bytes);
        EXPECT_EQ(decode(bytes).state, chunked_decoder::state::refused);
    }
}

TEST(ChunkedDecoder, LimitsTheBody) {
    EXPECT_EQ(decode("5\r\nhello\r\n", 5).state, chunked_decoder::state::need_more);
    EXPECT_EQ(decode("6\r\n", 5).state, chunked_decoder::state::too_large);
    EXPECT_EQ(decode("3\r\nabc\r\n3\r\n", 5).state, chunked_decoder::state::too_large);
    EXPECT_EQ(decode("ffffffff\r\n", 5).state, chunked_decoder::state::too_large);
}

TEST(ChunkedDecoder, LimitsExtensionsAndTrailers) {
    EXPECT_EQ(decode("1;" + std::string(8192, 'x')).state, chunked_decoder::state::refused);
    EXPECT_EQ(decode("0\r\nX: " + std::string(8192, 'x')).state, chunked_decoder::state::refused);
    std::string many;
    for (int i = 0; i < 1000; ++i) {
        many += "1;abcdefgh\r\nx\r\n";
    }
    EXPECT_EQ(decode(many).state, chunked_decoder::state::refused);
}

TEST(DecodePath, DecodesEscapesAndRefusesMalformedOnes) {
    std::string decoded;
    EXPECT_TRUE(decode_path("/a%20b%2Fc", decoded));
    EXPECT_EQ(decoded, "/a b/c");
    for (const char* path : {"/%", "/%2", "/%zz", "/%00", "/%0a", "/%7f"}) {
        SCOPED_TRACE(path);
        EXPECT_FALSE(decode_path(path, decoded));
    }
}

} // namespace
} // namespace agui::gateway
