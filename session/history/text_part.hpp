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

} // namespace agui::session
