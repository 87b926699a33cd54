#include "tests/runner/http/http_test_server.hpp"

#include <boost/asio/post.hpp>

#include <gmock/gmock.h>

#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace agui::runner {
namespace {

using ::testing::HasSubstr;

// Serves the answers, one for each request, on its own thread.
class model_server {
public:
    explicit model_server(std::vector<std::string> answers)
        : server_(
              context_,
              [this, answers](test::server_connection& peer) -> boost::asio::awaitable<void> {
                  for (;;) {
                      const std::string request = co_await peer.read_request();
                      if (request.empty() || asked_.size() == answers.size()) {
                          co_return;
                      }
                      const std::string& body = answers[asked_.size()];
                      asked_.push_back(request);
                      co_await peer.send(
                          "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: " +
                          std::to_string(body.size()) + "\r\n\r\n" + body
                      );
                  }
              }
          ),
          url_(server_.url("/v1")),
          thread_([this] { context_.run(); }) {}

    [[nodiscard]] const std::string& url() const noexcept { return url_; }

    /// Returns the requests, once everything has ended.
    std::vector<std::string> asked() {
        if (thread_.joinable()) {
            boost::asio::post(context_, [this] { server_.close(); });
            thread_.join();
        }
        return asked_;
    }

    ~model_server() { (void)asked(); }
    model_server(const model_server&) = delete;
    model_server& operator=(const model_server&) = delete;

private:
    boost::asio::io_context context_{1};
    std::vector<std::string> asked_;
    test::http_test_server server_;
    std::string url_;
    std::thread thread_;
};

std::string output_of(const std::string& command) {
    const std::unique_ptr<FILE, int (*)(FILE*)> program(::popen(command.c_str(), "r"), ::pclose);
    std::string said;
    char piece[256];
    while (program != nullptr && std::fgets(piece, sizeof piece, program.get()) != nullptr) {
        said += piece;
    }
    return said;
}

// The program that runner/README.md shows.
TEST(ShortestChat, AsksAModelThatCallsItsTool) {
    model_server server(
        {"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"function\":"
         "{\"name\":\"add\",\"arguments\":\"{\\\"a\\\":17,\\\"b\\\":25}\"}}]},"
         "\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n",
         "data: {\"choices\":[{\"delta\":{\"content\":\"It is "
         "42.\"},\"finish_reason\":\"stop\"}]}\n\n"
         "data: [DONE]\n\n"}
    );

    EXPECT_EQ(output_of(AGUI_SHORTEST_CHAT " " + server.url() + " llama"), "It is 42.\n");
    const std::vector<std::string> asked = server.asked();
    ASSERT_EQ(asked.size(), 2U);
    EXPECT_THAT(asked[0], HasSubstr("What is 17 plus 25?"));
    EXPECT_THAT(asked[0], HasSubstr(R"("required":["a","b"])"));
    EXPECT_THAT(asked[1], HasSubstr(R"("tool_call_id":"c1","content":"42")"));
}

} // namespace
} // namespace agui::runner
