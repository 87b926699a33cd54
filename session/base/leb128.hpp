#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace agui::session {

// Numbers as LEB128 (DWARF 5, section 7.6), unsigned.

/// The most bytes a number takes.
inline constexpr std::size_t leb128_bytes_max = 10;

/// Writes the number; `to` must have room for it. Returns the number of bytes written.
inline std::size_t write_leb128(char* to, std::uint64_t value) noexcept {
    std::size_t bytes = 0;
    while (value >= 0x80) {
        to[bytes++] = static_cast<char>(value | 0x80);
        value >>= 7U;
    }
    to[bytes++] = static_cast<char>(value);
    return bytes;
}

inline void put_leb128(std::string& bytes, std::uint64_t value) {
    char number[leb128_bytes_max];
    bytes.append(number, write_leb128(number, value));
}

/// Reads a number below 2^63 and removes it from the front of `bytes`. Returns false if there is
/// none; `bytes` and `value` are then meaningless.
[[nodiscard]] inline bool take_leb128(std::string_view& bytes, std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 63 && !bytes.empty(); shift += 7) {
        const auto next = static_cast<unsigned char>(bytes.front());
        bytes.remove_prefix(1);
        value |= std::uint64_t{next & 0x7fU} << shift;
        if (next < 0x80) {
            return true;
        }
    }
    return false;
}

} // namespace agui::session
