#include "session/base/lean_append.hpp"

#include <gtest/gtest.h>

namespace agui {
namespace {

TEST(LeanAppend, KeepsAllBytesAndLittleSpare) {
    std::string text;
    std::string expected;
    std::size_t moves = 0;
    for (int i = 0; i < 10'000; ++i) {
        const std::string piece(static_cast<std::size_t>(i % 50), static_cast<char>('a' + i % 26));
        const std::size_t before = text.capacity();
        lean_append(text, piece);
        expected += piece;
        moves += text.capacity() != before ? 1 : 0;
        ASSERT_LE(text.capacity(), text.size() + std::max<std::size_t>(text.size() / 8, 64));
    }
    EXPECT_EQ(text, expected);
    EXPECT_LT(moves, 150U);
}

TEST(LeanAppend, MovesALargeTextSeldom) {
    constexpr std::size_t bytes = 32U << 20U;
    const std::string piece(16'000, 'x');
    std::string text;
    std::size_t moved = 0;
    while (text.size() < bytes) {
        const std::size_t before = text.capacity();
        const std::size_t size = text.size();
        lean_append(text, piece);
        moved += text.capacity() != before ? size : 0;
    }
    EXPECT_LT(moved, 2 * bytes);
}

TEST(LeanAppend, TakesAPieceThatIsLargerThanTheText) {
    std::string text = "a";
    lean_append(text, std::string(1000, 'b'));
    EXPECT_EQ(text, "a" + std::string(1000, 'b'));
}

} // namespace
} // namespace agui
