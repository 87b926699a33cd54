#include "session/base/stored_json.hpp"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parse.hpp>

#include <cstdint>
#include <limits>
#include <string>

namespace agui::session {

namespace json = boost::json;

namespace {

json::parse_options options_of_stored() {
    json::parse_options options;
    options.allow_invalid_utf8 = true;
    options.max_depth = 2000; // A request may have 1024, and a message adds some.
    return options;
}

// A parser handler that builds nothing: the text is only validated.
struct nothing_built {
    using text_view = json::string_view;
    using error_code = json::error_code;

    static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
    static constexpr std::size_t max_array_size = std::numeric_limits<std::size_t>::max();
    static constexpr std::size_t max_key_size = std::numeric_limits<std::size_t>::max();
    static constexpr std::size_t max_string_size = std::numeric_limits<std::size_t>::max();

    bool on_document_begin(error_code&) { return true; }
    bool on_document_end(error_code&) { return true; }
    bool on_object_begin(error_code&) { return true; }
    bool on_object_end(std::size_t, error_code&) { return true; }
    bool on_array_begin(error_code&) { return true; }
    bool on_array_end(std::size_t, error_code&) { return true; }
    bool on_key_part(text_view, std::size_t, error_code&) { return true; }
    bool on_key(text_view, std::size_t, error_code&) { return true; }
    bool on_string_part(text_view, std::size_t, error_code&) { return true; }
    bool on_string(text_view, std::size_t, error_code&) { return true; }
    bool on_number_part(text_view, error_code&) { return true; }
    bool on_int64(std::int64_t, text_view, error_code&) { return true; }
    bool on_uint64(std::uint64_t, text_view, error_code&) { return true; }
    bool on_double(double, text_view, error_code&) { return true; }
    bool on_bool(bool, error_code&) { return true; }
    bool on_null(error_code&) { return true; }
    bool on_comment_part(text_view, error_code&) { return true; }
    bool on_comment(text_view, error_code&) { return true; }
};

} // namespace

result<json::value> parse_stored(std::string_view text) {
    boost::system::error_code ec;
    json::value value = json::parse(text, ec, {}, options_of_stored());
    if (ec) {
        return failure{errc::invalid_json, ec.message()};
    }
    return value;
}

result<json_text> read_stored_text(std::string_view text) {
    json::basic_parser<nothing_built> parser(options_of_stored());
    boost::system::error_code ec;
    const std::size_t read = parser.write_some(false, text.data(), text.size(), ec);
    if (!ec && read < text.size()) {
        ec = json::error::extra_data;
    }
    if (ec) {
        return failure{errc::invalid_json, ec.message()};
    }
    return json_text(std::string(text));
}

} // namespace agui::session
