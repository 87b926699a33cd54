#include "gateway/http/static_files.hpp"

#include "tests/support/coroutine_test.hpp"
#include "tests/support/temporary_folder.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace agui::gateway {
namespace {

class StaticFiles : public test::coroutine_test {
protected:
    StaticFiles() {
        std::ofstream(folder_.file("small.txt")) << std::string(1000, 'x');
        std::ofstream(folder_.file("large.txt")) << std::string(large, 'x');
        std::ofstream(folder_.file("index.html")) << "the root";
        std::filesystem::create_directories(folder_.path() / "a" / "x: y");
        std::ofstream(folder_.path() / "a" / "x: y" / "index.html") << "below";
    }

    /// The status of the reply for the path; `held` is then what the reply counts for.
    int get(const std::string& path, memory_budget& budget) {
        http_request request = request_for(path);
        request.reply_memory = memory_share(&budget);
        handler_reply reply = run(handler_(request));
        held = request.reply_memory.held();
        return std::get<http_reply>(reply).status;
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

    static std::string location(const http_reply& reply) {
        const auto found = std::ranges::find(
            reply.headers, "Location", &std::pair<std::string, std::string>::first
        );
        return found == reply.headers.end() ? "" : found->second;
    }

    [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }

    static constexpr std::size_t large = 1U << 20U;
    std::size_t held = 0;

private:
    test::temporary_folder folder_;
    http_handler handler_ = make_static_route(folder_.path());
};

TEST_F(StaticFiles, AsksForMemoryBeforeItReadsALargeFile) {
    memory_budget enough(large);
    EXPECT_EQ(get("/large.txt", enough), 200);
    EXPECT_EQ(held, large);

    memory_budget too_little(large - 1);
    EXPECT_EQ(get("/large.txt", too_little), 503);
    EXPECT_EQ(held, 0U);
}

TEST_F(StaticFiles, ServesASmallFileWhileMemoryIsFull) {
    memory_budget full(large);
    ASSERT_TRUE(full.take(large, memory_use::ordinary));

    EXPECT_EQ(get("/small.txt", full), 200);
    EXPECT_EQ(held, 0U);
}

TEST_F(StaticFiles, ServesTheIndexOfAFolder) {
    const http_handler handler = make_static_route(folder());

    EXPECT_EQ(get(handler, request_for("/")).body, "the root");
    const http_reply below = get(handler, request_for("/a/x: y/"));
    EXPECT_EQ(below.body, "below");
    EXPECT_EQ(below.content_type, "text/html; charset=utf-8");
    EXPECT_EQ(get(handler, request_for("/a/")).status, 404);
}

TEST_F(StaticFiles, LeadsToAFolderThatHasAnIndex) {
    const http_handler handler = make_static_route(folder());
    http_request request = request_for("/a/x: y");
    request.query = "b=c";

    const http_reply led = get(handler, std::move(request));

    EXPECT_EQ(led.status, 308);
    EXPECT_EQ(location(led), "./x%3A%20y/?b=c");
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
    EXPECT_EQ(location(led), "./a/");
    EXPECT_EQ(get(handler, request_for("/a/b")).status, 404);
    EXPECT_EQ(get(handler, request_for("/index.html/")).status, 404);
    EXPECT_EQ(get(handler, request_for("/a/../a")).status, 404);
}

} // namespace
} // namespace agui::gateway
