#include "session/base/stored_json.hpp"

#include "session/base/json_events.hpp"
#include "session/base/parse_json.hpp"

#include <cstdint>
#include <limits>
#include <string>

namespace agui::session {

namespace json = boost::json;

namespace {

// The depth: a request may have 1024, and a message adds some.
constexpr json_limits stored_limits{.max_depth = 2000, .any_bytes = true};

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

result<json::value> parse_stored(std::string_view text) { return parse_json(text, stored_limits); }

result<json_text> read_stored_text(std::string_view text) {
    json_event_reader<nothing_built> reader(stored_limits);
    if (const boost::system::error_code ec = reader.read(text)) {
        return failure{errc::invalid_json, ec.message()};
    }
    return json_text(std::string(text));
}

} // namespace agui::session
