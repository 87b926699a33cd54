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

/// A message from an MCP server (JSON-RPC 2.0, as MCP restricts it). Null members count as absent.
struct mcp_message {
    enum class kind {
        request,
        notification,
        result,    ///< An answer.
        error,     ///< An answer without a result, with the reason.
        malformed, ///< An answer with an id, but without a result or an error that MCP allows.
        too_large, ///< The memory budget has no room for the answer.
    };
    kind what = kind::notification;
    /// For request: a string or an integer, which is sent back unchanged.
    boost::json::value id = {};
    /// For result, error, malformed and too_large: the id of our request; nullopt if the id is not
    /// ours.
    std::optional<std::int64_t> answered = {};
    std::string method = {};
    boost::json::object body = {}; ///< The params (may be empty) or the result.
    std::int64_t code = 0;         ///< For error: its code.
    std::string text = {};         ///< For error: its text.
};

struct mcp_messages {
    std::vector<mcp_message> messages;
    std::size_t ignored = 0; ///< Number of parts that are no messages.
};

/// The id of one of our requests, which some servers send back as a text or a real number; nullopt
/// if it is not our id.
[[nodiscard]] std::optional<std::int64_t> read_mcp_id(const boost::json::value& id);

/// Reads one message or a batch. Other texts are counted but are no error, because a server may
/// print anything. Ill-formed Unicode becomes U+FFFD. `budget`, which may be null, counts the
/// messages for as long as they live.
[[nodiscard]] mcp_messages
read_mcp_messages(std::string_view text, memory_budget* budget = nullptr);

[[nodiscard]] std::string
write_mcp_request(std::int64_t id, std::string_view method, boost::json::object params);
/// Empty params are not sent.
[[nodiscard]] std::string
write_mcp_notification(std::string_view method, const boost::json::object& params);
[[nodiscard]] std::string
write_mcp_result(const boost::json::value& id, const boost::json::object& result);
[[nodiscard]] std::string
write_mcp_error(const boost::json::value& id, std::int64_t code, std::string_view text);

} // namespace agui::runner
