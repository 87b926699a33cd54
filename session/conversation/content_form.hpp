#pragma once

#include "session/conversation/message.hpp"

#include <boost/json/array.hpp>

#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>

namespace agui::session {

/// The normal form in which contents are compared (same_content): a string is one text part; a
/// legacy `binary` part becomes an image, audio, video or document part, or is left out if that
/// part is there too or the file cannot be named in the new form; empty text parts, and the ids,
/// metadata and null members of parts, are left out. Making a form takes time proportional to the
/// content, a comparison at most to the shorter one: a content that is compared with many needs
/// only one form.
///
/// Holds views of the content, which must outlive it.
class content_form {
public:
    explicit content_form(const content& value);

    /// A key for look-ups: the keys are equal if and only if the forms are.
    [[nodiscard]] std::string key() const;

    friend bool operator==(const content_form&, const content_form&) = default;

private:
    std::variant<std::string_view, boost::json::array> form_; // Parts, unless there is only text.
};

/// The forms of messages that may be compared many times; each is made once. The messages must
/// outlive this object and stay at their addresses.
class content_forms {
public:
    [[nodiscard]] const content_form& of(const message& value) {
        return made_.try_emplace(&value, value.content).first->second;
    }

private:
    std::unordered_map<const message*, content_form> made_;
};

} // namespace agui::session
