#include "runner/tools/json_constant.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

namespace agui::runner {

namespace json = boost::json;

namespace {

// The same text for 5, 5u and 5.0.
std::string number_text(const json::value& value) {
    if (value.is_int64()) {
        return std::to_string(value.get_int64());
    }
    if (value.is_uint64()) {
        return std::to_string(value.get_uint64());
    }
    constexpr double beyond_int64 = 9223372036854775808.0; // 2^63
    constexpr double beyond_uint64 = 2 * beyond_int64;
    const double number = value.get_double();
    if (std::trunc(number) == number && number >= -beyond_int64 && number < beyond_uint64) {
        return number < beyond_int64 ? std::to_string(static_cast<std::int64_t>(number))
                                     : std::to_string(static_cast<std::uint64_t>(number));
    }
    return "d" + std::to_string(std::bit_cast<std::uint64_t>(number));
}

class constant_writer {
public:
    constant_writer(std::size_t max_bytes, null_members nulls, check_budget& budget) noexcept
        : max_bytes_(max_bytes), nulls_(nulls), budget_(budget) {}

    // Returns false if the value is too long or too deep.
    bool write(const json::value& value, std::size_t depth = 0) {
        budget_.take();
        if (depth > max_schema_depth) {
            return false;
        }
        switch (value.kind()) {
        case json::kind::null:
            return append("0");
        case json::kind::bool_:
            return append(value.get_bool() ? "t" : "f");
        case json::kind::string:
            return write_string(value.get_string());
        case json::kind::array:
            return write_array(value.get_array(), depth);
        case json::kind::object:
            return write_object(value.get_object(), depth);
        default:
            return append("n") && append(number_text(value)) && append(";");
        }
    }

    std::string take() noexcept { return std::move(text_); }

private:
    bool append(std::string_view text) {
        if (text.size() > max_bytes_ - text_.size()) {
            return false;
        }
        text_ += text;
        return true;
    }

    bool write_string(std::string_view text) {
        budget_.take_text(std::min(text.size(), max_bytes_));
        return append("s") && append(std::to_string(text.size())) && append(":") && append(text);
    }

    bool write_array(const json::array& list, std::size_t depth) {
        if (!append("[")) {
            return false;
        }
        for (const json::value& each : list) {
            if (!write(each, depth + 1)) {
                return false;
            }
        }
        return append("]");
    }

    bool write_object(const json::object& object, std::size_t depth) {
        std::vector<const json::key_value_pair*> members;
        for (const json::key_value_pair& each : object) {
            // Each member needs more than one byte: long objects end here.
            if (members.size() > max_bytes_) {
                return false;
            }
            budget_.take_text(each.key().size());
            if (nulls_ == null_members::are_values || !each.value().is_null()) {
                members.push_back(&each);
            }
        }
        budget_.take(members.size() * std::bit_width(members.size()) / 2);
        std::ranges::sort(members, {}, [](const auto* member) {
            return std::string_view(member->key());
        });
        if (!append("{")) {
            return false;
        }
        for (const json::key_value_pair* const each : members) {
            if (!write_string(each->key()) || !write(each->value(), depth + 1)) {
                return false;
            }
        }
        return append("}");
    }

    std::size_t max_bytes_;
    null_members nulls_;
    check_budget& budget_;
    std::string text_;
};

} // namespace

std::optional<std::string> constant_text(
    const json::value& value, std::size_t max_bytes, null_members nulls, check_budget& budget
) {
    constant_writer writer(max_bytes, nulls, budget);
    if (!writer.write(value)) {
        return std::nullopt;
    }
    return writer.take();
}

bool is_whole_number(const json::value& value) noexcept {
    return value.is_int64() || value.is_uint64() ||
           (value.is_double() && std::trunc(value.get_double()) == value.get_double());
}

} // namespace agui::runner
