#include "gateway/http/wrong_tokens.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace agui::gateway {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr wrong_tokens::time_point start{};

std::string line(const std::string& address, const std::string& count) {
    return "warning requests with a wrong bearer token were refused address=" + address +
           " count=" + count;
}

TEST(WrongTokens, AreLoggedOnceAMinuteForEachAddress) {
    memory_logger log;
    wrong_tokens wrong(log);

    for (int i = 0; i < 500; ++i) {
        (void)wrong.add("203.0.113.9", start + i * 100ms);
    }
    (void)wrong.add("2001:db8::", start + 50s);
    EXPECT_THAT(log.lines(), ElementsAre(line("203.0.113.9", "1"), line("2001:db8::", "1")));

    wrong.sweep(start + 55s);
    EXPECT_THAT(log.lines(), SizeIs(2)) << "not a minute since the first line";
    wrong.sweep(start + 115s);
    EXPECT_THAT(
        log.lines(),
        ElementsAre(line("203.0.113.9", "1"), line("2001:db8::", "1"), line("203.0.113.9", "499"))
    );
    wrong.sweep(start + 300s);
    EXPECT_THAT(log.lines(), SizeIs(3)) << "nothing more to say";
}

TEST(WrongTokens, HoldEachFurtherRefusalLonger) {
    memory_logger log;
    wrong_tokens wrong(log);

    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(wrong.add("203.0.113.9", start), 0ms) << i;
    }
    EXPECT_EQ(wrong.add("203.0.113.9", start), 100ms);
    EXPECT_EQ(wrong.add("203.0.113.9", start), 200ms);
    EXPECT_EQ(wrong.add("203.0.113.8", start), 0ms) << "somebody else";
    for (int i = 0; i < 100; ++i) {
        (void)wrong.add("203.0.113.9", start);
    }
    EXPECT_EQ(wrong.add("203.0.113.9", start), 2s);

    wrong.sweep(start + 10s);
    EXPECT_EQ(wrong.add("203.0.113.9", start + 10s), 0ms);
}

TEST(WrongTokens, BeyondTheFirstAddressesAreCountedTogether) {
    memory_logger log;
    wrong_tokens wrong(log);

    for (int i = 0; i < 1'000; ++i) {
        (void)wrong.add("2001:db8:" + std::to_string(i) + "::", start);
    }

    EXPECT_THAT(log.lines(), SizeIs(65));
    EXPECT_EQ(log.lines().back(), line("others", "1"));
    wrong.sweep(start + 1min);
    EXPECT_THAT(log.lines(), SizeIs(66));
    EXPECT_EQ(log.lines().back(), line("others", "935"));
    wrong.sweep(start + 2min);
    (void)wrong.add("2001:db8:ffff::", start + 2min);
    EXPECT_EQ(log.lines().back(), line("2001:db8:ffff::", "1")) << "there is room again";
}

} // namespace
} // namespace agui::gateway
