#include "tests/gateway/server_fixture.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <fstream>
#include <string>

namespace agui::test {
namespace {

using std::chrono::milliseconds;

// More bytes than the kernel buffers on both sides of a connection.
constexpr std::size_t large = 4U << 20U;
/// Readers of a large reply that is not a stream.
class PlainReplies : public server_test {
protected:
    void SetUp() override {
        std::ofstream(folder().file("large.txt")) << std::string(large, 'x');
        settings.server.static_dir = folder().path();
    }
    /// Reads `bytes` at a time with a pause after each read. Returns the bytes that came.
    [[nodiscard]] raw_reply read_at_leisure(std::size_t bytes, milliseconds pause) const {
        raw_client client(port(), small_window);
        client.send(get("/large.txt"));
        raw_reply reply = client.read_head();
        client.read_slowly(bytes, pause, static_cast<int>(large / bytes));
        client.read_body(reply);
        return reply;
    }
};

TEST_F(PlainReplies, HaveToBeTakenAtSomeRate) {
    settings.server.stall = milliseconds(500);
    settings.server.min_reply_rate = 2U << 20U; // The reader reads at most a fifth of that rate.
    start();

    EXPECT_FALSE(read_at_leisure(2048, milliseconds(5)).complete);
    EXPECT_EQ(ask(get("/healthz")).status, 200);
}

TEST_F(PlainReplies, HaveToBeTakenInTheEnd) {
    settings.server.min_reply_rate = 1;
    settings.server.reply = milliseconds(500);
    settings.server.reply_rate = 1U << 30U;
    start();

    EXPECT_FALSE(read_at_leisure(2048, milliseconds(5)).complete);
}

TEST_F(PlainReplies, ReachAReaderThatIsNotFast) {
    start();

    EXPECT_EQ(read_at_leisure(65'536, milliseconds(5)).body.size(), large);
}

} // namespace
} // namespace agui::test
