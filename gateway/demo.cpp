#include "gateway/demo.hpp"
#include "gateway/demo_colour.hpp"
#include "gateway/demo_request.hpp"

#include "runner/base/utf8.hpp"
#include "session/base/ascii.hpp"
#include "session/base/json_member.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

namespace agui::gateway {
namespace json = boost::json;

namespace {

constexpr std::chrono::milliseconds pace{30};
constexpr std::size_t quoted_max = 300;

/// The task of the agent `taster` begins with these words. It is asked of the same model.
const std::string taste_words = "Taste the ";

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
    void call(std::string_view tool, const json::object& given) {
        const std::string text = json::serialize(given);
        std::string_view arguments = text;
        add_call(
            {{"index", 0}, {"type", "function"}, {"function", {{"name", tool}, {"arguments", ""}}}}
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

void answer_result(answer_writer& answer, const json::object& message) {
    const std::string text = text_of(message);
    const std::string result(runner::utf8_head(text, quoted_max));
    const std::string small = to_lower(result);
    if (small.find("not allowed") != std::string::npos) {
        answer.say("As you wish. I was told: " + result);
    } else if (small.find("error") != std::string::npos) {
        answer.say("That did not work. I was told: " + result);
    } else {
        answer.say("Done! The answer was: " + result);
    }
}

/// The text between two words of `text`, or empty.
std::string between(std::string_view text, std::string_view before, std::string_view after) {
    const std::string small = to_lower(text);
    const std::size_t begin = small.find(before);
    if (begin == std::string::npos) {
        return {};
    }
    const std::size_t from = begin + before.size();
    const std::size_t end =
        after.empty() ? small.find_last_not_of(" .!?\n") + 1 : small.find(after, from);
    return end == std::string::npos || end <= from ? std::string()
                                                   : std::string(text.substr(from, end - from));
}

struct demo_call {
    std::string_view tool;
    json::object arguments;
    std::string announcement;
};

/// The call that the user's words ask for, if any.
std::optional<demo_call> wanted_call(const demo_request& request, std::string_view words) {
    if (std::string item = between(words, "add ", " to "); !item.empty() && item.size() <= 100) {
        return demo_call{"add_to_list", {{"item", item}}, "I put it on the list."};
    }
    if (std::string dish = between(words, "recipe for ", ""); !dish.empty() && dish.size() <= 100) {
        return demo_call{
            "find_recipe",
            {{"dish", dish}},
            "This takes some seconds. You can write to me in the meantime."
        };
    }
    if (std::string dish = between(words, "taster about ", "");
        !dish.empty() && dish.size() <= 100) {
        return demo_call{"taster", {{"task", taste_words + dish}}, "I ask the taster."};
    }
    if (to_lower(words).find("order") != std::string::npos) {
        json::array items = request.open_items();
        if (items.empty()) {
            items = {"milk", "bread"};
        }
        return demo_call{
            "place_order",
            {{"items", std::move(items)}, {"note", "before noon"}},
            "I order nothing without your approval. You can change the order first."
        };
    }
    if (const std::string colour = wanted_colour(words); !colour.empty()) {
        return demo_call{
            "change_background", {{"color", colour}}, "With pleasure: " + colour + " it is."
        };
    }
    return std::nullopt;
}

void answer_user(answer_writer& answer, const demo_request& request) {
    const std::string words = words_of(request.last());
    if (request.is_steered()) {
        answer_result(answer, request.messages[request.messages.size() - 2].get_object());
        answer.say(" And you wrote meanwhile: ");
        answer.say(runner::utf8_head(words, quoted_max));
    }
    if (words.starts_with(taste_words)) {
        const std::string_view dish = std::string_view(words).substr(taste_words.size());
        answer.say(
            "The " + std::string(runner::utf8_head(dish, quoted_max)) +
            ": sweet, and a little salt is missing."
        );
        return;
    }
    const std::optional<demo_call> wanted = wanted_call(request, words);
    if (!wanted && request.is_steered()) {
        return;
    }
    if (!wanted) {
        answer.say(
            "Hello! I am a scripted model, so that you can try the gateway without a model server. "
            "Ask me, for example, to make the background green, to add tea to the list, or to find "
            "a recipe for pancakes."
        );
    } else if (!request.offers(wanted->tool)) {
        answer.say("I would, but your request offers no " + std::string(wanted->tool) + " tool.");
    } else {
        answer.say((request.is_steered() ? "\n" : "") + wanted->announcement);
        answer.call(wanted->tool, wanted->arguments);
    }
}

std::optional<runner::scripted_answer> answer_to(const runner::transport_request& request) {
    const std::optional<demo_request> read = read_demo_request(request.body);
    if (!read) {
        return std::nullopt;
    }
    answer_writer answer;
    if (string_in(read->last(), "role") == "tool") {
        answer_result(answer, read->last());
    } else {
        answer_user(answer, *read);
    }
    runner::scripted_answer made;
    made.body = answer.finish();
    made.pace = pace;
    return made;
}

} // namespace

runner::script demo_script() { return answer_to; }

std::string demo_config(const std::string& folder) {
    return "[server]\n"
           "copilotkit_path = \"/copilotkit\"\n"
           "console = true\n"
           "ai_path = \"/ai\"\n"
           "[session]\n"
           "store = \"sqlite:" +
           folder +
           "/demo.db\"\n"
           "[models.demo]\n"
           "provider = \"scripted\"\n"
           "script = \"demo\"\n"
           "[[agents]]\n"
           "id = \"default\"\n"
           "models = [\"demo\"]\n"
           "instructions = \"You can change the background of the user's page, and keep a list.\"\n"
           "state = \"user\"\n" // So that the model can order what is on the list.
           "agents = [\"taster\"]\n"
           "[[agents]]\n"
           "id = \"taster\"\n"
           "models = [\"demo\"]\n"
           "description = \"Says how a dish tastes.\"\n"
           "tools = [\"none\"]\n";
}

} // namespace agui::gateway
