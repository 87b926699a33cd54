#include "session/history/delimited_text.hpp"

#include "session/base/ascii.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace agui::session {

namespace {

constexpr std::array<std::string_view, 3> part_names = {"context", "state", "values"};
constexpr std::string_view note_name = "note";

bool begins_with(std::string_view text, std::string_view name) noexcept {
    return text.size() >= name.size() && equal_ignoring_case(text.substr(0, name.size()), name);
}

// True if `text`, which follows a `<`, begins a part: a name, white space, and the note.
bool begins_part(std::string_view text) noexcept {
    for (const std::string_view name : part_names) {
        if (!begins_with(text, name)) {
            continue;
        }
        const std::string_view rest = text.substr(name.size());
        const std::size_t blanks = std::min(rest.find_first_not_of(" \t\r\n"), rest.size());
        if (blanks > 0 && begins_with(rest.substr(blanks), note_name)) {
            return true;
        }
    }
    return false;
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

void escape_parts(std::string& text) {
    for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1)) {
        if (begins_part(std::string_view(text).substr(at + 1))) {
            text.replace(at, 1, "&lt;");
        }
    }
}

} // namespace agui::session
