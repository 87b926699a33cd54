#pragma once

#include "session/base/error.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::gateway {

/// The decoded parameters of a query string, in order.
class query_parameters {
public:
    explicit query_parameters(std::vector<std::pair<std::string, std::string>> all)
        : all_(std::move(all)) {}

    /// The first parameter with that name, or null.
    [[nodiscard]] const std::string* find(std::string_view name) const noexcept;

private:
    std::vector<std::pair<std::string, std::string>> all_;
};

/// Reads `a=1&b=x+y%20z` (application/x-www-form-urlencoded of the URL standard): `+` is a space.
/// errc::invalid_input: an escape is invalid, or there are more than 64 parameters.
[[nodiscard]] result<query_parameters> parse_query(std::string_view query);

/// Reads a number from the query; `value` does not change if the parameter is absent.
/// errc::invalid_input: it is no whole number, or higher than `highest`.
[[nodiscard]] result<void> read_number(
    const query_parameters& query, std::string_view name, std::uint64_t highest,
    std::uint64_t& value
);

/// The parameter `limit`, the number of entries on a page: 50 if it is absent. A number above 200
/// is reduced to that: a page may hold less than was asked for. errc::invalid_input: it is no whole
/// number of at least 1.
[[nodiscard]] result<std::size_t> read_page_limit(const query_parameters& query);

/// True if the query can be read and has the parameter, with or without a value.
[[nodiscard]] bool has_parameter(std::string_view query, std::string_view name);

} // namespace agui::gateway
