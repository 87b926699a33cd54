#include "gateway/demo.hpp"

#include "session/base/ascii.hpp"
#include "session/base/json_member.hpp"
#include "session/base/parse_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <utility>

namespace agui::gateway {
namespace json = boost::json;

namespace {

constexpr std::string_view tool_name = "change_background";
constexpr std::chrono::milliseconds pace{30};

constexpr std::array<std::string_view, 31> colour_names{
    "beige",     "black",      "blue",        "brown",   "coral",  "crimson", "darkblue",
    "darkgreen", "gold",       "green",       "grey",    "indigo", "khaki",   "lavender",
    "lightblue", "lightgreen", "lightyellow", "magenta", "maroon", "orange",  "orchid",
    "pink",      "purple",     "red",         "salmon",  "silver", "teal",    "turquoise",
    "violet",    "white",      "yellow"
};

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

/// A `#rrggbb` or `#rgb` in the text, or empty.
std::string hex_colour(std::string_view text) {
    for (std::size_t at = text.find('#'); at != std::string_view::npos;
         at = text.find('#', at + 1)) {
        std::size_t digits = 0;
        while (at + 1 + digits < text.size() && is_hex(text[at + 1 + digits])) {
            ++digits;
        }
        if (digits == 3 || digits == 6) {
            return std::string(text.substr(at, digits + 1));
        }
    }
    return {};
}

bool is_colour(std::string_view word) {
    return std::ranges::find(colour_names, word) != colour_names.end();
}

/// The first color that the text names, as one word or two ("light blue"), or empty.
std::string named_colour(std::string_view text) {
    std::string before;
    std::string word;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        if (i < text.size() && text[i] >= 'a' && text[i] <= 'z') {
            word += text[i];
            continue;
        }
        if (word.empty()) {
            continue;
        }
        if (is_colour(before + word)) {
            return before + word;
        }
        if (is_colour(word)) {
            return word;
        }
        before = std::exchange(word, {});
    }
    return {};
}

/// The color that the text asks for. Empty if the text does not mention colors.
std::string wanted_colour(std::string_view text) {
    const std::string small = to_lower(text);
    if (std::string hex = hex_colour(small); !hex.empty()) {
        return hex;
    }
    if (std::string name = named_colour(small); !name.empty()) {
        return name;
    }
    const bool about_colours = small.find("background") != std::string::npos ||
                               small.find("colour") != std::string::npos ||
                               small.find("color") != std::string::npos;
    return about_colours ? "rebeccapurple" : "";
}

std::string text_of(const json::object& message) {
    const json::value* content = message.if_contains("content");
    if (content == nullptr) {
        return {};
    }
    if (content->is_string()) {
        return std::string(content->get_string());
    }
    std::string text;
    if (content->is_array()) {
        for (const json::value& part : content->get_array()) {
            const json::value* piece =
                part.is_object() ? part.get_object().if_contains("text") : nullptr;
            if (piece != nullptr && piece->is_string()) {
                text += std::string_view(piece->get_string());
            }
        }
    }
    return text;
}

bool offers_tool(const json::object& request) {
    const json::value* tools = request.if_contains("tools");
    if (tools == nullptr || !tools->is_array()) {
        return false;
    }
    return std::ranges::any_of(tools->get_array(), [](const json::value& tool) {
        const json::value* function =
            tool.is_object() ? tool.get_object().if_contains("function") : nullptr;
        return function != nullptr && function->is_object() &&
               string_in(function->get_object(), "name") == tool_name;
    });
}

/// Writes a streamed answer like a Chat Completions server's.
class answer_writer {
public:
    answer_writer() { add({{"role", "assistant"}, {"content", ""}}, nullptr); }

    void say(std::string_view text) {
        while (!text.empty()) {
            const std::size_t end = std::min(text.find(' ', 1), text.size());
            add({{"content", text.substr(0, end)}}, nullptr);
            text.remove_prefix(end);
        }
    }

    /// Without an id: servers that send none are common, and an id made here could not be unique.
    void call(std::string_view arguments) {
        add_call(
            {{"index", 0},
             {"type", "function"},
             {"function", {{"name", tool_name}, {"arguments", ""}}}}
        );
        while (!arguments.empty()) {
            const std::string_view piece = arguments.substr(0, 5);
            add_call({{"index", 0}, {"function", {{"arguments", piece}}}});
            arguments.remove_prefix(piece.size());
        }
        reason_ = "tool_calls";
    }

    std::string finish() {
        add({}, reason_);
        frames_ += "data: [DONE]\n\n";
        return std::move(frames_);
    }

private:
    void add_call(json::object call) {
        add({{"tool_calls", json::array{std::move(call)}}}, nullptr);
    }

    void add(json::object delta, const char* reason) {
        json::object choice{{"index", 0}, {"delta", std::move(delta)}};
        choice["finish_reason"] = reason == nullptr ? json::value() : json::value(reason);
        const json::object chunk{
            {"id", "chatcmpl-demo"},
            {"object", "chat.completion.chunk"},
            {"created", 0},
            {"model", "demo"},
            {"choices", json::array{std::move(choice)}}
        };
        frames_.append("data: ").append(json::serialize(chunk)).append("\n\n");
    }

    std::string frames_;
    const char* reason_ = "stop";
};

void answer_result(answer_writer& answer, std::string_view result) {
    const bool failed = to_lower(result).find("error") != std::string::npos;
    std::string text = failed ? "That did not work. " : "Done! ";
    text.append("Your page answered: ").append(result.substr(0, 300));
    text.append(failed ? ". Shall I try another colour?" : ". Any other colour you would like?");
    answer.say(text);
}

void answer_user(answer_writer& answer, std::string_view text, bool tool_offered) {
    const std::string colour = wanted_colour(text);
    if (colour.empty()) {
        answer.say(
            "Hello! I am a scripted model, so that you can try the gateway without a model server. "
            "Ask me, for example, to make the background green, or #ffd27f."
        );
    } else if (!tool_offered) {
        answer.say(
            "I would change the background, but your request offers no change_background tool."
        );
    } else {
        answer.say("With pleasure: " + colour + " it is.");
        answer.call(json::serialize(json::object{{"color", colour}}));
    }
}

std::optional<runner::scripted_answer> answer_to(const runner::transport_request& request) {
    const result<json::value> body = parse_json(request.body);
    if (!body || !body->is_object()) {
        return std::nullopt;
    }
    const json::object& fields = body->get_object();
    const json::value* messages = fields.if_contains("messages");
    if (messages == nullptr || !messages->is_array() || messages->get_array().empty() ||
        !messages->get_array().back().is_object()) {
        return std::nullopt;
    }
    const json::object& last = messages->get_array().back().get_object();
    answer_writer answer;
    if (string_in(last, "role") == "tool") {
        answer_result(answer, text_of(last));
    } else {
        answer_user(answer, text_of(last), offers_tool(fields));
    }
    runner::scripted_answer result;
    result.body = answer.finish();
    result.pace = pace;
    return result;
}

} // namespace

runner::script demo_script() { return answer_to; }

std::string demo_config(const std::string& folder) {
    return "[session]\n"
           "store = \"sqlite:" +
           folder +
           "/demo.db\"\n"
           "[models.demo]\n"
           "provider = \"scripted\"\n"
           "script = \"demo\"\n"
           "[[agents]]\n"
           "id = \"default\"\n"
           "models = [\"demo\"]\n"
           "instructions = \"You can change the background of the user's page.\"\n";
}

} // namespace agui::gateway
