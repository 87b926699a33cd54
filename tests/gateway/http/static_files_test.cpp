#include "gateway/http/static_files.hpp"

#include "session/base/http_date.hpp"
#include "tests/support/coroutine_test.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/temporary_folder.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace agui::gateway {
namespace {

class StaticFiles : public test::coroutine_test {
protected:
    StaticFiles() {
        std::ofstream(folder_.file("small.txt")) << std::string(1000, 'x');
        std::ofstream(folder_.file("index.html")) << "the root";
        std::filesystem::create_directories(folder_.path() / "a" / "x: y");
        std::ofstream(folder_.path() / "a" / "x: y" / "index.html") << "below";
    }

    http_reply get(const http_handler& handler, http_request request) {
        return std::get<http_reply>(run(handler(request)));
    }

    static http_request request_for(const std::string& path) {
        http_request request;
        request.method = "GET";
        request.path = path;
        return request;
    }

    /// Requests a file that the folder has.
    http_reply
    get_with(std::string name, std::vector<std::pair<std::string, std::string>> headers) {
        http_request request = request_for("/" + std::move(name));
        request.headers = std::move(headers);
        return get(make_static_route(folder()), std::move(request));
    }

    static std::string header(const http_reply& reply, std::string_view name) {
        const auto found =
            std::ranges::find(reply.headers, name, &std::pair<std::string, std::string>::first);
        return found == reply.headers.end() ? "" : found->second;
    }

    [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }

    /// The bytes that the reply would send.
    static std::string content(http_reply reply) {
        if (!reply.file) {
            return reply.body;
        }
        int ends[2] = {-1, -1};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        boost::system::error_code failed;
        reply.file->send_some(ends[0], failed);
        ::close(ends[0]);
        std::string all(65'536, '\0');
        const ssize_t count = ::recv(ends[1], all.data(), all.size(), 0);
        ::close(ends[1]);
        EXPECT_FALSE(failed) << failed.message();
        all.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
        return all;
    }

private:
    test::temporary_folder folder_;
};

TEST_F(StaticFiles, ServesTheIndexOfAFolder) {
    const http_handler handler = make_static_route(folder());

    EXPECT_EQ(content(get(handler, request_for("/"))), "the root");
    http_reply below = get(handler, request_for("/a/x: y/"));
    EXPECT_EQ(below.content_type, "text/html; charset=utf-8");
    EXPECT_EQ(content(std::move(below)), "below");
    EXPECT_EQ(get(handler, request_for("/a/")).status, 404);
}

TEST_F(StaticFiles, LeadsToAFolderThatHasAnIndex) {
    const http_handler handler = make_static_route(folder());
    http_request request = request_for("/a/x: y");
    request.query = "b=c";

    const http_reply led = get(handler, std::move(request));

    EXPECT_EQ(led.status, 308);
    EXPECT_EQ(header(led, "Location"), "./x%3A%20y/?b=c");
    EXPECT_EQ(get(handler, request_for("/a")).status, 404);
    EXPECT_EQ(get(handler, request_for("/small.txt/")).status, 404);
}

TEST_F(StaticFiles, LeadsToAFolderBeforeThePageOfAnApp) {
    const http_handler handler = make_static_route(folder(), {.csp = {}, .spa = true});
    const auto status_of_page = [&](const std::string& path) {
        http_request request = request_for(path);
        request.headers = {{"accept", "text/html"}};
        return get(handler, std::move(request)).status;
    };

    EXPECT_EQ(status_of_page("/a/x: y"), 308);
    EXPECT_EQ(status_of_page("/a"), 200);
}

TEST_F(StaticFiles, SaysWhichVersionItServes) {
    const http_reply reply = get_with("index.html", {});

    EXPECT_EQ(reply.status, 200);
    const std::string etag = header(reply, "ETag");
    EXPECT_TRUE(etag.starts_with('"') && etag.ends_with('"')) << etag;
    const auto modified = parse_http_date(header(reply, "Last-Modified"));
    ASSERT_TRUE(modified);
    EXPECT_LE(*modified, std::chrono::system_clock::now());
    EXPECT_EQ(header(reply, "Accept-Ranges"), "bytes");
    EXPECT_EQ(header(get_with("index.html", {}), "ETag"), etag);
}

TEST_F(StaticFiles, NoLastModifiedIsInTheFuture) {
    std::filesystem::last_write_time(
        folder() / "index.html",
        std::filesystem::file_time_type::clock::now() + std::chrono::hours(9)
    );

    EXPECT_LE(
        *parse_http_date(header(get_with("index.html", {}), "Last-Modified")),
        std::chrono::system_clock::now()
    );
}

TEST_F(StaticFiles, SendsNoVersionThatTheClientHas) {
    const http_reply first = get_with("index.html", {});
    const std::string etag = header(first, "ETag");

    const http_reply again = get_with("index.html", {{"if-none-match", etag}});
    EXPECT_EQ(again.status, 304);
    EXPECT_FALSE(again.file);
    EXPECT_EQ(header(again, "ETag"), etag);
    EXPECT_EQ(header(again, "Cache-Control"), "no-cache");
    EXPECT_EQ(
        get_with("index.html", {{"if-modified-since", header(first, "Last-Modified")}}).status, 304
    );
    const http_reply failed = get_with("index.html", {{"if-match", "\"other\""}});
    EXPECT_EQ(failed.status, 412);
    EXPECT_FALSE(failed.file);
}

// Both versions have the same size and modification time, as all files of a reproducible build do.
TEST_F(StaticFiles, AnotherVersionHasAnotherTag) {
    const std::filesystem::path file = folder() / "index.html";
    const auto written = std::filesystem::last_write_time(file);
    const std::string etag = header(get_with("index.html", {}), "ETag");
    std::string changed = etag;
    const auto deadline = std::chrono::steady_clock::now() + test::patience;

    // The kernel's clock for files may stand still for a few milliseconds.
    while (changed == etag && std::chrono::steady_clock::now() < deadline) {
        std::ofstream(file) << "THE ROOT";
        std::filesystem::last_write_time(file, written);
        changed = header(get_with("index.html", {{"if-none-match", etag}}), "ETag");
    }

    EXPECT_NE(changed, etag);
    EXPECT_EQ(content(get_with("index.html", {{"if-none-match", etag}})), "THE ROOT");
}

TEST_F(StaticFiles, ServesARangeOfAFile) {
    http_reply part = get_with("index.html", {{"range", "bytes=4-6"}});
    EXPECT_EQ(part.status, 206);
    EXPECT_EQ(header(part, "Content-Range"), "bytes 4-6/8");
    EXPECT_EQ(part.content_type, "text/html; charset=utf-8");
    EXPECT_EQ(content(std::move(part)), "roo");

    const http_reply none = get_with("index.html", {{"range", "bytes=8-"}});
    EXPECT_EQ(none.status, 416);
    EXPECT_EQ(header(none, "Content-Range"), "bytes */8");
    EXPECT_FALSE(none.file);
    EXPECT_EQ(
        get_with("index.html", {{"range", "bytes=8-"}, {"if-match", "\"other\""}}).status, 412
    ) << "preconditions come first";
}

TEST_F(StaticFiles, ServesNoPipeAndNoFolder) {
    ASSERT_EQ(::mkfifo((folder() / "pipe").c_str(), 0600), 0);

    EXPECT_EQ(get_with("pipe", {}).status, 404);
    EXPECT_EQ(get_with("a", {}).status, 404);
}

TEST_F(StaticFiles, ServesFoldersOfBuiltInFiles) {
    static const std::vector<embedded_file> files{
        {"index.html", "the root"}, {"a/index.html", "below"}, {"a/b.js", "code"}
    };
    const http_handler handler = make_static_route(files);

    EXPECT_EQ(get(handler, request_for("/")).body, "the root");
    EXPECT_EQ(get(handler, request_for("/a/")).body, "below");
    EXPECT_EQ(get(handler, request_for("/a/b.js")).body, "code");
    const http_reply led = get(handler, request_for("/a"));
    EXPECT_EQ(led.status, 308);
    EXPECT_EQ(header(led, "Location"), "./a/");
    EXPECT_EQ(get(handler, request_for("/a/b")).status, 404);
    EXPECT_EQ(get(handler, request_for("/index.html/")).status, 404);
    EXPECT_EQ(get(handler, request_for("/a/../a")).status, 404);
}

} // namespace
} // namespace agui::gateway
