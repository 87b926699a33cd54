#include "session/base/id.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <stdexcept>

#include <sys/random.h>

namespace agui {

bool is_sound_id(std::string_view id, std::size_t bytes_max) noexcept {
    return id.size() <= bytes_max && std::none_of(id.begin(), id.end(), [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    });
}

std::string random_ids::next(std::string_view prefix) {
    static constexpr std::string_view alphabet =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    static constexpr std::size_t length = 16;

    // Bytes are taken from a per-thread reserve: one system call serves about ten ids.
    thread_local std::array<unsigned char, 256> reserve;
    thread_local std::size_t used = reserve.size();

    std::string id;
    id.reserve(prefix.size() + 1 + length);
    id.append(prefix);
    id.push_back('_');
    for (std::size_t taken = 0; taken < length;) {
        if (used == reserve.size()) {
            if (::getrandom(reserve.data(), reserve.size(), 0) !=
                static_cast<ssize_t>(reserve.size())) {
                throw std::runtime_error("the system's random generator failed");
            }
            used = 0;
        }
        const unsigned value = reserve[used++] & 63U;
        // 62 and 63 are drawn again, so that every character is equally likely.
        if (value < alphabet.size()) {
            id.push_back(alphabet[value]);
            ++taken;
        }
    }
    return id;
}

std::string sequential_ids::next(std::string_view prefix) {
    std::string id(prefix);
    id.push_back('_');
    id.append(std::to_string(++count_));
    return id;
}

} // namespace agui
