#include "session/history/title.hpp"

#include "session/base/sound_text.hpp"
#include "session/history/history_rules.hpp"

#include <algorithm>
#include <string>
#include <utility>
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

constexpr std::pair<std::string_view, std::string_view> quotation_marks[] = {
    {"\"", "\""},
    {"'", "'"},
    {"`", "`"},
    {"\xE2\x80\x9C", "\xE2\x80\x9D"}, // English
    {"\xE2\x80\x98", "\xE2\x80\x99"},
    {"\xE2\x80\x9E", "\xE2\x80\x9C"}, // German
    {"\xC2\xAB", "\xC2\xBB"},         // French
    {"\xE3\x80\x8C", "\xE3\x80\x8D"}, // Japanese
};

// Removes one mark at the end or a pair around the text. Returns false if there is none.
bool remove_mark(std::string_view& text) {
    // An ellipsis is no full stop.
    if (text.ends_with('.') && !text.ends_with("..")) {
        text.remove_suffix(1);
        return true;
    }
    constexpr std::string_view full_stop = "\xE3\x80\x82"; // Chinese and Japanese
    if (text.ends_with(full_stop)) {
        text.remove_suffix(full_stop.size());
        return true;
    }
    for (const auto& [open, close] : quotation_marks) {
        if (text.size() >= open.size() + close.size() && text.starts_with(open) &&
            text.ends_with(close)) {
            text.remove_prefix(open.size());
            text.remove_suffix(close.size());
            return true;
        }
    }
    return false;
}

std::string_view without_marks(std::string_view text) {
    while (remove_mark(text)) {
    }
    return text;
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

std::string automatic_title(const thread_record& thread) {
    const auto first = std::ranges::find_if(thread.nodes, [](const stored_message& node) {
        return says_something(node.message);
    });
    const bool is_automatic = first != thread.nodes.end() && !thread.title.empty() &&
                              thread.title == line_of(first->message.content, title_characters_max);
    return is_automatic ? thread.title : std::string();
}

std::string title_of_answer(std::string_view answer) {
    // More than enough for the marks that are taken away.
    constexpr std::size_t marks_max = 8;
    const std::string line = title_line(answer, title_characters_max + marks_max);
    return title_line(without_marks(line));
}

} // namespace agui::session
