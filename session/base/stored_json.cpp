#include "session/base/stored_json.hpp"

#include "session/base/json_events.hpp"

#include <string>
#include <utility>

namespace agui::session {

namespace json = boost::json;

result<json::value> parse_stored(std::string_view text) { return parse_json(text, stored_limits); }

result<json_text> read_stored_text(std::string_view text) {
    json_event_reader<unread_json> reader(stored_limits);
    if (const boost::system::error_code ec = reader.read(text)) {
        return failure{errc::invalid_json, ec.message()};
    }
    return json_text(std::string(text));
}

json_text stored_object(std::string_view text) {
    result<json_text> read = read_stored_text(text);
    const bool has_members = read && text.starts_with('{') && !read->is_empty_object();
    return has_members ? std::move(*read) : json_text();
}

} // namespace agui::session
