#include "translator/protobuf/event_encoder.hpp"

#include "session/base/parse_json.hpp"
#include "translator/protobuf/delta_encoder.hpp"
#include "translator/protobuf/reverse_writer.hpp"
#include "translator/schema/event_tables.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <ranges>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace agui::translator {
namespace {

using namespace tables;
namespace json = boost::json;

// A document of a request nests at most 1024 deep (server.max_json_depth), and an event a few more.
constexpr std::size_t max_event_depth = 1'100;

// ---- google/protobuf/struct.proto ---------------------------------------------------------------

// The fields of Value; a Struct has entries, and a ListValue values, as field 1.
enum : unsigned {
    null_value = 1,
    number_value,
    string_value,
    bool_value,
    struct_value,
    list_value
};
enum : unsigned { entry_field = 1, entry_key = 1, entry_value = 2 };

void write_document(reverse_writer& out, const json::value& given);

void document_field(reverse_writer& out, unsigned number, const json::value& given) {
    const std::size_t mark = out.size();
    write_document(out, given);
    out.end_field(number, mark);
}

void write_struct(reverse_writer& out, const json::object& given) {
    for (auto member = given.end(); member != given.begin();) {
        --member;
        const std::size_t mark = out.size();
        document_field(out, entry_value, member->value());
        out.text_field(entry_key, member->key());
        out.end_field(entry_field, mark);
    }
}

void write_document(reverse_writer& out, const json::value& given) {
    const std::size_t mark = out.size();
    switch (given.kind()) {
    case json::kind::null:
        out.varint_field(null_value, 0);
        return;
    case json::kind::bool_:
        out.varint_field(bool_value, given.get_bool() ? 1 : 0);
        return;
    case json::kind::int64:
    case json::kind::uint64:
    case json::kind::double_:
        out.double_field(number_value, given.to_number<double>());
        return;
    case json::kind::string:
        out.text_field(string_value, given.get_string());
        return;
    case json::kind::object:
        write_struct(out, given.get_object());
        out.end_field(struct_value, mark);
        return;
    case json::kind::array:
        for (const json::value& element : std::views::reverse(given.get_array())) {
            document_field(out, entry_field, element);
        }
        out.end_field(list_value, mark);
        return;
    }
}

// ---- Messages of AG-UI --------------------------------------------------------------------------

/// A member of an object, with the rule that says how it is written.
struct field {
    unsigned number;
    const member_rule* rule;
    const json::value* given;
};

/// The shape of an object, or null if it has none that the protocol knows.
const shape* shape_of(const json::object& given, const object_type& type) {
    const json::value* name = given.if_contains(type.key);
    return name != nullptr && name->is_string() ? find_named(type.shapes, name->get_string())
                                                : nullptr;
}

void collect(const json::object& given, member_rules rules, std::vector<field>& fields) {
    for (const member_rule& rule : rules) {
        const json::value* value = given.if_contains(rule.name);
        if (value == nullptr) {
            continue;
        }
        const bool is_list = rule.kind == text_or_list && value->is_array();
        if (rule.kind != merged) {
            fields.push_back({is_list ? rule.list_number : rule.number, &rule, value});
        } else if (value->is_object()) {
            const json::object& inner = value->get_object();
            const shape* known = shape_of(inner, *rule.type);
            collect(inner, rule.type->members, fields);
            collect(inner, known == nullptr ? member_rules() : known->members, fields);
        }
    }
}

/// Returns false and writes nothing if the value is of no kind that the protocol knows.
bool write_object(reverse_writer& out, const json::value& given, const object_type& type);

void object_field(
    reverse_writer& out, unsigned number, const json::value& given, const object_type& type
) {
    const std::size_t mark = out.size();
    if (write_object(out, given, type)) {
        out.end_field(number, mark);
    }
}

void write_list(reverse_writer& out, const field& one) {
    if (!one.given->is_array()) {
        return;
    }
    for (const json::value& element : std::views::reverse(one.given->get_array())) {
        if (one.rule->kind != texts) {
            object_field(out, one.number, element, *one.rule->type);
        } else if (element.is_string()) {
            out.text_field(one.number, element.get_string());
        }
    }
}

void write_text(reverse_writer& out, const field& one) {
    const bool is_implicit = one.rule->presence == required;
    if (one.given->is_string() && !(is_implicit && one.given->get_string().empty())) {
        out.text_field(one.number, one.given->get_string());
    }
}

void write_integer(reverse_writer& out, const json::value& given, unsigned number) {
    boost::system::error_code ec;
    const auto value = given.to_number<std::int64_t>(ec);
    if (!ec) {
        out.varint_field(number, static_cast<std::uint64_t>(value));
    }
}

void write_field(reverse_writer& out, const field& one, unsigned enumerator) {
    const json::value& given = *one.given;
    const member_rule& rule = *one.rule;
    const std::size_t mark = out.size();
    switch (rule.kind) {
    case text:
    case id:
    case delta:
    case literal:
    case pointer:
        write_text(out, one);
        return;
    case enumerated:
        if (enumerator != 0) {
            out.varint_field(one.number, enumerator);
        }
        return;
    case integer:
    case count:
        write_integer(out, given, one.number);
        return;
    case boolean:
        if (given.is_bool()) {
            out.varint_field(one.number, given.get_bool() ? 1 : 0);
        }
        return;
    case object:
        if (given.is_object()) {
            write_struct(out, given.get_object());
            out.end_field(one.number, mark);
        }
        return;
    case document:
    case value:
    case any:
        if (!given.is_null() || rule.kind == any) {
            document_field(out, one.number, given);
        }
        return;
    case nested:
        object_field(out, one.number, given, *rule.type);
        return;
    case text_or_list:
        write_text(out, one);
        write_list(out, one);
        return;
    case texts:
    case list:
    case filled_list:
        write_list(out, one);
        return;
    case merged:
        return;
    }
}

void write_members(
    reverse_writer& out, const json::object& given, std::initializer_list<member_rules> groups,
    unsigned enumerator = 0
) {
    std::vector<field> fields;
    for (const member_rules rules : groups) {
        collect(given, rules, fields);
    }
    std::ranges::sort(fields, std::ranges::greater(), &field::number);
    for (const field& one : fields) {
        if (one.number != 0) {
            write_field(out, one, enumerator);
        }
    }
}

bool write_object(reverse_writer& out, const json::value& given, const object_type& type) {
    if (!given.is_object()) {
        return false;
    }
    const json::object& fields = given.get_object();
    if (type.key.empty()) {
        write_members(out, fields, {type.members});
        return true;
    }
    const shape* known = shape_of(fields, type);
    if (known == nullptr) {
        return false;
    }
    const std::size_t mark = out.size();
    write_members(out, fields, {type.members, known->members}, known->number);
    if (find_named(type.members, type.key)->number == 0) {
        out.end_field(known->number, mark); // An arm of a oneof has no other sign of its kind.
    }
    return true;
}

void write_event(reverse_writer& out, const json::object& given, const event_type& event) {
    const member_rule tag = attribution(event);
    write_members(out, given, {event.members, member_rules(&tag, 1)});
    const std::size_t mark = out.size();
    write_members(out, given, {base_members}, event.enumerator);
    out.end_field(base_number, mark);
    out.end_field(event.arm, 0);
}

} // namespace

void encode_event(std::string& out, std::size_t json_at) {
    if (encode_delta(out, json_at)) {
        return;
    }
    const result<json::value> event =
        parse_json(std::string_view(out).substr(json_at), {.max_depth = max_event_depth});
    const json::value* type =
        event && event->is_object() ? event->get_object().if_contains("type") : nullptr;
    const event_type* known =
        type != nullptr && type->is_string() ? find_event(type->get_string()) : nullptr;
    if (known == nullptr) {
        throw std::invalid_argument("no event of the protocol");
    }
    reverse_writer message;
    write_event(message, event->get_object(), *known);
    out.replace(json_at, std::string::npos, message.bytes());
}

} // namespace agui::translator
