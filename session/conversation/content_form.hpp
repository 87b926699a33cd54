#pragma once

#include "session/conversation/message.hpp"

#include <boost/json/array.hpp>

#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>

namespace agui::session {

/// A content in the form that contents are compared in (same_content): a string
/// is one text part, legacy `binary` parts are upgraded to image, audio, video or document, ids and
/// metadata of parts are left out. Making a form costs the content's length; a comparison costs at
/// most the shorter one's length. So it is made once for a content that is compared with many.
///
/// Holds views of the content, which must outlive it.
class content_form {
public:
    explicit content_form(const content& value);

    /// A text that is equal only for equal forms, for look-ups.
    [[nodiscard]] std::string key() const;

    friend bool operator==(const content_form&, const content_form&) = default;

private:
    std::variant<std::string_view, boost::json::array> form_; // Parts, unless there is only text.
};

/// Forms of messages that may be compared many times, each made once. The messages must outlive it
/// and stay where they are.
class content_forms {
public:
    [[nodiscard]] const content_form& of(const message& value) {
        return made_.try_emplace(&value, value.content).first->second;
    }

private:
    std::unordered_map<const message*, content_form> made_;
};

} // namespace agui::session
