#include "runner/mcp/mcp_message.hpp"

#include "runner/base/json_escapes.hpp"
#include "runner/base/json_members.hpp"
#include "runner/mcp/mcp_limits.hpp"
#include "session/base/finite_json.hpp"
#include "session/base/heavy_work.hpp"
#include "session/base/json_events.hpp"
#include "session/base/json_member.hpp"
#include "session/base/json_memory.hpp"
#include "session/base/parse_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <charconv>
#include <utility>

namespace agui::runner {

namespace json = boost::json;

namespace {

constexpr std::string_view version = "2.0";

// Below this limit, a double holds every integer.
constexpr double double_exact_max = 9'007'199'254'740'992.0;

bool is_id(const json::value& value) noexcept {
    return value.is_string() || value.is_int64() || value.is_uint64();
}

/// The member, or null if it is absent or null: some serializers write absent members as null.
json::value* present(json::object& message, std::string_view key) {
    json::value* const member = message.if_contains(key);
    return member == nullptr || member->is_null() ? nullptr : member;
}

/// Constructs the message with the body: an assignment would copy it into other memory.
mcp_message with_body(json::object& body) { return {.body = std::move(body)}; }

std::optional<mcp_message> read_call(json::object& message, const json::value& method) {
    if (!method.is_string() || !session::check_protocol_object(message)) {
        return std::nullopt;
    }
    // In MCP, params always have named members; other params count as absent.
    json::value* const params = present(message, "params");
    mcp_message read =
        params != nullptr && params->is_object() ? with_body(params->get_object()) : mcp_message();
    read.method = text_of(&method);
    if (const json::value* const id = present(message, "id")) {
        if (!is_id(*id)) {
            return std::nullopt;
        }
        read.what = mcp_message::kind::request;
        read.id = *id;
    }
    return read;
}

void read_error(mcp_message& read, const json::value& error) {
    read.what = mcp_message::kind::error;
    const json::object* const members = error.if_object();
    if (members == nullptr || !session::check_protocol_object(*members)) {
        read.text = text_of(&error);
        return;
    }
    const json::value* const code = members->if_contains("code");
    if (code != nullptr && code->is_int64()) {
        read.code = code->get_int64();
    }
    read.text = string_in(*members, "message");
}

std::optional<mcp_message> read_answer(json::object& message) {
    const json::value* const id = present(message, "id");
    if (id == nullptr || !(is_id(*id) || read_mcp_id(*id))) {
        return std::nullopt; // An error without an id answers no request.
    }
    mcp_message read;
    read.what = mcp_message::kind::malformed;
    read.answered = read_mcp_id(*id);
    if (!session::is_finite(message) || !session::check_protocol_object(message)) {
        return read; // The message cannot be written again, or MCP does not define it.
    }
    if (const json::value* const error = present(message, "error")) {
        read_error(read, *error);
        return read;
    }
    json::value* const result = message.if_contains("result");
    if (result == nullptr) {
        return read;
    }
    if (json::object* const members = result->if_object()) {
        mcp_message whole = with_body(*members);
        whole.what = mcp_message::kind::result;
        whole.answered = read.answered;
        return whole;
    }
    if (result->is_null() || (result->is_array() && result->get_array().empty())) {
        read.what = mcp_message::kind::result; // PHP writes an empty object as an array.
    }
    return read;
}

std::optional<mcp_message> read_one(json::value& value) {
    json::object* const message = value.if_object();
    if (message == nullptr || string_in(*message, "jsonrpc") != version) {
        return std::nullopt;
    }
    const json::value* const method = present(*message, "method");
    return method != nullptr ? read_call(*message, *method) : read_answer(*message);
}

/// Finds the id of an answer without building it.
struct answer_id_finder : unread_json {
    std::optional<std::int64_t> id;
    bool is_call = false;

    bool on_object_begin(error_code&) { return begin(); }
    bool on_object_end(std::size_t, error_code&) { return end(); }
    bool on_array_begin(error_code&) { return begin(); }
    bool on_array_end(std::size_t, error_code&) { return end(); }
    bool on_key(text_view name, std::size_t, error_code&) {
        is_id_ = depth_ == 1 && name == "id";
        is_call = is_call || (depth_ == 1 && name == "method");
        return true;
    }
    bool on_string(text_view text, std::size_t, error_code&) { return value(text); }
    bool on_int64(std::int64_t number, text_view, error_code&) { return value(number); }
    bool on_double(double number, text_view, error_code&) { return value(number); }

private:
    bool begin() {
        ++depth_;
        return true;
    }
    bool end() {
        --depth_;
        return true;
    }
    template <class Value>
    bool value(const Value& found) {
        if (is_id_ && depth_ == 1) {
            id = read_mcp_id(found);
        }
        return true;
    }

    std::size_t depth_ = 0;
    bool is_id_ = false; ///< The last name at depth 1 was `id`.
};

/// Replaces the messages of a text that does not fit into memory.
mcp_messages without_memory(std::string_view text) {
    mcp_messages read;
    json_event_reader<answer_id_finder> reader(
        {.max_depth = mcp_message_depth_max, .any_bytes = true}
    );
    const bool is_json = !reader.read(text);
    const answer_id_finder& found = reader.handler();
    if (is_json && found.id && !found.is_call) {
        mcp_message answer;
        answer.what = mcp_message::kind::too_large;
        answer.answered = found.id;
        read.messages.push_back(std::move(answer));
    } else {
        read.ignored = 1;
    }
    return read;
}

json::object begin_message() { return {{"jsonrpc", json::string_view(version)}}; }

} // namespace

std::optional<std::int64_t> read_mcp_id(const json::value& id) {
    if (const std::int64_t* const number = id.if_int64()) {
        return *number;
    }
    std::int64_t number = 0;
    if (const double* const real = id.if_double()) { // Some languages have no other numbers: 1.0.
        number = *real > 0 && *real < double_exact_max ? static_cast<std::int64_t>(*real) : 0;
        return static_cast<double>(number) == *real ? std::optional(number) : std::nullopt;
    }
    const std::string_view text = text_of(&id);
    std::from_chars(text.data(), text.data() + text.size(), number);
    return !text.empty() && text == std::to_string(number) ? std::optional(number) : std::nullopt;
}

namespace {

mcp_messages read_all(std::string_view text, const json_limits& limits) {
    mcp_messages read;
    result<json::value> value = parse_json(text, limits);
    // A server that cuts a text in two must not cost the call its answer.
    if (!value && value.error().code != errc::overloaded) {
        const std::string mended = with_well_formed_text(text);
        if (mended != text) { // If equal, it would be refused once more.
            value = parse_json(mended, limits);
        }
    }
    if (!value && value.error().code == errc::overloaded) {
        return without_memory(text);
    }
    if (!value) {
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
    json::array* const batch = value->if_array();
    if (batch == nullptr) {
        add(*value);
    } else if (batch->empty() || batch->size() > mcp_batch_max) {
        read.ignored = 1;
    } else {
        for (const json::value& each : *batch) {
            // In its own memory, because each may go to another thread.
            json::value own(each, make_json_storage(limits.budget, limits.use));
            add(own);
        }
    }
    return read;
}

} // namespace

mcp_messages read_mcp_messages(std::string_view text, memory_budget* budget) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (text.starts_with(byte_order_mark)) {
        text.remove_prefix(byte_order_mark.size());
    }
    const json_limits limits{
        .max_depth = mcp_message_depth_max, .budget = budget, .use = use_of(text.size())
    };
    try {
        return read_all(text, limits);
    } catch (const memory_refused&) {
        return without_memory(text);
    }
}

std::string write_mcp_request(std::int64_t id, std::string_view method, json::object params) {
    json::object message = begin_message();
    message["id"] = id;
    message["method"] = method;
    message["params"] = std::move(params);
    return json::serialize(message);
}

std::string write_mcp_notification(std::string_view method, const json::object& params) {
    json::object message = begin_message();
    message["method"] = method;
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
    message["error"] = json::object{{"code", code}, {"message", text}};
    return json::serialize(message);
}

} // namespace agui::runner
