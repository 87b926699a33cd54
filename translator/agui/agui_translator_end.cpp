// How a run ends.
#include "runner/base/json_text.hpp"
#include "session/base/parse_json.hpp"
#include "translator/agui/agui_translator.hpp"
#include "translator/agui/custom_names.hpp"

#include <boost/json/serialize.hpp>

#include <utility>

namespace agui::translator {
namespace {

void add_usage(event_writer& writer, std::string_view usage) {
    if (!usage.empty()) {
        writer.raw_member("usage", usage);
    }
}
/// Stops that a peer without the `cancelled` outcome may take for a normal end. After all others it
/// must know that the answer is incomplete.
bool may_look_finished(runner::stop_reason reason) {
    return reason == runner::stop_reason::cancelled || reason == runner::stop_reason::aborted ||
           reason == runner::stop_reason::superseded ||
           reason == runner::stop_reason::max_output_tokens;
}

} // namespace
void agui_translator::finish_asking(boost::json::array interrupts, std::string_view usage) {
    if (settings_.legacy_interrupts && !interrupts.empty()) {
        const boost::json::string first(boost::json::serialize(interrupts.front()));
        send_custom(custom_on_interrupt, boost::json::serialize(boost::json::value(first)));
    }
    const auto write = [&](event_writer& writer, bool with_outcome = true) {
        begin_finished(writer);
        if (with_outcome) {
            writer.member(
                "outcome", boost::json::value{{"type", "interrupt"}, {"interrupts", interrupts}}
            );
        }
        add_usage(writer, usage);
        return writer.end();
    };
    wire_event out{
        .json = write(writer_), .v1_0 = std::nullopt, .undeclared = std::nullopt, .terminal = true
    };
    bool any_of_subagents = false;
    for (boost::json::value& each : interrupts) {
        any_of_subagents = each.get_object().erase(subagent_key) > 0 || any_of_subagents;
    }
    if (any_of_subagents || settings_.legacy_interrupts) {
        out.undeclared = write(undeclared_writer_, !settings_.legacy_interrupts);
    }
    out_.on_event(out);
}

void agui_translator::finish_success(
    const runner::run_end& end, boost::json::array interrupts, std::string_view usage
) {
    if (end.reason == runner::stop_reason::approval_needed) {
        finish_asking(std::move(interrupts), usage);
        return;
    }
    if (settings_.tanstack && end.reason == runner::stop_reason::external_tool) {
        send_tool_inputs(end.pending_call_ids);
    }
    std::string outcome = R"({"type":"success")";
    if (end.reason == runner::stop_reason::external_tool && !end.pending_call_ids.empty()) {
        char separator = '[';
        outcome.append(",\"pendingToolCallIds\":");
        for (const std::string& id : end.pending_call_ids) {
            outcome.push_back(separator);
            runner::append_json_string(outcome, id);
            separator = ',';
        }
        outcome.push_back(']');
    }
    outcome.push_back('}');
    begin_finished(writer_);
    writer_.raw_member("outcome", outcome);
    add_usage(writer_, usage);
    begin_finished(undeclared_writer_);
    add_usage(undeclared_writer_, usage);
    out_.on_event(
        {.json = writer_.end(),
         .v1_0 = std::nullopt,
         .undeclared = undeclared_writer_.end(),
         .terminal = true}
    );
}

// Arguments that are no JSON are a text, as for every client that executes the call.
void agui_translator::send_tool_inputs(const std::vector<std::string>& call_ids) {
    for (const std::string& id : call_ids) {
        const auto made = tool_inputs_.find(id);
        if (made == tool_inputs_.end()) {
            continue;
        }
        const auto& [name, arguments] = made->second;
        auto input = parse_json(arguments.empty() ? std::string_view("{}") : arguments);
        send_custom(
            custom_tool_input,
            boost::json::serialize(boost::json::object{
                {"toolCallId", id},
                {"toolName", name},
                {"input", input ? std::move(*input) : boost::json::value(arguments)}
            })
        );
    }
}

void agui_translator::finish_stopped(const runner::run_end& end, std::string_view usage) {
    send_custom(custom_run_stopped, {{"reason", runner::error_code(end.reason)}});

    begin_finished(writer_);
    writer_.raw_member("outcome", R"({"type":"cancelled"})");
    add_usage(writer_, usage);
    // A peer that sees a normal end executes the external calls left open, so for such a peer the
    // stop becomes an error.
    if (end.external_call_open || !may_look_finished(end.reason)) {
        begin_error(undeclared_writer_, end.reason);
    } else {
        begin_finished(undeclared_writer_);
    }
    add_usage(undeclared_writer_, usage);
    out_.on_event(
        {.json = writer_.end(),
         .v1_0 = std::nullopt,
         .undeclared = undeclared_writer_.end(),
         .terminal = true}
    );
}

void agui_translator::finish_failed(const runner::run_end& end, std::string_view usage) {
    begin(writer_, "RUN_ERROR");
    writer_.member("message", end.refusal.empty() ? runner::describe(end.reason) : end.refusal);
    writer_.member("code", runner::error_code(end.reason));
    add_usage(writer_, usage);
    out_.on_event(
        {.json = writer_.end(), .v1_0 = std::nullopt, .undeclared = std::nullopt, .terminal = true}
    );
}
void agui_translator::begin_finished(event_writer& writer) {
    begin(writer, "RUN_FINISHED");
    writer.member("threadId", std::string_view(thread_id_));
    writer.member("runId", std::string_view(run_id_));
}

void agui_translator::begin_error(event_writer& writer, runner::stop_reason reason) {
    begin(writer, "RUN_ERROR");
    writer.member("message", runner::describe(reason));
    writer.member("code", runner::error_code(reason));
}
} // namespace agui::translator
