#include "session/base/sound_text.hpp"

#include <gtest/gtest.h>

#include <string>

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

TEST(VisibleText, NamesWhatAReaderDoesNotSee) {
    EXPECT_EQ(visible_text("a\xE2\x80\x8Bz"), "a\\u200bz");
    EXPECT_EQ(visible_text("\x1b[31m\x7f\xC2\x9B"), "\\u001b[31m\\u007f\\u009b");
    EXPECT_EQ(visible_text("pay \xE2\x80\xAEtxt.exe"), "pay \\u202etxt.exe");
    EXPECT_EQ(visible_text("\xF3\xA0\x81\x81"), "\\u{e0041}") << "a tag";
    EXPECT_EQ(visible_text("\xE2\x80\x8D\xEF\xB8\x8F"), "\\u200d\\ufe0f");
    EXPECT_EQ(visible_text("\xF3\xA0\x84\x80"), "\\u{e0100}") << "a variation selector";
    EXPECT_EQ(visible_text("\xE3\x85\xA4"), "\\u3164") << "a letter without a shape";
}

TEST(VisibleText, KeepsAllOtherText) {
    const std::string text = "Gr\xC3\xBC\xC3\x9Fi \xF0\x9F\x98\x80 \\u200b";
    EXPECT_EQ(visible_text(text), text);
    EXPECT_EQ(visible_text(""), "");
}

} // namespace
} // namespace agui
