#pragma once

#include "session/base/error.hpp"
#include "session/base/memory_budget.hpp"

#include <boost/json/parser.hpp>
#include <boost/json/storage_ptr.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace agui {

// All JSON of the product is parsed by the functions here and in json_events.hpp. The objects hash
// their names with the key of the process (keyed_hash), so no choice of names makes them slow.

struct json_limits {
    std::size_t max_depth = 32;
    /// Strings may hold bytes that are not UTF-8.
    bool any_bytes = false;
    /// Counts the memory of the parser, and of the values for as long as they live. Nothing is
    /// counted if it is null. Must outlive the values.
    memory_budget* budget = nullptr;
    memory_use use = memory_use::ordinary;
};

[[nodiscard]] boost::json::parse_options parse_options_of(const json_limits& limits) noexcept;

/// The value of a JSON text. Takes time proportional to the length, whatever the content, and
/// memory of up to 25 times the length. Failures: invalid_json, also for a text that is nested too
/// deep; overloaded if the budget has no room.
[[nodiscard]] result<boost::json::value>
parse_json(std::string_view text, const json_limits& limits = {});

/// The text that a JSON string stands for; nullopt if it is not one.
[[nodiscard]] std::optional<std::string> parse_json_string(std::string_view quoted);

/// Parses one text after the other; keeps the memory of the parser in between, so that small texts
/// allocate nothing. Used by one thread at a time.
class json_parser {
public:
    /// The budget of `limits` is not used: the `memory` of each parse() counts.
    explicit json_parser(const json_limits& limits);

    /// Like parse_json(), with the value allocated in `memory`.
    [[nodiscard]] result<boost::json::value>
    parse(std::string_view text, boost::json::storage_ptr memory);

private:
    boost::json::parser parser_;
};

} // namespace agui
