#include "runner/loop/loop_detector.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace agui::runner {
namespace {

// The repeats that the detector reports with each call; 0: nothing.
std::vector<std::size_t> reports(loop_detector detector, const std::vector<std::string>& calls) {
    std::vector<std::size_t> found;
    for (const std::string& call : calls) {
        const std::optional<found_loop> one = detector.add(call, "{}");
        found.push_back(one ? one->repeats : 0);
    }
    return found;
}

using counts = std::vector<std::size_t>;

TEST(LoopDetector, FindsTheSameCallAtTheThreshold) {
    EXPECT_EQ(reports(loop_detector(3), {"a", "a", "a", "a"}), (counts{0, 0, 3, 4}));
    EXPECT_EQ(reports(loop_detector(2), {"a", "a"}), (counts{0, 2}));
    EXPECT_EQ(reports(loop_detector(3), {"a", "a", "b", "a", "a"}), (counts{0, 0, 0, 0, 0}));
}

TEST(LoopDetector, FindsCyclesOfTwoAndThree) {
    EXPECT_EQ(
        reports(loop_detector(3), {"a", "b", "a", "b", "a", "b", "a"}),
        (counts{0, 0, 0, 0, 0, 3, 3})
    );
    EXPECT_EQ(
        reports(loop_detector(2), {"a", "b", "c", "a", "b", "c"}), (counts{0, 0, 0, 0, 0, 2})
    );
    EXPECT_EQ(
        reports(loop_detector(2), {"a", "b", "c", "d", "a", "b", "c", "d"}),
        (counts{0, 0, 0, 0, 0, 0, 0, 0})
    ) << "four is longer than max_period";
}

TEST(LoopDetector, NamesTheShortestPeriod) {
    loop_detector detector(2);
    (void)detector.add("a", "{}");
    const std::optional<found_loop> found = detector.add("a", "{}");

    ASSERT_TRUE(found);
    EXPECT_EQ(found->tool, "a");
    EXPECT_EQ(found->period, 1U);
}

TEST(LoopDetector, ComparesArgumentsAsJson) {
    const auto same = [](std::string_view left, std::string_view right) {
        loop_detector detector(2);
        (void)detector.add("t", left);
        return detector.add("t", right).has_value();
    };

    EXPECT_TRUE(same(R"({"a":1,"b":[{"c":2,"d":3}]})", R"( {"b":[{"d":3,"c":2}], "a":1} )"));
    EXPECT_TRUE(same("", "{}"));
    EXPECT_TRUE(same("{oops", "{oops"));
    EXPECT_FALSE(same("{oops", "{oop"));
    EXPECT_FALSE(same(R"({"a":1})", R"({"a":2})"));
    EXPECT_FALSE(same(R"({"a":[1,2]})", R"({"a":[2,1]})"));
    EXPECT_FALSE(same(R"({"a":"1"})", R"({"a":1})"));
}

TEST(LoopDetector, CallsOfDifferentToolsDiffer) {
    loop_detector detector(2);
    (void)detector.add("a", "{}");

    EXPECT_FALSE(detector.add("b", "{}"));
}

TEST(LoopDetector, WithoutEndItStillKnowsAtLeastTheThreshold) {
    loop_detector detector(3);
    std::optional<found_loop> found;
    for (int i = 0; i < 1000; ++i) {
        found = detector.add("a", "{}");
    }
    ASSERT_TRUE(found);
    EXPECT_GE(found->repeats, 3U);
}

TEST(LoopWarning, SaysWhatWasRepeated) {
    EXPECT_EQ(
        loop_warning({"t", 1, 3}),
        "Warning: this tool was called 3 times in a row with the same arguments. Calling it again "
        "will not help: use the result, or try something else."
    );
    EXPECT_EQ(
        loop_warning({"t", 2, 4}),
        "Warning: the same 2 calls were made 4 times in a row. Calling it again will not help: use "
        "the result, or try something else."
    );
}

TEST(LoopWarning, IsPutInFrontOfTextAndOfParts) {
    session::content text = std::string("sunny");
    prepend(text, "W");
    EXPECT_EQ(std::get<std::string>(text), "W\n\nsunny");
    session::content empty = std::string();
    prepend(empty, "W");
    EXPECT_EQ(std::get<std::string>(empty), "W");
    session::content parts = boost::json::array{{{"type", "image"}}};
    prepend(parts, "W");
    const boost::json::array expected{{{"type", "text"}, {"text", "W"}}, {{"type", "image"}}};
    EXPECT_EQ(std::get<boost::json::array>(parts), expected);
}

} // namespace
} // namespace agui::runner
