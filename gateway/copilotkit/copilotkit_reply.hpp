#pragma once

#include "gateway/http/http_message.hpp"

#include <boost/json/object.hpp>

#include <string_view>

namespace agui::gateway {

/// A JSON reply with status 200.
[[nodiscard]] http_reply copilotkit_reply(const boost::json::object& body);
/// `{"error": error, "message": message}`; without a message, the member is absent.
[[nodiscard]] http_reply
copilotkit_error(int status, std::string_view error, std::string_view message = {});

/// 503 for a request whose copies have no room in the memory budget.
[[nodiscard]] http_reply copilotkit_no_room();

/// A refusal in the form of to_reply() in that of copilotkit_error(): its code and its message.
/// Other replies stay as they are. The connection uses it for all replies below CopilotKit's path
/// (refusal_form), so handlers need not.
[[nodiscard]] http_reply as_copilotkit_error(http_reply reply);

} // namespace agui::gateway
