#include "runner/mcp/mcp_message.hpp"

#include "runner/base/json_members.hpp"
#include "runner/mcp/mcp_limits.hpp"
#include "session/base/finite_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <utility>

namespace agui::runner {

namespace json = boost::json;

namespace {

constexpr std::string_view version = "2.0";

bool is_id(const json::value& value) noexcept {
    return value.is_string() || value.is_int64() || value.is_uint64();
}

// In MCP, params and results always have named members.
std::optional<json::object> params_of(json::object& message) {
    json::value* const params = message.if_contains("params");
    if (params == nullptr) {
        return json::object{};
    }
    if (json::object* const members = params->if_object()) {
        return std::move(*members);
    }
    return std::nullopt;
}

std::optional<mcp_message> read_call(json::object& message, const json::value& method) {
    std::optional<json::object> params = params_of(message);
    if (!method.is_string() || !params) {
        return std::nullopt;
    }
    mcp_message read;
    read.method = text_of(&method);
    read.body = std::move(*params);
    if (const json::value* const id = message.if_contains("id")) {
        if (!is_id(*id)) {
            return std::nullopt;
        }
        read.what = mcp_message::kind::request;
        read.id = *id;
    }
    return read;
}

std::optional<mcp_message> read_answer(json::object& message) {
    const json::value* const id = message.if_contains("id");
    if (id == nullptr || !is_id(*id)) {
        return std::nullopt; // An error without an id belongs to no request.
    }
    mcp_message read;
    read.what = mcp_message::kind::malformed;
    if (const std::int64_t* const number = id->if_int64()) {
        read.answered = *number;
    }
    json::value* const result = message.if_contains("result");
    const json::value* const error = message.if_contains("error");
    if (result != nullptr && error == nullptr && result->is_object()) {
        read.what = mcp_message::kind::result;
        read.body = std::move(result->get_object());
    } else if (const json::object* const members = object_of(error); members && result == nullptr) {
        const json::value* const code = members->if_contains("code");
        const json::value* const text = members->if_contains("message");
        if (code != nullptr && code->is_int64() && text != nullptr && text->is_string()) {
            read.what = mcp_message::kind::error;
            read.code = code->get_int64();
            read.text = text_of(text);
        }
    }
    return read;
}

std::optional<mcp_message> read_one(json::value& value) {
    json::object* const message = value.if_object();
    if (message == nullptr || string_in(*message, "jsonrpc") != version) {
        return std::nullopt;
    }
    const json::value* const method = message->if_contains("method");
    return method != nullptr ? read_call(*message, *method) : read_answer(*message);
}

json::object begin_message() { return {{"jsonrpc", json::string_view(version)}}; }

json::string_view view(std::string_view text) noexcept { return {text.data(), text.size()}; }

} // namespace

mcp_messages read_mcp_messages(std::string_view text) {
    mcp_messages read;
    json::parse_options options;
    options.max_depth = mcp_message_depth_max;
    boost::system::error_code ec;
    json::value value = json::parse(view(text), ec, {}, options);
    if (ec || !session::is_finite(value)) {
        read.ignored = 1;
        return read;
    }
    const auto add = [&read](json::value& each) {
        if (std::optional<mcp_message> message = read_one(each)) {
            read.messages.push_back(std::move(*message));
        } else {
            ++read.ignored;
        }
    };
    json::array* const batch = value.if_array();
    if (batch == nullptr) {
        add(value);
    } else if (batch->empty() || batch->size() > mcp_batch_max) {
        read.ignored = 1;
    } else {
        for (json::value& each : *batch) {
            add(each);
        }
    }
    return read;
}

std::string
write_mcp_request(std::int64_t id, std::string_view method, const json::object& params) {
    json::object message = begin_message();
    message["id"] = id;
    message["method"] = view(method);
    message["params"] = params;
    return json::serialize(message);
}

std::string write_mcp_notification(std::string_view method, const json::object& params) {
    json::object message = begin_message();
    message["method"] = view(method);
    if (!params.empty()) {
        message["params"] = params;
    }
    return json::serialize(message);
}

std::string write_mcp_result(const json::value& id, const json::object& result) {
    json::object message = begin_message();
    message["id"] = id;
    message["result"] = result;
    return json::serialize(message);
}

std::string write_mcp_error(const json::value& id, std::int64_t code, std::string_view text) {
    json::object message = begin_message();
    message["id"] = id;
    message["error"] = json::object{{"code", code}, {"message", view(text)}};
    return json::serialize(message);
}

} // namespace agui::runner
