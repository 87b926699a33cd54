#include "translator/agui/event_reader.hpp"

#include "session/base/parse_json.hpp"

#include <utility>

namespace agui::translator {

boost::json::object parse_event(std::string_view json) {
    result<boost::json::value> event = parse_json(json);
    return event && event->is_object() ? std::move(event->get_object()) : boost::json::object();
}

std::string_view string_member(const boost::json::object& event, std::string_view key) {
    const boost::json::value* found = event.if_contains(key);
    return found != nullptr && found->is_string() ? std::string_view(found->get_string())
                                                  : std::string_view();
}

} // namespace agui::translator
