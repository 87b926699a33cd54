#include "proto-fixtures/replay/transcript.hpp"

#include "proto-fixtures/replay/placeholders.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

#include <algorithm>
#include <iterator>

namespace agui::replay {

namespace json = boost::json;

namespace {

/// The messages that an answer expects in the request, or null if it expects none in particular.
const json::array* expected_messages(const model_turn& turn) {
    const json::value* messages = turn.expect ? turn.expect->if_contains("messages") : nullptr;
    return messages == nullptr ? nullptr : messages->if_array();
}

std::size_t assistant_messages(const json::array& messages) {
    return static_cast<std::size_t>(std::count_if(
        messages.begin(), messages.end(),
        [](const json::value& message) {
            const json::object* object = message.if_object();
            const json::value* role = object == nullptr ? nullptr : object->if_contains("role");
            return role != nullptr && *role == "assistant";
        }
    ));
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
    const json::value* messages = object == nullptr ? nullptr : object->if_contains("messages");
    if (messages == nullptr || !messages->is_array() || turns_.empty()) {
        return std::nullopt;
    }
    const std::vector<std::size_t> fitting = candidates(messages->get_array());
    const std::lock_guard lock(mutex_);
    const std::size_t turn = given_[fitting]++ % fitting.size();
    return turns_[fitting[turn]].answer;
}

std::vector<std::size_t> transcript::candidates(const json::array& messages) const {
    std::vector<std::size_t> exact;
    std::vector<std::size_t> alike;
    for (std::size_t i = 0; i < turns_.size(); ++i) {
        const json::array* expected = expected_messages(turns_[i]);
        if (expected == nullptr || expected->empty() || messages.empty()) {
            continue;
        }
        if (placeholders::could_match(*expected, messages)) {
            exact.push_back(i);
        } else if (placeholders::could_match(expected->back(), messages.back())) {
            alike.push_back(i);
        }
    }
    if (!exact.empty()) {
        return exact;
    }
    if (!alike.empty()) {
        return alike;
    }
    return {assistant_messages(messages) % turns_.size()};
}

} // namespace agui::replay
