#include "tests/gateway/server_fixture.hpp"

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

namespace agui::test {
namespace {

// More bytes than the kernel buffers on both sides of a connection.
constexpr std::size_t large = 4U << 20U;
/// A server that serves a folder with two files.
class FileReplies : public server_test {
protected:
    FileReplies() {
        for (std::size_t i = 0; i < large / 8; ++i) {
            content += std::to_string(10'000'000 + i);
        }
        std::ofstream(folder().file("large.txt")) << content;
        std::ofstream(folder().file("small.txt")) << "small";
        std::ofstream(folder().file("empty.txt")).flush();
        settings.server.static_dir = folder().path();
        start();
    }

    std::string content;
};

TEST_F(FileReplies, AreWholeAlsoForAReaderThatLags) {
    raw_client client(port(), small_window);
    client.send(get("/large.txt"));
    raw_reply reply = client.read_head();
    client.read_slowly(65'536, std::chrono::milliseconds(1), 20);
    client.read_body(reply);

    EXPECT_EQ(reply.header("content-length"), std::to_string(large));
    EXPECT_EQ(reply.body, content);
}

TEST_F(FileReplies, LeaveTheConnectionToTheNextRequest) {
    raw_client client(port());
    client.send(get("/large.txt") + get("/small.txt", "Range: bytes=1-3\r\n"));

    EXPECT_EQ(client.read_reply().body, content);
    const raw_reply part = client.read_reply();
    EXPECT_EQ(part.status, 206);
    EXPECT_EQ(part.body, "mal");
    EXPECT_EQ(part.header("content-length"), "3");
    client.send(get("/small.txt", "If-None-Match: " + part.header("etag") + "\r\n"));
    const raw_reply known = client.read_reply();
    EXPECT_EQ(known.status, 304);
    EXPECT_FALSE(known.headers.contains("content-length"));
    client.send(get("/empty.txt"));
    EXPECT_EQ(client.read_reply().header("content-length"), "0");
    client.send(get("/small.txt", "Range: bytes=5-\r\n"));
    EXPECT_EQ(client.read_reply().status, 416);
    client.send(get("/small.txt"));
    EXPECT_EQ(client.read_reply().body, "small");
}

TEST_F(FileReplies, HaveAHeadOnItsOwn) {
    const std::string request = get("/large.txt", "Range: bytes=0-4\r\n").replace(0, 3, "HEAD");
    raw_client client(port());
    client.send(request);
    const raw_reply head = client.read_reply(true);
    client.send(get("/small.txt"));

    EXPECT_EQ(head.status, 200) << "a range is for GET";
    EXPECT_EQ(head.header("content-length"), std::to_string(large));
    EXPECT_FALSE(head.header("etag").empty());
    EXPECT_EQ(client.read_reply().body, "small");
}

TEST_F(FileReplies, CanBeTakenUpInTheMiddle) {
    raw_client first(port());
    first.send(get("/large.txt"));
    raw_reply begun = first.read_head();
    std::string bytes = first.read_until(content.substr(large / 2, 16));
    first.close();

    const std::string rest = "Range: bytes=" + std::to_string(bytes.size()) + "-\r\n";
    const raw_reply more =
        ask(get("/large.txt", rest + "If-Range: " + begun.header("etag") + "\r\n"));
    EXPECT_EQ(more.status, 206);
    EXPECT_EQ(bytes + more.body, content);
    const raw_reply other = ask(get("/large.txt", rest + "If-Range: \"other\"\r\n"));
    EXPECT_EQ(other.status, 200);
    EXPECT_EQ(other.body, content);
}

TEST_F(FileReplies, EndEarlyIfTheFileHasBecomeShorter) {
    raw_client client(port(), small_window);
    client.send(get("/large.txt"));
    raw_reply reply = client.read_head();
    std::filesystem::resize_file(folder().file("large.txt"), 100);

    client.read_body(reply);
    EXPECT_FALSE(reply.complete);
    EXPECT_EQ(ask(get("/large.txt")).body, content.substr(0, 100));
}

} // namespace
} // namespace agui::test
