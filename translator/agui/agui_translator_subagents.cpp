// The lanes of subagents, and the order in which the end of a run closes them.
#include "translator/agui/agui_translator.hpp"

#include <boost/assert.hpp>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <ranges>
#include <utility>

namespace agui::translator {

void agui_translator::translate(
    const runner::runner_event& event, std::string_view subagent_run_id
) {
    BOOST_ASSERT(!subagent_run_id.empty());
    if (finished_) {
        return;
    }
    lane_ = &lane_of(subagent_run_id);
    try {
        translate(event);
    } catch (...) {
        lane_ = &own_;
        throw;
    }
    lane_ = &own_;
}

agui_translator::lane& agui_translator::lane_of(std::string_view subagent_run_id) {
    for (const std::unique_ptr<lane>& known : subagents_) {
        if (known->subagent_run_id == subagent_run_id) {
            return *known;
        }
    }
    lane& begun = *subagents_.emplace_back(std::make_unique<lane>());
    begun.subagent_run_id = subagent_run_id;
    return begun;
}

void agui_translator::on(const runner::subagent_started& event) {
    BOOST_ASSERT(lane_ == &own_);
    lane& begun = lane_of(event.subagent_run_id);
    if (std::exchange(begun.is_announced, true)) {
        return;
    }
    begin(writer_, "SUBAGENT_STARTED");
    const auto add = [this](std::string_view key, std::string_view text) {
        if (!text.empty()) {
            writer_.member(key, text);
        }
    };
    add(subagent_key, event.subagent_run_id);
    add("name", event.name);
    add("description", event.description);
    add("parentSubagentRunId", event.parent_subagent_run_id);
    add("parentToolCallId", event.parent_call_id);
    add("parentMessageId", event.parent_message_id);
    send_to_declared("SUBAGENT_STARTED");
}

void agui_translator::on(const runner::subagent_ended& event) {
    BOOST_ASSERT(lane_ == &own_);
    lane& ended = lane_of(event.subagent_run_id);
    lane_ = &ended;
    close_all();
    close_steps();
    lane_ = &own_;
    switch (event.how) {
    case runner::subagent_ended::outcome::suspended:
        ended.is_suspended = true;
        return;
    case runner::subagent_ended::outcome::failed:
        fail_subagent(ended, event.message, event.code);
        return;
    case runner::subagent_ended::outcome::finished:
        break;
    }
    if (std::exchange(ended.is_announced, false)) {
        begin(writer_, "SUBAGENT_FINISHED");
        writer_.member(subagent_key, event.subagent_run_id);
        writer_.member("result", event.result);
        send_to_declared("SUBAGENT_FINISHED");
    }
}

void agui_translator::fail_subagent(lane& ended, std::string_view message, std::string_view code) {
    if (std::exchange(ended.is_announced, false)) {
        begin(writer_, "SUBAGENT_ERROR");
        writer_.member(subagent_key, std::string_view(ended.subagent_run_id));
        writer_.member("message", message);
        writer_.member("code", code);
        send_to_declared("SUBAGENT_ERROR");
    }
}

void agui_translator::close_texts_of_all() {
    for (const std::unique_ptr<lane>& each : std::views::reverse(subagents_)) {
        lane_ = each.get();
        close_all();
    }
    lane_ = &own_;
    close_all();
}

void agui_translator::close_lanes() {
    close_texts_of_all();
    for (const std::unique_ptr<lane>& each : std::views::reverse(subagents_)) {
        lane_ = each.get();
        close_steps();
    }
    lane_ = &own_;
    close_steps();
}

// A subagent begins after its parent, so it ends before it.
void agui_translator::end_subagents(std::string_view message, std::string_view code) {
    for (const std::unique_ptr<lane>& each : std::views::reverse(subagents_)) {
        fail_subagent(*each, message, code);
    }
}

// A subagent that waits for one of its own has no interrupts.
void agui_translator::suspend_subagents(
    const runner::run_end& end, const boost::json::array& interrupts
) {
    if (runner::class_of(end.reason) != runner::stop_class::success) {
        return;
    }
    for (const std::unique_ptr<lane>& each : std::views::reverse(subagents_)) {
        if (!each->is_suspended || !std::exchange(each->is_announced, false)) {
            continue;
        }
        boost::json::object outcome{{"type", "suspended"}};
        boost::json::array ids;
        for (const boost::json::value& shown : interrupts) {
            const boost::json::object& interrupt = shown.get_object();
            const auto* const owner = interrupt.if_contains(subagent_key);
            if (owner != nullptr && owner->as_string() == each->subagent_run_id) {
                ids.push_back(interrupt.at("id"));
            }
        }
        if (!ids.empty()) {
            outcome["interruptIds"] = std::move(ids);
        }
        begin(writer_, "SUBAGENT_FINISHED");
        writer_.member(subagent_key, std::string_view(each->subagent_run_id));
        writer_.member("outcome", boost::json::value(std::move(outcome)));
        send_to_declared("SUBAGENT_FINISHED");
    }
}

// Clients before 1.0 fail at the name of such an event.
void agui_translator::send_to_declared(std::string_view type) {
    note_loss(type, false);
    out_.on_event(
        {.json = writer_.end(),
         .v1_0 = std::nullopt,
         .undeclared = std::string_view(),
         .terminal = false}
    );
}

} // namespace agui::translator
