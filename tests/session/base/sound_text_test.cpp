#include "session/base/sound_text.hpp"

#include <gtest/gtest.h>

namespace agui {
namespace {

TEST(SoundText, LosesControlAndBidiCharacters) {
    EXPECT_EQ(sound_text("a\x1b[31m\x07 b\xC2\x9Bz\x7f"), "a[31m bz");
    EXPECT_EQ(sound_text("pay \xE2\x80\xAEtxt.exe\xE2\x80\xAC\xE2\x81\xA6 now"), "pay txt.exe now");
    EXPECT_EQ(sound_text("\n"), "");
}

TEST(SoundText, LosesInvisibleCharacters) {
    // Marks of direction, a zero-width space, a word joiner, a byte order mark, tags.
    EXPECT_EQ(
        sound_text("a\xD8\x9C\xE2\x80\x8E\xE2\x80\x8F"
                   "b\xE2\x80\x8B\xE2\x81\xA0\xEF\xBB\xBF"
                   "c\xF3\xA0\x81\x81\xF3\xA0\x80\x81z"),
        "abcz"
    );
}

TEST(SoundText, KeepsJoiners) {
    const std::string persian =
        "\xD9\x85\xDB\x8C\xE2\x80\x8C\xD8\xAE\xD9\x88\xD8\xA7\xD9\x87\xD9\x85";
    EXPECT_EQ(sound_text(persian), persian);
    const std::string rainbow_flag = "\xF0\x9F\x8F\xB3\xEF\xB8\x8F\xE2\x80\x8D\xF0\x9F\x8C\x88";
    EXPECT_EQ(sound_text(rainbow_flag), rainbow_flag);
}

TEST(SoundText, KeepsNamedCharactersAndAllOtherText) {
    EXPECT_EQ(sound_text("a\r\n\tb", "\n\t"), "a\n\tb");
    EXPECT_EQ(
        sound_text("Gr\xC3\xBC\xC3\x9Fi \xF0\x9F\x98\x80"), "Gr\xC3\xBC\xC3\x9Fi \xF0\x9F\x98\x80"
    );
}

} // namespace
} // namespace agui
