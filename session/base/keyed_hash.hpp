#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace agui {

/// The key of keyed_hasher.
struct hash_key {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
};

/// The key of this process: random, drawn once, and never shown.
[[nodiscard]] const hash_key& process_hash_key() noexcept;

/// SipHash-1-3. With a secret key nobody can choose texts that share a hash or a bucket, so a table
/// of names from outside stays fast. With the key of the process the hashes differ from process to
/// process: never store or send them.
class keyed_hasher {
public:
    explicit keyed_hasher(const hash_key& key) noexcept
        : v0_(key.first ^ 0x736f6d6570736575ULL),
          v1_(key.second ^ 0x646f72616e646f6dULL),
          v2_(key.first ^ 0x6c7967656e657261ULL),
          v3_(key.second ^ 0x7465646279746573ULL) {}

    void add(char byte) noexcept {
        constexpr std::size_t word_bytes = 8;
        word_ |= std::uint64_t{static_cast<unsigned char>(byte)} << (8 * (length_ % word_bytes));
        if (++length_ % word_bytes == 0) {
            compress();
        }
    }

    /// The hash. Nothing may be added after it.
    [[nodiscard]] std::uint64_t finish() noexcept {
        word_ |= length_ << 56U;
        compress();
        v2_ ^= 0xFFU;
        mix();
        mix();
        mix();
        return v0_ ^ v1_ ^ v2_ ^ v3_;
    }

private:
    void compress() noexcept {
        v3_ ^= word_;
        mix();
        v0_ ^= word_;
        word_ = 0;
    }

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
    std::uint64_t word_ = 0; // The bytes that make no whole word yet.
    std::uint64_t length_ = 0;
};

/// The hash of a text under the key of the process.
[[nodiscard]] std::uint64_t keyed_hash(std::string_view text) noexcept;

} // namespace agui
