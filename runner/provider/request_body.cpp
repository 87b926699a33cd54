#include "runner/provider/request_body.hpp"

#include "runner/base/json_text.hpp"
#include "runner/base/tool_schema.hpp"
#include "session/base/contains.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace agui::runner {

const std::vector<session::message>& messages_of(const model_request& request) noexcept {
    static const std::vector<session::message> none;
    return request.messages == nullptr ? none : *request.messages;
}

std::string result_text(const session::message& value) {
    std::string text = session::text_of(value.content);
    if (value.error) {
        if (text == *value.error) {
            text.clear(); // The server's own tools have the same text for both.
        }
        text.append(text.empty() ? "" : "\n\n");
        text.append("Error: ").append(value.error->empty() ? "the tool failed" : *value.error);
    }
    return text;
}

bool request_body::begin(std::string_view name) {
    if (extra_.contains(name)) {
        return false;
    }
    begin_anyway(name);
    return true;
}

void request_body::begin_anyway(std::string_view name) {
    text_.append(text_.size() == 1 ? "" : ",");
    append_json_string(text_, name);
    text_.push_back(':');
}

void request_body::text_member(std::string_view name, std::string_view value) {
    if (begin(name)) {
        append_json_string(text_, value);
    }
}

void request_body::number_member(std::string_view name, std::int64_t value) {
    raw_member(name, std::to_string(value));
}

void request_body::number_member(std::string_view name, double value) {
    if (std::isfinite(value) && begin(name)) {
        std::array<char, 32> digits{};
        const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
        text_.append(digits.data(), end.ptr);
    }
}

void request_body::true_or_false(std::string_view name, bool value) {
    raw_member(name, value ? "true" : "false");
}

void request_body::list_member(std::string_view name, const std::vector<std::string>& texts) {
    list_member(name, texts, [this](const std::string& text) { append_json_string(text_, text); });
}

void request_body::raw_member(std::string_view name, std::string_view value) {
    if (begin(name)) {
        text_.append(value);
    }
}

void request_body::extra_members(const std::vector<std::string_view>& except) {
    for (const auto& [key, value] : extra_) {
        const std::string_view name(key.data(), key.size());
        if (!value.is_null() && !contains(except, name)) {
            begin_anyway(name);
            text_.append(boost::json::serialize(value));
        }
    }
}

std::string request_body::finish() {
    text_.push_back('}');
    return std::move(text_);
}

void append_answer_format(
    std::string& out, const answer_format& format, std::string_view begin, std::string_view end
) {
    if (format.schema.empty()) {
        out.append(R"({"type":"json_object"})");
        return;
    }
    out.append(R"({"type":"json_schema",)").append(begin).append(R"("name":)");
    append_json_string(out, format.name);
    out.append(format.strict ? R"(,"strict":true)" : "");
    out.append(R"(,"schema":)").append(format.schema).append(end).append("}");
}

void append_tool_choice(
    std::string& out, const tool_choice& choice, const tool_names& names, std::string_view begin,
    std::string_view end
) {
    switch (choice.kind) {
    case tool_choice::mode::automatic:
        out.append(R"("auto")");
        break;
    case tool_choice::mode::none:
        out.append(R"("none")");
        break;
    case tool_choice::mode::required:
        out.append(R"("required")");
        break;
    case tool_choice::mode::named:
        out.append(R"({"type":"function",)").append(begin).append(R"("name":)");
        append_json_string(out, names.sent(choice.name));
        out.append(end).append("}");
        break;
    }
}

void append_tool(
    std::string& out, const tool_definition& tool, const tool_names& names,
    std::string_view schema_name
) {
    out.append(R"("name":)");
    append_json_string(out, names.sent(tool.name));
    if (!tool.description.empty()) {
        out.append(R"(,"description":)");
        append_json_string(out, tool.description);
    }
    out.append(",\"").append(schema_name).append("\":");
    out.append(boost::json::serialize(tool_schema(tool.parameters)));
}

} // namespace agui::runner
