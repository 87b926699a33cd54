#include "tests/support/colliding_names.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

namespace agui::test {

namespace {

constexpr std::uint64_t prime = 0x100000001B3ULL;
constexpr std::uint64_t basis = 0xcbf29ce484222325ULL;
constexpr std::string_view letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::uint64_t value_of(char letter) noexcept { return static_cast<unsigned char>(letter); }

// Inverts an odd number modulo 2^64. Each step doubles the number of correct bits.
constexpr std::uint64_t inverse(std::uint64_t odd) noexcept {
    std::uint64_t result = odd;
    for (int step = 0; step < 5; ++step) {
        result *= 2 - odd * result;
    }
    return result;
}

// For each state, the three letters that lead from it to zero.
std::unordered_map<std::uint64_t, std::vector<std::string>> endings(std::uint64_t mask) {
    constexpr std::uint64_t back = inverse(prime);
    std::unordered_map<std::uint64_t, std::vector<std::string>> found;
    for (const char last : letters) {
        const std::uint64_t third = value_of(last);
        for (const char middle : letters) {
            const std::uint64_t second = (third * back & mask) ^ value_of(middle);
            for (const char first : letters) {
                const std::uint64_t state = (second * back & mask) ^ value_of(first);
                found[state].push_back({first, middle, last});
            }
        }
    }
    return found;
}

// Pairs of words that lead from one state to the same next state. They are solutions of sum d_i *
// prime^(12 - i) = 0 modulo 2^64, found by reduction of a lattice, where d_i is the difference that
// the i-th letters make in the lowest byte. Each pair begins with the low byte that the one before
// it leaves, and the first one with that of the usual salt.
constexpr std::array<std::pair<std::string_view, std::string_view>, 15> equal_words{{
    {"k83a5UB3ymY_", "jP3kUE03yzXH"},
    {"K36V-I59AqVE", "J98N9E95QfAt"},
    {"N70e5b97dylf", "O56c-h57ZL5Y"},
    {"o3246u90Glnp", "l5008Y52_a1a"},
    {"SA9Z7i98cd6_", "R7ENSq96SSoH"},
    {"hc3Q-U69syiJ", "k-375e85cz8Y"},
    {"UW5J9wD1lJ_N", "V95r5g61zID_"},
    {"S-0x4YB2cE3K", "R36lVA00KPdz"},
    {"i23X8R59uTBp", "nZ3D6H-9aAqA"},
    {"sP4xUN82tZYV", "r86T5060joXA"},
    {"YA6Q-U560p85", "VG4s9194FCiZ"},
    {"B-0Q5R8IMyly", "A_239465Ez3h"},
    {"083B1E14XqSB", "1P3BEY-6ZNBQ"},
    {"v39c1G94Exab", "w95e-w561u0q"},
    {"w-3n2G94JSNY", "p33f8G96hfgJ"},
}};

// std::hash of libstdc++ is MurmurHash2 with a fixed seed. Its scrambling of a word has an inverse.
constexpr std::uint64_t murmur = 0xc6a4a7935bd1e995ULL;

std::uint64_t scrambled(std::uint64_t word) noexcept {
    word *= murmur;
    word ^= word >> 47U;
    return word * murmur;
}

std::uint64_t unscrambled(std::uint64_t word) noexcept {
    word *= inverse(murmur);
    word ^= word >> 47U;
    return word * inverse(murmur);
}

void append_word(std::string& to, std::uint64_t word) {
    for (unsigned shift = 0; shift < 64; shift += 8) {
        to.push_back(static_cast<char>(word >> shift & 0xFFU));
    }
}

} // namespace

std::uint64_t boost_digest(std::string_view name, std::uint64_t salt) noexcept {
    std::uint64_t hash = basis + salt;
    for (const char letter : name) {
        hash = (value_of(letter) ^ hash) * prime;
    }
    return hash;
}

std::vector<std::string> names_of_one_bucket(unsigned bits) {
    const std::size_t count = std::size_t{1} << bits;
    const std::uint64_t mask = count - 1;
    const auto ends = endings(mask);
    // The rest of the salt adds a constant that is the same for all names of one length.
    const std::uint64_t start = (basis + usual_salt) & 0xFFU & mask;
    std::vector<std::string> names;
    for (std::size_t index = 0; names.size() < count; ++index) {
        const std::string begin{
            letters.at(index / 4096), letters[index / 64 % 64], letters[index % 64]
        };
        std::uint64_t state = start;
        for (const char letter : begin) {
            state = (state ^ value_of(letter)) * prime & mask;
        }
        if (const auto found = ends.find(state); found != ends.end()) {
            for (const std::string& end : found->second) {
                names.push_back(begin + end);
            }
        }
    }
    names.resize(count);
    return names;
}

std::vector<std::string> names_of_one_digest(std::size_t count) {
    std::vector<std::string> names;
    for (std::size_t index = 0; index < count; ++index) {
        std::string name;
        for (std::size_t pair = 0; pair < equal_words.size(); ++pair) {
            const auto& [one, other] = equal_words[pair];
            name.append((index >> pair & 1U) == 0 ? one : other);
        }
        names.push_back(std::move(name));
    }
    return names;
}

std::vector<std::string> texts_of_one_hash(std::size_t count) {
    constexpr std::uint64_t length = 16;
    constexpr std::uint64_t seed = 0xc70f6907ULL;
    std::vector<std::string> texts;
    for (std::uint64_t first = 0; first < count; ++first) {
        const std::uint64_t state = ((seed ^ (length * murmur)) ^ scrambled(first)) * murmur;
        std::string text;
        append_word(text, first);
        append_word(text, unscrambled(state)); // Leaves a state of zero.
        texts.push_back(std::move(text));
    }
    return texts;
}

std::string object_text(const std::vector<std::string>& names) {
    std::string text = "{";
    for (const std::string& name : names) {
        text.append(text.size() > 1 ? ",\"" : "\"").append(name).append("\":0");
    }
    return text.append("}");
}

std::size_t longest_chain(const boost::json::object& of) {
    constexpr auto none = static_cast<std::uint32_t>(-1);
    const auto next_of = [&](std::size_t index) {
        return boost::json::detail::access::next(of.begin()[static_cast<std::ptrdiff_t>(index)]);
    };
    std::vector<bool> is_first(of.size(), true);
    for (std::size_t index = 0; index < of.size(); ++index) {
        if (const std::uint32_t next = next_of(index); next != none) {
            is_first.at(next) = false;
        }
    }
    std::size_t longest = 0;
    for (std::size_t index = 0; index < of.size(); ++index) {
        std::size_t length = 0;
        for (std::size_t at = index; is_first[index] && at != none; at = next_of(at)) {
            ++length;
        }
        longest = std::max(longest, length);
    }
    return longest;
}

} // namespace agui::test
