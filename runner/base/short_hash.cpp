#include "runner/base/short_hash.hpp"

#include "session/base/checksum.hpp"

namespace agui::runner {

std::string short_hash(std::string_view text, std::size_t length, std::uint64_t attempt) {
    static constexpr std::string_view digits = "0123456789abcdefghijklmnopqrstuvwxyz";
    session::checksum sum;
    sum.add(attempt);
    sum.add(text);
    sum.add(0); // Mixes the last word into all digits.
    std::uint64_t value = sum.value();
    std::string hash;
    for (std::size_t i = 0; i < length; ++i) {
        hash.push_back(digits[value % digits.size()]);
        value /= digits.size();
    }
    return hash;
}

} // namespace agui::runner
