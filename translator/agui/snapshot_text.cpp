#include "translator/agui/snapshot_text.hpp"

#include "session/base/parse_json.hpp"

#include <cstddef>

namespace agui::translator {

std::vector<std::string_view> elements_of(std::string_view event, std::string_view key) {
    const std::string begin = '"' + std::string(key) + "\":[";
    std::vector<std::string_view> elements;
    const std::size_t array = event.find(begin);
    if (array == std::string_view::npos) {
        return elements;
    }
    std::size_t depth = 0;
    std::size_t element = array + begin.size();
    for (std::size_t at = element; at < event.size(); ++at) {
        switch (event[at]) {
        case '"':
            for (++at; at < event.size() && event[at] != '"'; ++at) {
                at += event[at] == '\\' ? 1U : 0U;
            }
            break;
        case '[':
        case '{':
            ++depth;
            break;
        case ']':
        case '}':
            if (depth == 0) {
                elements.push_back(event.substr(element, at - element));
                return elements;
            }
            --depth;
            break;
        case ',':
            if (depth == 0) {
                elements.push_back(event.substr(element, at - element));
                element = at + 1;
            }
            break;
        default:
            break;
        }
    }
    return {};
}

std::string id_of(std::string_view message) {
    constexpr std::string_view begin = R"({"id":")";
    if (!message.starts_with(begin)) {
        return {};
    }
    std::size_t end = begin.size();
    while (end < message.size() && message[end] != '"') {
        end += message[end] == '\\' ? 2 : 1;
    }
    const std::string_view id = message.substr(begin.size(), end - begin.size());
    if (id.find('\\') == std::string_view::npos) {
        return std::string(id);
    }
    return parse_json_string('"' + std::string(id) + '"').value_or(std::string());
}

} // namespace agui::translator
