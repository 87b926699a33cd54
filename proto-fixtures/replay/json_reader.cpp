#include "proto-fixtures/replay/json_reader.hpp"

#include <boost/json/parse.hpp>

#include <fstream>
#include <iterator>
#include <utility>

namespace agui::replay {

namespace json = boost::json;

json_reader::json_reader(const json::object& object, std::string place)
    : object_(object), place_(std::move(place)) {}

const json::value* json_reader::find(std::string_view key) {
    asked_.emplace(key);
    return object_.if_contains(key);
}

const json::value& json_reader::need(std::string_view key) {
    const json::value* value = find(key);
    if (value == nullptr) {
        fail(key, "is missing");
    }
    return *value;
}

std::string json_reader::text(std::string_view key) { return text_of(need(key), at(key)); }

std::string json_reader::text(std::string_view key, std::string fallback) {
    const json::value* value = find(key);
    return value == nullptr ? std::move(fallback) : text_of(*value, at(key));
}

std::int64_t json_reader::number(std::string_view key, std::int64_t fallback) {
    const json::value* value = find(key);
    if (value == nullptr) {
        return fallback;
    }
    if (!value->is_int64() || value->get_int64() < 0) {
        fail(key, "must be an integer, 0 or more");
    }
    return value->get_int64();
}

bool json_reader::flag(std::string_view key, bool fallback) {
    const json::value* value = find(key);
    if (value == nullptr) {
        return fallback;
    }
    if (!value->is_bool()) {
        fail(key, "must be true or false");
    }
    return value->get_bool();
}

const json::array* json_reader::array(std::string_view key) {
    const json::value* value = find(key);
    if (value != nullptr && !value->is_array()) {
        fail(key, "must be an array");
    }
    return value == nullptr ? nullptr : &value->get_array();
}

const json::object* json_reader::object(std::string_view key) {
    const json::value* value = find(key);
    if (value != nullptr && !value->is_object()) {
        fail(key, "must be an object");
    }
    return value == nullptr ? nullptr : &value->get_object();
}

std::string json_reader::at(std::string_view key) const {
    return place_.empty() ? std::string(key) : place_ + "." + std::string(key);
}

void json_reader::fail(std::string_view key, std::string_view what) const {
    throw fixture_error(at(key) + " " + std::string(what));
}

void json_reader::done() const {
    for (const auto& member : object_) {
        if (!asked_.contains(std::string_view(member.key()))) {
            fail(member.key(), "is not a member that is known here");
        }
    }
}

const json::object& object_of(const json::value& value, const std::string& place) {
    if (!value.is_object()) {
        throw fixture_error(place + " must be an object");
    }
    return value.get_object();
}

std::string text_of(const json::value& value, const std::string& place) {
    if (!value.is_string()) {
        throw fixture_error(place + " must be a string");
    }
    return std::string(std::string_view(value.get_string()));
}

std::string read_file(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) {
        throw fixture_error(file.string() + " cannot be read");
    }
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

json::value parse_json(std::string_view text, const std::string& place) {
    boost::system::error_code ec;
    json::value value = json::parse(text, ec);
    if (ec) {
        throw fixture_error(place + " is not JSON: " + ec.message());
    }
    return value;
}

} // namespace agui::replay
