#include "translator/input/input_fields.hpp"

#include "session/base/id.hpp"
#include "session/base/json_member.hpp"

#include <utility>

namespace agui::translator {
namespace {

constexpr std::size_t max_notes = 50;

} // namespace

const boost::json::value*
find_member(const boost::json::object& object, std::string_view key) noexcept {
    return session::find_member(object, key);
}

std::string given_spelling(const boost::json::object& object, std::string_view key) {
    const std::string snake = session::snake_case(key);
    const boost::json::value* camel = object.if_contains(key);
    const bool is_snake =
        (camel == nullptr || camel->is_null()) && object.if_contains(snake) != nullptr;
    return is_snake ? snake : std::string(key);
}

failure invalid_input(std::string path, std::string_view what) {
    std::string detail = (path.empty() ? "the request" : path) + " ";
    detail.append(what);
    return {
        .code = errc::invalid_input,
        .detail = std::move(detail),
        .path = std::move(path),
        .active_run_id = {},
    };
}

std::string indexed(std::string_view path, std::size_t index) {
    return std::string(path) + "[" + std::to_string(index) + "]";
}

std::string joined(std::string_view path, std::string_view key) {
    std::string out(path);
    if (!out.empty()) {
        out.push_back('.');
    }
    out.append(key);
    return out;
}

result<std::optional<std::string>>
read_text(const boost::json::object& object, std::string_view key, std::string_view path) {
    const boost::json::value* value = find_member(object, key);
    if (value == nullptr) {
        return std::optional<std::string>();
    }
    if (!value->is_string()) {
        return invalid_input(joined(path, key), "must be a string");
    }
    return std::optional<std::string>(std::string(value->get_string()));
}

result<std::string>
read_required_text(const boost::json::object& object, std::string_view key, std::string_view path) {
    auto text = read_text(object, key, path);
    if (!text) {
        return text.error();
    }
    if (!*text) {
        return invalid_input(joined(path, key), "is required and must be a string");
    }
    return std::move(**text);
}

result<const boost::json::array*>
read_array(const boost::json::value& value, std::string_view path) {
    if (!value.is_array()) {
        return invalid_input(std::string(path), "must be an array");
    }
    return value.if_array();
}

result<const boost::json::object*>
read_object(const boost::json::value& value, std::string_view path) {
    if (!value.is_object()) {
        return invalid_input(std::string(path), "must be an object");
    }
    const boost::json::object& object = value.get_object();
    if (const result<void> checked = session::check_protocol_object(object); !checked) {
        return invalid_input(std::string(path), checked.error().detail);
    }
    return &object;
}

result<void> check_id(std::string_view id, std::string_view path, std::size_t max_bytes) {
    if (id.size() > max_bytes) {
        return invalid_input(
            std::string(path), "must not be longer than " + std::to_string(max_bytes) + " bytes"
        );
    }
    if (!is_sound_id(id, max_bytes)) {
        return invalid_input(
            std::string(path),
            "must not contain control characters or ones that change the direction of text"
        );
    }
    return {};
}

result<std::string>
read_id(const boost::json::object& body, std::string_view key, std::size_t max_bytes) {
    const std::string given = given_spelling(body, key);
    auto text = read_text(body, given, "");
    if (!text) {
        return text.error();
    }
    std::string id = std::move(*text).value_or(std::string());
    if (auto sound = check_id(id, given, max_bytes); !sound) {
        return sound.error();
    }
    return id;
}

void add_note(std::vector<std::string>& notes, std::string_view path, std::string_view what) {
    if (notes.size() < max_notes) {
        notes.push_back(std::string(path) + ": " + std::string(what));
    } else if (notes.size() == max_notes) {
        notes.emplace_back("further notes are left out");
    }
}

} // namespace agui::translator
