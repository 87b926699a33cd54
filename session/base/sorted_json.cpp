#include "session/base/sorted_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string_view.hpp>

#include <algorithm>
#include <string_view>
#include <vector>

namespace agui {

namespace json = boost::json;

namespace {

void append_sorted(std::string& out, const json::object& object);

void append_sorted(std::string& out, const json::value& value) {
    if (const json::object* const object = value.if_object()) {
        append_sorted(out, *object);
        return;
    }
    const json::array* const list = value.if_array();
    if (list == nullptr) {
        out += json::serialize(value);
        return;
    }
    out.push_back('[');
    for (const json::value& each : *list) {
        append_sorted(out, each);
        out.push_back(',');
    }
    out.push_back(']');
}

void append_sorted(std::string& out, const json::object& object) {
    std::vector<const json::key_value_pair*> members;
    members.reserve(object.size());
    for (const json::key_value_pair& member : object) {
        members.push_back(&member);
    }
    std::ranges::sort(members, {}, [](const auto* member) {
        return std::string_view(member->key());
    });
    out.push_back('{');
    for (const json::key_value_pair* const member : members) {
        out += json::serialize(json::string_view(member->key()));
        out.push_back(':');
        append_sorted(out, member->value());
        out.push_back(',');
    }
    out.push_back('}');
}

} // namespace

std::string sorted_json(const json::value& value) {
    std::string out;
    append_sorted(out, value);
    return out;
}

std::string sorted_json(const json::object& object) {
    std::string out;
    append_sorted(out, object);
    return out;
}

} // namespace agui
