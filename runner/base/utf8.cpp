#include "runner/base/utf8.hpp"

#include "session/base/parse_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <utility>
#include <variant>

namespace agui::runner {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD"; // U+FFFD
constexpr std::size_t surrogate_bytes = 3;

struct sequence {
    enum class kind {
        whole,
        cut, ///< The text ends within the sequence.
        bad,
    };
    kind what = kind::whole;
    std::size_t length = 1; ///< Of an invalid one: that of its valid prefix, but at least one.
};

unsigned char byte_at(std::string_view text, std::size_t at) noexcept {
    return static_cast<unsigned char>(text[at]);
}

/// The first sequence of a text that is not empty; surrogates count as characters.
sequence first_of(std::string_view text) noexcept {
    const unsigned char lead = byte_at(text, 0);
    if (lead < 0x80) {
        return {};
    }
    if (lead < 0xC2 || lead > 0xF4) {
        return {sequence::kind::bad, 1};
    }
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    for (std::size_t at = 1; at < length; ++at) {
        if (at == text.size()) {
            return {sequence::kind::cut, at};
        }
        // The second byte rules out overlong forms and values beyond U+10FFFF.
        const bool second = at == 1;
        const unsigned char low = second && lead == 0xE0   ? 0xA0
                                  : second && lead == 0xF0 ? 0x90
                                                           : 0x80;
        const unsigned char high = second && lead == 0xF4 ? 0x8F : 0xBF;
        if (byte_at(text, at) < low || byte_at(text, at) > high) {
            return {sequence::kind::bad, at};
        }
    }
    return {sequence::kind::whole, length};
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
        const sequence first = first_of(text);
        if (first.what == sequence::kind::cut) {
            return text.size();
        }
        std::size_t used = first.length;
        const std::string_view bytes = text.substr(0, used);
        if (first.what == sequence::kind::bad) {
            out.append(replacement);
        } else if (used != surrogate_bytes || !is_surrogate(bytes)) {
            out.append(bytes);
        } else {
            const std::string_view next = text.substr(used, surrogate_bytes);
            const bool paired = is_high(bytes) && may_be_low(next);
            if (paired && next.size() < surrogate_bytes) {
                return text.size();
            }
            if (paired && first_of(next).what == sequence::kind::whole) {
                append_pair(out, bytes, next);
                used += surrogate_bytes;
            } else {
                out.append(replacement);
            }
        }
        text.remove_prefix(used);
    }
    return 0;
}

} // namespace

bool is_utf8(std::string_view text) noexcept {
    while (!text.empty()) {
        const sequence first = first_of(text);
        const bool surrogate = first.length == surrogate_bytes && is_surrogate(text);
        if (first.what != sequence::kind::whole || surrogate) {
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
        } else { // Of a number that JSON cannot hold.
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
        out.append(replacement);
        size_ = 0;
    }
}

} // namespace agui::runner
