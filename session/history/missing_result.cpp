#include "session/history/missing_result.hpp"

#include "session/base/text_map.hpp"
#include "session/base/work_count.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

namespace agui::session {

namespace {

constexpr std::string_view id_suffix = ":missing";

constexpr std::string_view interrupted =
    "The call was interrupted; whether it had any effect is unknown.";
constexpr std::string_view not_answered = "The call was not answered by the application.";
constexpr std::string_view not_allowed = "The call was not allowed.";
constexpr std::string_view not_executed = "The call was cancelled before it was executed.";
constexpr std::string_view not_available = "The result of this call is not available.";
constexpr std::string_view no_result = "There is no result for this call.";

constexpr std::array sentences = {interrupted,  not_answered,  not_allowed,
                                  not_executed, not_available, no_result};

constexpr std::string_view content_begin = R"({"error":)";

std::string shown_content(std::string_view sentence) {
    return boost::json::serialize(boost::json::object{{"error", sentence}});
}

} // namespace

bool is_unanswerable(std::optional<call_status> status) noexcept {
    return !status || !(is_of_active_run(*status) || *status == call_status::pending ||
                        *status == call_status::asked || *status == call_status::suspended);
}

std::string_view missing_answer(std::optional<call_status> status) noexcept {
    if (!status) {
        return no_result;
    }
    switch (*status) {
    case call_status::open:
    case call_status::held:
    case call_status::executing:
    case call_status::indeterminate:
    case call_status::dead:
        return interrupted;
    case call_status::asked:
    case call_status::approved:
    case call_status::cancelled:
        return not_executed;
    case call_status::pending:
    case call_status::suspended:
    case call_status::abandoned:
        return not_answered;
    case call_status::denied:
        return not_allowed;
    case call_status::answered:
        return not_available;
    }
    return no_result;
}

std::string missing_result_id(std::string_view call_id) {
    return std::string(call_id).append(id_suffix);
}

message missing_result(const tool_call& call, std::optional<call_status> status) {
    message result;
    result.id = missing_result_id(call.id);
    result.role = role::tool;
    result.tool_call_id = call.id;
    result.name = call.name;
    result.error = std::string(missing_answer(status));
    return result;
}

message shown_missing_result(const tool_call& call, std::optional<call_status> status) {
    message result = missing_result(call, status);
    result.content = shown_content(*result.error);
    return result;
}

std::vector<node_index>
results_elsewhere(const thread_record& thread, const std::vector<node_index>& path) {
    view_set missing;
    count_work(path.size());
    for (const node_index node : path) {
        for (const tool_call& call : thread.nodes[node].message.tool_calls) {
            missing.insert(call.id);
        }
    }
    for (const node_index node : path) {
        const message& stored = thread.nodes[node].message;
        if (stored.role == role::tool) {
            missing.erase(stored.tool_call_id);
        }
    }
    std::vector<node_index> found;
    if (missing.empty()) {
        return found;
    }
    count_work(thread.nodes.size());
    for (node_index node = 0; node < thread.nodes.size(); ++node) {
        const message& stored = thread.nodes[node].message;
        if (stored.role == role::tool && missing.erase(stored.tool_call_id) > 0) {
            found.push_back(node);
        }
    }
    return found;
}

bool is_missing_result(const message& value) {
    if (value.role != role::tool) {
        return false;
    }
    const std::string_view id = value.id;
    if (id.ends_with(id_suffix) &&
        id.substr(0, id.size() - id_suffix.size()) == value.tool_call_id) {
        return true;
    }
    const auto* const text = std::get_if<std::string>(&value.content);
    return text != nullptr && text->starts_with(content_begin) &&
           std::ranges::any_of(sentences, [&](std::string_view sentence) {
               return *text == shown_content(sentence);
           });
}

} // namespace agui::session
