#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace agui {

/// The key of keyed_hash().
struct hash_key {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
};

/// The key of this process: random, drawn once, and never shown.
[[nodiscard]] const hash_key& process_hash_key() noexcept;

/// The state of SipHash-1-3, for keyed_hash().
class sip_state {
public:
    explicit sip_state(const hash_key& key) noexcept
        : v0_(key.first ^ 0x736f6d6570736575ULL),
          v1_(key.second ^ 0x646f72616e646f6dULL),
          v2_(key.first ^ 0x6c7967656e657261ULL),
          v3_(key.second ^ 0x7465646279746573ULL) {}

    void add(std::uint64_t word) noexcept {
        v3_ ^= word;
        mix();
        v0_ ^= word;
    }

    [[nodiscard]] std::uint64_t finish() noexcept {
        v2_ ^= 0xFFU;
        mix();
        mix();
        mix();
        return v0_ ^ v1_ ^ v2_ ^ v3_;
    }

private:
    void mix() noexcept {
        v0_ += v1_;
        v1_ = std::rotl(v1_, 13) ^ v0_;
        v0_ = std::rotl(v0_, 32);
        v2_ += v3_;
        v3_ = std::rotl(v3_, 16) ^ v2_;
        v0_ += v3_;
        v3_ = std::rotl(v3_, 21) ^ v0_;
        v2_ += v1_;
        v1_ = std::rotl(v1_, 17) ^ v2_;
        v2_ = std::rotl(v2_, 32);
    }

    std::uint64_t v0_;
    std::uint64_t v1_;
    std::uint64_t v2_;
    std::uint64_t v3_;
};

/// SipHash-1-3 of a text. With a secret key, clients cannot choose texts that share a hash or a
/// bucket, so a table of names from outside stays fast.
[[nodiscard]] inline std::uint64_t keyed_hash(const hash_key& key, std::string_view text) noexcept {
    const auto word_at = [&text]<class Word>(std::size_t at, Word word) {
        std::memcpy(&word, text.data() + at, sizeof(word));
        return std::uint64_t{word};
    };
    sip_state state(key);
    std::size_t at = 0;
    for (; at + 8 <= text.size(); at += 8) {
        state.add(word_at(at, std::uint64_t{}));
    }
    // The last word has the rest of the text, read in pieces that overlap, and the length.
    const std::size_t rest = text.size() - at;
    std::uint64_t last = std::uint64_t{text.size()} << 56U;
    if (rest >= 4) {
        last |= word_at(at, std::uint32_t{});
        last |= word_at(text.size() - 4, std::uint32_t{}) << (8 * (rest - 4));
    } else if (rest > 0) {
        last |= word_at(at, std::uint8_t{});
        last |= word_at(at + rest / 2, std::uint8_t{}) << (8 * (rest / 2));
        last |= word_at(text.size() - 1, std::uint8_t{}) << (8 * (rest - 1));
    }
    state.add(last);
    return state.finish();
}

/// The same under the key of the process. The hashes differ from process to process: never store or
/// send them.
[[nodiscard]] std::uint64_t keyed_hash(std::string_view text) noexcept;

} // namespace agui
