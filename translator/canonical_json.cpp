#include "translator/event_writer.hpp"
#include "translator/run_input.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace agui::translator {
namespace {

/// Equal numbers are equal text: 1, 1.0 and 1e0 are one number to the sender's language.
void append_canonical_number(std::string& out, double number) {
    constexpr double int64_end = 9223372036854775808.0;   // 2^63
    constexpr double uint64_end = 18446744073709551616.0; // 2^64
    if (std::trunc(number) == number && number >= -int64_end && number < uint64_end) {
        out.append(
            number < 0 ? std::to_string(static_cast<std::int64_t>(number))
                       : std::to_string(static_cast<std::uint64_t>(number))
        );
        return;
    }
    append_json(out, boost::json::value(number));
}

void append_canonical(std::string& out, const boost::json::value& value) {
    if (const auto* array = value.if_array()) {
        char separator = '[';
        for (const boost::json::value& element : *array) {
            out.push_back(separator);
            append_canonical(out, element);
            separator = ',';
        }
        out.append(separator == '[' ? "[]" : "]");
        return;
    }
    if (const auto* object = value.if_object()) {
        std::vector<const boost::json::key_value_pair*> members;
        members.reserve(object->size());
        for (const auto& member : *object) {
            members.push_back(&member);
        }
        std::sort(members.begin(), members.end(), [](const auto* left, const auto* right) {
            return left->key() < right->key();
        });
        char separator = '{';
        for (const auto* member : members) {
            out.push_back(separator);
            append_json_string(out, member->key());
            out.push_back(':');
            append_canonical(out, member->value());
            separator = ',';
        }
        out.append(separator == '{' ? "{}" : "}");
        return;
    }
    if (value.is_double()) {
        append_canonical_number(out, value.get_double());
        return;
    }
    append_json(out, value);
}

} // namespace

std::string canonical_json(const boost::json::value& value) {
    std::string out;
    append_canonical(out, value);
    return out;
}

} // namespace agui::translator
