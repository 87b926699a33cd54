#include "session/base/id.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>

#include <sys/random.h>

namespace agui {

std::size_t unsound_character(std::string_view text) noexcept {
    const auto byte = [text](std::size_t index) {
        return index < text.size() ? static_cast<unsigned char>(text[index]) : 0U;
    };
    if (byte(0) < 0x20 || byte(0) == 0x7F) {
        return 1;
    }
    if (byte(0) == 0xC2 && byte(1) >= 0x80 && byte(1) <= 0x9F) {
        return 2;
    }
    const bool is_separator_or_embedding = byte(1) == 0x80 && byte(2) >= 0xA8 && byte(2) <= 0xAE;
    const bool is_isolate = byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9;
    return byte(0) == 0xE2 && (is_separator_or_embedding || is_isolate) ? 3 : 0;
}

bool is_sound_id(std::string_view id, std::size_t bytes_max) noexcept {
    if (id.size() > bytes_max) {
        return false;
    }
    for (std::size_t at = 0; at < id.size(); ++at) {
        if (unsound_character(id.substr(at)) != 0) {
            return false;
        }
    }
    return true;
}

std::string random_bytes(std::size_t count) {
    std::string bytes(count, '\0');
    for (std::size_t done = 0; done < count;) {
        const ssize_t got = ::getrandom(bytes.data() + done, count - done, 0);
        if (got <= 0) {
            throw std::runtime_error("the system's random generator failed");
        }
        done += static_cast<std::size_t>(got);
    }
    return bytes;
}

std::string uuid_ids::next(std::string_view /*kind*/) {
    static constexpr std::string_view digits = "0123456789abcdef";
    static constexpr std::size_t bytes_of_id = 10;

    // Each thread keeps a reserve of random bytes: one system call serves 25 ids.
    thread_local std::array<unsigned char, 25 * bytes_of_id> reserve;
    thread_local std::size_t used = reserve.size();
    if (used == reserve.size()) {
        std::ranges::copy(random_bytes(reserve.size()), reserve.begin());
        used = 0;
    }
    std::array<unsigned char, 16> bytes{};
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    auto milliseconds = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(now).count()
    );
    for (std::size_t i = 6; i > 0; --i) {
        bytes[i - 1] = static_cast<unsigned char>(milliseconds & 0xFFU);
        milliseconds >>= 8U;
    }
    for (std::size_t i = 6; i < bytes.size(); ++i) {
        bytes[i] = reserve[used++];
    }
    bytes[6] = static_cast<unsigned char>(0x70U | (bytes[6] & 0x0FU)); // Version 7.
    bytes[8] = static_cast<unsigned char>(0x80U | (bytes[8] & 0x3FU)); // The variant of RFC 9562.

    std::string id;
    id.reserve(36);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            id.push_back('-');
        }
        id.push_back(digits[bytes[i] >> 4U]);
        id.push_back(digits[bytes[i] & 0xFU]);
    }
    return id;
}

std::string sequential_ids::next(std::string_view kind) {
    std::string id(kind);
    id.push_back('_');
    id.append(std::to_string(++count_));
    return id;
}

} // namespace agui
