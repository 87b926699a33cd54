#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <string>
#include <string_view>

namespace agui::session {

/// A content part that is a text.
[[nodiscard]] inline boost::json::value text_part(std::string_view text) {
    return boost::json::object{{"type", "text"}, {"text", text}};
}

/// Applies `escape` to the text of a member, if there is one and it holds a `<`. `escape` gets a
/// std::string& and replaces each `<` by more characters, or leaves it.
template <class Escape>
void escape_member(boost::json::object& of, std::string_view name, Escape escape) {
    boost::json::value* const text = of.if_contains(name);
    if (text == nullptr || !text->is_string() ||
        text->get_string().find('<') == boost::json::string::npos) {
        return;
    }
    std::string escaped(text->get_string());
    escape(escaped);
    if (escaped.size() != text->get_string().size()) {
        *text = escaped;
    }
}

} // namespace agui::session
