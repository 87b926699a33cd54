#pragma once

#include "runner/base/model_provider.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace agui::runner {

// Members of a Chat Completions answer, read as the compatible servers write them.

/// An integer, also as a double that is one; nothing for anything else, and for null.
[[nodiscard]] std::optional<std::int64_t> integer_of(const boost::json::value* member) noexcept;

/// What a `finish_reason` says.
enum class finish_class {
    stop,
    tool_calls,
    length,         ///< A limit: of the request, of the model, of the server.
    content_filter, ///< A filter, or the provider's rules.
    failed,         ///< The server could not go on.
    unknown,        ///< A name that is not in the table.
};

/// Names are compared without regard to case. The servers that send each: openai_fields.cpp.
[[nodiscard]] finish_class classify_finish_reason(std::string_view name);

/// True for what servers put into `error` when there is none.
[[nodiscard]] bool says_nothing(const boost::json::value& error) noexcept;

/// What an error object says; for the log, at most error_text_max bytes.
[[nodiscard]] std::string error_text(const boost::json::value& error);

/// Nothing if it counts nothing.
[[nodiscard]] std::optional<token_usage>
read_usage(const boost::json::object& source, std::string_view provider, std::string_view model);

/// `reasoning_details` as it must be sent back: the pieces that were streamed, those of one block
/// joined.
class reasoning_details {
public:
    /// The array of one chunk. What would make more than a megabyte of all of them, or cannot be
    /// written again (an infinite number), is dropped, with all that was kept: a part of a signed
    /// block is refused.
    void add(const boost::json::array& pieces);
    [[nodiscard]] const boost::json::array& blocks() const noexcept { return blocks_; }

private:
    void add(const boost::json::object& piece);

    boost::json::array blocks_;
    std::size_t bytes_ = 0;
    bool dropped_ = false;
};

} // namespace agui::runner
