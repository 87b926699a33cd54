#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <optional>
#include <string>
#include <string_view>

// Values of AG-UI in the form in which the AI SDK's UI messages hold them.
namespace agui::translator {

/// The member, if it is an object; null otherwise.
[[nodiscard]] const boost::json::object*
if_object_in(const boost::json::object& of, std::string_view key) noexcept;
/// The same for an array.
[[nodiscard]] const boost::json::array*
if_array_in(const boost::json::object& of, std::string_view key) noexcept;

/// A tool's result: the value of a JSON text that is an object, an array, a boolean, null or a
/// number that every client can hold; any other text stays a string.
[[nodiscard]] boost::json::value ui_output(std::string_view text);

/// The content of a tool message: a text as above; parts stay as they are.
[[nodiscard]] boost::json::value ui_output(const boost::json::value& content);

/// A model's arguments: no text is `{}`; nullopt if the text is not JSON.
[[nodiscard]] std::optional<boost::json::value> ui_input(std::string_view text);

/// The reason in a tool message that says that its call has no result: `{"error": REASON}`.
/// Otherwise the text itself.
[[nodiscard]] std::string ui_error(const boost::json::value& content);

/// True if the tool message with that id and content says that the call was not allowed.
[[nodiscard]] bool is_denial(const boost::json::object& tool_message, std::string_view call_id);

/// The id of the UI message that answers a user message: known before the model answers, and the
/// same whenever the conversation is read again.
[[nodiscard]] std::string answer_id(std::string_view user_message_id);

/// The text of a `url` or `data` source of an AG-UI part as the `url` of a file part; empty if it
/// has none.
[[nodiscard]] std::string file_url(const boost::json::object& source);

/// The `file` part for an activity that shows a picture or sound that a model made; nullopt for any
/// other activity, and for one without a link.
[[nodiscard]] std::optional<boost::json::object>
made_file(std::string_view activity_type, const boost::json::object& content);

} // namespace agui::translator
