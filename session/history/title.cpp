#include "session/history/title.hpp"

#include "session/base/sound_text.hpp"
#include "session/history/history_rules.hpp"

#include <algorithm>
#include <string>
#include <variant>

namespace agui::session {

namespace {

// Avoids copying a text of many megabytes for its first line.
std::string line_of(const content& value, std::size_t characters_max) {
    const auto* const text = std::get_if<std::string>(&value);
    return text != nullptr ? title_line(*text, characters_max)
                           : title_line(text_of(value), characters_max);
}

bool says_something(const message& value) {
    return is_user(value) && !line_of(value.content, 1).empty();
}

bool is_space(char c) noexcept {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

std::size_t character_length(std::string_view text) noexcept {
    std::size_t length = 1;
    while (length < text.size() && (static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80U) {
        ++length;
    }
    return length;
}

} // namespace

std::string title_line(std::string_view text, std::size_t characters_max) {
    std::string line;
    bool gap = false;
    for (std::size_t characters = 0; !text.empty() && characters < characters_max;) {
        const std::size_t length = character_length(text);
        const std::string_view character = text.substr(0, length);
        text.remove_prefix(length);
        if (is_space(character.front())) {
            gap = !line.empty();
        } else if (misleading_character(character) == 0) {
            if (gap) {
                line.push_back(' ');
                ++characters;
            }
            gap = false;
            line.append(character);
            ++characters;
        }
    }
    return line;
}

std::optional<std::string> title_of_change(const thread_record& thread, const changes& change) {
    const auto speaks = [](const stored_message& node) {
        return says_something(node.message);
    };
    if (!thread.title.empty() || std::ranges::any_of(thread.nodes, speaks)) {
        return std::nullopt;
    }
    const auto first = std::ranges::find_if(change.messages, speaks);
    if (first == change.messages.end()) {
        return std::nullopt;
    }
    return line_of(first->message.content, title_characters_max);
}

} // namespace agui::session
