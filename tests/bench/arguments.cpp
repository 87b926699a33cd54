#include "tests/bench/arguments.hpp"

#include <algorithm>
#include <charconv>

namespace agui::bench {

arguments::arguments(int argc, char** argv, std::initializer_list<std::string_view> known) {
    for (int i = 1; i < argc; i += 2) {
        const std::string_view name = argv[i];
        if (!name.starts_with("--") || std::find(known.begin(), known.end(), name) == known.end()) {
            throw usage_error("unknown option " + std::string(name));
        }
        if (i + 1 == argc) {
            throw usage_error("option " + std::string(name) + " needs a value");
        }
        values_[std::string(name)] = argv[i + 1];
    }
}

std::string arguments::text(std::string_view name, std::string_view fallback) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::string(fallback) : found->second;
}

std::int64_t
arguments::number(std::string_view name, std::int64_t fallback, number_range allowed) const {
    const auto found = values_.find(name);
    if (found == values_.end()) {
        return fallback;
    }
    const std::string& given = found->second;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
    if (error != std::errc() || end != given.data() + given.size() || value < allowed.lowest ||
        value > allowed.highest) {
        throw usage_error(
            "option " + std::string(name) + " must be a number from " +
            std::to_string(allowed.lowest) + " to " + std::to_string(allowed.highest)
        );
    }
    return value;
}

} // namespace agui::bench
