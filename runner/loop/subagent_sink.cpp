#include "runner/loop/subagent_sink.hpp"

#include "session/history/subagent.hpp"
#include "session/history/turn_failure.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace agui::runner {

using session::call_record;
using session::call_status;

bool is_suspended(stop_reason reason) noexcept {
    return reason == stop_reason::external_tool || reason == stop_reason::approval_needed ||
           reason == stop_reason::partial_answers;
}

subagent_sink::subagent_sink(
    delegation& within, const stop_source& stop, std::string call_id, std::string task,
    std::size_t stored
)
    : within_(within),
      stop_(stop),
      call_id_(std::move(call_id)),
      task_(std::move(task)),
      id_(session::subagent_run_id(call_id_)),
      stored_(stored) {}

// Only the run itself knows the whole conversation and its state.
void subagent_sink::emit(const runner_event& event) {
    if (std::holds_alternative<messages_snapshot>(event)) {
        within_.is_changed = true;
    } else if (!std::holds_alternative<state_shown>(event)) {
        within_.sink.emit_inner(id_, event);
    }
}

boost::asio::awaitable<result<session::thread_record>> subagent_sink::load_thread() {
    const auto loaded = co_await within_.sink.load_thread();
    if (!loaded) {
        co_return loaded.error();
    }
    if (loaded->head >= loaded->branches.size()) {
        co_return failure{errc::not_found, "the thread has no branch", {}};
    }
    co_return session::subagent_thread(
        *loaded, loaded->branches[loaded->head].tip, call_id_, task_
    );
}

// The record of a call that is stored already, with the changed status.
std::optional<call_record> subagent_sink::stored_call(const call_record& changed) const {
    for (const conversation::inner_call& each : within_.thread.inner_calls()) {
        if (each.record.id == changed.id) {
            call_record record = changed;
            record.made_in = each.record.made_in;
            return record;
        }
    }
    return std::nullopt;
}

boost::asio::awaitable<result<void>> subagent_sink::commit(session::changes change) {
    branch_growth growing = within_.thread.growth();
    growing.change.events = std::move(change.events);
    session::node_index first = session::no_node;
    for (const session::stored_message& node : change.messages) {
        session::message own = node.message;
        own.subagent_run_id = id_;
        if (own.role == session::role::assistant) {
            last_text_ = session::text_of(own.content);
        }
        const session::node_index place = within_.thread.append(growing, std::move(own));
        first = std::min(first, place);
    }
    for (call_record& call : change.calls) {
        if (call.made_in >= stored_ && call.made_in < stored_ + change.messages.size()) {
            call.made_in = first + static_cast<session::node_index>(call.made_in - stored_);
            growing.change.calls.push_back(std::move(call));
        } else if (auto record = stored_call(call)) {
            growing.change.calls.push_back(*std::move(record));
        }
    }
    const std::size_t added = change.messages.size();
    const auto stored = co_await within_.thread.commit(within_.thread.take(std::move(growing)));
    if (stored) {
        stored_ += added;
    }
    co_return stored;
}

void subagent_sink::settle_calls(std::vector<call_record>& calls, stop_reason reason) const {
    if (is_suspended(reason)) {
        // What they become is stored together with the end of the run.
        std::erase_if(calls, [this](const call_record& call) { return call.made_in < stored_; });
        for (call_record& call : calls) {
            call.status = call.status == call_status::asked ? call_status::held : call_status::open;
        }
    } else if (stop_.requested()) {
        // The end of the run decides whether approved calls can be approved again.
        std::erase_if(calls, [](const call_record& call) {
            return call.status == call_status::asked;
        });
    } else {
        // Nobody goes on with this subagent.
        for (call_record& call : calls) {
            if (call.status == call_status::asked) {
                call.status = call_status::cancelled;
            }
        }
    }
}

boost::asio::awaitable<void> subagent_sink::finish(session::changes change, run_end end) {
    // The thread's own notes are about its runs.
    std::vector<session::stored_message> kept;
    for (const session::stored_message& node : change.messages) {
        if (!session::is_failure_note(node.message)) {
            kept.push_back(node);
        }
    }
    if (kept.size() < change.messages.size()) {
        change.messages = session::node_list(std::move(kept));
    }
    settle_calls(change.calls, end.reason);
    std::erase_if(change.events, [](const session::session_event& event) {
        return event.type == "interrupt.raised"; // The end of the run raises them.
    });
    const bool is_empty = change.messages.empty() && change.calls.empty() && change.events.empty();
    if (!is_empty && !co_await commit(std::move(change))) {
        end.reason = stop_reason::store_unavailable;
    }
    end_ = std::move(end);
}

} // namespace agui::runner
