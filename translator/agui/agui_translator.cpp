#include "translator/agui/agui_translator.hpp"

#include "runner/base/json_text.hpp"
#include "session/conversation/run_segment.hpp"
#include "translator/agui/custom_names.hpp"
#include "translator/agui/interrupt_json.hpp"
#include "translator/agui/snapshot_limit.hpp"
#include "translator/agui/usage_json.hpp"

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

namespace agui::translator {
namespace {

constexpr std::string_view own_version = "1.1";

} // namespace

thread_local event_writer agui_translator::v1_0_writer_;
thread_local event_writer agui_translator::undeclared_writer_;

agui_translator::agui_translator(wire_sink& out, translator_settings settings)
    : out_(out), settings_(std::move(settings)) {}

void agui_translator::start(const run_opening& opening) {
    set_started(opening);
    for (event_writer* writer : {&writer_, &v1_0_writer_, &undeclared_writer_}) {
        begin(*writer, "RUN_STARTED");
        writer->member("threadId", opening.thread_id);
        writer->member("runId", std::string_view(run_id_));
        if (!opening.parent_run_id.empty()) {
            writer->member("parentRunId", opening.parent_run_id);
        }
    }
    writer_.member("protocolVersion", own_version);
    v1_0_writer_.member("protocolVersion", std::string_view("1.0"));
    out_.on_event(
        {.json = writer_.end(),
         .v1_0 = v1_0_writer_.end(),
         .undeclared = undeclared_writer_.end(),
         .terminal = false}
    );
}

void agui_translator::resume(const run_opening& opening, const open_brackets& left) {
    set_started(opening);
    for (auto one = left.open().rbegin(); one != left.open().rend(); ++one) {
        // No timestamp, because the time of the interruption is unknown.
        writer_.begin(one->end_type);
        writer_.member(one->id_key, std::string_view(one->id));
        if (one->id_key == subagent_key) {
            writer_.member("message", runner::describe(runner::stop_reason::error));
            send_to_declared(one->end_type);
            continue;
        }
        if (!one->subagent_run_id.empty()) {
            writer_.member(subagent_key, std::string_view(one->subagent_run_id));
        }
        send();
    }
}

void agui_translator::set_started(const run_opening& opening) {
    BOOST_ASSERT(!started_);
    started_ = true;
    thread_id_ = opening.thread_id;
    run_id_ = session::client_run_id(opening.run_id);
}

void agui_translator::translate(const runner::runner_event& event) {
    BOOST_ASSERT(started_);
    if (finished_) {
        return; // After its terminal event a run sends nothing more (P1).
    }
    std::visit([this](const auto& what) { on(what); }, event);
}

void agui_translator::finish(const runner::run_end& end) {
    BOOST_ASSERT(started_);
    if (finished_) {
        return;
    }
    close_lanes();
    const std::string usage = usage_json(end.usage, settings_.usage);
    const std::size_t taken = envelope_bytes_max + usage.size();
    boost::json::array interrupts =
        interrupts_json(end.approvals, event_bytes_max - std::min(taken, event_bytes_max));
    suspend_subagents(end, interrupts);
    const bool is_success = runner::class_of(end.reason) == runner::stop_class::success;
    const auto why = is_success ? runner::stop_reason::error : end.reason;
    end_subagents(runner::describe(why), runner::error_code(why));
    switch (runner::class_of(end.reason)) {
    case runner::stop_class::success:
        finish_success(end, std::move(interrupts), usage);
        break;
    case runner::stop_class::stopped:
        finish_stopped(end, usage);
        break;
    case runner::stop_class::failed:
        finish_failed(end, usage);
        break;
    }
    finished_ = true;
}

void agui_translator::fail(std::string_view code, std::string_view message) {
    BOOST_ASSERT(started_);
    if (finished_) {
        return;
    }
    close_lanes();
    end_subagents(message, code);
    begin(writer_, "RUN_ERROR");
    writer_.member("message", message);
    writer_.member("code", code);
    out_.on_event(
        {.json = writer_.end(), .v1_0 = std::nullopt, .undeclared = std::nullopt, .terminal = true}
    );
    finished_ = true;
}

void agui_translator::earlier_result(const session::message& result) {
    BOOST_ASSERT(started_ && !finished_);
    begin(writer_, "TOOL_CALL_RESULT");
    writer_.member("messageId", std::string_view(result.id));
    writer_.member("toolCallId", std::string_view(result.tool_call_id));
    writer_.member("content", std::string_view(session::text_of(result.content)));
    send();
}

void agui_translator::taken(
    std::string_view run_id, const std::vector<std::string>& message_ids, std::uint64_t seq
) {
    BOOST_ASSERT(started_ && !finished_);
    std::string value = "{\"runId\":";
    runner::append_json_string(value, run_id);
    value.append(",\"messageIds\":[");
    for (const std::string& id : message_ids) {
        if (value.back() != '[') {
            value.push_back(',');
        }
        runner::append_json_string(value, id);
    }
    value.append("],\"seq\":").append(std::to_string(seq)).push_back('}');
    send_custom(custom_message_taken, value);
}
void agui_translator::begin(event_writer& writer, std::string_view type) {
    stamped_ = now_;
    writer.begin(type);
    writer.member("timestamp", std::int64_t{now_});
    if (!lane_->subagent_run_id.empty()) {
        writer.member(subagent_key, std::string_view(lane_->subagent_run_id));
    }
}
void agui_translator::send() { send(writer_.end()); }

void agui_translator::send(std::string_view json) {
    out_.on_event(
        {.json = json, .v1_0 = std::nullopt, .undeclared = std::nullopt, .terminal = false}
    );
}
void agui_translator::send_custom(std::string_view name, std::string_view value) {
    begin(writer_, "CUSTOM");
    writer_.member("name", name);
    writer_.raw_member("value", value);
    send();
}

void agui_translator::send_custom(
    std::string_view name, std::initializer_list<text_member> members
) {
    std::string value;
    for (const auto& [key, text] : members) {
        value.append(value.empty() ? "{\"" : ",\"").append(key).append("\":");
        runner::append_json_string(value, text);
    }
    value.push_back('}');
    send_custom(name, value);
}

} // namespace agui::translator
