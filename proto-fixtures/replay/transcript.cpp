#include "proto-fixtures/replay/transcript.hpp"

#include "proto-fixtures/replay/placeholders.hpp"
#include "session/base/json_member.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

#include <string_view>
#include <utility>

namespace agui::replay {

namespace json = boost::json;

namespace {

/// The conversation in a request's body: its messages, or the items of the Responses dialect. Null
/// if there is none.
const json::array* conversation_in(const json::object& body) {
    for (const std::string_view name : {"messages", "input"}) {
        const json::value* list = body.if_contains(name);
        if (list != nullptr && list->is_array()) {
            return &list->get_array();
        }
    }
    return nullptr;
}

/// True if the model said it. Items of the Responses dialect that are no message have no role.
bool is_of_model(const json::value& message) {
    const json::object* object = message.if_object();
    if (object == nullptr) {
        return false;
    }
    const std::string_view role = string_in(*object, "role");
    return role.empty() ? string_in(*object, "type") != "function_call_output"
                        : role == "assistant";
}

/// The number of the model's answers. Messages or items in a row are one answer.
std::size_t answers_in(const json::array& conversation) {
    std::size_t answers = 0;
    bool in_answer = false;
    for (const json::value& each : conversation) {
        const bool was_in_answer = std::exchange(in_answer, is_of_model(each));
        answers += in_answer && !was_in_answer ? 1 : 0;
    }
    return answers;
}

} // namespace

transcript::transcript(const fixture& what) {
    for (const step& next : what.steps) {
        if (const auto* request = std::get_if<request_step>(&next.what)) {
            turns_.insert(turns_.end(), request->upstream.begin(), request->upstream.end());
        }
    }
}

std::optional<runner::scripted_answer> transcript::answer(const runner::transport_request& request
) {
    boost::system::error_code ec;
    const json::value body = json::parse(request.body, ec);
    const json::object* object = ec ? nullptr : body.if_object();
    const json::array* conversation = object == nullptr ? nullptr : conversation_in(*object);
    if (conversation == nullptr || turns_.empty()) {
        return std::nullopt;
    }
    const std::vector<std::size_t> fitting = candidates(*conversation);
    const std::lock_guard lock(mutex_);
    const std::size_t turn = given_[fitting]++ % fitting.size();
    return turns_[fitting[turn]].answer;
}

std::vector<std::size_t> transcript::candidates(const json::array& conversation) const {
    std::vector<std::size_t> exact;
    std::vector<std::size_t> alike;
    for (std::size_t i = 0; i < turns_.size(); ++i) {
        const json::array* expected =
            turns_[i].expect ? conversation_in(*turns_[i].expect) : nullptr;
        if (expected == nullptr || expected->empty() || conversation.empty()) {
            continue;
        }
        if (placeholders::could_match(*expected, conversation)) {
            exact.push_back(i);
        } else if (placeholders::could_match(expected->back(), conversation.back())) {
            alike.push_back(i);
        }
    }
    if (!exact.empty()) {
        return exact;
    }
    if (!alike.empty()) {
        return alike;
    }
    return {answers_in(conversation) % turns_.size()};
}

} // namespace agui::replay
