#include "session/base/id.hpp"

#include "session/base/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>

namespace agui {
namespace {

using ::testing::MatchesRegex;

TEST(UuidIds, AreUuidsOfVersionSevenThatDiffer) {
    uuid_ids ids;
    std::set<std::string> seen;
    for (int i = 0; i < 2000; ++i) {
        const std::string id = ids.next("msg");
        EXPECT_THAT(
            id, MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
        );
        EXPECT_TRUE(seen.insert(id).second) << id;
    }
}

TEST(UuidIds, BeginWithTheMillisecondTheyAreMadeIn) {
    const auto now = [] {
        const auto since = std::chrono::system_clock::now().time_since_epoch();
        return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
    };
    const auto before = now();
    std::string id = uuid_ids().next("msg");
    const auto after = now();

    id.erase(8, 1);
    const long long made = std::stoll(id.substr(0, 12), nullptr, 16);
    EXPECT_LE(before, made);
    EXPECT_LE(made, after);
}

TEST(SoundIds, HoldNothingThatBreaksOrTurnsALine) {
    for (const char* character :
         {"\n", "\x1f", "\x7f", "\xC2\x80", "\xC2\x85", "\xC2\x9B", "\xC2\x9F", "\xE2\x80\xA8",
          "\xE2\x80\xA9", "\xE2\x80\xAA", "\xE2\x80\xAE", "\xE2\x81\xA6", "\xE2\x81\xA9"}) {
        EXPECT_FALSE(is_sound_id("a" + std::string(character) + "b"));
        EXPECT_FALSE(is_sound_id(character));
    }
    for (const char* character :
         {" ", "~", "\xC2\xA0", "\xC3\xA9", "\xE2\x80\xA7", "\xE2\x80\xAF", "\xE2\x81\xA5",
          "\xE2\x81\xAA", "\xE4\xBD\xA0", "\xF0\x9F\x98\x80", "\xC2", "\xE2\x80"}) {
        EXPECT_TRUE(is_sound_id("a" + std::string(character))) << character;
    }
}

TEST(Log, ShowsCharactersThatChangeALineEscaped) {
    memory_logger log;
    log.log(
        log_level::info, "x",
        {{"id", "a\xC2\x9B"
                "b\xE2\x80\xAE"
                "c\xC3\xA9\n"}}
    );
    log.log(log_level::info, "x", {{"id", "\xC3\xA9"}});

    EXPECT_EQ(
        log.lines().at(0), R"(info x id="a\xc2\x9bb\xe2\x80\xaec)"
                           "\xC3\xA9"
                           R"(\x0a")"
    );
    EXPECT_EQ(log.lines().at(1), "info x id=\xC3\xA9");
}

} // namespace
} // namespace agui
