#include "runner/base/utf8.hpp"

#include "runner/base/utf8_sequence.hpp"
#include "session/base/parse_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <utility>
#include <variant>

namespace agui::runner {

namespace {

constexpr std::size_t surrogate_bytes = 3;

unsigned char byte_at(std::string_view text, std::size_t at) noexcept {
    return static_cast<unsigned char>(text[at]);
}

bool is_surrogate(std::string_view whole) noexcept {
    return byte_at(whole, 0) == 0xED && byte_at(whole, 1) >= 0xA0;
}

bool is_high(std::string_view surrogate) noexcept { return byte_at(surrogate, 1) < 0xB0; }

/// True if a low surrogate may begin with these bytes.
bool may_be_low(std::string_view text) noexcept {
    return text.empty() ||
           (byte_at(text, 0) == 0xED && (text.size() < 2 || byte_at(text, 1) >= 0xB0));
}

unsigned ten_bits(std::string_view surrogate) noexcept {
    return (byte_at(surrogate, 1) & 0x0FU) << 6U | (byte_at(surrogate, 2) & 0x3FU);
}

void append_pair(std::string& out, std::string_view high, std::string_view low) {
    const unsigned code = 0x10000U + (ten_bits(high) << 10U) + ten_bits(low);
    out.push_back(static_cast<char>(0xF0U | code >> 18U));
    out.push_back(static_cast<char>(0x80U | (code >> 12U & 0x3FU)));
    out.push_back(static_cast<char>(0x80U | (code >> 6U & 0x3FU)));
    out.push_back(static_cast<char>(0x80U | (code & 0x3FU)));
}

/// Appends the characters of `text`; returns how many bytes at its end may become a character with
/// more input.
std::size_t append_whole(std::string_view text, std::string& out) {
    while (!text.empty()) {
        const utf8_sequence first = first_character(text, surrogates::taken);
        if (first.what == utf8_sequence::kind::cut) {
            return text.size();
        }
        std::size_t used = first.length;
        const std::string_view bytes = text.substr(0, used);
        if (first.what == utf8_sequence::kind::bad) {
            out.append(utf8_replacement);
        } else if (used != surrogate_bytes || !is_surrogate(bytes)) {
            out.append(bytes);
        } else {
            const std::string_view next = text.substr(used, surrogate_bytes);
            const bool paired = is_high(bytes) && may_be_low(next);
            if (paired && next.size() < surrogate_bytes) {
                return text.size();
            }
            if (paired &&
                first_character(next, surrogates::taken).what == utf8_sequence::kind::whole) {
                append_pair(out, bytes, next);
                used += surrogate_bytes;
            } else {
                out.append(utf8_replacement);
            }
        }
        text.remove_prefix(used);
    }
    return 0;
}

} // namespace

bool is_utf8(std::string_view text) noexcept {
    while (!text.empty()) {
        const utf8_sequence first = first_character(text);
        if (first.what != utf8_sequence::kind::whole) {
            return false;
        }
        text.remove_prefix(first.length);
    }
    return true;
}

std::string_view utf8_head(std::string_view text, std::size_t limit) noexcept {
    if (text.size() <= limit) {
        return text;
    }
    const std::size_t least = limit < 3 ? 0 : limit - 3;
    std::size_t end = limit;
    while (end > least && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
        --end;
    }
    return text.substr(0, end);
}

std::string to_utf8(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    utf8_joiner joiner;
    joiner.join(text, out);
    joiner.finish(out);
    return out;
}

std::size_t make_utf8(session::content& value) {
    if (auto* const text = std::get_if<std::string>(&value)) {
        if (!is_utf8(*text)) {
            *text = to_utf8(*text);
        }
        return text->size();
    }
    std::string json = boost::json::serialize(std::get<boost::json::array>(value));
    if (!is_utf8(json)) {
        json = to_utf8(json);
        if (auto parts = parse_json(json, {.max_depth = json.size()})) {
            value = std::move(parts->as_array());
        } else { // A number in it cannot be written as JSON.
            value = json;
        }
    }
    return json.size();
}

void utf8_joiner::join(std::string_view delta, std::string& out) {
    std::string whole;
    if (size_ > 0) {
        whole.assign(held_.data(), size_);
        whole.append(delta);
        delta = whole;
        size_ = 0;
    }
    const std::size_t rest = append_whole(delta, out);
    std::copy(delta.end() - static_cast<std::ptrdiff_t>(rest), delta.end(), held_.begin());
    size_ = rest;
}

void utf8_joiner::finish(std::string& out) {
    if (size_ > 0) {
        out.append(utf8_replacement);
        size_ = 0;
    }
}

} // namespace agui::runner
