#include "session/store/stored_messages.hpp"

#include "session/base/json_events.hpp"
#include "session/base/stored_json.hpp"
#include "session/conversation/message_json.hpp"
#include "session/conversation/run_segment.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <optional>
#include <string>
#include <utility>

namespace agui::session {

namespace json = boost::json;

namespace {

// Takes the members of a message that has only texts, as nearly all have, and refuses any other.
class plain_members : public unread_json {
public:
    std::optional<std::string> id;
    std::optional<std::string> role;
    std::optional<std::string> content;
    std::optional<std::string> name;
    std::optional<std::string> tool_call_id;

    bool on_object_begin(error_code& ec) { return !std::exchange(is_open_, true) || refuse(ec); }
    bool on_array_begin(error_code& ec) { return refuse(ec); }
    bool on_key_part(text_view, std::size_t, error_code& ec) { return refuse(ec); }
    bool on_key(text_view key, std::size_t, error_code& ec) {
        member_ = member(key);
        if (member_ == nullptr || member_->has_value()) {
            return refuse(ec);
        }
        member_->emplace();
        return true;
    }
    bool on_string_part(text_view text, std::size_t, error_code& ec) { return add(text, ec); }
    bool on_string(text_view text, std::size_t, error_code& ec) { return add(text, ec); }
    bool on_number_part(text_view, error_code& ec) { return refuse(ec); }
    bool on_int64(std::int64_t, text_view, error_code& ec) { return refuse(ec); }
    bool on_uint64(std::uint64_t, text_view, error_code& ec) { return refuse(ec); }
    bool on_double(double, text_view, error_code& ec) { return refuse(ec); }
    bool on_bool(bool, error_code& ec) { return refuse(ec); }
    bool on_null(error_code& ec) { return refuse(ec); }

private:
    static bool refuse(error_code& ec) {
        ec = json::error::syntax;
        return false;
    }
    std::optional<std::string>* member(std::string_view key) {
        if (key == "id") {
            return &id;
        }
        if (key == "role") {
            return &role;
        }
        if (key == "content") {
            return &content;
        }
        if (key == "name") {
            return &name;
        }
        return key == "toolCallId" ? &tool_call_id : nullptr;
    }
    bool add(text_view text, error_code& ec) {
        if (member_ == nullptr) { // The text is no object.
            return refuse(ec);
        }
        (*member_)->append(text.data(), text.size());
        return true;
    }

    bool is_open_ = false;
    std::optional<std::string>* member_ = nullptr;
};

// The same as message_from_stored_json() for a message that has only texts; false for others. A
// long thread has thousands of them, and reading is most of what loading it takes.
bool read_plain_message(std::string_view text, message& to) {
    json_event_reader<plain_members> reader(stored_limits);
    if (reader.read(text)) {
        return false;
    }
    plain_members& read = reader.handler();
    const std::optional<role> known = read.role ? role_from_string(*read.role) : std::nullopt;
    const bool is_result = known == role::tool;
    const bool has_call = read.tool_call_id && !read.tool_call_id->empty();
    if (!known || known == role::activity || is_result != read.tool_call_id.has_value() ||
        is_result != has_call) {
        return false;
    }
    to.id = std::move(read.id).value_or(std::string());
    to.role = *known;
    to.content = std::move(read.content).value_or(std::string());
    to.name = std::move(read.name);
    to.tool_call_id = std::move(read.tool_call_id).value_or(std::string());
    return true;
}

} // namespace

bool read_stored_message(
    std::string_view text, const thread_key& thread, std::size_t number, message& to,
    agui::logger& log
) {
    if (read_plain_message(text, to)) {
        return true;
    }
    const result<json::value> value = parse_stored(text);
    result<message> read =
        value ? message_from_stored_json(*value) : result<message>(value.error());
    if (read) {
        to = std::move(*read);
        return true;
    }
    to.role = role::activity;
    log.log(
        log_level::warning, "left out a stored message that cannot be read",
        {{"thread", thread.thread_id},
         {"message", std::to_string(number)},
         {"reason", read.error().detail}}
    );
    return false;
}

stored_request::stored_request(queued_request given) : request(std::move(given)) {
    bytes = bytes_of(request);
    json::array all;
    for (const message& each : request.messages) {
        all.emplace_back(to_stored_json(each));
    }
    messages = json::serialize(all);
    request.messages.clear();
}

void read_queued_messages(std::string_view text, queued_request& to, agui::logger& log) {
    const auto leave_out = [&](const failure& reason) {
        log.log(
            log_level::warning, "left out a queued message that cannot be read",
            {{"run", client_run_id(to.run_id)}, {"reason", reason.detail}}
        );
    };
    const result<json::value> parsed = parse_stored(text);
    if (!parsed || !parsed->is_array()) {
        leave_out(parsed ? failure{errc::invalid_json, "is not an array"} : parsed.error());
        return;
    }
    for (const json::value& each : parsed->get_array()) {
        if (result<message> given = message_from_stored_json(each)) {
            to.messages.push_back(std::move(*given));
        } else {
            leave_out(given.error());
        }
    }
}

} // namespace agui::session
