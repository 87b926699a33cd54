#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace agui::gateway {

/// A request to a Chat Completions server, as the model of `--demo` reads it.
struct demo_request {
    boost::json::object fields;
    boost::json::array messages; ///< Objects; not empty.

    [[nodiscard]] const boost::json::object& last() const { return messages.back().get_object(); }

    /// True if the last message is a user's and follows the result of a call, so it came while the
    /// call was executed.
    [[nodiscard]] bool is_steered() const;
    [[nodiscard]] bool offers(std::string_view tool) const;
    /// The texts of the open items of the list, as in the newest state document that the model was
    /// told.
    [[nodiscard]] boost::json::array open_items() const;
};

/// nullopt if the body is not such a request.
[[nodiscard]] std::optional<demo_request> read_demo_request(std::string_view body);

/// The text of a message.
[[nodiscard]] std::string text_of(const boost::json::object& message);

/// The user's own words, without the state document that the gateway put in front of them.
[[nodiscard]] std::string words_of(const boost::json::object& message);

} // namespace agui::gateway
