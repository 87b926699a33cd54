#include "runner/tools/webhook_answer.hpp"

#include "runner/tools/tool_question.hpp"
#include "session/base/parse_json.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <optional>
#include <utility>

namespace agui::runner {

tool_outcome read_webhook_answer(std::string text) {
    tool_outcome outcome;
    // Most answers have neither, and need not be parsed.
    if (text.find(effects_member) == std::string::npos &&
        text.find(question_member) == std::string::npos) {
        outcome.content = std::move(text);
        return outcome;
    }
    auto answer = parse_json(text, {.max_depth = 64});
    boost::json::object* const members = answer ? answer->if_object() : nullptr;
    std::optional<session::input_question> question;
    if (members != nullptr) {
        outcome.effects = read_tool_effects(*members);
        question = read_question(*members);
    }
    if (question) {
        auto effects = std::move(outcome.effects);
        outcome = tool_outcome::ask(*std::move(question));
        outcome.effects = std::move(effects);
        return outcome;
    }
    if (outcome.effects == nullptr) {
        outcome.content = std::move(text);
        return outcome;
    }
    members->stable_erase("_meta");
    const boost::json::value* const given = members->if_contains("result");
    if (given != nullptr && given->is_string()) {
        outcome.content = std::string(given->get_string());
    } else {
        outcome.content = boost::json::serialize(given != nullptr ? *given : *answer);
    }
    return outcome;
}

} // namespace agui::runner
