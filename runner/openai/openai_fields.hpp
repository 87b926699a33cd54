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

/// The meaning of a `finish_reason`.
enum class finish_class {
    stop,
    tool_calls,
    length,         ///< A limit of the request, of the model or of the server.
    content_filter, ///< A filter or a rule of the provider.
    failed,         ///< The server failed.
    unknown,        ///< The name is not in the table.
};

/// Ignores case. openai_fields.cpp lists the servers that send each name.
[[nodiscard]] finish_class classify_finish_reason(std::string_view name);

/// True for values that servers put into `error` although there is no error.
[[nodiscard]] bool says_nothing(const boost::json::value& error) noexcept;

/// The text of an error object, for the log, at most error_text_max bytes.
[[nodiscard]] std::string error_text(const boost::json::value& error);

/// The counts of an answer, under any of the servers' names for them (openai_fields.cpp); nullopt
/// if it has none.
[[nodiscard]] std::optional<token_usage>
read_usage(const boost::json::object& source, std::string_view provider, std::string_view model);

/// Takes the counts that `usage` lacks from an earlier report of the same answer.
void keep_counts(token_usage& usage, const token_usage& earlier);

/// Collects `reasoning_details` as they must be sent back: the streamed pieces of each block are
/// joined.
class reasoning_details {
public:
    /// Adds the array of one chunk. If the total would exceed a megabyte, or a piece cannot be
    /// written again (an infinite number), all pieces are dropped, because servers refuse a part of
    /// a signed block.
    void add(const boost::json::array& pieces);
    [[nodiscard]] const boost::json::array& blocks() const noexcept { return blocks_; }

private:
    void add(const boost::json::object& piece);

    boost::json::array blocks_;
    std::size_t bytes_ = 0;
    bool dropped_ = false;
};

} // namespace agui::runner
