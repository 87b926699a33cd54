#include "runner/base/argument_text.hpp"

#include "runner/base/json_blanks.hpp"
#include "runner/base/json_escapes.hpp"
#include "session/base/parse_json.hpp"

#include <optional>

namespace agui::runner {

namespace {

constexpr std::string_view null_word = "null";

std::string_view trimmed(std::string_view text) noexcept {
    return without_blank_end(without_blank_begin(text));
}

/// The text of a JSON string; nullopt if it is none.
std::optional<std::string> decoded(std::string_view text) {
    const std::optional<std::string> inner = parse_json_string(text);
    if (!inner) {
        return std::nullopt;
    }
    std::string out;
    escape_mender mender;
    std::string mended(mender.mend(*inner, out));
    return mended.append(mender.finish());
}

} // namespace

std::string argument_text::feed(std::string_view text) {
    for (;;) {
        if (form_ == form::blank || form_ == form::placeholder || form_ == form::whole) {
            text = without_blank_begin(text);
        }
        if (text.empty()) {
            return {};
        }
        switch (form_) {
        case form::blank:
        case form::placeholder:
            begin(text);
            break;
        case form::word:
            read_word(text);
            break;
        case form::object:
            read_object(text);
            break;
        case form::quoted:
        case form::next_quoted:
            if (std::string rest = read_quoted(text); !rest.empty()) {
                return rest.append(text);
            }
            break;
        case form::whole:
            if (text.front() == '{') {
                return std::string(text);
            }
            form_ = text.front() == '"' ? form::next_quoted : form::other;
            escaped_ = false;
            break;
        case form::other:
            ready_.append(text);
            return {};
        }
    }
}

void argument_text::begin(std::string_view text) {
    switch (text.front()) {
    case '{':
        form_ = form::object;
        brackets_ = {};
        break;
    case '"':
        form_ = form::quoted;
        escaped_ = false;
        break;
    case null_word.front():
        form_ = form::word;
        break;
    default:
        take_as_text();
        return;
    }
    held_.clear(); // Drops a placeholder that came first.
}

void argument_text::read_word(std::string_view& text) {
    const std::string_view part = text.substr(0, null_word.size() - held_.size());
    held_.append(part);
    text.remove_prefix(part.size());
    if (held_ == null_word) {
        form_ = form::placeholder;
    } else if (!null_word.starts_with(held_)) {
        take_as_text();
    }
}

void argument_text::read_object(std::string_view& text) {
    const std::size_t length = brackets_.feed(text);
    const std::string_view part = text.substr(0, length);
    text.remove_prefix(length);
    if (brackets_.hollow()) {
        held_.append(part);
    } else {
        ready_.append(held_).append(part);
        held_.clear();
    }
    if (brackets_.closed()) {
        form_ = brackets_.hollow() ? form::placeholder : form::whole;
    }
}

std::string argument_text::read_quoted(std::string_view& text) {
    for (std::size_t at = 0; at < text.size(); ++at) {
        const bool begins = held_.empty() && at == 0;
        const bool ends = text[at] == '"' && !escaped_ && !begins;
        escaped_ = !escaped_ && text[at] == '\\';
        if (ends) {
            held_.append(text.substr(0, at + 1));
            text.remove_prefix(at + 1);
            return take_decoded();
        }
    }
    held_.append(text);
    text = {};
    return {};
}

/// Takes the object out of the held JSON string. If it holds none, the string is passed on
/// unchanged. Returns the text of another object that follows.
std::string argument_text::take_decoded() {
    const bool is_next = form_ == form::next_quoted;
    std::optional<std::string> inner = decoded(held_);
    // Each level of encoding doubles the backslashes, so there are few levels.
    while (inner && trimmed(*inner).starts_with('"')) {
        inner = decoded(trimmed(*inner));
    }
    const std::string_view text = inner ? trimmed(*inner) : std::string_view();
    const bool is_placeholder = inner && (text.empty() || text == null_word);
    json_brackets brackets;
    brackets.feed(text.starts_with('{') ? text : std::string_view());
    if (!is_placeholder && !brackets.closed()) {
        take_as_text();
        return {};
    }
    if (is_next) {
        form_ = form::whole;
        held_.clear();
        return std::string(is_placeholder ? std::string_view() : text);
    }
    if (is_placeholder) {
        form_ = form::placeholder;
        return {};
    }
    form_ = form::blank;
    return feed(text);
}

void argument_text::take_as_text() {
    form_ = form::other;
    ready_.append(held_);
    held_.clear();
}

void argument_text::settle() {
    held_.clear();
    ready_.append("{}");
    form_ = form::whole;
}

void argument_text::finish(bool complete) {
    if ((placeholder() || blank()) && complete) {
        settle();
    }
    // After a cut, the held placeholder may not have been the arguments.
    ready_.append(placeholder() ? std::string_view() : held_);
    held_.clear();
}

} // namespace agui::runner
