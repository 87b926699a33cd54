#pragma once

#include "runner/base/model_provider.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace agui::runner {

// Reads members of an answer of the Responses dialect.

/// The meaning of `incomplete_details.reason`; nullopt if it is unknown.
[[nodiscard]] std::optional<finish_reason> read_incomplete_reason(std::string_view name) noexcept;

/// An error of a stream or of an answer.
struct responses_error {
    int status = 0;   ///< The HTTP status that stands for its code; 0 if the code is unknown.
    std::string text; ///< For the log, at most error_text_max bytes.
};

/// Reads an error, which is an object with a code and a message, or anything else.
[[nodiscard]] responses_error read_responses_error(const boost::json::value& error);

/// The counts of a `usage` member, which may be null; nullopt if it has none.
[[nodiscard]] std::optional<token_usage> read_responses_usage(
    const boost::json::object* usage, std::string_view provider, std::string_view model
);

} // namespace agui::runner
