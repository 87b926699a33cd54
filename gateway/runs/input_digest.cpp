#include "gateway/runs/input_digest.hpp"

#include <openssl/sha.h>

#include <array>

namespace agui::gateway {

std::string input_digest(std::string_view canonical_json) {
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
    SHA256(
        reinterpret_cast<const unsigned char*>(canonical_json.data()), canonical_json.size(),
        digest.data()
    );
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    text.reserve(2 * digest.size());
    for (const unsigned char byte : digest) {
        text.push_back(digits[byte >> 4U]);
        text.push_back(digits[byte & 15U]);
    }
    return text;
}

} // namespace agui::gateway
