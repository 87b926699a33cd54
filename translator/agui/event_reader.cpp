#include "translator/agui/event_reader.hpp"

#include "session/base/parse_json.hpp"

#include <utility>

namespace agui::translator {

boost::json::object parse_event(std::string_view json) {
    result<boost::json::value> event = parse_json(json);
    return event && event->is_object() ? std::move(event->get_object()) : boost::json::object();
}

} // namespace agui::translator
