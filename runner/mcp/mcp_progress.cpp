#include "runner/mcp/mcp_progress.hpp"

#include "runner/base/json_members.hpp"
#include "session/base/sound_text.hpp"

#include <boost/json/array.hpp>

#include <utility>

namespace agui::runner {

namespace json = boost::json;

namespace {

constexpr std::size_t message_bytes_max = 4096;

} // namespace

mcp_progress::mcp_progress(std::shared_ptr<run_context> run, std::string call_id, std::string tool)
    : run_(std::move(run)), call_id_(std::move(call_id)), tool_(std::move(tool)) {}

std::optional<json::object> mcp_progress::read(const json::object& told) {
    json::object news;
    for (const std::string_view key : {"progress", "total"}) {
        const json::value* const number = told.if_contains(key);
        if (number != nullptr && number->is_number()) {
            news.emplace(key, json::value(*number, json::storage_ptr()));
        }
    }
    if (!news.contains("progress")) {
        return std::nullopt;
    }
    const std::string_view message = string_in(told, "message");
    if (!message.empty() && message.size() <= message_bytes_max) {
        news.emplace("message", sound_text(message));
    }
    return news;
}

void mcp_progress::show(const json::object& news) {
    if (shown_ == mcp_progress_max) {
        return;
    }
    ++shown_;
    if (activity_id_.empty()) {
        json::object content{{"toolCallId", call_id_}, {"toolName", tool_}};
        for (const auto& member : news) {
            content.emplace(member.key(), member.value());
        }
        const auto shown =
            run_->show_activity({.type = "mcp-progress", .content = std::move(content)});
        activity_id_ = shown ? *shown : std::string();
        return;
    }
    json::array patch;
    for (const auto& member : news) {
        std::string path = "/";
        path.append(member.key());
        patch.push_back({{"op", "add"}, {"path", path}, {"value", member.value()}});
    }
    (void)run_->patch_activity(activity_id_, patch);
}

} // namespace agui::runner
