#include "gateway/http/room_log.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace agui::test {
namespace {

using gateway::room_log;
using lines = std::vector<std::string>;

constexpr std::string_view begin =
    "warning requests were refused for lack of memory or capacity reason=";

class RoomLog : public ::testing::Test {
protected:
    [[nodiscard]] room_log::time_point at(int seconds) const {
        return start_ + std::chrono::seconds(seconds);
    }
    static std::string line(std::string_view reason, int count) {
        return std::string(begin) + std::string(reason) + " count=" + std::to_string(count);
    }

    memory_logger log;
    room_log refused{log};

private:
    const room_log::time_point start_ = std::chrono::steady_clock::now();
};

TEST_F(RoomLog, HasOneLineForEachReasonAMinute) {
    refused.add("memory", at(0));
    refused.add("memory", at(1));
    refused.add("files", at(2));
    refused.add("memory", at(59));
    EXPECT_EQ(log.lines(), (lines{line("memory", 1), line("files", 1)}));

    refused.add("memory", at(60));
    EXPECT_EQ(log.lines().size(), 3U);
    EXPECT_EQ(log.lines().back(), line("memory", 3)) << "those without a line count";
}

TEST_F(RoomLog, ManyReasonsCountAsOne) {
    for (int i = 0; i < 100; ++i) {
        refused.add("reason-" + std::to_string(i), at(0));
    }
    EXPECT_EQ(log.lines().size(), 17U);
    EXPECT_EQ(log.lines().back(), line("others", 1));
    refused.add("reason-99", at(60));
    EXPECT_EQ(log.lines().back(), line("others", 84));
}

} // namespace
} // namespace agui::test
