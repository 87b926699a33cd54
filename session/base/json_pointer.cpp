#include "session/base/json_pointer.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace agui {

namespace json = boost::json;

std::optional<json_pointer> parse_pointer(std::string_view text) {
    json_pointer tokens;
    while (!text.empty()) {
        if (text.front() != '/') {
            return std::nullopt;
        }
        text.remove_prefix(1);
        std::string& token = tokens.emplace_back();
        while (!text.empty() && text.front() != '/') {
            char next = text.front();
            text.remove_prefix(1);
            if (next == '~') {
                if (!text.starts_with('0') && !text.starts_with('1')) {
                    return std::nullopt;
                }
                next = text.front() == '0' ? '~' : '/';
                text.remove_prefix(1);
            }
            token.push_back(next);
        }
    }
    return tokens;
}

void append_token(std::string& pointer, std::string_view token) {
    pointer.push_back('/');
    for (const char c : token) {
        if (c == '~') {
            pointer += "~0";
        } else if (c == '/') {
            pointer += "~1";
        } else {
            pointer.push_back(c);
        }
    }
}

const json::value* find_value(const json::value& document, const json_pointer& tokens) noexcept {
    const json::value* at = &document;
    for (const std::string& token : tokens) {
        if (const json::object* const object = at->if_object()) {
            at = object->if_contains(token);
        } else {
            const json::array* const array = at->if_array();
            const std::optional<std::size_t> index =
                array == nullptr ? std::nullopt : index_in_array(token);
            at = index ? array->if_contains(*index) : nullptr;
        }
        if (at == nullptr) {
            return nullptr;
        }
    }
    return at;
}

std::size_t json_size(const json::value& value, std::size_t most) noexcept {
    constexpr std::size_t number_bytes = 8;
    constexpr std::size_t separators = 4; // Two quotes, a colon and a comma.
    if (const json::string* const text = value.if_string()) {
        return text->size() + separators;
    }
    std::size_t size = number_bytes;
    if (const json::object* const object = value.if_object()) {
        for (const json::key_value_pair& member : *object) {
            if (size > most) {
                break;
            }
            size += member.key().size() + separators + json_size(member.value(), most - size);
        }
    } else if (const json::array* const array = value.if_array()) {
        for (const json::value& each : *array) {
            if (size > most) {
                break;
            }
            size += json_size(each, most - size);
        }
    }
    return size;
}

bool is_nested_within(const json::value& value, std::size_t most) noexcept {
    if (most == 0) {
        return false;
    }
    if (const json::object* const object = value.if_object()) {
        return std::ranges::all_of(*object, [most](const json::key_value_pair& member) {
            return is_nested_within(member.value(), most - 1);
        });
    }
    const json::array* const array = value.if_array();
    return array == nullptr || std::ranges::all_of(*array, [most](const json::value& each) {
               return is_nested_within(each, most - 1);
           });
}

std::optional<std::size_t> index_in_array(std::string_view token) noexcept {
    std::size_t index = 0;
    const char* const end = token.data() + token.size();
    const auto read = std::from_chars(token.data(), end, index);
    const bool has_leading_zero = token.size() > 1 && token.front() == '0';
    if (token.empty() || has_leading_zero || read.ec != std::errc() || read.ptr != end) {
        return std::nullopt;
    }
    return index;
}

bool is_refused_by_clients(const json_pointer& tokens) noexcept {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const bool is_prototype =
            i > 0 && tokens[i] == "prototype" && tokens[i - 1] == "constructor";
        if (tokens[i] == "__proto__" || is_prototype) {
            return true;
        }
    }
    return false;
}

namespace {

/// The number's value, which double may round: exact for what both sides of a comparison round
/// alike.
std::optional<double> number_of(const json::value& value) noexcept {
    if (const std::int64_t* const number = value.if_int64()) {
        return static_cast<double>(*number);
    }
    if (const std::uint64_t* const number = value.if_uint64()) {
        return static_cast<double>(*number);
    }
    const double* const number = value.if_double();
    return number == nullptr ? std::nullopt : std::optional(*number);
}

} // namespace

bool is_same_json(const json::value& left, const json::value& right) noexcept {
    if (const json::object* const object = left.if_object()) {
        const json::object* const other = right.if_object();
        return other != nullptr && object->size() == other->size() &&
               std::ranges::all_of(*object, [other](const json::key_value_pair& member) {
                   const json::value* const found = other->if_contains(member.key());
                   return found != nullptr && is_same_json(member.value(), *found);
               });
    }
    if (const json::array* const array = left.if_array()) {
        const json::array* const other = right.if_array();
        return other != nullptr &&
               std::equal(array->begin(), array->end(), other->begin(), other->end(), is_same_json);
    }
    if (left.is_double() || right.is_double()) {
        const std::optional<double> number = number_of(left);
        return number && number == number_of(right);
    }
    return left == right;
}

} // namespace agui
