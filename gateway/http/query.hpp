#pragma once

#include "session/base/error.hpp"

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

/// True if the query can be read and has the parameter, with or without a value.
[[nodiscard]] bool has_parameter(std::string_view query, std::string_view name);

} // namespace agui::gateway
