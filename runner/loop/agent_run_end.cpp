// The ends of a run: the reasons to end without a model, and what the end leaves of open calls.
#include "runner/loop/agent_run.hpp"

#include "session/history/missing_result.hpp"
#include "session/history/subagent.hpp"
#include "session/history/turn_failure.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace agui::runner {

using session::call_owner;
using session::call_record;
using session::call_status;

namespace {

bool is_handing_off(stop_reason reason) noexcept {
    return reason == stop_reason::external_tool || reason == stop_reason::approval_needed;
}

} // namespace

boost::asio::awaitable<stop_reason> agent_run::end_without_model() {
    if (request_.snapshot) {
        // An approved call that was executed before has released the thread.
        if (const std::optional<stop_reason> failed = co_await conversation_.load()) {
            co_return *failed;
        }
        emit_snapshot(conversation_.thread(), conversation_.tip());
    }
    switch (request_.next) {
    case session::next_step::wait_for_answers:
        co_return stop_reason::partial_answers;
    case session::next_step::wait_for_approval:
        co_return co_await ask_approval();
    case session::next_step::refuse:
        note(request_.refusal);
        co_return stop_reason::resume_rejected;
    case session::next_step::nothing:
    case session::next_step::call_model:
        break;
    }
    co_return stop_reason::nothing_new;
}

// Shows the client what it needs to ask a person, also after a reload.
boost::asio::awaitable<stop_reason> agent_run::ask_approval() {
    if (const std::optional<stop_reason> failed = co_await conversation_.load()) {
        co_return *failed;
    }
    const session::thread_record& thread = conversation_.thread();
    approvals_ = session::open_approvals(thread, conversation_.tip(), request_.approval_life, true);
    if (approvals_.empty()) {
        note("a call that needs an approval is not in its message");
        co_return stop_reason::error;
    }
    emit_snapshot(thread, conversation_.tip());
    if (!thread.state.is_null()) {
        sink_.emit(state_shown{&thread.state});
    }
    co_return stop_reason::approval_needed;
}

boost::asio::awaitable<void> agent_run::finish(stop_reason reason) {
    run_end end;
    end.reason = reason;
    model_round_.stop_hosted_tools();
    end.usage = model_round_.take_usage();
    if (delegation_) {
        for (const token_usage& each : delegation_->usage) {
            add_usage(end.usage, each);
        }
    }
    end.about = take_details();
    end.used = take_use();
    session::changes change;
    if (model_round_.turn()) {
        change = to_change(conversation_, take_answer(model_round_.turn(), request_.run_id));
    } else if (unstored_) {
        change = std::move(*unstored_);
    }
    end.approvals = std::move(approvals_);
    end.refusal = request_.refusal;
    std::vector<call_record> open = conversation_.open_calls();
    std::ranges::copy_if(change.calls, std::back_inserter(open), [](const call_record& call) {
        return session::is_of_active_run(call.status);
    });
    const text_set kept = calls_to_ask_again(reason);
    for (const call_record& call : open) {
        const bool waits = kept.contains(call.id);
        const call_status status = waits ? call_status::suspended : status_at_end(call, reason);
        end_call(change, end, call, status, {});
    }
    for (const call_record& call : conversation_.suspended_calls()) {
        const bool waits = is_handing_off(reason) || kept.contains(call.id);
        end_call(change, end, call, waits ? call_status::suspended : call_status::dead, {});
    }
    end_inner_calls(change, end, kept);
    if (class_of(reason) == stop_class::failed && reason != stop_reason::resume_rejected) {
        note_failure(change, reason);
    }
    conversation_.add_additions(change);
    change.at = services_.time.now();
    co_await show_changed(change);
    open_context_->close(); // Tools that are left running change nothing any more.
    co_await sink_.finish(std::move(change), std::move(end));
}

// Stores and shows how a call without a result ends.
void agent_run::end_call(
    session::changes& change, run_end& end, const call_record& call, call_status status,
    std::string_view subagent_run_id
) {
    conversation::set_status(change, call, status);
    if (status == call_status::pending) {
        end.pending_call_ids.push_back(call.id);
    } else if (status == call_status::asked) {
        conversation_.add_event(change, "interrupt.raised", {{"toolCallId", call.id}});
    } else if (status == call_status::suspended) {
        return;
    } else if (call.owner == call_owner::server) {
        emit_lost_result(call, status, subagent_run_id);
    } else if (class_of(end.reason) != stop_class::success) {
        end.external_call_open = true;
    }
}

// Calls that subagents have left, because they wait or because their end could not be stored.
void agent_run::end_inner_calls(session::changes& change, run_end& end, const text_set& kept) {
    const auto own = static_cast<std::ptrdiff_t>(end.pending_call_ids.size());
    for (const conversation::inner_call& each : conversation_.inner_calls()) {
        const bool waits = kept.contains(each.record.id);
        const call_status status =
            waits ? call_status::suspended : inner_status_at_end(each.record, end.reason);
        end_call(change, end, each.record, status, each.subagent_run_id);
    }
    // Clients are told the calls in the order in which they saw them begin.
    if (delegation_) {
        std::sort(
            end.pending_call_ids.begin() + own, end.pending_call_ids.end(),
            [&named = delegation_->named](const std::string& left, const std::string& right) {
                return std::ranges::find(named, left) < std::ranges::find(named, right);
            }
        );
    }
}

// The approved calls of a failed run can be approved again, so the calls of their agents go on
// waiting.
text_set agent_run::calls_to_ask_again(stop_reason reason) const {
    text_set kept;
    if (class_of(reason) != stop_class::failed) {
        return kept;
    }
    const auto owner_of = [this](std::string_view id) {
        for (const conversation::inner_call& each : conversation_.inner_calls()) {
            if (each.record.id == id) {
                return std::string_view(each.subagent_run_id);
            }
        }
        return std::string_view();
    };
    for (const conversation::inner_call& each : conversation_.inner_calls()) {
        if (each.record.status == call_status::approved) {
            session::add_agent_calls(each.subagent_run_id, owner_of, kept);
        }
    }
    return kept;
}

call_status agent_run::inner_status_at_end(const call_record& call, stop_reason reason) noexcept {
    switch (call.status) {
    case call_status::held:
        return reason == stop_reason::approval_needed ? call_status::asked : call_status::dead;
    case call_status::approved:
        return class_of(reason) == stop_class::failed ? call_status::asked : call_status::cancelled;
    case call_status::executing:
        return call_status::indeterminate;
    default:
        break;
    }
    if (!is_handing_off(reason)) {
        return call_status::dead;
    }
    // The open calls of the server are those of agents whose subagents wait.
    return call.owner == call_owner::external ? call_status::pending : call_status::suspended;
}

// The status of a call that has no result when the run ends.
call_status agent_run::status_at_end(const call_record& call, stop_reason reason) const noexcept {
    if (call.owner == call_owner::external) {
        return is_handing_off(reason) ? call_status::pending : call_status::dead;
    }
    switch (call.status) {
    case call_status::held:
        return reason == stop_reason::approval_needed ? call_status::asked : call_status::dead;
    case call_status::approved:
        // Clients keep their interrupts when a run fails, and may answer them again.
        return class_of(reason) == stop_class::failed ? call_status::asked : call_status::cancelled;
    case call_status::executing:
        return tool_round_.has_started() ? call_status::indeterminate : call_status::cancelled;
    default:
        return call_status::dead;
    }
}

void agent_run::note(std::string_view detail) {
    if (detail_.empty()) {
        detail_ = detail;
    }
}

end_details agent_run::take_details() {
    end_details about;
    if (const model_failure* const failed = model_round_.failure()) {
        note(failed->detail);
        about.status = failed->status;
        about.request_id = failed->request_id;
        about.upstream = failed->upstream;
    }
    add_details(about);
    about.detail = std::move(detail_);
    return about;
}

turn_use agent_run::take_use() {
    used_ = use_so_far();
    if (!model_round_.last_provider().empty()) {
        used_.last_provider = model_round_.last_provider();
    }
    return std::move(used_);
}

// Leaves a note for later loads of the thread. It keeps refused messages out of later requests.
void agent_run::note_failure(session::changes& change, stop_reason reason) const {
    const bool is_about_content =
        reason == stop_reason::model_rejected || reason == stop_reason::content_filtered;
    conversation_.add_failure(
        change, {.code = std::string(error_code(reason)),
                 .message = std::string(describe(reason)),
                 .refused = is_about_content && model_round_.refused()}
    );
}

// A client must not mistake a server call for its own (specification S5), so the call gets a result
// that is sent but not stored.
void agent_run::emit_lost_result(
    const call_record& call, call_status status, std::string_view subagent_run_id
) {
    session::tool_call made;
    made.id = call.id;
    made.name = call.name;
    const session::message result = session::shown_missing_result(made, status);
    const call_result lost{result.id, call.id, &result.content, true};
    if (subagent_run_id.empty()) {
        sink_.emit(lost);
    } else {
        sink_.emit_inner(subagent_run_id, lost);
    }
}

} // namespace agui::runner
