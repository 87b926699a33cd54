#pragma once

#include "session/base/parse_json.hpp"

#include <boost/json/basic_parser_impl.hpp>

#include <string_view>
#include <utility>

namespace agui {

/// Reads a JSON text without building values: it tells a handler of boost::json::basic_parser what
/// the text holds.
template <class Handler>
class json_event_reader {
public:
    /// The budget of `limits` is not used: the handler counts what it keeps.
    template <class... Arguments>
    explicit json_event_reader(const json_limits& limits, Arguments&&... arguments)
        : parser_(parse_options_of(limits), std::forward<Arguments>(arguments)...) {}

    /// Reads the whole text; to be called once. An error: the text is not JSON, is nested too deep,
    /// or the handler has refused it. Passes on what the handler throws.
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
