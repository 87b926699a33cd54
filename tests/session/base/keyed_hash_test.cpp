#include "session/base/keyed_hash.hpp"

#include "session/base/text_map.hpp"
#include "tests/support/colliding_names.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace agui {
namespace {

// The values with a key of zero are those of CPython 3.11 with PYTHONHASHSEED=0. The other one is
// from the test vectors of Rust's library.
TEST(KeyedHash, IsSipHashWithOneAndThreeRounds) {
    EXPECT_EQ(keyed_hash(hash_key{}, "ab"), 0x555508cbc6add439ULL);
    EXPECT_EQ(keyed_hash(hash_key{}, "abc"), 0xc03bc3a0042630f2ULL);
    EXPECT_EQ(keyed_hash(hash_key{}, "abcd"), 0xe3d1d5fdd52aae89ULL);
    EXPECT_EQ(keyed_hash(hash_key{}, "a"), 0x407448d2b89b1813ULL);
    EXPECT_EQ(keyed_hash(hash_key{}, "toolCallId"), 0xc7297fb68a48d65dULL);
    EXPECT_EQ(keyed_hash(hash_key{}, "0123456789abcdef"), 0x1d42b30f7e060c24ULL);
    EXPECT_EQ(
        keyed_hash(
            hash_key{0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL},
            std::string_view("\0\1\2\3\4\5\6\7\10\11\12\13\14\15\16", 15)
        ),
        0xd320d86d2a519956ULL
    );
}

TEST(KeyedHash, HasTheSecretKeyOfTheProcess) {
    const hash_key& key = process_hash_key();

    EXPECT_NE(key.first, key.second);
    EXPECT_EQ(keyed_hash("text"), keyed_hash(key, "text"));
    EXPECT_NE(keyed_hash("text"), keyed_hash(hash_key{}, "text"));
}

TEST(TextMap, SpreadsTextsThatHaveOneStandardHash) {
    const std::vector<std::string> texts = test::texts_of_one_hash(4096);
    for (const std::string& text : texts) {
        ASSERT_EQ(std::hash<std::string>()(text), std::hash<std::string>()(texts.front()));
    }

    const text_set set(texts.begin(), texts.end());

    std::size_t fullest = 0;
    for (std::size_t bucket = 0; bucket < set.bucket_count(); ++bucket) {
        fullest = std::max(fullest, set.bucket_size(bucket));
    }
    EXPECT_EQ(set.size(), texts.size());
    EXPECT_LT(fullest, 32U);
}

TEST(TextMap, FindsATextByAView) {
    text_map<int> numbers;
    numbers["one"] = 1;

    EXPECT_EQ(numbers.find(std::string_view("one"))->second, 1);
    EXPECT_FALSE(numbers.contains(std::string_view("two")));
}

} // namespace
} // namespace agui
