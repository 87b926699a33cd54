#include "runner/base/json_scratch.hpp"

#include "runner/base/json_escapes.hpp"
#include "session/base/parse_json.hpp"

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/storage_ptr.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string>

namespace agui::runner {

namespace {

// A chunk from a model server has a few hundred bytes and takes about three times as much when
// parsed. Larger values are allocated, and freed before the next parse.
constexpr std::size_t scratch_bytes = 16U << 10U;

// More than any answer of any dialect needs, and few enough for recursive functions.
constexpr std::size_t depth_max = 64;
constexpr json_limits limits{.max_depth = depth_max};
constexpr json_limits torn_limits{.max_depth = depth_max, .any_bytes = true};

struct scratch {
    std::array<unsigned char, scratch_bytes> buffer;
    // Created anew for each parse: release() would keep the doubled size of the next overflow
    // block, so successive large texts would allocate more and more.
    std::optional<boost::json::monotonic_resource> memory;
    json_parser parser{limits};
    std::optional<boost::json::value> value;

    void clear() {
        value.reset();
        memory.emplace(buffer.data(), buffer.size());
    }

    bool parse(json_parser& with, std::string_view text) {
        clear();
        if (auto parsed = with.parse(text, &*memory)) {
            value.emplace(std::move(*parsed));
        }
        return value.has_value();
    }
};

scratch& here() {
    thread_local scratch mine;
    return mine;
}

/// The text in which the escape of each unpaired surrogate, which no parser accepts, is replaced by
/// the three bytes of its number.
std::string with_halves_as_bytes(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const std::optional<unsigned> unit = escape_at(text, at);
        const std::optional<unsigned> next = unit ? escape_at(text, at + 6) : std::nullopt;
        if (unit && is_high_surrogate(*unit) && next && is_low_surrogate(*next)) {
            out.append(text.substr(at, 12));
            at += 12;
        } else if (unit && (is_high_surrogate(*unit) || is_low_surrogate(*unit))) {
            out.push_back(static_cast<char>(0xE0U | *unit >> 12U));
            out.push_back(static_cast<char>(0x80U | (*unit >> 6U & 0x3FU)));
            out.push_back(static_cast<char>(0x80U | (*unit & 0x3FU)));
            at += 6;
        } else {
            // Skips an escape as a whole: the second backslash of a pair starts no escape.
            const std::size_t length = text[at] == '\\' && at + 1 < text.size() ? 2 : 1;
            out.append(text.substr(at, length));
            at += length;
        }
    }
    return out;
}

} // namespace

parsed_json parse_json_scratch(std::string_view text) {
    scratch& mine = here();
    if (mine.parse(mine.parser, text)) {
        return {&*mine.value, false};
    }
    json_parser lenient(torn_limits);
    if (mine.parse(lenient, with_halves_as_bytes(text))) {
        return {&*mine.value, true};
    }
    return {};
}

parsed_large_json parse_large_json(std::string_view text, memory_budget* budget) {
    json_limits counted = limits;
    counted.budget = budget;
    parsed_large_json parsed;
    result<boost::json::value> value = parse_json(text, counted);
    if (!value && value.error().code != errc::overloaded) {
        counted.any_bytes = true;
        value = parse_json(with_halves_as_bytes(text), counted);
        parsed.torn = value.has_value();
    }
    if (value) {
        parsed.value.emplace(std::move(*value));
    } else {
        parsed.no_memory = value.error().code == errc::overloaded;
    }
    return parsed;
}

void drop_json_scratch() { here().clear(); }

} // namespace agui::runner
