#include "runner/openai/repeated_chunk.hpp"

#include "runner/base/json_blanks.hpp"
#include "runner/base/json_text.hpp"
#include "runner/base/utf8.hpp"

#include <algorithm>

namespace agui::runner {

namespace {

constexpr std::string_view text_key = "\"content\"";
constexpr std::string_view random_key = "\"obfuscation\"";

// True if the text stands for itself between the quotes of a JSON string.
bool is_plain(std::string_view text) noexcept {
    text.remove_prefix(plain_bytes(text));
    const bool has_special = std::ranges::any_of(text, [](unsigned char byte) {
        return byte < 0x20 || byte == '"' || byte == '\\';
    });
    return !has_special && is_utf8(text);
}

// Where the string value of the key begins, behind its quote; npos if the key, at `at`, has none.
std::size_t begin_of_value(std::string_view chunk, std::size_t at, std::string_view key) noexcept {
    std::string_view rest = without_blank_begin(chunk.substr(at + key.size()));
    if (!rest.starts_with(':')) {
        return std::string_view::npos;
    }
    rest = without_blank_begin(rest.substr(1));
    return rest.starts_with('"') ? chunk.size() - rest.size() + 1 : std::string_view::npos;
}

bool skip(std::string_view& rest, std::string_view expected) noexcept {
    if (!rest.starts_with(expected)) {
        return false;
    }
    rest.remove_prefix(expected.size());
    return true;
}

// Takes the rest of a string, up to its quote.
std::string_view take_string(std::string_view& rest) noexcept {
    const std::string_view text = rest.substr(0, rest.find('"'));
    rest.remove_prefix(text.size());
    return text;
}

} // namespace

void repeated_chunk::learn(std::string_view chunk) {
    // Without escapes, every quote begins or ends a string, and every key is written as it is.
    if (chunk.find('\\') != std::string_view::npos) {
        return;
    }
    const std::size_t key = chunk.find(text_key);
    if (key == std::string_view::npos || chunk.find(text_key, key + 1) != std::string_view::npos) {
        return;
    }
    const std::size_t text = begin_of_value(chunk, key, text_key);
    if (text == std::string_view::npos) {
        return;
    }
    std::string_view rest = chunk.substr(chunk.find('"', text));
    around_.assign(chunk.substr(0, text));
    before_bytes_ = text;
    between_bytes_ = 0;
    if (const std::size_t at = rest.find(random_key); at != std::string_view::npos) {
        const std::size_t letters = begin_of_value(rest, at, random_key);
        if (letters != std::string_view::npos) {
            around_.append(rest.substr(0, letters));
            between_bytes_ = letters;
            rest = rest.substr(rest.find('"', letters));
        }
    }
    around_.append(rest);
}

std::string_view repeated_chunk::text_in(std::string_view chunk) const noexcept {
    const std::string_view around(around_);
    std::string_view rest = chunk;
    if (around.empty() || !skip(rest, around.substr(0, before_bytes_))) {
        return {};
    }
    const std::string_view text = take_string(rest);
    if (between_bytes_ > 0) {
        if (!skip(rest, around.substr(before_bytes_, between_bytes_)) ||
            !is_plain(take_string(rest))) {
            return {};
        }
    }
    const bool is_same = rest == around.substr(before_bytes_ + between_bytes_);
    return is_same && is_plain(text) ? text : std::string_view();
}

} // namespace agui::runner
