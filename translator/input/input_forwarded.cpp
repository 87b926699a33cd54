#include "translator/input/input_forwarded.hpp"

#include "session/base/ascii.hpp"
#include "session/prompt/prompt_template.hpp"
#include "translator/input/input_fields.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <span>

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
    // The limits of runner::model_parameters::stop.
    constexpr std::size_t texts_max = 16;
    constexpr std::size_t text_bytes_max = 256;
    const value* found = find_any(bag, {"stop", "stop_sequences", "stopSequences"});
    if (found == nullptr) {
        return std::nullopt;
    }
    const std::span<const value> all =
        found->is_array() ? std::span(found->get_array()) : std::span(found, 1);
    std::vector<std::string> texts;
    for (const value& each : all) {
        const boost::json::string* const text = each.if_string();
        if (text == nullptr || text->empty() || text->size() > text_bytes_max ||
            texts.size() == texts_max) {
            ignore(notes, "stop");
            return std::nullopt;
        }
        texts.emplace_back(*text);
    }
    return texts;
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

} // namespace

forwarded_settings
read_forwarded(const value& bag, const std::vector<std::string>& prompt_props, notes_type& notes) {
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
    out.max_output_tokens = read_max_output_tokens(*given, notes);
    out.tool_choice = read_tool_choice(*given, notes);
    out.reasoning_effort = read_name(*given, {"reasoning_effort", "reasoningEffort"}, notes);
    out.ephemeral = read_flag(*given, "ephemeral", notes);
    out.follow = read_flag(*given, "follow", notes);
    read_prompt_values(*given, prompt_props, out.prompt_values, notes);
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
