#include "gateway/demo_request.hpp"

#include "session/base/json_member.hpp"
#include "session/base/parse_json.hpp"

#include <boost/algorithm/string/replace.hpp>

#include <algorithm>
#include <utility>

namespace agui::gateway {
namespace json = boost::json;

namespace {

/// The part of a message that tells the model the thread's state document: its beginning and end.
constexpr std::string_view state_begin = "<state note=";
constexpr std::string_view state_end = "\n</state>\n\n";

/// The document that a message tells; nullopt if it tells none.
std::optional<json::value> told_state(const json::object& message) {
    std::string text = text_of(message);
    const std::size_t begin = text.find('\n');
    const std::size_t end = text.find(state_end);
    if (!text.starts_with(state_begin) || end == std::string::npos || begin >= end) {
        return std::nullopt;
    }
    text = text.substr(begin + 1, end - begin - 1);
    boost::algorithm::replace_all(text, "&lt;", "<");
    boost::algorithm::replace_all(text, "&amp;", "&");
    const result<json::value> document = parse_json(text);
    return document ? std::optional(*document) : std::nullopt;
}

json::array open_items_of(const json::value& state) {
    json::array open;
    const json::object* document = state.if_object();
    const json::value* items = document == nullptr ? nullptr : document->if_contains("items");
    if (items == nullptr || !items->is_array()) {
        return open;
    }
    for (const json::value& item : items->get_array()) {
        const json::object* each = item.if_object();
        const json::value* done = each == nullptr ? nullptr : each->if_contains("done");
        if (each != nullptr && !string_in(*each, "text").empty() &&
            (done == nullptr || *done != true)) {
            open.push_back(json::string(string_in(*each, "text")));
        }
    }
    return open;
}

} // namespace

bool demo_request::is_steered() const {
    return messages.size() > 1 && string_in(last(), "role") == "user" &&
           string_in(messages[messages.size() - 2].get_object(), "role") == "tool";
}

bool demo_request::offers(std::string_view tool) const {
    const json::value* tools = fields.if_contains("tools");
    if (tools == nullptr || !tools->is_array()) {
        return false;
    }
    return std::ranges::any_of(tools->get_array(), [tool](const json::value& each) {
        const json::value* function =
            each.is_object() ? each.get_object().if_contains("function") : nullptr;
        return function != nullptr && function->is_object() &&
               string_in(function->get_object(), "name") == tool;
    });
}

json::array demo_request::open_items() const {
    for (std::size_t i = messages.size(); i > 0; --i) {
        if (const auto state = told_state(messages[i - 1].get_object())) {
            return open_items_of(*state);
        }
    }
    return {};
}

std::optional<demo_request> read_demo_request(std::string_view text) {
    result<json::value> body = parse_json(text);
    if (!body || !body->is_object()) {
        return std::nullopt;
    }
    demo_request read{.fields = std::move(body->get_object()), .messages = {}};
    json::value* const messages = read.fields.if_contains("messages");
    if (messages == nullptr || !messages->is_array() || messages->get_array().empty() ||
        !std::ranges::all_of(messages->get_array(), [](const auto& m) { return m.is_object(); })) {
        return std::nullopt;
    }
    read.messages = std::move(messages->get_array());
    return read;
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

std::string words_of(const json::object& message) {
    const std::string text = text_of(message);
    const std::size_t end = text.find(state_end);
    return text.starts_with(state_begin) && end != std::string::npos
               ? text.substr(end + state_end.size())
               : text;
}

} // namespace agui::gateway
