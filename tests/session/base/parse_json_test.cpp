#include "session/base/parse_json.hpp"

#include "tests/support/colliding_names.hpp"

#include <boost/json/memory_resource.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui {
namespace {

namespace json = boost::json;
using test::longest_chain;

// Even random names make chains of about eight.
constexpr std::size_t short_chain = 32;

TEST(CollidingNames, ShareABucketUnderTheDigestOfBoost) {
    constexpr std::uint64_t mask = (1U << 15U) - 1;
    const std::vector<std::string> names = test::names_of_one_bucket(15);

    for (const std::uint64_t page : {0x7f1234567000ULL, 0x7f9abcdef000ULL, 0x5581aa3b4000ULL}) {
        const std::uint64_t salt = page + test::usual_salt;
        for (const std::string& name : names) {
            ASSERT_EQ(
                test::boost_digest(name, salt) & mask,
                test::boost_digest(names.front(), salt) & mask
            );
        }
    }
}

TEST(CollidingNames, ShareAWholeDigestOfBoost) {
    const std::vector<std::string> names = test::names_of_one_digest(1U << 15U);

    for (const std::uint64_t page : {0x7f1234567000ULL, 0x7f9abcdef000ULL, 0x5581aa3b4000ULL}) {
        const std::uint64_t salt = page + test::usual_salt;
        for (const std::string& name : names) {
            ASSERT_EQ(test::boost_digest(name, salt), test::boost_digest(names.front(), salt));
        }
    }
}

// Memory whose blocks have the address for which the names were chosen, whatever the allocator.
class salted_memory final : public json::memory_resource {
    void* do_allocate(std::size_t bytes, std::size_t /*alignment*/) override {
        constexpr std::size_t page = 256;
        blocks_.push_back(std::make_unique<std::byte[]>(bytes + 2 * page));
        void* at = blocks_.back().get();
        std::size_t room = bytes + 2 * page;
        return static_cast<std::byte*>(std::align(page, bytes + page, at, room)) + test::usual_salt;
    }
    void do_deallocate(void* /*block*/, std::size_t /*bytes*/, std::size_t /*alignment*/) override {
    }
    [[nodiscard]] bool do_is_equal(const json::memory_resource& other) const noexcept override {
        return this == &other;
    }

    std::vector<std::unique_ptr<std::byte[]>> blocks_;
};

class ChosenNames : public testing::TestWithParam<std::vector<std::string> (*)()> {};

TEST_P(ChosenNames, ShareNoBucketInAParsedObject) {
    const std::vector<std::string> names = GetParam()();

    salted_memory memory;
    const auto parsed = json_parser({}).parse(test::object_text(names), &memory);

    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->get_object().size(), names.size());
    EXPECT_LT(longest_chain(parsed->get_object()), short_chain);
    EXPECT_TRUE(parsed->get_object().contains(names.back()));
}

TEST_P(ChosenNames, ShareNoBucketInAnObjectThatGrowsOrIsCopied) {
    const std::vector<std::string> names = GetParam()();

    salted_memory memory;
    json::object grown(&memory);
    for (const std::string& name : names) {
        grown.emplace(name, 0);
    }
    const json::object copy(grown, &memory);

    EXPECT_LT(longest_chain(grown), short_chain);
    EXPECT_LT(longest_chain(copy), short_chain);
    EXPECT_EQ(grown, copy);
}

INSTANTIATE_TEST_SUITE_P(
    Floods, ChosenNames,
    testing::Values(
        +[] { return test::names_of_one_bucket(15); },
        +[] { return test::names_of_one_digest(1U << 15U); }
    )
);

TEST(ParseJson, FindsAMemberByAPointer) {
    const auto parsed = parse_json(R"({"a":{"b":[1,2]}})");

    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->at_pointer("/a/b/1"), 2);
}

TEST(ParseJson, FindsAMemberOfALargeObjectByAPointer) {
    json::object members;
    for (int i = 0; i < 100; ++i) { // Few members are searched without a hash.
        members.emplace("a/b" + std::to_string(i), i);
    }
    const auto parsed = parse_json(json::serialize(members));

    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->at_pointer("/a~1b42"), 42);
}

TEST(ParseJson, RefusesInvalidJson) {
    for (const std::string_view text : {"", "{", "1 2", "[1,]", "\"\\ud800\"", "\"\xff\""}) {
        const auto parsed = parse_json(text);
        ASSERT_FALSE(parsed) << text;
        EXPECT_EQ(parsed.error().code, errc::invalid_json) << text;
    }
}

TEST(ParseJson, AcceptsInvalidUtf8IfAllowed) {
    EXPECT_TRUE(parse_json("\"\xff\"", {.any_bytes = true}));
}

TEST(ParseJson, RefusesADeeperText) {
    EXPECT_TRUE(parse_json("[[[]]]", {.max_depth = 3}));
    EXPECT_FALSE(parse_json("[[[]]]", {.max_depth = 2}));
}

TEST(ParseJson, CountsTheValuesAsLongAsTheyLive) {
    memory_budget budget(16U << 20U);
    {
        const auto parsed =
            parse_json("[" + std::string(20'000, ' ') + "1,2,3]", {.budget = &budget});
        ASSERT_TRUE(parsed);
        EXPECT_GT(budget.used(), 0U);
    }
    EXPECT_EQ(budget.used(), 0U);
}

TEST(ParseJson, RefusesValuesAboveTheBudget) {
    std::string zeros = "[0";
    for (int i = 1; i < 100'000; ++i) {
        zeros += ",0";
    }
    memory_budget budget(2U << 20U);

    const auto parsed = parse_json(zeros, {.budget = &budget});

    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code, errc::overloaded);
    EXPECT_EQ(budget.used(), 0U);
}

TEST(ParseJsonString, ReadsAStringAndNothingElse) {
    EXPECT_EQ(parse_json_string(R"("a\nb\u00e9")"), "a\nb\xC3\xA9");
    EXPECT_EQ(parse_json_string("1"), std::nullopt);
    EXPECT_EQ(parse_json_string("\"open"), std::nullopt);
}

TEST(JsonParser, ReadsTheNextTextAfterABadOne) {
    json_parser parser({.max_depth = 4});
    json::monotonic_resource memory;

    EXPECT_FALSE(parser.parse("{\"a\":", &memory));
    const auto next = parser.parse("{\"a\":1}", &memory);

    ASSERT_TRUE(next);
    EXPECT_EQ(json::serialize(*next), "{\"a\":1}");
}

} // namespace
} // namespace agui
