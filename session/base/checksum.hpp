#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace agui::session {

/// The checksum of stored bytes (session/sqlite/FORMAT.md): one multiplication per
/// 64-bit word. Detects damage, not forgery.
class checksum {
public:
    void add(std::uint64_t word) noexcept {
        state_ = (state_ ^ word) * 0x9e3779b97f4a7c15U;
        state_ ^= state_ >> 32U;
    }

    void add(std::string_view bytes) noexcept {
        std::size_t offset = 0;
        for (; offset + word_bytes <= bytes.size(); offset += word_bytes) {
            add(word_of(bytes.data() + offset, word_bytes));
        }
        add(word_of(bytes.data() + offset, bytes.size() - offset));
        add(bytes.size());
    }

    [[nodiscard]] std::uint64_t value() const noexcept { return state_; }
    /// The value in 32 bits (its halves mixed by XOR), where there is no room for 64.
    [[nodiscard]] static std::uint32_t folded(std::uint64_t value) noexcept {
        return static_cast<std::uint32_t>(value ^ value >> 32U);
    }

private:
    static constexpr std::size_t word_bytes = sizeof(std::uint64_t);

    // Little-endian, padded with zeros.
    static std::uint64_t word_of(const char* bytes, std::size_t count) noexcept {
        std::uint64_t word = 0;
        for (std::size_t i = 0; i < count; ++i) {
            word |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
        }
        return word;
    }

    std::uint64_t state_ = 0x6c62272e07bb0142U;
};

} // namespace agui::session
