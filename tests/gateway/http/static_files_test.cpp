#include "gateway/http/static_files.hpp"

#include "tests/support/coroutine_test.hpp"
#include "tests/support/temporary_folder.hpp"

#include <fstream>
#include <string>
#include <utility>
#include <variant>

namespace agui::gateway {
namespace {

class StaticFiles : public test::coroutine_test {
protected:
    StaticFiles() {
        std::ofstream(folder_.file("small.txt")) << std::string(1000, 'x');
        std::ofstream(folder_.file("large.txt")) << std::string(large, 'x');
    }

    /// The status of the reply for the path; `held` is then what the reply counts for.
    int get(const std::string& path, memory_budget& budget) {
        http_request request;
        request.method = "GET";
        request.path = path;
        request.reply_memory = memory_share(&budget);
        handler_reply reply = run(handler_(request));
        held = request.reply_memory.held();
        return std::get<http_reply>(reply).status;
    }

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

} // namespace
} // namespace agui::gateway
