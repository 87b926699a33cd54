#include "gateway/copilotkit/copilotkit_reply.hpp"

#include "gateway/http/http_error.hpp"
#include "session/base/parse_json.hpp"

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <string>
#include <utility>

namespace agui::gateway {
namespace json = boost::json;

namespace {

constexpr int first_error_status = 400;

std::string_view text_member(const json::object& object, std::string_view name) {
    const json::value* const found = object.if_contains(name);
    return found != nullptr && found->is_string() ? std::string_view(found->get_string())
                                                  : std::string_view();
}

/// The reference server has texts in place of these two codes.
std::string_view error_text(std::string_view code) noexcept {
    if (code == "not_found") {
        return "Not found";
    }
    return code == "method_not_allowed" ? "Method not allowed" : code;
}

} // namespace

http_reply copilotkit_reply(const json::object& body) {
    http_reply reply;
    reply.body = json::serialize(body);
    return reply;
}

http_reply copilotkit_error(int status, std::string_view error, std::string_view message) {
    json::object body{{"error", error}};
    if (!message.empty()) {
        body["message"] = message;
    }
    http_reply reply = copilotkit_reply(body);
    reply.status = status;
    return reply;
}

http_reply copilotkit_no_room() {
    return to_reply(failure{errc::overloaded, "there is not enough memory: try again later", {}, {}}
    );
}

http_reply as_copilotkit_error(http_reply reply) {
    if (reply.status < first_error_status) {
        return reply;
    }
    const auto read = parse_json(reply.body);
    const json::object* const body = read ? read->if_object() : nullptr;
    const json::value* const error = body == nullptr ? nullptr : body->if_contains("error");
    if (error == nullptr || !error->is_object()) {
        return reply;
    }
    const json::object& about = error->get_object();
    const std::string_view path = text_member(about, "path");
    std::string message(path);
    message.append(path.empty() ? "" : ": ").append(text_member(about, "message"));
    const std::string_view code = error_text(text_member(about, "code"));
    reply.body = copilotkit_error(reply.status, code, message).body;
    return reply;
}

} // namespace agui::gateway
