#include "gateway/run/part_links.hpp"

#include "session/history/part_reference.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace agui::gateway {
namespace {

using ::testing::StartsWith;

constexpr unix_ms day = 86'400'000;
constexpr unix_ms noon = 20'000 * day + day / 2;

class PartLinks : public ::testing::Test {
protected:
    std::string token_at(unix_ms now) const {
        const std::string link = links_.link({"alice", "t 1"}, digest_, now);
        return link.substr(link.find("?token=") + 7);
    }

    const std::string digest_ = std::string(64, 'a');
    const part_links links_{
        {.base_url = "https://app.example/chat",
         .key = std::string(32, 'k'),
         .valid = std::chrono::hours(48)}
    };
};

TEST_F(PartLinks, OpenThePartForWhoeverHasOne) {
    EXPECT_THAT(
        links_.link({"alice", "t 1"}, digest_, noon),
        StartsWith("https://app.example/chat" + session::part_path("t 1", digest_) + "?token=")
    );
    EXPECT_EQ(links_.principal_of("t 1", digest_, token_at(noon), noon), "alice");
    const std::string nobody = links_.link({"", "t"}, digest_, noon);
    EXPECT_EQ(links_.principal_of("t", digest_, nobody.substr(nobody.find("=") + 1), noon), "");
}

TEST_F(PartLinks, ExpireAtTheEndOfADay) {
    const std::string token = token_at(noon);

    EXPECT_TRUE(links_.principal_of("t 1", digest_, token, noon + 2 * day));
    EXPECT_TRUE(links_.principal_of("t 1", digest_, token, 20'003 * day - 1));
    EXPECT_FALSE(links_.principal_of("t 1", digest_, token, 20'003 * day));
}

TEST_F(PartLinks, AreEqualInOneDay) {
    EXPECT_EQ(token_at(noon), token_at(noon + 1000));
    EXPECT_NE(token_at(noon), token_at(noon + day));
}

TEST_F(PartLinks, OpenNothingElse) {
    const std::string token = token_at(noon);

    EXPECT_FALSE(links_.principal_of("t 2", digest_, token, noon));
    EXPECT_FALSE(links_.principal_of("t 1", std::string(64, 'b'), token, noon));
    const part_links others({.base_url = "https://a", .key = std::string(32, 'l')});
    EXPECT_FALSE(others.principal_of("t 1", digest_, token, noon));
}

TEST_F(PartLinks, AnyChangeOfATokenMakesItUseless) {
    const std::string token = token_at(noon);
    for (std::size_t i = 0; i < token.size(); ++i) {
        SCOPED_TRACE(i);
        std::string other = token;
        other[i] = other[i] == 'A' ? 'B' : 'A';
        EXPECT_FALSE(links_.principal_of("t 1", digest_, other, noon));
        EXPECT_FALSE(links_.principal_of("t 1", digest_, token.substr(0, i), noon));
    }
    EXPECT_FALSE(links_.principal_of("t 1", digest_, token + "A", noon));
    EXPECT_FALSE(links_.principal_of("t 1", digest_, std::string(1U << 20U, '.'), noon));
}

TEST_F(PartLinks, WithoutAUrlOrAKeyThereAreNone) {
    EXPECT_EQ(part_links().link({"", "t"}, digest_, noon), "");
    EXPECT_EQ(part_links({.base_url = "https://a", .key = ""}).link({"", "t"}, digest_, noon), "");
    EXPECT_FALSE(part_links().principal_of("t 1", digest_, token_at(noon), noon));
}

} // namespace
} // namespace agui::gateway
