#include "session/conversation/message_size.hpp"
#include "session/conversation/prompt_record.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace agui::session {

namespace json = boost::json;

namespace {

// Adds up sizes until they exceed the limit. Texts count with their quotes but without escapes,
// arrays and objects with their brackets, members with their colon; commas do not count, and any
// other value counts as one byte. So the sum is a lower bound of the written size.
class size_sum {
public:
    explicit size_sum(std::size_t most) : most_(most) {}

    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

    void add(std::string_view text) { bytes_ += text.size() + 2; }
    void add(const std::optional<std::string>& text) {
        if (text) {
            add(std::string_view(*text));
        }
    }
    void add(const std::optional<json::object>& object) {
        if (object) {
            add(*object);
        }
    }
    void add(const content& value) {
        if (const auto* const text = std::get_if<std::string>(&value)) {
            add(std::string_view(*text));
        } else {
            add(std::get<json::array>(value));
        }
    }
    void add(const json::array& values) {
        bytes_ += 2;
        for (const json::value& each : values) {
            if (bytes_ > most_) {
                return;
            }
            add(each);
        }
    }
    void add(const json::object& members) {
        bytes_ += 2;
        for (const auto& [name, value] : members) {
            if (bytes_ > most_) {
                return;
            }
            add(std::string_view(name));
            bytes_ += 1;
            add(value);
        }
    }

    void add(const json::value& value) {
        if (const auto* const text = value.if_string()) {
            add(std::string_view(*text));
        } else if (const auto* const values = value.if_array()) {
            add(*values);
        } else if (const auto* const members = value.if_object()) {
            add(*members);
        } else {
            bytes_ += 1;
        }
    }

private:
    std::size_t most_;
    std::size_t bytes_ = 0;
};

template <class Json>
std::size_t size_of(const Json& value, std::size_t most) {
    size_sum sum(most);
    sum.add(value);
    return sum.bytes();
}

} // namespace

std::size_t stored_size(const json::value& value, std::size_t most) { return size_of(value, most); }

std::size_t stored_size(const json::array& value, std::size_t most) { return size_of(value, most); }

std::size_t stored_size(const json::object& value, std::size_t most) {
    return size_of(value, most);
}

std::size_t stored_size(const message& value, std::size_t most) {
    size_sum sum(most);
    sum.add(std::string_view(value.id));
    sum.add(value.content);
    sum.add(value.name);
    for (const tool_call& call : value.tool_calls) {
        if (sum.bytes() > most) {
            break;
        }
        sum.add(std::string_view(call.id));
        sum.add(std::string_view(call.name));
        sum.add(std::string_view(call.arguments));
        sum.add(call.encrypted_value);
    }
    sum.add(value.error);
    if (!value.activity.empty()) {
        sum.add(value.activity);
    }
    sum.add(value.encrypted_value);
    sum.add(value.metadata);
    if (value.for_model) {
        sum.add(*value.for_model);
    }
    if (value.origin) {
        sum.add(value.origin->data);
        sum.add(std::string_view(value.origin->account));
        sum.add(std::string_view(value.origin->prefix));
        for (const turn_block& block : value.origin->blocks) {
            sum.add(std::string_view(block.id));
            sum.add(block.data);
        }
    }
    if (value.prompt) {
        const prompt_record& told = *value.prompt;
        if (told.begins) {
            sum.add(std::string_view(told.begins->source));
            sum.add(told.begins->instructions);
        }
        for (const auto& [name, text] : told.values) {
            sum.add(std::string_view(name));
            sum.add(std::string_view(text));
        }
        sum.add(std::string_view(told.context));
        sum.add(std::string_view(told.state));
        for (const auto* const names : {&told.tools, &told.undeclared}) {
            for (const std::string& name : *names) {
                sum.add(std::string_view(name));
            }
        }
        sum.add(told.withdrawn);
    }
    return sum.bytes();
}

} // namespace agui::session
