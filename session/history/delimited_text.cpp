#include "session/history/delimited_text.hpp"

#include "session/base/ascii.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace agui::session {

namespace {

constexpr std::array<std::string_view, 3> part_names = {"context", "state", "values"};
constexpr std::string_view note_name = "note";

// How a text begins.
enum class beginning { other, incomplete, complete };

// `incomplete` if the text ends within the name.
beginning compare_begin(std::string_view text, std::string_view name) noexcept {
    const std::string_view head = text.substr(0, name.size());
    if (!equal_ignoring_case(head, name.substr(0, head.size()))) {
        return beginning::other;
    }
    return head.size() == name.size() ? beginning::complete : beginning::incomplete;
}

// Of a part: its name, white space, and the note.
beginning part_begin(std::string_view text, std::string_view name) noexcept {
    const beginning named = compare_begin(text, name);
    if (named != beginning::complete) {
        return named;
    }
    const std::string_view rest = text.substr(name.size());
    const std::size_t blanks = std::min(rest.find_first_not_of(" \t\r\n"), rest.size());
    if (rest.empty() || blanks > 0) {
        return compare_begin(rest.substr(blanks), note_name);
    }
    return beginning::other;
}

// True if `text`, which follows a `<`, begins a part, or may do so with the text behind it.
bool begins_part(std::string_view text, text_end end) noexcept {
    return std::ranges::any_of(part_names, [text, end](std::string_view name) {
        const beginning found = part_begin(text, name);
        return found == beginning::complete ||
               (found == beginning::incomplete && end == text_end::continued);
    });
}

} // namespace

void append_quoted(std::string& out, std::string_view text) {
    for (const char c : text) {
        switch (c) {
        case '&':
            out.append("&amp;");
            break;
        case '<':
            out.append("&lt;");
            break;
        case '"':
            out.append("&quot;");
            break;
        default:
            out.push_back(c);
        }
    }
}

// Quotes are harmless in an element's text, and values are often JSON.
void append_between_tags(std::string& out, std::string_view text) {
    for (const char c : text) {
        if (c == '&' || c == '<') {
            append_quoted(out, std::string_view(&c, 1));
        } else {
            out.push_back(c);
        }
    }
}

std::string values_text(const prompt_value_list& values) {
    if (values.empty()) {
        return {};
    }
    std::string text =
        "<values note=\"New values of the instructions; they replace earlier ones.\">\n";
    for (const auto& [name, value] : values) {
        text.append("<value name=\"");
        append_quoted(text, name);
        text.append("\">");
        append_between_tags(text, value);
        text.append("</value>\n");
    }
    text.append("</values>");
    return text;
}

void escape_parts(std::string& text, text_end end) {
    for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1)) {
        if (begins_part(std::string_view(text).substr(at + 1), end)) {
            text.replace(at, 1, "&lt;");
        }
    }
}

} // namespace agui::session
