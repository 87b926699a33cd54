#include "translator/ui_message/tanstack_messages.hpp"

#include "session/base/json_member.hpp"
#include "translator/ui_message/ui_values.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace agui::translator {

namespace json = boost::json;

namespace {

json::object content_part(std::string_view text) { return {{"type", "text"}, {"content", text}}; }

/// Texts have another name; pictures and files are the parts of AG-UI.
json::array content_parts(const json::value& content) {
    json::array parts;
    if (const auto* const text = content.if_string(); text != nullptr && !text->empty()) {
        parts.push_back(content_part(*text));
    }
    const json::array* const given = content.if_array();
    if (given == nullptr) {
        return parts;
    }
    for (const json::value& each : *given) {
        const json::object* const part = each.if_object();
        if (part != nullptr && string_in(*part, "type") == "text") {
            parts.push_back(content_part(string_in(*part, "text")));
        } else if (part != nullptr) {
            parts.push_back(*part);
        }
    }
    return parts;
}

json::object tanstack_call(const json::object& call) {
    const json::object* const function = if_object_in(call, "function");
    const std::string_view arguments =
        function == nullptr ? std::string_view() : string_in(*function, "arguments");
    json::object part{
        {"type", "tool-call"},
        {"id", string_in(call, "id")},
        {"name", function == nullptr ? std::string_view() : string_in(*function, "name")},
        {"arguments", arguments},
        {"state", "input-complete"},
    };
    if (auto input = ui_input(arguments)) {
        part["input"] = std::move(*input);
    }
    return part;
}

class tanstack_writer {
public:
    void take(const json::object& message);
    [[nodiscard]] json::array release() && { return std::move(messages_); }

private:
    struct place {
        std::size_t message = 0;
        std::size_t part = 0;
    };

    void take_answer(const json::object& message);
    void take_result(const json::object& message);

    json::array messages_;
    json::array thoughts_; ///< Parts for the next answer.
    std::map<std::string, place, std::less<>> calls_;
};

void tanstack_writer::take(const json::object& message) {
    const std::string_view role = string_in(message, "role");
    const bool is_subagents = message.contains("subagentRunId");
    const json::value* const content = message.if_contains("content");
    if (role == "user" && !is_subagents) {
        messages_.push_back(json::object{
            {"id", string_in(message, "id")},
            {"role", "user"},
            {"parts", content == nullptr ? json::array() : content_parts(*content)},
        });
    } else if (role == "reasoning" && !is_subagents) {
        thoughts_.push_back(
            json::object{{"type", "thinking"}, {"content", string_in(message, "content")}}
        );
    } else if (role == "assistant") {
        take_answer(message);
    } else if (role == "tool") {
        take_result(message);
    }
}

void tanstack_writer::take_answer(const json::object& message) {
    const bool is_subagents = message.contains("subagentRunId");
    const json::array* const calls = if_array_in(message, "toolCalls");
    if (is_subagents && calls == nullptr) {
        return;
    }
    json::array parts = std::exchange(thoughts_, {});
    if (const json::value* content = message.if_contains("content"); content && !is_subagents) {
        for (json::value& part : content_parts(*content)) {
            parts.push_back(std::move(part));
        }
    }
    if (calls != nullptr) {
        for (const json::value& each : *calls) {
            calls_[std::string(string_in(each.as_object(), "id"))] = {
                messages_.size(), parts.size()
            };
            parts.push_back(tanstack_call(each.as_object()));
        }
    }
    messages_.push_back(json::object{
        {"id", string_in(message, "id")}, {"role", "assistant"}, {"parts", std::move(parts)}
    });
}

void tanstack_writer::take_result(const json::object& message) {
    const auto found = calls_.find(string_in(message, "toolCallId"));
    if (found == calls_.end()) {
        return;
    }
    const json::value* const given = message.if_contains("content");
    const json::value content = given == nullptr ? json::value("") : *given;
    const bool is_error = message.contains("error");
    json::value& owner = messages_[found->second.message];
    json::array& parts = owner.get_object()["parts"].get_array();
    json::object& call = parts[found->second.part].get_object();
    call["state"] = is_error ? "error" : "complete";
    call["output"] = is_error ? json::value{{"error", ui_error(content)}} : ui_output(content);
    json::object result{
        {"type", "tool-result"},
        {"toolCallId", found->first},
        {"content", content},
        {"state", is_error ? "error" : "complete"},
    };
    if (is_error) {
        result["error"] = string_in(message, "error");
    }
    parts.push_back(std::move(result));
}

} // namespace

json::array tanstack_messages(const json::array& messages) {
    tanstack_writer writer;
    for (const json::value& each : messages) {
        if (const json::object* const message = each.if_object()) {
            writer.take(*message);
        }
    }
    return std::move(writer).release();
}

} // namespace agui::translator
