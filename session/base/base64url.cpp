#include "session/base/base64url.hpp"

#include <cstdint>

namespace agui {
namespace {

constexpr std::string_view base64url_digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr unsigned digit_bits = 6;

} // namespace

std::string encode_base64url(std::string_view bytes) {
    std::string out;
    std::uint32_t bits = 0;
    unsigned count = 0;
    for (const char c : bytes) {
        bits = (bits << 8U) | static_cast<unsigned char>(c);
        count += 8;
        while (count >= digit_bits) {
            count -= digit_bits;
            out.push_back(base64url_digits[(bits >> count) & 0x3FU]);
        }
    }
    if (count > 0) {
        out.push_back(base64url_digits[(bits << (digit_bits - count)) & 0x3FU]);
    }
    return out;
}

std::optional<std::string> decode_base64url(std::string_view text) {
    if (text.size() % 4 == 1) {
        return std::nullopt;
    }
    std::string out;
    out.reserve(text.size() * 3 / 4);
    std::uint32_t bits = 0;
    unsigned count = 0;
    for (const char c : text) {
        const std::size_t digit = base64url_digits.find(c);
        if (digit == std::string_view::npos) {
            return std::nullopt;
        }
        bits = (bits << digit_bits) | static_cast<std::uint32_t>(digit);
        count += digit_bits;
        if (count >= 8) {
            count -= 8;
            out.push_back(static_cast<char>((bits >> count) & 0xFFU));
        }
    }
    if ((bits & ((1U << count) - 1U)) != 0) {
        return std::nullopt;
    }
    return out;
}

} // namespace agui
