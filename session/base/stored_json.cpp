#include "session/base/stored_json.hpp"

#include <boost/json/parse.hpp>

namespace agui::session {

result<boost::json::value> parse_stored(std::string_view text) {
    boost::json::parse_options options;
    options.allow_invalid_utf8 = true;
    options.max_depth = 2000; // Of what a request may hold, 1024, and what a message adds.
    boost::system::error_code ec;
    boost::json::value value = boost::json::parse(text, ec, {}, options);
    if (ec) {
        return failure{errc::invalid_json, ec.message(), {}, {}};
    }
    return value;
}

} // namespace agui::session
