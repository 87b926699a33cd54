#include "translator/verifier/verifier_schema.hpp"

#include "translator/schema/event_tables.hpp"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <cstdint>
#include <initializer_list>

namespace agui::translator {
namespace {

using namespace tables;

using json_object = boost::json::object;
using json_value = boost::json::value;
using json_array = boost::json::array;

constexpr std::int64_t safe_integer = (std::int64_t{1} << 53) - 1;

/// Clients check subagent events by their verifier first, then by their schema, so the verifier's
/// rule is named.
std::string_view missing_rule(std::string_view path) {
    if (path.starts_with("SUBAGENT_STARTED.")) {
        return "V25";
    }
    return path.starts_with("SUBAGENT_") ? "V26" : "schema";
}

std::string_view null_rule(std::string_view path) {
    if (path.ends_with("subagentRunId")) {
        return "V23";
    }
    return path.starts_with("SUBAGENT_") ? "V24" : "null";
}

std::string_view type_rule(std::string_view path) {
    return path.starts_with("SUBAGENT_FINISHED.outcome") ? "V24" : "schema";
}

bool is_one_of(std::string_view text, std::string_view allowed) {
    while (!allowed.empty()) {
        const std::size_t bar = std::min(allowed.find('|'), allowed.size());
        if (text == allowed.substr(0, bar)) {
            return true;
        }
        allowed.remove_prefix(std::min(bar + 1, allowed.size()));
    }
    return false;
}

/// RFC 6901: empty, or tokens that each begin with '/', '~' only as ~0 and ~1.
bool is_pointer(std::string_view text) {
    if (!text.empty() && text.front() != '/') {
        return false;
    }
    for (std::size_t at = text.find('~'); at != std::string_view::npos;
         at = text.find('~', at + 1)) {
        if (at + 1 == text.size() || (text[at + 1] != '0' && text[at + 1] != '1')) {
            return false;
        }
    }
    return true;
}

const member_rule* find_rule(std::initializer_list<member_rules> groups, std::string_view name) {
    for (const member_rules group : groups) {
        for (const member_rule& rule : group) {
            if (rule.name == name) {
                return &rule;
            }
        }
    }
    return nullptr;
}

violation check_member(const json_value& given, const member_rule& rule, const std::string& path);

/// The object must have the required members of `groups` and, unless it is `open`, no other members
/// than theirs.
violation check_members(
    const json_object& given, std::initializer_list<member_rules> groups, const std::string& path,
    bool open = false
) {
    for (const member_rules group : groups) {
        for (const member_rule& rule : group) {
            if (rule.is_required() && !given.contains(rule.name)) {
                const std::string where = path + "." + std::string(rule.name);
                return wrong(missing_rule(where), where, "is missing");
            }
        }
    }
    for (const auto& member : given) {
        const std::string where = path + "." + std::string(member.key());
        const member_rule* rule = find_rule(groups, member.key());
        if (rule == nullptr) {
            if (open) {
                continue;
            }
            return wrong("schema", where, "is not a member that the protocol knows");
        }
        if (auto found = check_member(member.value(), *rule, where)) {
            return found;
        }
    }
    return std::nullopt;
}

violation check_object(const json_value& given, const object_type& type, const std::string& path) {
    if (!given.is_object()) {
        return wrong(type_rule(path), path, "must be an object");
    }
    const json_object& object = given.get_object();
    if (type.key.empty()) {
        return check_members(object, {type.members}, path);
    }
    const json_value* name = object.if_contains(type.key);
    const shape* known = name != nullptr && name->is_string()
                             ? find_named(type.shapes, name->get_string())
                             : nullptr;
    if (known == nullptr) {
        return wrong(type_rule(path), path + "." + std::string(type.key), "is not a known kind");
    }
    return check_members(object, {type.members, known->members}, path, type.is_open);
}

template <class Check>
violation check_each(const json_value& given, const std::string& path, Check check) {
    if (!given.is_array()) {
        return wrong(type_rule(path), path, "must be an array");
    }
    const json_array& elements = given.get_array();
    for (std::size_t index = 0; index < elements.size(); ++index) {
        const std::string where = path + "[" + std::to_string(index) + "]";
        if (auto found = check(elements[index], where)) {
            return found;
        }
    }
    return std::nullopt;
}

violation check_number(const json_value& given, bool may_be_negative, const std::string& path) {
    const bool whole = given.is_int64() || given.is_uint64();
    boost::json::error_code ec;
    const auto number = whole ? given.to_number<std::int64_t>(ec) : 0;
    if (!whole || ec || number > safe_integer || number < -safe_integer) {
        return wrong("schema", path, "must be an integer within 2^53-1");
    }
    if (number < 0 && !may_be_negative) {
        return wrong("schema", path, "must not be negative");
    }
    return std::nullopt;
}

violation check_text(const json_value& given, const member_rule& rule, const std::string& path) {
    if (!given.is_string()) {
        return wrong(type_rule(path), path, "must be a string");
    }
    const std::string_view content = given.get_string();
    if (rule.kind == delta && content.empty()) {
        return wrong("empty-delta", path, "must not be empty");
    }
    if (rule.kind == id && content.empty()) {
        return wrong("empty-id", path, "must not be empty");
    }
    if (rule.kind == pointer && !is_pointer(content)) {
        return wrong("schema", path, "is not a JSON pointer");
    }
    if (rule.kind == literal && !is_one_of(content, rule.allowed)) {
        return wrong("schema", path, "must be one of " + std::string(rule.allowed));
    }
    return std::nullopt;
}

violation check_list(const json_value& given, const object_type& type, const std::string& path) {
    return check_each(given, path, [&type](const json_value& element, const std::string& where) {
        return check_object(element, type, where);
    });
}

violation check_texts(const json_value& given, const std::string& path) {
    return check_each(given, path, [](const json_value& element, const std::string& where) {
        return element.is_string() ? violation()
                                   : wrong(type_rule(where), where, "must be a string");
    });
}

violation check_member(const json_value& given, const member_rule& rule, const std::string& path) {
    if (rule.kind == any) {
        return std::nullopt;
    }
    if (given.is_null()) {
        return wrong(null_rule(path), path, "must be left out instead of null");
    }
    switch (rule.kind) {
    case text:
    case id:
    case delta:
    case literal:
    case pointer:
    case enumerated:
        return check_text(given, rule, path);
    case integer:
    case count:
        return check_number(given, rule.kind == integer, path);
    case boolean:
        return given.is_bool() ? violation() : wrong("schema", path, "must be true or false");
    case object:
    case document:
        return given.is_object() ? violation() : wrong("schema", path, "must be an object");
    case any:
    case value:
        return std::nullopt;
    case texts:
        return check_texts(given, path);
    case nested:
    case merged:
        return check_object(given, *rule.type, path);
    case text_or_list:
        return given.is_string() ? violation() : check_list(given, *rule.type, path);
    case filled_list:
        if (given.is_array() && given.get_array().empty()) {
            return wrong("schema", path, "must not be empty");
        }
        [[fallthrough]];
    case list:
        return check_list(given, *rule.type, path);
    }
    return std::nullopt;
}

} // namespace

violation wrong(std::string_view rule, std::string_view what) {
    return std::string(rule) + ": " + std::string(what);
}

violation wrong(std::string_view rule, std::string_view subject, std::string_view what) {
    return std::string(rule) + ": " + std::string(subject) + " " + std::string(what);
}

violation check_schema(const boost::json::object& event) {
    const std::string type(event.at("type").as_string());
    const event_type* known = find_event(type);
    if (known == nullptr) {
        return wrong("S20", type, "is not an event type of the protocol");
    }
    const member_rule tag = attribution(*known);
    return check_members(
        event, {base_members, known->members, member_rules(&tag, tag.number == 0 ? 0 : 1)}, type
    );
}

} // namespace agui::translator
