#include "session/store/stored_rows.hpp"

#include <utility>

namespace agui::session {

namespace json = boost::json;

json::array stored_array(std::string_view text) {
    result<json::value> read = parse_stored(text);
    return read && read->is_array() ? std::move(read->get_array()) : json::array();
}

json_text stored_document(std::string_view text) {
    result<json_text> read = read_stored_text(text);
    return read ? std::move(*read) : json_text();
}

json::object stored_data(std::string_view text) {
    result<json::value> read = parse_stored(text);
    return read && read->is_object() ? std::move(read->get_object()) : json::object();
}

} // namespace agui::session
