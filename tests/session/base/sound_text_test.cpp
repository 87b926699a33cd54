#include "session/base/sound_text.hpp"

#include <gtest/gtest.h>

namespace agui {
namespace {

TEST(SoundText, LosesControlAndBidiCharacters) {
    EXPECT_EQ(sound_text("a\x1b[31m\x07 b\xC2\x9Bz\x7f"), "a[31m bz");
    EXPECT_EQ(sound_text("pay \xE2\x80\xAEtxt.exe\xE2\x80\xAC\xE2\x81\xA6 now"), "pay txt.exe now");
    EXPECT_EQ(sound_text("\n"), "");
}

TEST(SoundText, KeepsWhatIsNamedAndAllOtherText) {
    EXPECT_EQ(sound_text("a\r\n\tb", "\n\t"), "a\n\tb");
    EXPECT_EQ(
        sound_text("Gr\xC3\xBC\xC3\x9Fi \xF0\x9F\x98\x80"), "Gr\xC3\xBC\xC3\x9Fi \xF0\x9F\x98\x80"
    );
}

} // namespace
} // namespace agui
