#include "translator/input/input_forwarded.hpp"

#include "runner/base/model_provider.hpp"
#include "session/base/ascii.hpp"
#include "session/base/json_member.hpp"
#include "session/base/parse_json.hpp"
#include "session/prompt/prompt_template.hpp"
#include "translator/input/input_fields.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <memory>
#include <span>
#include <utility>

namespace agui::translator {
namespace {

using boost::json::object;
using boost::json::value;
using notes_type = std::vector<std::string>;

/// The name in lower case, without '_' and '-', so that apiKey, api_key and API-Key are equal.
std::string folded(std::string_view key) {
    constexpr std::size_t longest = 64; // Longer than any searched name.
    std::string out;
    for (const char c : key.substr(0, longest)) {
        if (c != '_' && c != '-') {
            out.push_back(to_lower(c));
        }
    }
    return out;
}

/// The member under the first of the names that is present.
const value* find_any(const object& bag, std::initializer_list<std::string_view> keys) {
    for (const std::string_view key : keys) {
        if (const value* found = find_member(bag, key)) {
            return found;
        }
    }
    return nullptr;
}

void ignore(notes_type& notes, std::string_view key) {
    add_note(notes, joined("forwardedProps", key), "ignored, wrong type or value");
}

std::optional<std::string>
read_name(const object& bag, std::initializer_list<std::string_view> keys, notes_type& notes) {
    const value* found = find_any(bag, keys);
    if (found == nullptr) {
        return std::nullopt;
    }
    if (!found->is_string() || found->get_string().empty()) {
        ignore(notes, *keys.begin());
        return std::nullopt;
    }
    return std::string(found->get_string());
}

bool read_flag(const object& bag, std::string_view key, notes_type& notes) {
    const value* found = find_member(bag, key);
    if (found == nullptr) {
        return false;
    }
    if (!found->is_bool()) {
        ignore(notes, key);
        return false;
    }
    return found->get_bool();
}

/// A name, or the object form of chat APIs (`{"type":"function","function":{"name":…}}`), which
/// CopilotKit's suggestions send.
std::optional<std::string> read_tool_choice(const object& bag, notes_type& notes) {
    const value* found = find_any(bag, {"tool_choice", "toolChoice"});
    if (found == nullptr) {
        return std::nullopt;
    }
    if (const object* choice = found->if_object()) {
        const value* function = find_member(*choice, "function");
        const object* holder = function != nullptr ? function->if_object() : choice;
        const value* name = holder != nullptr ? find_member(*holder, "name") : nullptr;
        if (name != nullptr) {
            found = name;
        }
    }
    if (!found->is_string() || found->get_string().empty()) {
        ignore(notes, "tool_choice");
        return std::nullopt;
    }
    return std::string(found->get_string());
}

std::optional<double> read_number(
    const object& bag, std::initializer_list<std::string_view> keys, double highest,
    notes_type& notes
) {
    const value* found = find_any(bag, keys);
    if (found == nullptr) {
        return std::nullopt;
    }
    boost::json::error_code ec;
    const double number = found->to_number<double>(ec);
    if (ec || !std::isfinite(number) || number < 0 || number > highest) {
        ignore(notes, *keys.begin());
        return std::nullopt;
    }
    return number;
}

std::optional<std::int64_t> read_seed(const object& bag, notes_type& notes) {
    const value* found = find_member(bag, "seed");
    if (found == nullptr) {
        return std::nullopt;
    }
    boost::json::error_code ec;
    const auto number = found->to_number<std::int64_t>(ec);
    if (ec) {
        ignore(notes, "seed");
        return std::nullopt;
    }
    return number;
}

/// A text or a list of texts.
std::optional<std::vector<std::string>> read_stop(const object& bag, notes_type& notes) {
    const value* found = find_any(bag, {"stop", "stop_sequences", "stopSequences"});
    if (found == nullptr) {
        return std::nullopt;
    }
    const std::span<const value> all =
        found->is_array() ? std::span(found->get_array()) : std::span(found, 1);
    std::vector<std::string> texts;
    for (const value& each : all) {
        if (!each.is_string() || texts.size() == runner::stop_texts_max) {
            ignore(notes, "stop");
            return std::nullopt;
        }
        texts.emplace_back(each.get_string());
    }
    if (!runner::is_valid_stop(texts)) {
        ignore(notes, "stop");
        return std::nullopt;
    }
    return texts;
}

bool is_format_name(std::string_view name) noexcept {
    constexpr std::size_t longest = 64; // OpenAI's limit.
    return !name.empty() && name.size() <= longest && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-';
    });
}

std::string_view text_in(const object& from, std::string_view key) noexcept {
    const value* const found = find_member(from, key);
    return found != nullptr && found->is_string() ? std::string_view(found->get_string())
                                                  : std::string_view();
}

using format_ptr = std::shared_ptr<const runner::answer_format>;

/// Reads the members `name`, `strict` and `schema`. Returns null if there is no usable schema.
format_ptr read_schema(const object& from, std::size_t bytes_max) {
    const value* const schema = find_member(from, "schema");
    if (schema == nullptr || !schema->is_object()) {
        return nullptr;
    }
    runner::answer_format made;
    made.schema = boost::json::serialize(*schema);
    if (made.schema.size() > bytes_max) {
        return nullptr;
    }
    if (const std::string_view name = text_in(from, "name"); is_format_name(name)) {
        made.name = name;
    }
    const value* const strict = find_member(from, "strict");
    made.strict = strict != nullptr && strict->is_bool() && strict->get_bool();
    return std::make_shared<const runner::answer_format>(std::move(made));
}

/// The forms of chat APIs: `{"type":"json_schema","json_schema":{"name","strict","schema"}}`, or
/// these members beside the type; `json_object`; `text`.
std::optional<format_ptr> read_format(const object& bag, std::size_t bytes_max, notes_type& notes) {
    const value* const found = find_any(bag, {"response_format", "responseFormat"});
    if (found == nullptr) {
        return std::nullopt;
    }
    const object* const format = found->if_object();
    const std::string_view type = format == nullptr ? std::string_view() : text_in(*format, "type");
    format_ptr made;
    if (type == "text") {
        return made;
    }
    if (type == "json_object") {
        made = std::make_shared<const runner::answer_format>();
    } else if (type == "json_schema") {
        const value* const inner = find_member(*format, "json_schema");
        const object* const holder = inner == nullptr ? format : inner->if_object();
        made = holder == nullptr ? nullptr : read_schema(*holder, bytes_max);
    }
    if (made == nullptr) {
        ignore(notes, "response_format");
        return std::nullopt;
    }
    return made;
}

std::optional<std::int64_t> read_max_output_tokens(const object& bag, notes_type& notes) {
    const value* found = find_any(bag, {"max_output_tokens", "maxOutputTokens"});
    if (found == nullptr) {
        return std::nullopt;
    }
    boost::json::error_code ec;
    const auto number = found->to_number<std::int64_t>(ec);
    if (ec || number <= 0) {
        ignore(notes, "max_output_tokens");
        return std::nullopt;
    }
    return number;
}

void read_prompt_values(
    const object& bag, const std::vector<std::string>& names, object& out, notes_type& notes
) {
    for (const std::string& name : names) {
        const value* found = find_member(bag, name);
        if (found == nullptr) {
            continue;
        }
        if (found->is_object() || found->is_array()) {
            ignore(notes, name);
        } else if (const auto* text = found->if_string()) {
            out[name] = session::prompt_value(*text);
        } else {
            out[name] = boost::json::serialize(*found);
        }
    }
}

// A text that is a JSON object or list means that: older clients can only resume with a text.
value unpacked(const value& given, std::size_t max_depth) {
    if (const auto* const text = given.if_string()) {
        auto parsed = parse_json(*text, {.max_depth = max_depth});
        if (parsed && (parsed->is_object() || parsed->is_array())) {
            return *std::move(parsed);
        }
    }
    return value(given, boost::json::storage_ptr());
}

std::optional<resume_entry> read_legacy_resume(const object& bag, std::size_t max_depth) {
    const value* const command = find_member(bag, "command");
    const object* const members = command == nullptr ? nullptr : command->if_object();
    const value* const resume = members == nullptr ? nullptr : members->if_contains("resume");
    if (resume == nullptr) {
        return std::nullopt;
    }
    resume_entry entry;
    entry.payload = unpacked(*resume, max_depth);
    if (const value* const shown = find_member(*members, "interruptEvent")) {
        const value event = unpacked(*shown, max_depth);
        if (event.is_object()) {
            entry.interrupt_id = string_in(event.get_object(), "id");
        }
    }
    // Null answers a question by that name only: without it, nothing is answered.
    if (resume->is_null() && entry.interrupt_id.empty()) {
        return std::nullopt;
    }
    return entry;
}

} // namespace

forwarded_settings read_forwarded(const value& bag, const input_limits& limits, notes_type& notes) {
    const object* given = bag.if_object();
    if (given == nullptr) {
        add_note(notes, "forwardedProps", "ignored, not an object");
        return {};
    }
    forwarded_settings out;
    out.model = read_name(*given, {"model", "modelName"}, notes);
    out.temperature =
        read_number(*given, {"temperature"}, std::numeric_limits<double>::max(), notes);
    out.top_p = read_number(*given, {"top_p", "topP"}, 1, notes);
    out.stop = read_stop(*given, notes);
    out.seed = read_seed(*given, notes);
    out.response_format = read_format(*given, limits.max_tool_schema_bytes, notes);
    out.max_output_tokens = read_max_output_tokens(*given, notes);
    out.tool_choice = read_tool_choice(*given, notes);
    out.reasoning_effort = read_name(*given, {"reasoning_effort", "reasoningEffort"}, notes);
    out.ephemeral = read_flag(*given, "ephemeral", notes);
    out.follow = read_flag(*given, "follow", notes);
    read_prompt_values(*given, limits.prompt_props, out.prompt_values, notes);
    out.legacy_resume = read_legacy_resume(*given, limits.max_json_depth);
    return out;
}

bool is_secret_name(std::string_view key) {
    static constexpr std::array<std::string_view, 14> names{
        "apikey",       "xapikey",   "baseurl",     "headers",     "authorization",
        "token",        "authtoken", "accesstoken", "bearertoken", "refreshtoken",
        "clientsecret", "secret",    "password",    "credentials",
    };
    return std::find(names.begin(), names.end(), folded(key)) != names.end();
}

} // namespace agui::translator
