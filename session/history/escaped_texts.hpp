#pragma once

#include "session/conversation/message.hpp"
#include "session/history/text_part.hpp"

#include <string>

namespace agui::session {

/// Replaces some `<` of a text by more characters, and changes nothing else.
using text_escape = void (*)(std::string& text, text_end end);

/// Applies `escape` to all of a content that model servers read to the model as text: the text, or
/// of each part the text, which may be continued; the name of its file; and the data of a document
/// of text. `end` is that of a content that is one text. What holds no `<` that `escape` replaces
/// stays as it is.
void escape_texts(content& value, text_end end, text_escape escape);

} // namespace agui::session
