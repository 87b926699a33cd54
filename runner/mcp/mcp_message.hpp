#pragma once

#include "session/base/memory_budget.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// A message from an MCP server (JSON-RPC 2.0, as MCP restricts it). A member that is null counts
/// as absent.
struct mcp_message {
    enum class kind {
        request,
        notification,
        result,    ///< An answer.
        error,     ///< An answer that says why there is no result.
        malformed, ///< An answer with an id, but without a result or an error that MCP allows.
        too_large, ///< An answer that the memory budget has no room for.
    };
    kind what = kind::notification;
    boost::json::value id = {}; ///< request: a string or an integer, which is sent back as it is.
    /// result, error, malformed, too_large: the id of our request. nullopt: it is not an id of
    /// ours.
    std::optional<std::int64_t> answered = {};
    std::string method = {};
    boost::json::object body = {}; ///< The params (empty if there are none) or the result.
    std::int64_t code = 0;         ///< error: its code.
    std::string text = {};         ///< error: its text.
};

struct mcp_messages {
    std::vector<mcp_message> messages;
    std::size_t ignored = 0; ///< How many parts are no messages.
};

/// The id of a request of ours, which some servers send back as a text, or as a real number.
/// nullopt: it is none.
[[nodiscard]] std::optional<std::int64_t> read_mcp_id(const boost::json::value& id);

/// Reads one message, or a batch of them. What is no message is counted, but is no error: a server
/// may print anything. Text that is not well-formed Unicode gets U+FFFD. `budget` counts the
/// messages for as long as they live; it may be null.
[[nodiscard]] mcp_messages
read_mcp_messages(std::string_view text, memory_budget* budget = nullptr);

[[nodiscard]] std::string
write_mcp_request(std::int64_t id, std::string_view method, boost::json::object params);
/// The message has no params if they are empty.
[[nodiscard]] std::string
write_mcp_notification(std::string_view method, const boost::json::object& params);
[[nodiscard]] std::string
write_mcp_result(const boost::json::value& id, const boost::json::object& result);
[[nodiscard]] std::string
write_mcp_error(const boost::json::value& id, std::int64_t code, std::string_view text);

} // namespace agui::runner
