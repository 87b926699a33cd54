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

/// Whether another text may follow. Model servers, chat templates and the merging of messages join
/// the texts of parts and of a user's messages, and the content and the error of a result: with
/// nothing between, with blanks, and without those parts that they leave out. So a tag may be
/// divided at any place over any number of texts, and a text that may be continued is escaped where
/// the tag begins, if the rest of the text may be the rest of the tag or its beginning.
enum class text_end {
    closed,    ///< No other text: a tag ends the text, or it stands alone.
    continued, ///< Maybe another text.
};

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
