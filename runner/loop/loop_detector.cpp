#include "runner/loop/loop_detector.hpp"

#include "runner/base/json_blanks.hpp"
#include "session/base/finite_json.hpp"
#include "session/base/keyed_hash.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace agui::runner {

namespace {

namespace json = boost::json;

// Longer arguments are compared as text: reading and writing them again would cost more than the
// call itself, and a model that repeats them repeats their bytes.
constexpr std::size_t compared_bytes_max = 16U << 10U;

// The number as an integer if it is whole and has at most 64 bits.
json::value normal_number(double number) {
    constexpr double end = 9223372036854775808.0; // 2^63, which a double holds exactly.
    if (number == std::trunc(number) && number >= -end && number < 2 * end) {
        return number < end ? json::value(static_cast<std::int64_t>(number))
                            : json::value(static_cast<std::uint64_t>(number));
    }
    return number;
}

// Its recursion is bounded by the depth that parse_arguments() accepts.
json::value normal(json::value value) {
    if (const double* const number = value.if_double()) {
        return normal_number(*number);
    }
    if (auto* const list = value.if_array()) {
        for (json::value& each : *list) {
            each = normal(std::move(each));
        }
    } else if (auto* const object = value.if_object()) {
        std::vector<std::pair<std::string_view, json::value*>> members;
        members.reserve(object->size());
        for (auto& member : *object) {
            members.emplace_back(member.key(), &member.value());
        }
        std::ranges::sort(members, {}, &std::pair<std::string_view, json::value*>::first);
        json::object ordered;
        ordered.reserve(members.size());
        for (const auto& [key, member] : members) {
            ordered.emplace(key, normal(std::move(*member)));
        }
        return ordered;
    }
    return value;
}

std::string canonical(std::string_view arguments) {
    if (is_json_blank(arguments)) {
        return "{}";
    }
    auto parsed =
        arguments.size() <= compared_bytes_max ? session::parse_arguments(arguments) : std::nullopt;
    return parsed ? json::serialize(normal(*std::move(parsed))) : std::string(arguments);
}

} // namespace

std::vector<std::optional<found_loop>> loop_detector::add(const std::vector<call>& answer) {
    std::map<std::size_t, std::optional<found_loop>> distinct; // By hash, in an order of its own.
    std::vector<std::size_t> hashes;
    for (const call& each : answer) {
        std::string text(each.tool);
        text += '\0'; // Occurs in no name.
        text += canonical(each.arguments);
        hashes.push_back(keyed_hash(text));
        distinct.try_emplace(hashes.back());
    }
    for (auto& [hash, found] : distinct) {
        found = add_hash(hash);
    }
    std::vector<std::optional<found_loop>> loops;
    for (std::size_t i = 0; i < answer.size(); ++i) {
        loops.push_back(distinct.at(hashes[i]));
        if (loops.back()) {
            loops.back()->tool = answer[i].tool;
        }
    }
    return loops;
}

std::optional<found_loop> loop_detector::add_hash(std::size_t hash) {
    calls_.push_back(hash);
    if (calls_.size() > memory()) {
        calls_.erase(calls_.begin());
    }
    for (std::size_t period = 1; period <= max_period; ++period) {
        const std::size_t repeats = repeats_of(period);
        if (repeats >= threshold_) {
            return found_loop{{}, period, repeats};
        }
    }
    return std::nullopt;
}

// How often the last `period` calls have occurred in a row, as far as they are remembered.
std::size_t loop_detector::repeats_of(std::size_t period) const noexcept {
    if (calls_.size() < period) {
        return 0;
    }
    std::size_t equal = 0; // Number of calls, from the end, that equal the call one period earlier.
    while (equal + period < calls_.size() &&
           calls_[calls_.size() - 1 - equal] == calls_[calls_.size() - 1 - equal - period]) {
        ++equal;
    }
    return 1 + equal / period;
}

std::string loop_warning(const found_loop& found) {
    const std::string times = std::to_string(found.repeats);
    const std::string what =
        found.period == 1
            ? "this tool was called " + times + " times in a row with the same arguments"
            : "the same " + std::to_string(found.period) + " calls were made " + times +
                  " times in a row";
    return "Warning: " + what +
           ". Calling it again will not help: use the result, or try something else.";
}

void prepend(session::content& result, std::string_view warning) {
    if (auto* const text = std::get_if<std::string>(&result)) {
        *text = std::string(warning) + (text->empty() ? "" : "\n\n") + *text;
        return;
    }
    auto& parts = std::get<json::array>(result);
    parts.insert(parts.begin(), json::object{{"type", "text"}, {"text", warning}});
}

} // namespace agui::runner
