#include "runner/base/secret_cutter.hpp"

#include <gtest/gtest.h>

#include <string>

namespace agui::runner {
namespace {

TEST(SecretCutter, CutsEverySecretOutWhereverItIs) {
    const secret_cutter cutter({"Bearer sk-12345", "", "abc", "query-key"});

    EXPECT_EQ(
        cutter.cut("no Bearer sk-12345, sk-12345sk-12345 of query-key abc", 1000),
        "no [secret], [secret][secret] of [secret] abc"
    );
}

TEST(SecretCutter, CutsASecretOutOfAJsonString) {
    const secret_cutter cutter({"a \"quoted\\secret\""});

    EXPECT_EQ(cutter.cut(R"({"x":"a \"quoted\\secret\""})", 1000), R"({"x":"[secret]"})");
}

TEST(SecretCutter, LeavesNoBeginOfASecretWhereTheTextWasCut) {
    const secret_cutter cutter({"sk-12345"});
    const std::string text = std::string(20, 'x') + "sk-1234";

    EXPECT_EQ(cutter.cut(text, 26), std::string(20, 'x'));
    EXPECT_EQ(cutter.cut(text, 27), text); // The server's own mask is not cut.
}

TEST(SecretCutter, KeepsTheTextWithinItsBound) {
    const secret_cutter cutter({"sk-12345"});

    EXPECT_EQ(cutter.cut(std::string(100, 'x'), 10), std::string(10, 'x'));
    EXPECT_EQ(cutter.cut("\u00e4\u00e4\u00e4", 3), "\u00e4");
    EXPECT_EQ(cutter.cut("\xFF\xFF", 5), "\uFFFD");
    EXPECT_EQ(
        cutter.cut(
            "a\xFF"
            "b",
            10
        ),
        "a\xEF\xBF\xBD"
        "b"
    );
}

} // namespace
} // namespace agui::runner
