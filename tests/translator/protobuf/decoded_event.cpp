#include "tests/translator/protobuf/decoded_event.hpp"

#include <boost/json/array.hpp>

#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace agui::test {
namespace {

namespace json = boost::json;

/// One field as it stands in the bytes.
struct wire_field {
    unsigned number = 0;
    std::uint64_t number_value = 0; ///< Of a varint.
    std::string_view bytes;         ///< Of anything else.
};

class wire_reader {
public:
    explicit wire_reader(std::string_view bytes) : rest_(bytes) {}

    [[nodiscard]] bool ended() const { return rest_.empty(); }
    wire_field next() {
        const std::uint64_t tag = varint();
        wire_field out;
        out.number = static_cast<unsigned>(tag >> 3U);
        switch (tag & 7U) {
        case 0:
            out.number_value = varint();
            return out;
        case 1:
            out.bytes = take(8);
            return out;
        case 2:
            out.bytes = take(varint());
            return out;
        default:
            throw std::runtime_error("an unknown wire type");
        }
    }

private:
    std::uint64_t varint() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 70; shift += 7) {
            const auto byte = static_cast<unsigned char>(take(1).front());
            value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
            if (byte < 0x80) {
                return value;
            }
        }
        throw std::runtime_error("a varint without an end");
    }
    std::string_view take(std::uint64_t count) {
        if (count > rest_.size()) {
            throw std::runtime_error("bytes are missing");
        }
        const std::string_view bytes = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return bytes;
    }

    std::string_view rest_;
};

json::object decode_struct(std::string_view bytes);

json::value decode_value(std::string_view bytes) {
    wire_reader reader(bytes);
    const wire_field only = reader.next();
    if (!reader.ended()) {
        throw std::runtime_error("a Value of more than one kind");
    }
    double number = 0;
    json::array list;
    switch (only.number) {
    case 1:
        return nullptr;
    case 2:
        std::memcpy(&number, only.bytes.data(), sizeof(number));
        return number;
    case 3:
        return json::string(only.bytes);
    case 4:
        return only.number_value != 0;
    case 5:
        return decode_struct(only.bytes);
    case 6:
        for (wire_reader elements(only.bytes); !elements.ended();) {
            list.push_back(decode_value(elements.next().bytes));
        }
        return list;
    default:
        throw std::runtime_error("an unknown kind of Value");
    }
}

json::object decode_struct(std::string_view bytes) {
    json::object out;
    for (wire_reader entries(bytes); !entries.ended();) {
        wire_reader entry(entries.next().bytes);
        const std::string_view key = entry.next().bytes;
        out[key] = decode_value(entry.next().bytes);
    }
    return out;
}

json::object
decode_message(const proto_file& proto, const std::string& type, std::string_view bytes);

json::value
decode_field(const proto_file& proto, const proto_field& field, const wire_field& given) {
    if (field.type == "string") {
        return json::string(given.bytes);
    }
    if (field.type == "bool") {
        return given.number_value != 0;
    }
    if (field.type == "int64") {
        return static_cast<double>(static_cast<std::int64_t>(given.number_value));
    }
    if (field.type == "google.protobuf.Value") {
        return decode_value(given.bytes);
    }
    if (field.type == "google.protobuf.Struct") {
        return decode_struct(given.bytes);
    }
    const auto names = proto.enumerations.find(field.type);
    if (names != proto.enumerations.end()) {
        return json::string(names->second.at(static_cast<unsigned>(given.number_value)));
    }
    return decode_message(proto, field.type, given.bytes);
}

/// The message with its fields as members in camelCase. Implicit fields that are absent have their
/// default value; lists are there if they have an element.
json::object
decode_message(const proto_file& proto, const std::string& type, std::string_view bytes) {
    const proto_file::fields& fields = proto.messages.at(type);
    json::object out;
    for (const auto& [number, field] : fields) {
        if (field.repeated || field.shown) {
            continue;
        }
        if (field.type == "string") {
            out[field.name] = "";
        } else if (proto.enumerations.contains(field.type)) {
            out[field.name] = proto.enumerations.at(field.type).at(0);
        }
    }
    unsigned last = 0;
    for (wire_reader reader(bytes); !reader.ended();) {
        const wire_field given = reader.next();
        const proto_field& field = fields.at(given.number);
        if (given.number < last || (given.number == last && !field.repeated)) {
            throw std::runtime_error(type + ": fields in another order than that of their numbers");
        }
        last = given.number;
        json::value value = decode_field(proto, field, given);
        if (!field.repeated) {
            out[field.name] = std::move(value);
        } else if (json::value* list = out.if_contains(field.name)) {
            list->as_array().push_back(std::move(value));
        } else {
            out[field.name] = json::array{std::move(value)};
        }
    }
    return out;
}

/// `{"image":{…}}` → `{"type":"image",…}`
json::object arm_as_type(const json::object& oneof) {
    if (oneof.size() != 1) {
        throw std::runtime_error("a oneof must have one arm");
    }
    json::object out = oneof.begin()->value().as_object();
    out["type"] = oneof.begin()->key();
    if (const json::value* source = out.if_contains("source")) {
        out["source"] = arm_as_type(source->as_object());
    }
    return out;
}

/// Makes `content` of the form that the message or the result has.
void merge_content(json::object& of) {
    if (json::value* parts = of.if_contains("contentParts")) {
        json::array content;
        for (const json::value& part : parts->as_array()) {
            content.push_back(arm_as_type(part.as_object()));
        }
        of["content"] = std::move(content);
        of.erase("contentParts");
    } else if (const json::value* activity = of.if_contains("activityContent")) {
        json::value content = *activity;
        of["content"] = std::move(content);
        of.erase("activityContent");
    }
}

void merge_messages(json::object& of) {
    json::value& messages = of["messages"];
    if (messages.is_null()) {
        messages = json::array();
    }
    for (json::value& message : messages.as_array()) {
        merge_content(message.as_object());
        const json::value& role = message.at("role");
        if ((role == "user" || role == "tool") && !message.as_object().contains("content")) {
            message.as_object()["content"] = json::array();
        }
    }
}

/// The fields of an outcome as the member that JSON has.
void merge_outcome(json::object& event) {
    const json::value* type = event.if_contains("outcome");
    if (type == nullptr) {
        return;
    }
    json::object outcome{{"type", *type}};
    for (const std::string_view key : {"interrupts", "pendingToolCallIds", "interruptIds"}) {
        if (const json::value* list = event.if_contains(key)) {
            outcome[key] = *list;
            event.erase(key);
        }
    }
    if (outcome.at("type") == "") {
        event.erase("outcome");
    } else {
        event["outcome"] = std::move(outcome);
    }
}

void lower_operations(json::object& event, std::string_view key) {
    json::value& operations = event[key];
    if (operations.is_null()) {
        operations = json::array();
    }
    for (json::value& operation : operations.as_array()) {
        const std::string name(operation.at("op").as_string());
        operation.as_object()["op"] = camel_case(name);
    }
}

} // namespace

json::object decode_event(const proto_file& proto, std::string_view bytes) {
    const json::object envelope = decode_message(proto, "Event", bytes);
    if (envelope.size() != 1) {
        throw std::runtime_error("an Event must have one arm");
    }
    json::object event = envelope.begin()->value().as_object();
    const json::object base = event.at("baseEvent").as_object();
    event.erase("baseEvent");
    for (const auto& member : base) {
        event[member.key()] = member.value();
    }
    const std::string type(event.at("type").as_string());
    if (camel_case(type) != envelope.begin()->key()) {
        throw std::runtime_error("the type " + type + " in another arm");
    }
    merge_outcome(event);
    if (type == "STATE_DELTA") {
        lower_operations(event, "delta");
    } else if (type == "ACTIVITY_DELTA") {
        lower_operations(event, "patch");
    } else if (type == "MESSAGES_SNAPSHOT") {
        merge_messages(event);
    } else if (type == "TOOL_CALL_RESULT") {
        merge_content(event);
        if (!event.contains("content")) {
            event["content"] = json::array();
        }
    } else if (json::value* input = event.if_contains("input")) {
        merge_messages(input->as_object());
    }
    return event;
}

json::value as_decoded(const json::value& event) {
    if (event.is_number()) {
        return event.to_number<double>();
    }
    if (event.is_array()) {
        json::array out;
        for (const json::value& element : event.get_array()) {
            out.push_back(as_decoded(element));
        }
        return out;
    }
    if (!event.is_object()) {
        return event;
    }
    json::object out;
    for (const auto& member : event.get_object()) {
        const std::string_view key = member.key();
        const bool is_list = key == "usage" || key == "toolCalls" || key == "tools" ||
                             key == "context" || key == "resume" || key == "pendingToolCallIds" ||
                             key == "interruptIds";
        if (!is_list || !member.value().is_array() || !member.value().get_array().empty()) {
            out[key] = as_decoded(member.value());
        }
    }
    return out;
}

} // namespace agui::test
