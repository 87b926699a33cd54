#include "tests/bench/seeded_shape.hpp"

#include "tests/support/colliding_names.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace agui::test {

namespace {

constexpr std::size_t small = 40; // The size of a place that the shape is not about.

// The pieces that texts consist of: parts of JSON strings, some of them not well-formed.
constexpr std::array<std::string_view, 42> units{
    "a",
    "\\u0000",
    "\\ud800",
    "\\udc00",
    "\\ud83d\\ude00",
    "\\u0061",
    "\\\"",
    "\\\\",
    "\\n",
    "\\r",
    "\\r\\n",
    "\\n\\n",
    "\\t",
    "\\/",
    " ",
    "\xff",
    "\xe2\x82",
    "\x80",
    "\xed\xa0\x80",
    "\x01",
    "\xc3\xa9",
    "\xf0\x9f\x98\x80",
    "\\u202e",
    "\\u007f",
    "\\u2028",
    "<think>",
    "<thi",
    "</think>",
    "{",
    "[",
    "{\\\"a\\\":",
    "[{\\\"text\\\":\\\"",
    "{{x}}",
    "{}",
    "1e999,",
    "data: x\\n",
    "[DONE]",
    "AAAA",
    "A=",
    "%41",
    "a b ",
    ",",
};

constexpr std::array<std::string_view, 18> numbers{
    "0",
    "-0",
    "1",
    "1e308",
    "1e999",
    "1e-400",
    "-1",
    "18446744073709551615",
    "1e0",
    "0.1",
    "1E+1",
    "9223372036854775808",
    "-9223372036854775809",
    "123456789012",
    "0.000000000000000000000000000000000000001",
    "2147483648",
    "5e-324",
    "1.7976931348623157e308",
};

std::uint64_t mixed(std::uint64_t hash) noexcept {
    hash ^= hash >> 33U;
    hash *= 0xff51afd7ed558ccdULL;
    hash ^= hash >> 33U;
    hash *= 0xc4ceb9fe1a85ec53ULL;
    return hash ^ hash >> 33U;
}

std::string repeated(std::string_view unit, std::size_t bytes) {
    std::string all;
    all.reserve(bytes + unit.size());
    while (all.size() < bytes) {
        all += unit;
    }
    return all;
}

const std::string& chosen(const std::vector<std::string>& names, std::size_t index) {
    return names[index % names.size()];
}

const std::string& bucket_name(std::size_t index) {
    static const std::vector<std::string> names = names_of_one_bucket(14);
    return chosen(names, index);
}

const std::string& digest_name(std::size_t index) {
    static const std::vector<std::string> names = names_of_one_digest(1U << 13U);
    return chosen(names, index);
}

// A name from the hashes that are also valid in JSON texts.
std::string hash_name(std::size_t index) {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> sound;
        for (std::string& text : texts_of_one_hash(1U << 13U)) {
            const bool plain = std::ranges::all_of(text, [](char c) {
                return c >= ' ' && c <= '~' && c != '"' && c != '\\';
            });
            if (plain) {
                sound.push_back(std::move(text));
            }
        }
        if (sound.empty()) {
            sound.emplace_back("h");
        }
        return sound;
    }();
    return chosen(names, index);
}

} // namespace

std::string quoted(std::string text, std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) {
        std::string out = "\"";
        for (const char c : text) {
            if (c == '"' || c == '\\') {
                out += '\\';
            }
            if (c == '\n') {
                out += "\\n";
            } else {
                out += c;
            }
        }
        text = out + "\"";
    }
    return text;
}

std::size_t seeded_shape::pick(std::string_view what, std::size_t count) const noexcept {
    std::uint64_t hash = mixed(seed_ + 0x9e3779b97f4a7c15ULL);
    for (const char c : what) {
        hash = mixed(hash ^ static_cast<unsigned char>(c));
    }
    return static_cast<std::size_t>(hash % count);
}

std::string_view seeded_shape::pick(
    std::string_view what, std::initializer_list<std::string_view> of
) const noexcept {
    return of.begin()[pick(what, of.size())];
}

std::size_t seeded_shape::room(
    std::string_view which, std::initializer_list<std::string_view> places
) const noexcept {
    const std::string_view first = pick("about", places);
    const std::string_view second = pick("also about", places);
    const bool is_shared = first != second && chance("shared", 3);
    if (which == first) {
        return is_shared ? bytes_ / 2 : bytes_;
    }
    return is_shared && which == second ? bytes_ / 2 : small;
}

std::size_t seeded_shape::elements(std::string_view what, std::size_t room) const noexcept {
    constexpr std::array<std::size_t, 8> counts{1, 2, 10, 100, 127, 1000, 2000, 1'000'000};
    if (room <= small) {
        return 1;
    }
    return counts[pick(std::string(what) + ".elements", counts.size())];
}

std::string seeded_shape::text(std::string_view what, std::size_t bytes) const {
    const std::string key(what);
    const std::string_view unit = units[pick(key + ".unit", units.size())];
    if (chance(key + ".mixed", 4)) {
        const std::string_view other = units[pick(key + ".other", units.size())];
        return '"' + repeated(std::string(unit) + std::string(other), bytes) + '"';
    }
    if (chance(key + ".plain", 3)) {
        return '"' + repeated("a", bytes) + '"';
    }
    if (chance(key + ".one odd", 6)) { // Put at the end, where everything before it has been read.
        return '"' + repeated("a", bytes) + std::string(unit) + '"';
    }
    return '"' + repeated(unit, bytes) + '"';
}

std::string seeded_shape::name(std::string_view what, std::size_t index) const {
    constexpr std::array<std::string_view, 8> known{"type", "id",   "role",  "content",
                                                    "text", "name", "value", "properties"};
    const std::string number = std::to_string(index);
    const std::string key(what);
    switch (pick(key + ".name", 14)) {
    case 0:
        return "\"n\"";
    case 1:
        return '"' + bucket_name(index) + '"';
    case 2:
        return '"' + digest_name(index) + '"';
    case 3:
        return '"' + hash_name(index) + '"';
    case 4:
        return '"' + std::string(200, 'n') + number + '"';
    case 5:
        return "\"\\u006e" + number + '"';
    case 6:
        return '"' + std::string(known[index % known.size()]) + '"';
    case 7:
        return "\"n" + std::to_string(index % 7) + '"';
    case 8:
        return '"' + std::to_string(1'000'000 - index) + '"';
    case 9:
        return "\"\xc3\xa9" + number + '"';
    case 10:
        return "\"\"";
    case 11:
        return "\"n_" + number + "_id\"";
    default:
        return "\"n" + number + '"';
    }
}

std::string seeded_shape::id(std::string_view what, std::size_t index) const {
    const std::string key(what);
    const std::string number = std::to_string(index);
    switch (pick(key + ".id", 12)) {
    case 0:
        return "\"same\"";
    case 1:
        return '"' + std::string(1, static_cast<char>('a' + index % 5)) + '"';
    case 2:
        return '"' + hash_name(index) + '"';
    case 3:
        return "\"\"";
    case 4:
        return '"' + std::string(100, 'i') + number + '"';
    case 5:
        return "\"" + std::to_string(1'000'000 - index) + '"';
    case 6:
        return "null";
    case 7:
        return '"' + digest_name(index) + '"';
    default:
        return "\"id" + number + '"';
    }
}

std::string seeded_shape::number(std::string_view what, std::size_t index) const {
    const std::string key(what);
    const std::size_t kind = pick(key + ".number", numbers.size() + 3);
    if (kind < numbers.size()) {
        return std::string(numbers[kind]);
    }
    return kind == numbers.size() ? std::to_string(1'000'000 - index) : std::to_string(index);
}

std::string seeded_shape::nested(std::string_view what, std::size_t bytes) const {
    constexpr std::array<std::size_t, 8> depths{2, 8, 20, 30, 60, 120, 250, 100'000};
    const std::string key(what);
    const std::size_t depth = depths[pick(key + ".depth", depths.size())];
    const bool is_object = chance(key + ".objects", 2);
    const std::string_view open = is_object ? "{\"a\":" : "[";
    const std::string_view shut = is_object ? "}" : "]";
    const std::size_t levels = std::min(depth, bytes / (open.size() + shut.size()) + 1);
    std::string one = repeated(open, levels * open.size()) + (is_object ? "0" : "") +
                      repeated(shut, levels * shut.size());
    if (one.size() * 2 > bytes) {
        return one;
    }
    std::string all = "[" + one;
    while (all.size() + one.size() < bytes) {
        all += "," + one;
    }
    return all + "]";
}

std::string seeded_shape::object(std::string_view what, std::size_t bytes) const {
    const std::string key(what);
    const std::string_view filling =
        pick(key + ".filling", {"0", "null", "{}", "[]", "\"\"", "true"});
    std::string all = "{";
    const std::size_t most = elements(key, bytes);
    for (std::size_t i = 0; i < most && all.size() < bytes; ++i) {
        all += (i == 0 ? "" : ",") + name(key, i) + ":";
        all += most < 1000 ? value(key + ".m", bytes / most) : std::string(filling);
    }
    return all + "}";
}

std::string seeded_shape::array(std::string_view what, std::size_t bytes) const {
    const std::string key(what);
    const std::size_t kind = pick(key + ".items", 8);
    std::string all = "[";
    for (std::size_t i = 0; all.size() < bytes; ++i) {
        all += i == 0 ? "" : ",";
        switch (kind) {
        case 0:
            all += "{}";
            break;
        case 1:
            all += "[]";
            break;
        case 2:
            all += "\"\"";
            break;
        case 3:
            all += text(key + ".e", 8);
            break;
        case 4:
            all += "{" + name(key, i) + ":0}";
            break;
        case 5:
            all += R"({"type":"text","text":")" + std::to_string(i) + "\"}";
            break;
        default:
            all += number(key, i);
        }
    }
    return all + "]";
}

std::string seeded_shape::value(std::string_view what, std::size_t bytes) const {
    const std::string key(what);
    // Members within members end at some level, because the names of their places grow.
    const bool is_deep = key.size() > 60;
    switch (is_deep ? 3 : pick(key + ".value", 12)) {
    case 0:
        return nested(key, bytes);
    case 1:
    case 2:
    case 4:
        return object(key, bytes);
    case 3:
        return text(key, bytes);
    case 5:
        return repeated("1234567890", bytes) + (chance(key + ".real", 2) ? ".5" : "");
    case 6:
        return "1e" + repeated("0", bytes) + "1";
    case 7:
        return quoted(array(key, bytes / 2), 1 + pick(key + ".encoded", 4));
    case 8: // Not closed.
        return "[" + repeated("{\"a\":[", bytes);
    default:
        return array(key, bytes);
    }
}

} // namespace agui::test
