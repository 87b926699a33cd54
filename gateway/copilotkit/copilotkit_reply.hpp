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

/// A refusal of another route in the form of copilotkit_error(): its code and its message. Other
/// replies stay as they are.
[[nodiscard]] http_reply as_copilotkit_error(http_reply reply);

} // namespace agui::gateway
