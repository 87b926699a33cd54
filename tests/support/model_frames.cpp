#include "tests/support/model_frames.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace agui::test {

namespace json = boost::json;

namespace {

std::string choice_frame(json::object choice) {
    choice["index"] = 0;
    return model_frame(json::serialize(json::object{{"choices", json::array{std::move(choice)}}}));
}

} // namespace

std::string model_frame(std::string_view data) { return "data: " + std::string(data) + "\n\n"; }

std::string text_frame(std::string_view text) {
    return choice_frame({{"delta", {{"content", text}}}});
}

std::string call_frame(std::string_view id, std::string_view name, std::string_view arguments) {
    const json::object call{
        {"index", 0},
        {"id", id},
        {"type", "function"},
        {"function", {{"name", name}, {"arguments", arguments}}}
    };
    return choice_frame({{"delta", {{"tool_calls", json::array{call}}}}});
}

std::string end_frames(std::string_view finish_reason) {
    return choice_frame({{"delta", json::object()}, {"finish_reason", finish_reason}}) +
           model_frame("[DONE]");
}

} // namespace agui::test
