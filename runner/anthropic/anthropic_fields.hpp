#pragma once

#include "runner/base/model_provider.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace agui::runner {

// Reads members of an answer of the Messages dialect.

/// The meaning of a `stop_reason`; nullopt if it is unknown.
[[nodiscard]] std::optional<finish_reason> read_stop_reason(std::string_view name) noexcept;

/// The HTTP status that stands for the type of an error in a stream, such as 529 for
/// `overloaded_error`; 0 if the type is unknown.
[[nodiscard]] int status_of_error(std::string_view type) noexcept;

/// The type and text of the member `error`, for the log, at most error_text_max bytes.
[[nodiscard]] std::string stream_error_text(const boost::json::object& event);

/// Counts of an answer so far: `message_start` has the first ones, `message_delta` totals that
/// replace them, as far as it repeats them.
class anthropic_usage {
public:
    /// Takes the member `usage`, which may be null.
    void add(const boost::json::object* usage);
    /// The counts; nullopt if none came. Input includes the tokens that were read from the cache
    /// and written to it.
    [[nodiscard]] std::optional<token_usage>
    counts(std::string_view provider, std::string_view model) const;

private:
    std::optional<std::int64_t> uncached_;
    token_usage counts_;
};

} // namespace agui::runner
