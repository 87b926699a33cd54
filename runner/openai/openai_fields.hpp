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

// Reads members of a Chat Completions answer as compatible servers write them.

/// An integer, or a double with an integer value; nullopt for anything else, including null.
[[nodiscard]] std::optional<std::int64_t> integer_of(const boost::json::value* member) noexcept;

/// The meaning of a `finish_reason`.
enum class finish_class {
    stop,
    tool_calls,
    length,         ///< A limit: of the request, of the model, of the server.
    content_filter, ///< A filter, or the provider's rules.
    failed,         ///< The server failed.
    unknown,        ///< A name that is not in the table.
};

/// Names are compared without regard to case. The servers that send each: openai_fields.cpp.
[[nodiscard]] finish_class classify_finish_reason(std::string_view name);

/// True for values that servers put into `error` when there is no error.
[[nodiscard]] bool says_nothing(const boost::json::value& error) noexcept;

/// The text of an error object; for the log, at most error_text_max bytes.
[[nodiscard]] std::string error_text(const boost::json::value& error);

/// The counts of an answer, under any of the names that servers give them (openai_fields.cpp);
/// nullopt if it has none.
[[nodiscard]] std::optional<token_usage>
read_usage(const boost::json::object& source, std::string_view provider, std::string_view model);

/// Takes the counts that `usage` lacks from an earlier report of the same answer.
void keep_counts(token_usage& usage, const token_usage& earlier);

/// `reasoning_details` as it must be sent back: the streamed pieces, those of one block joined.
class reasoning_details {
public:
    /// Adds the array of one chunk. If all of them would exceed a megabyte, or one cannot be
    /// written again (an infinite number), everything is dropped: servers refuse a part of a signed
    /// block.
    void add(const boost::json::array& pieces);
    [[nodiscard]] const boost::json::array& blocks() const noexcept { return blocks_; }

private:
    void add(const boost::json::object& piece);

    boost::json::array blocks_;
    std::size_t bytes_ = 0;
    bool dropped_ = false;
};

} // namespace agui::runner
