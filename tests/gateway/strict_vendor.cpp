#include "tests/gateway/strict_vendor.hpp"

#include "tests/runner/anthropic/anthropic_answer_case.hpp"
#include "tests/runner/openai/openai_answer_case.hpp"
#include "tests/runner/responses/responses_answer_case.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace agui::test {

namespace {

namespace json = boost::json;
using kind = spoken::kind;

[[noreturn]] void refuse_request(const std::string& why) { throw std::runtime_error(why); }

std::string text_in(const json::value& object, std::string_view name) {
    return std::string(object.at(name).as_string());
}

bool is_blank(std::string_view text) {
    return text.find_first_not_of(" \n\t") == std::string_view::npos;
}

/// The form that all vendors demand of names, and all but one of ids.
void check_name(std::string_view name) {
    constexpr std::string_view letters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    constexpr std::size_t longest = 64;
    if (name.empty() || name.size() > longest ||
        name.find_first_not_of(letters) != std::string_view::npos) {
        refuse_request("the name or id " + std::string(name));
    }
}

/// A text without blank messages: one text, or a list of parts.
void check_content(const json::value& content) {
    if (content.is_string() ? is_blank(content.get_string()) : content.as_array().empty()) {
        refuse_request("an empty message");
    }
}

void add_tool(asked_request& to, const json::value& tool, const json::value& named) {
    to.tools.push_back(json::serialize(tool));
    to.tool_names.push_back(text_in(named, "name"));
    check_name(to.tool_names.back());
}

std::string plain_call(const std::string& id, const std::string& name, const json::value& input) {
    return id + " " + name + " " + json::serialize(input);
}

spoken call_of(
    std::string bytes, const std::string& id, const std::string& name, const json::value& input
) {
    if (!input.is_object()) {
        refuse_request("arguments that are no object");
    }
    return {kind::call, std::move(bytes), id, plain_call(id, name, input)};
}

/// One of the declared tools; empty if there are none.
std::string some_tool(const asked_request& asked, random_source& random) {
    return asked.tool_names.empty() ? "" : asked.tool_names[random.below(asked.tool_names.size())];
}

bool has_call(const made_answer& made) {
    return std::ranges::any_of(made.parts, [](const spoken& each) {
        return each.what == kind::call;
    });
}

/// True if the model called a tool since the last text of the user.
bool is_tool_turn(const asked_request& asked) {
    for (auto each = asked.parts.rbegin(); each != asked.parts.rend(); ++each) {
        if (each->what == kind::call || each->what == kind::input) {
            return each->what == kind::call;
        }
    }
    return false;
}

class strict_chat final : public strict_vendor {
public:
    [[nodiscard]] asked_request read(const json::object& body) const override {
        asked_request asked;
        if (const json::value* const tools = body.if_contains("tools")) {
            for (const json::value& each : tools->as_array()) {
                add_tool(asked, each, each.at("function"));
            }
        }
        std::string last;
        for (const json::value& message : body.at("messages").as_array()) {
            const std::string role = text_in(message, "role");
            if (role == "system") {
                asked.system += text_in(message, "content");
                continue;
            }
            // As chat templates demand it (openai_settings::merge_roles).
            if ((last.empty() && role != "user") || (role != "tool" && role == last)) {
                refuse_request("roles out of order");
            }
            last = role;
            if (role == "assistant") {
                read_answer(asked, message);
            } else if (role == "tool") {
                asked.parts.push_back(
                    {kind::result, json::serialize(message), text_in(message, "tool_call_id")}
                );
            } else {
                check_content(message.at("content"));
                asked.parts.push_back({kind::input, role + json::serialize(message)});
            }
        }
        if (last.empty() || last == "assistant") {
            refuse_request("the last message is the assistant's");
        }
        return asked;
    }

    [[nodiscard]] made_answer
    answer(const asked_request& asked, std::uint64_t number, random_source& random) const override {
        made_answer made;
        const std::string digits = std::to_string(number);
        const std::size_t thoughts = random.below(3);
        const std::string details =
            R"([{"type":"reasoning.encrypted","data":"chat)" + digits + R"(+/=","index":0}])";
        std::vector<std::string> chunks;
        if (thoughts == 1) {
            chunks.push_back(delta(R"("reasoning_details":)" + details));
        } else if (thoughts == 2) {
            chunks.push_back(delta(R"("reasoning_content":"Hm )" + digits + "\""));
        }
        std::vector<spoken> said;
        const std::size_t calls = asked.tools.empty() || random.one_of(2) ? 0 : 1 + random.below(2);
        if (calls == 0 || random.one_of(2)) {
            chunks.push_back(delta(R"("content":"Text ")"));
            chunks.push_back(delta(R"("content":")" + digits + "\""));
            said.push_back(text_part("Text " + digits));
        }
        for (std::size_t at = 0; at < calls; ++at) {
            const std::string name = some_tool(asked, random);
            // The second form is Kimi's, and no other server takes it.
            const std::string id = (random.one_of(2) ? "call_" : "functions." + name + ":") +
                                   digits + std::to_string(at);
            chunks.push_back(call(
                "\"index\":" + std::to_string(at) + R"(,"id":")" + id +
                R"(","type":"function","function":{"name":")" + name +
                R"(","arguments":"{\"a\": )" + digits + R"(}"})"
            ));
            said.push_back(call_part(id, name, R"({"a": )" + digits + "}"));
        }
        if (thoughts == 1) {
            made.parts.push_back({kind::opaque, json::serialize(json::parse(details))});
        } else if (thoughts == 2 && (calls > 0 || is_tool_turn(asked))) {
            made.parts.push_back({kind::reasoning, "Hm " + digits});
        }
        made.parts.insert(made.parts.end(), said.begin(), said.end());
        chunks.push_back(finish(calls > 0 ? "tool_calls" : "stop"));
        chunks.push_back(done);
        made.events = frames(chunks);
        return made;
    }

private:
    static spoken text_part(const std::string& text) { return {kind::text, text, {}, text}; }

    static spoken
    call_part(const std::string& id, const std::string& name, const std::string& arguments) {
        return call_of(id + " " + name + " " + arguments, id, name, json::parse(arguments));
    }

    static void read_answer(asked_request& asked, const json::value& message) {
        const json::object& members = message.as_object();
        if (const json::value* const thoughts = members.if_contains("reasoning_content")) {
            asked.parts.push_back({kind::reasoning, std::string(thoughts->as_string())});
        }
        if (const json::value* const details = members.if_contains("reasoning_details")) {
            asked.parts.push_back({kind::opaque, json::serialize(*details)});
        }
        const json::value& content = members.at("content");
        const json::value* const calls = members.if_contains("tool_calls");
        if (content.is_string() ? is_blank(content.get_string()) : calls == nullptr) {
            refuse_request("an empty answer");
        }
        if (content.is_string()) {
            asked.parts.push_back(text_part(std::string(content.get_string())));
        }
        if (calls == nullptr) {
            return;
        }
        for (const json::value& each : calls->as_array()) {
            const json::value& function = each.at("function");
            const std::string id = text_in(each, "id");
            check_name(id.starts_with("functions.") ? "its_own" : id);
            check_name(text_in(function, "name"));
            asked.parts.push_back(
                call_part(id, text_in(function, "name"), text_in(function, "arguments"))
            );
        }
    }
};

class strict_claude final : public strict_vendor {
public:
    [[nodiscard]] bool binds_tools() const noexcept override { return true; }

    [[nodiscard]] std::string without_marks(std::string body) const override {
        constexpr std::size_t most = 4;
        const std::string mark = R"(,"cache_control":{"type":"ephemeral"})";
        std::size_t count = 0;
        for (std::size_t at = 0; (at = body.find(mark, at)) != std::string::npos; ++count) {
            body.erase(at, mark.size());
        }
        if (count > most) {
            refuse_request("too many marks for the cache");
        }
        return body;
    }

    [[nodiscard]] asked_request read(const json::object& body) const override {
        asked_request asked;
        if (body.at("max_tokens").as_int64() < 1) {
            refuse_request("max_tokens");
        }
        for (const json::value& each : body.at("system").as_array()) {
            asked.system += text_in(each, "text");
        }
        if (const json::value* const tools = body.if_contains("tools")) {
            for (const json::value& each : tools->as_array()) {
                add_tool(asked, each, each);
            }
        }
        std::string last;
        const json::array& messages = body.at("messages").as_array();
        for (const json::value& message : messages) {
            const std::string role = text_in(message, "role");
            const bool follows =
                role == "user" ? last.empty() || last == "assistant" : last == "user";
            if (!follows && !(role == "assistant" && last == "system")) {
                refuse_request("roles out of order");
            }
            last = role;
            check_content(message.at("content"));
            bool has_text = false;
            for (const json::value& block : message.at("content").as_array()) {
                asked.parts.push_back(
                    role == "system" ? addition(asked, block) : part_of(role, block)
                );
                const kind what = asked.parts.back().what;
                if (what == kind::result && has_text) {
                    refuse_request("a result after text");
                }
                has_text = has_text || what == kind::input;
            }
            if (asked.parts.back().what == kind::opaque && &message != &messages.back()) {
                refuse_request("an answer that ends with a thought or a pause");
            }
        }
        if (last == "assistant" && !is_pause(asked)) {
            refuse_request("the last message is not the user's");
        }
        return asked;
    }

    [[nodiscard]] made_answer
    answer(const asked_request& asked, std::uint64_t number, random_source& random) const override {
        made_answer made;
        made.events = message_start();
        int index = -1;
        const bool goes_on = is_pause(asked);
        if (goes_on) {
            const json::value search = json::parse(asked.parts.back().bytes);
            add_opaque(
                made, ++index,
                {{"type", "web_search_tool_result"},
                 {"tool_use_id", search.at("id")},
                 {"content", json::array()}}
            );
        }
        for (std::size_t count = random.below(7); count > 0; --count) {
            const std::string digits = std::to_string(number) + std::to_string(++index);
            add_block(made, index, digits, some_tool(asked, random), random.below(7));
        }
        if (!goes_on && !has_call(made) && random.one_of(6)) {
            add_opaque(
                made, ++index,
                {{"type", "server_tool_use"},
                 {"id", "srvtoolu_" + std::to_string(number)},
                 {"name", "web_search"},
                 {"input", json::object()}}
            );
            made.events += end_events("pause_turn");
            return made;
        }
        const auto is_said = [](const spoken& each) {
            return each.what != kind::opaque;
        };
        if (std::ranges::none_of(made.parts, is_said)) {
            add_text(made, ++index, "End " + std::to_string(number));
        }
        while (made.parts.back().what == kind::opaque) {
            made.parts.pop_back(); // May not come back at the end.
        }
        made.events += end_events(has_call(made) ? "tool_use" : "end_turn");
        return made;
    }

private:
    /// A tool that is defined in the middle of the conversation.
    static spoken addition(asked_request& asked, const json::value& block) {
        const json::value& tool = block.at("tool");
        const json::value& definition = tool.at("definition");
        if (text_in(block, "type") != "tool_addition" ||
            text_in(tool, "type") != "tool_definition" ||
            text_in(definition.at("input_schema"), "type") != "object" || asked.tools.empty()) {
            refuse_request("a system message that adds no tool");
        }
        asked.tool_names.push_back(text_in(definition, "name"));
        check_name(asked.tool_names.back());
        if (std::ranges::count(asked.tool_names, asked.tool_names.back()) > 1) {
            refuse_request("a tool that is there already");
        }
        return {kind::input, json::serialize(block)};
    }

    static spoken part_of(const std::string& role, const json::value& block) {
        const std::string type = text_in(block, "type");
        const std::string bytes = json::serialize(block);
        const bool is_user = role == "user";
        if (type == "text") {
            const std::string text = text_in(block, "text");
            check_content(block.at("text"));
            return is_user ? spoken{kind::input, bytes} : spoken{kind::text, bytes, {}, text};
        }
        if (type == "tool_result" && is_user) {
            return {kind::result, bytes, text_in(block, "tool_use_id")};
        }
        if (type == "tool_use" && !is_user) {
            check_name(text_in(block, "id"));
            check_name(text_in(block, "name"));
            return call_of(bytes, text_in(block, "id"), text_in(block, "name"), block.at("input"));
        }
        constexpr std::array<std::string_view, 4> opaque_types = {
            "thinking", "redacted_thinking", "server_tool_use", "web_search_tool_result"
        };
        if (!is_user && std::ranges::find(opaque_types, type) != opaque_types.end()) {
            return {kind::opaque, bytes};
        }
        refuse_request("a block of the type " + type);
    }

    /// The last answer waits for a tool of the server: the model goes on.
    static bool is_pause(const asked_request& asked) {
        return asked.parts.back().what == kind::opaque &&
               asked.parts.back().bytes.starts_with(R"({"type":"server_tool_use")");
    }

    static void add_opaque(made_answer& to, int index, const json::value& block) {
        to.events += block_start(index, json::serialize(block)) + block_stop(index);
        to.parts.push_back(part_of("assistant", block));
    }

    static void add_text(made_answer& to, int index, const std::string& text) {
        to.events += text_block(index, text);
        to.parts.push_back(part_of("assistant", {{"type", "text"}, {"text", text}}));
    }

    static void add_block(
        made_answer& to, int index, const std::string& digits, const std::string& tool,
        std::size_t choice
    ) {
        const auto keep = [&to](const json::value& block) {
            to.parts.push_back(part_of("assistant", block));
        };
        switch (choice) {
        case 0: // Thoughts that are shown.
        case 1: // Thoughts that are not.
        {
            const std::string thoughts = choice == 0 ? "Thought " + digits : "";
            to.events += thinking_block(index, thoughts, "sig+/" + digits);
            keep({{"type", "thinking"}, {"thinking", thoughts}, {"signature", "sig+/" + digits}});
            break;
        }
        case 2:
            add_opaque(to, index, {{"type", "redacted_thinking"}, {"data", "d" + digits}});
            break;
        case 3: // Does not come back.
            to.events += text_block(index, R"(\n\n)");
            break;
        case 4:
            to.events += text_start(index) + text_delta(index, "Text ") +
                         text_delta(index, digits + R"( \u00e9\ud83d)") +
                         text_delta(index, R"(\ude00)") + block_stop(index);
            keep({{"type", "text"}, {"text", "Text " + digits + " \u00e9\U0001F600"}});
            break;
        default:
            if (tool.empty()) {
                add_text(to, index, "No tool " + digits);
                break;
            }
            to.events += call_block(index, "toolu_" + digits, tool, R"({\"a\": )" + digits + "}");
            keep(
                {{"type", "tool_use"},
                 {"id", "toolu_" + digits},
                 {"name", tool},
                 {"input", json::parse(R"({"a":)" + digits + "}")}}
            );
        }
    }
};

class strict_responses final : public strict_vendor {
public:
    [[nodiscard]] asked_request read(const json::object& body) const override {
        asked_request asked;
        if (body.at("store") != false || body.at("stream") != true) {
            refuse_request("state of the server");
        }
        asked.system = std::string(body.at("instructions").as_string());
        if (const json::value* const tools = body.if_contains("tools")) {
            for (const json::value& each : tools->as_array()) {
                add_tool(asked, each, each);
            }
        }
        bool reasons = false; // The item before is reasoning.
        for (const json::value& item : body.at("input").as_array()) {
            asked.parts.push_back(part_of(item));
            if (reasons && !asked.parts.back().is_answer()) {
                refuse_request("reasoning provided without its required following item");
            }
            reasons = asked.parts.back().what == kind::opaque;
        }
        if (asked.parts.empty() || asked.parts.back().is_answer()) {
            refuse_request("the last item is the model's");
        }
        return asked;
    }

    [[nodiscard]] made_answer
    answer(const asked_request& asked, std::uint64_t number, random_source& random) const override {
        struct item {
            bool reasons;
            bool calls;
        };
        std::vector<item> items(1 + random.below(3));
        bool has_reasoning = false;
        for (item& each : items) {
            each = {random.one_of(2), !asked.tools.empty() && random.one_of(3)};
            has_reasoning = has_reasoning || each.reasons;
        }
        made_answer made;
        made.events = responses::created;
        int index = 0;
        for (const item& each : items) {
            const std::string digits = std::to_string(number) + std::to_string(index);
            if (each.reasons) {
                const std::string whole =
                    responses::reasoning_item("rs_" + digits, "Hm " + digits, "E+/" + digits);
                made.events +=
                    responses::added(index, responses::reasoning_item("rs_" + digits, "", "")) +
                    responses::summary_delta(index, "Hm " + digits) + responses::done(index, whole);
                made.parts.push_back(part_of(json::parse(whole)));
                ++index;
            }
            // Without reasoning, the server looks for no ids.
            if (each.calls) {
                add_call(made, index, digits, some_tool(asked, random), has_reasoning);
            } else {
                add_text(made, index, digits, random.one_of(2), has_reasoning);
            }
            ++index;
        }
        made.events += responses::end();
        return made;
    }

private:
    static spoken part_of(const json::value& item) {
        const std::string type = text_in(item, "type");
        const std::string bytes = json::serialize(item);
        if (type == "reasoning") {
            return {kind::opaque, bytes};
        }
        if (type == "function_call_output") {
            return {kind::result, bytes, text_in(item, "call_id")};
        }
        if (type == "function_call") {
            const std::string id = text_in(item, "call_id");
            check_name(id);
            check_name(text_in(item, "name"));
            return call_of(
                bytes, id, text_in(item, "name"), json::parse(text_in(item, "arguments"))
            );
        }
        if (type != "message") {
            refuse_request("an item of the type " + type);
        }
        if (text_in(item, "role") != "assistant") {
            check_content(item.at("content"));
            return {kind::input, bytes};
        }
        const json::value& part = item.at("content").as_array().at(0);
        check_content(part.at("text"));
        return {kind::text, bytes, {}, text_in(part, "text")};
    }

    static void add_call(
        made_answer& to, int index, const std::string& digits, const std::string& tool, bool ids
    ) {
        const std::string id = "call_r" + digits;
        const std::string arguments = R"({\"a\": )" + digits + "}";
        to.events += responses::call(index, id, tool, arguments);
        to.parts.push_back(part_of(json::parse(
            R"({"type":"function_call","call_id":")" + id + R"(","name":")" + tool +
            R"(","arguments":")" + arguments + "\"" +
            (ids ? R"(,"id":"fc_)" + id + R"(","status":"completed")" : "") + "}"
        )));
    }

    static void
    add_text(made_answer& to, int index, const std::string& digits, bool comments, bool ids) {
        const std::string phase =
            R"(,"phase":")" + std::string(comments ? "commentary" : "final_answer") + "\"";
        to.events += responses::message(index, "Text " + digits, phase);
        to.parts.push_back(part_of(json::parse(
            R"({"type":"message","role":"assistant","content":[{"type":"output_text","text":"Text )" +
            digits + "\"}]" + (ids ? R"(,"id":"msg_1","status":"completed")" : "") + phase + "}"
        )));
    }
};

} // namespace

std::unique_ptr<strict_vendor> make_strict_chat() { return std::make_unique<strict_chat>(); }

std::unique_ptr<strict_vendor> make_strict_claude() { return std::make_unique<strict_claude>(); }

std::unique_ptr<strict_vendor> make_strict_responses() {
    return std::make_unique<strict_responses>();
}

} // namespace agui::test
