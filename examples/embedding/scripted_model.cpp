#include "scripted_model.hpp"

#include <boost/json.hpp>

#include <atomic>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

namespace embedding {

namespace json = boost::json;

namespace {

std::string frame(json::object delta, json::value finish_reason) {
    const json::object chunk{
        {"id", "chatcmpl-1"},
        {"object", "chat.completion.chunk"},
        {"model", "scripted"},
        {"choices",
         json::array{json::object{
             {"index", 0}, {"delta", std::move(delta)}, {"finish_reason", std::move(finish_reason)}
         }}},
    };
    return "data: " + json::serialize(chunk) + "\n\n";
}

std::string say(std::initializer_list<std::string_view> words) {
    std::string body;
    for (const auto word : words) {
        body += frame({{"content", word}}, nullptr);
    }
    return body + frame({}, "stop") + "data: [DONE]\n\n";
}

std::string call_tool(std::string_view id, std::string_view name, std::string_view arguments) {
    const json::object call{
        {"index", 0},
        {"id", id},
        {"type", "function"},
        {"function", json::object{{"name", name}, {"arguments", arguments}}},
    };
    return frame({{"tool_calls", json::array{call}}}, nullptr) + frame({}, "tool_calls") +
           "data: [DONE]\n\n";
}

std::string text_of(const json::value& content) {
    return content.is_string() ? std::string{content.get_string()} : json::serialize(content);
}

} // namespace

agui::runner::script scripted_model() {
    // Requests come from several threads, and ids of calls must differ.
    auto calls = std::make_shared<std::atomic<int>>(0);
    return [calls](const agui::runner::transport_request& request) {
        const auto body = json::parse(request.body);
        const auto& last = body.at("messages").as_array().back();
        const auto text = text_of(last.at("content"));
        const auto id = "call_" + std::to_string(++*calls);

        agui::runner::scripted_answer answer;
        if (last.at("role") == "tool") {
            answer.body = say({"The tool ", "says: ", text});
        } else if (text.find("time") != std::string::npos) {
            answer.body = call_tool(id, "get_time", R"({"zone":"UTC"})");
        } else if (text.find("disk") != std::string::npos) {
            answer.body = call_tool(id, "disk_space", "{}");
        } else if (text.find("background") != std::string::npos) {
            answer.body = call_tool(id, "change_background", R"({"color":"seagreen"})");
        } else {
            answer.body = say({"Ask me for the time, ", "the disk, ", "or another background."});
        }
        return answer;
    };
}

} // namespace embedding
