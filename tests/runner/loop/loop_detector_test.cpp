#include "runner/loop/loop_detector.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

using counts = std::vector<std::size_t>;

// An answer with one call.
std::optional<found_loop>
add(loop_detector& detector, std::string_view tool, std::string_view arguments = "{}") {
    return detector.add({{tool, arguments}}).at(0);
}

// The repeats that the detector reports for each call, each in an answer of its own; 0 if it
// reports none.
std::vector<std::size_t> reports(loop_detector detector, const std::vector<std::string>& calls) {
    std::vector<std::size_t> found;
    for (const std::string& call : calls) {
        const std::optional<found_loop> one = add(detector, call);
        found.push_back(one ? one->repeats : 0);
    }
    return found;
}

// The same for the calls of an answer.
std::vector<std::size_t>
reports_of(loop_detector& detector, const std::vector<loop_detector::call>& answer) {
    std::vector<std::size_t> found;
    for (const std::optional<found_loop>& one : detector.add(answer)) {
        found.push_back(one ? one->repeats : 0);
    }
    return found;
}

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
    (void)add(detector, "a");
    const std::optional<found_loop> found = add(detector, "a");

    ASSERT_TRUE(found);
    EXPECT_EQ(found->tool, "a");
    EXPECT_EQ(found->period, 1U);
}

TEST(LoopDetector, ComparesArgumentsAsJson) {
    const auto same = [](std::string_view left, std::string_view right) {
        loop_detector detector(2);
        (void)add(detector, "t", left);
        return add(detector, "t", right).has_value();
    };

    EXPECT_TRUE(same(R"({"a":1,"b":[{"c":2,"d":3}]})", R"( {"b":[{"d":3,"c":2}], "a":1} )"));
    EXPECT_TRUE(same("", "{}"));
    EXPECT_TRUE(same("{oops", "{oops"));
    EXPECT_FALSE(same("{oops", "{oop"));
    EXPECT_FALSE(same(R"({"a":1})", R"({"a":2})"));
    EXPECT_FALSE(same(R"({"a":[1,2]})", R"({"a":[2,1]})"));
    EXPECT_FALSE(same(R"({"a":"1"})", R"({"a":1})"));
}

// The comparison must not cost several times as much as the call.
TEST(LoopDetector, ComparesLongArgumentsAsText) {
    const std::string zeros = "[0" + std::string(20'000, ' ') + "]";
    const auto same = [](const std::string& left, const std::string& right) {
        loop_detector detector(2);
        (void)add(detector, "t", left);
        return add(detector, "t", right).has_value();
    };

    EXPECT_TRUE(same(R"({"a":)" + zeros + "}", R"({"a":)" + zeros + "}"));
    EXPECT_FALSE(same(R"({"a":)" + zeros + "}", R"({"a": )" + zeros + "}"));
}

TEST(LoopDetector, ComparesNumbersByTheirValue) {
    const auto same = [](std::string_view left, std::string_view right) {
        loop_detector detector(2);
        (void)add(detector, "t", left);
        return add(detector, "t", right).has_value();
    };

    EXPECT_TRUE(same(R"({"a":1})", R"({"a":1.0})"));
    EXPECT_TRUE(same(R"({"a":[-0.0, {"b":2e3}]})", R"({"a":[0, {"b":2000}]})"));
    EXPECT_TRUE(same(R"({"a":1.5})", R"({"a":15e-1})"));
    EXPECT_TRUE(same(R"({"a":1152921504606846976})", R"({"a":1152921504606846976.0})"));
    EXPECT_TRUE(same(R"({"a":9223372036854775808})", R"({"a":9223372036854775808.0})"));
    EXPECT_TRUE(same(R"({"a":1e300})", R"({"a":1.0e300})"));
    EXPECT_FALSE(same(R"({"a":1152921504606846977})", R"({"a":1152921504606846976.0})"));
    EXPECT_FALSE(same(R"({"a":1})", R"({"a":1.5})"));
    EXPECT_FALSE(same(R"({"a":-1})", R"({"a":1})"));
}

TEST(LoopDetector, EqualCallsOfOneAnswerAreNotALoop) {
    loop_detector detector(3);

    EXPECT_EQ(reports_of(detector, {{"a", "{}"}, {"a", "{}"}, {"a", "{}"}}), (counts{0, 0, 0}));
    EXPECT_EQ(
        reports_of(detector, {{"b", "{}"}, {"c", "{}"}, {"b", "{}"}, {"c", "{}"}}),
        (counts{0, 0, 0, 0})
    ) << "nor are equal pairs of them";
    EXPECT_EQ(reports_of(detector, {{"a", "{}"}}), (counts{0}));
}

TEST(LoopDetector, AnswersWithEqualCallsThatRepeatAreALoop) {
    loop_detector detector(3);
    const std::vector<loop_detector::call> answer = {{"a", "{}"}, {"a", "{}"}};

    EXPECT_EQ(reports_of(detector, answer), (counts{0, 0}));
    EXPECT_EQ(reports_of(detector, answer), (counts{0, 0}));
    EXPECT_EQ(reports_of(detector, answer), (counts{3, 3}));
}

TEST(LoopDetector, TheCallsOfAnAnswerHaveNoOrder) {
    loop_detector detector(3);
    std::vector<loop_detector::call> answer = {{"a", "{}"}, {"b", "{}"}};
    std::size_t most = 0;
    for (int i = 0; i < 3; ++i) {
        for (const std::size_t repeats : reports_of(detector, answer)) {
            most = std::max(most, repeats);
        }
        std::swap(answer[0], answer[1]);
    }

    EXPECT_EQ(most, 3U);
}

TEST(LoopDetector, CallsOfDifferentToolsDiffer) {
    loop_detector detector(2);
    (void)add(detector, "a");

    EXPECT_FALSE(add(detector, "b"));
}

TEST(LoopDetector, WithoutEndItStillKnowsAtLeastTheThreshold) {
    loop_detector detector(3);
    std::optional<found_loop> found;
    for (int i = 0; i < 1000; ++i) {
        found = add(detector, "a");
    }
    ASSERT_TRUE(found);
    EXPECT_GE(found->repeats, 3U);
}

TEST(LoopWarning, NamesTheRepeatedCalls) {
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
