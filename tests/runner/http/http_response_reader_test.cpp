#include "runner/http/http_response_reader.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {
namespace {

struct read_answer {
    int status = 0;
    std::string body;
    std::string rest; ///< Bytes that do not belong to the response.
    bool header_done = false;
    bool done = false;
    bool failed = false;
    bool keep_alive = false;
    std::string type;

    friend bool operator==(const read_answer&, const read_answer&) = default;
};

void PrintTo(const read_answer& value, std::ostream* out) {
    *out << value.status << (value.done ? " done" : "") << (value.failed ? " failed" : "")
         << (value.keep_alive ? " keep-alive" : "") << " type=" << value.type
         << " body=" << ::testing::PrintToString(value.body)
         << " rest=" << ::testing::PrintToString(value.rest);
}

/// Reads `bytes` in pieces of `step`, as a connection does: bytes that were not consumed are passed
/// again.
read_answer read_in_steps(std::string_view bytes, std::size_t step, bool then_end) {
    http_response_reader reader;
    read_answer result;
    std::vector<char> window;
    while (!bytes.empty() || !window.empty()) {
        const std::string_view more = bytes.substr(0, step);
        bytes.remove_prefix(more.size());
        window.insert(window.end(), more.begin(), more.end());
        std::size_t consumed = 0;
        if (!reader.header_done()) {
            const auto done = reader.read_header({window.data(), window.size()});
            result.failed = result.failed || done.failed;
            consumed = done.consumed;
        }
        if (!result.failed && reader.header_done() && !reader.done()) {
            const auto done =
                reader.read_body(std::span<char>(window.data() + consumed, window.size() - consumed)
                );
            result.failed = done.failed;
            result.body.append(done.body);
            consumed += done.consumed;
        }
        if (result.failed) {
            break;
        }
        window.erase(window.begin(), window.begin() + static_cast<std::ptrdiff_t>(consumed));
        if (reader.done() || bytes.empty()) {
            break;
        }
    }
    result.rest = std::string(window.begin(), window.end()) + std::string(bytes);
    result.done = !result.failed && (reader.done() || (then_end && reader.end_of_connection()));
    result.header_done = reader.header_done();
    result.status = reader.status();
    result.keep_alive = result.done && reader.keep_alive();
    result.type = reader.field("content-type");
    return result;
}

/// Reads the answer in several ways. However the bytes are cut, it must be the same.
read_answer read_all(const std::string& bytes, bool then_end = false) {
    const read_answer whole = read_in_steps(bytes, bytes.size() + 1, then_end);
    for (const std::size_t step : {1U, 2U, 3U, 7U}) {
        SCOPED_TRACE(step);
        const read_answer cut = read_in_steps(bytes, step, then_end);
        if (whole.done) {
            EXPECT_EQ(cut, whole);
        } else {
            // If an answer is not whole, its pieces may be noticed sooner or later.
            EXPECT_FALSE(cut.done);
        }
    }
    return whole;
}

TEST(HttpResponseReader, ReadsABodyOfKnownLength) {
    const read_answer answer =
        read_all("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhelloHTTP"
        );

    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.type, "text/plain");
    EXPECT_EQ(answer.body, "hello");
    EXPECT_TRUE(answer.done);
    EXPECT_TRUE(answer.keep_alive);
    EXPECT_EQ(answer.rest, "HTTP");
}

TEST(HttpResponseReader, ReadsChunksWithExtensionsAndTrailers) {
    const read_answer answer =
        read_all("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
                 "5;a=b\r\nhello\r\n1\r\n \r\nA\r\n0123456789\r\n0;x\r\nContent-Type: forged\r\nX: "
                 "y\r\n\r\nrest");

    EXPECT_EQ(answer.body, "hello 0123456789");
    EXPECT_EQ(answer.type, "");
    EXPECT_TRUE(answer.done);
    EXPECT_EQ(answer.rest, "rest");
}

TEST(HttpResponseReader, JoinsTheChunksOfOneReadInPlace) {
    http_response_reader reader;
    ASSERT_FALSE(reader.read_header("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").failed
    );
    std::string bytes = "3\r\nabc\r\n3\r\ndef\r\n3\r\ngh";

    const auto step = reader.read_body(std::span<char>(bytes.data(), bytes.size()));

    EXPECT_EQ(step.consumed, bytes.size());
    EXPECT_EQ(step.body, "abcdefgh");
}

TEST(HttpResponseReader, SkipsInformationalResponses) {
    const read_answer answer =
        read_all("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nContent-Type: x\r\n\r\n"
                 "HTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\na");

    EXPECT_EQ(answer.status, 201);
    EXPECT_EQ(answer.type, "");
    EXPECT_EQ(answer.body, "a");
}

TEST(HttpResponseReader, RefusesEndlessInformationalResponses) {
    std::string bytes;
    for (int i = 0; i < 17; ++i) {
        bytes += "HTTP/1.1 100 Continue\r\n\r\n";
    }

    EXPECT_TRUE(read_all(bytes).failed);
}

TEST(HttpResponseReader, RefusesAChangeOfProtocol) {
    EXPECT_TRUE(read_all("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n").failed);
}

TEST(HttpResponseReader, TakesResponsesWithoutABody) {
    EXPECT_TRUE(read_all("HTTP/1.1 204 No Content\r\n\r\n").done);
    EXPECT_TRUE(read_all("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").done);
}

TEST(HttpResponseReader, TakesTheEndOfTheConnectionForTheEndOfABodyWithoutLength) {
    const std::string bytes = "HTTP/1.1 200 OK\r\n\r\nsome text";

    EXPECT_FALSE(read_all(bytes).done);
    const read_answer ended = read_all(bytes, true);
    EXPECT_TRUE(ended.done);
    EXPECT_EQ(ended.body, "some text");
    EXPECT_FALSE(ended.keep_alive);
}

TEST(HttpResponseReader, DoesNotTakeACutBodyForAWholeOne) {
    EXPECT_FALSE(read_all("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", true).done);
    EXPECT_FALSE(
        read_all("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", true).done
    );
    EXPECT_FALSE(
        read_all("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", true)
            .done
    );
    EXPECT_FALSE(read_all("HTTP/1.1 200 OK\r\nContent-Le", true).done);
    EXPECT_FALSE(read_all("HT", true).done);
}

TEST(HttpResponseReader, SaysWhetherTheConnectionStaysOpen) {
    EXPECT_FALSE(
        read_all("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").keep_alive
    );
    EXPECT_FALSE(read_all("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n").keep_alive);
    EXPECT_TRUE(read_all("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n")
                    .keep_alive);
}

TEST(HttpResponseReader, FindsFieldsByLowerCaseName) {
    http_response_reader reader;
    ASSERT_FALSE(
        reader.read_header("HTTP/1.1 429 x\r\nRetry-After: 3\r\nretry-after: 4\r\n\r\n").failed
    );

    EXPECT_EQ(reader.field("retry-after"), "3");
    EXPECT_EQ(reader.field("x-none"), "");
    EXPECT_EQ(reader.status(), 429);
}

TEST(HttpResponseReader, ReadsAStatusLineWithoutAReason) {
    for (const std::string start :
         {"HTTP/1.1 200\r\n", "HTTP/1.1 200 \r\n", "HTTP/1.0 200\r\n", "HTTP/1.1 200 \xFF\x01\r\n"
         }) {
        SCOPED_TRACE(::testing::PrintToString(start));
        const read_answer answer =
            read_all(start + "Content-Type: x/y\r\nContent-Length: 5\r\n\r\nhello\n\n");
        EXPECT_EQ(answer.status, 200);
        EXPECT_EQ(answer.type, "x/y");
        EXPECT_EQ(answer.body, "hello");
        EXPECT_EQ(answer.rest, "\n\n");
    }
    const read_answer ended = read_all("HTTP/1.0 404\r\n\r\nsome text", true);
    EXPECT_EQ(ended.status, 404);
    EXPECT_EQ(ended.body, "some text");
}

TEST(HttpResponseReader, ReadsAHeadWhoseLinesEndWithLineFeedsAlone) {
    const std::string all = "HTTP/1.1 200 OK\nContent-Type: x/y\nContent-Length: 7\n\nhel\r\nlo";
    const read_answer answer = read_all(all);
    EXPECT_EQ(answer.type, "x/y");
    EXPECT_EQ(answer.body, "hel\r\nlo");

    for (const std::string mixed :
         {"HTTP/1.1 200 OK\nContent-Length: 5\r\n\r\nhello",
          "HTTP/1.1 200 OK\r\nContent-Length: 5\n\r\nhello",
          "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\nhello"}) {
        SCOPED_TRACE(::testing::PrintToString(mixed));
        EXPECT_EQ(read_all(mixed).body, "hello");
    }
    EXPECT_EQ(read_all("HTTP/1.1 200 OK\n\ndata: 1\n\n", true).body, "data: 1\n\n");
    EXPECT_EQ(
        read_all("HTTP/1.1 100 Continue\n\nHTTP/1.1 201\r\nContent-Length: 1\r\n\r\na").status, 201
    );
}

TEST(HttpResponseReader, AnOddHeadEndsTheConnection) {
    EXPECT_TRUE(read_all("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").keep_alive);
    EXPECT_FALSE(read_all("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n").keep_alive);
    EXPECT_FALSE(read_all("HTTP/1.1 200 OK\nContent-Length: 0\n\n").keep_alive);
    EXPECT_FALSE(read_all("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\n").keep_alive);
    EXPECT_FALSE(
        read_all("HTTP/1.1 100\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").keep_alive
    );
}

TEST(HttpResponseReader, IsStrictAboutEverythingElse) {
    for (const std::string bytes :
         {"HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 20\r\n\r\n", "HTTP/1.1  200 OK\r\n\r\n",
          "HTTP/1.1\t200 OK\r\n\r\n", "\r\nHTTP/1.1 200 OK\r\n\r\n", "http/1.1 200 OK\r\n\r\n",
          "HTTP/1.1 200 OK\nA: b\rC: d\n\n", "HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\na",
          "HTTP/1.1 200 OK\nContent-Length: 1\nTransfer-Encoding: chunked\n\n",
          "HTTP/1.1 200 OK\nContent-Length: 1\nContent-Length: 2\n\n"}) {
        SCOPED_TRACE(::testing::PrintToString(bytes));
        EXPECT_TRUE(read_all(bytes).failed);
    }
}

TEST(HttpResponseReader, RefusesAnotherProtocolBeforeTheEndOfItsFirstLine) {
    http_response_reader reader;
    EXPECT_TRUE(reader.read_header("220 mail.example.org").failed);
}

TEST(HttpResponseReader, RefusesBytesThatAreNotHttp) {
    EXPECT_TRUE(read_all("SSH-2.0-OpenSSH_9.2\r\n").failed);
    EXPECT_TRUE(read_all("HTTP/2.0 200 OK\r\n\r\n").failed);
    EXPECT_TRUE(read_all("HTTP/1.1 20x OK\r\n\r\n").failed);
    EXPECT_TRUE(read_all("HTTP/1.1 200 OK\r\nno colon\r\n\r\n").failed);
    EXPECT_TRUE(read_all("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n").failed
    );
    EXPECT_TRUE(
        read_all("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n")
            .failed
    );
    EXPECT_TRUE(read_all("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n").failed);
}

TEST(HttpResponseReader, BoundsTheHeader) {
    const std::string begin = "HTTP/1.1 200 OK\r\nX: ";
    const std::string end = "\r\nContent-Length: 0\r\n\r\n";

    EXPECT_TRUE(read_in_steps(begin + std::string(60U << 10U, 'x') + end, 4096, false).done);
    EXPECT_TRUE(read_in_steps(begin + std::string(70U << 10U, 'x') + end, 4096, false).failed);
}

} // namespace
} // namespace agui::runner
