#pragma once

#include "session/base/parse_json.hpp"

#include <boost/json/basic_parser_impl.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

namespace agui {

/// A handler that builds nothing: the text is only checked.
struct unread_json {
    using text_view = boost::json::string_view;
    using error_code = boost::json::error_code;

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

/// Reads a JSON text without building values: it reports the content to a handler of
/// boost::json::basic_parser.
template <class Handler>
class json_event_reader {
public:
    /// The budget of `limits` is not used: the handler counts the memory that it keeps.
    template <class... Arguments>
    explicit json_event_reader(const json_limits& limits, Arguments&&... arguments)
        : parser_(parse_options_of(limits), std::forward<Arguments>(arguments)...) {}

    /// Reads the whole text; to be called once. Returns an error if the text is not JSON, is nested
    /// too deep or was refused by the handler. Exceptions of the handler pass through.
    [[nodiscard]] boost::system::error_code read(std::string_view text) {
        boost::system::error_code ec;
        const std::size_t read = parser_.write_some(false, text.data(), text.size(), ec);
        if (!ec && read < text.size()) {
            ec = boost::json::error::extra_data;
        }
        return ec;
    }

    [[nodiscard]] Handler& handler() noexcept { return parser_.handler(); }

private:
    boost::json::basic_parser<Handler> parser_;
};

} // namespace agui
