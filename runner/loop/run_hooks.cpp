#include "runner/loop/run_hooks.hpp"

#include "runner/loop/context_part.hpp"
#include "session/conversation/run_segment.hpp"
#include "session/history/history_repair.hpp"
#include "session/history/history_selection.hpp"
#include "session/history/missing_result.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace agui::runner {

using session::call_record;

namespace {

bool same(const std::optional<tool_choice>& left, const std::optional<tool_choice>& right) {
    return left.has_value() == right.has_value() &&
           (!left || (left->kind == right->kind && left->name == right->name));
}

template <class T>
void carry(const T& given, const T& edited, T& to) {
    if (given != edited) {
        to = edited;
    }
}

void carry_all(
    const model_parameters& given, const model_parameters& edited, model_parameters& to
) {
    carry(given.temperature, edited.temperature, to.temperature);
    carry(given.max_output_tokens, edited.max_output_tokens, to.max_output_tokens);
    carry(given.parallel_tool_calls, edited.parallel_tool_calls, to.parallel_tool_calls);
    carry(given.reasoning_effort, edited.reasoning_effort, to.reasoning_effort);
    carry(given.top_p, edited.top_p, to.top_p);
    carry(given.stop, edited.stop, to.stop);
    carry(given.seed, edited.seed, to.seed);
    carry(given.format, edited.format, to.format);
    if (!same(given.tool_choice, edited.tool_choice)) {
        to.tool_choice = edited.tool_choice;
    }
}

plugin_turn turn_of(const run_parts& run) {
    const run_request& request = run.request;
    return {
        .thread_id = request.key.thread_id,
        .run_id = std::string(session::client_run_id(request.run_id)),
        .agent_id = request.agent.id,
        .principal = request.key.principal,
        .run = run.context
    };
}

bool has_tool(const std::vector<tool_definition>& tools, std::string_view name) noexcept {
    return std::ranges::find(tools, name, &tool_definition::name) != tools.end();
}

bool holds(
    const std::vector<session::message>& all, std::string_view id, const session::content& content
) {
    return std::ranges::any_of(all, [&](const session::message& each) {
        return each.id == id && each.content == content;
    });
}

// An answer is counted once, however many messages a plugin makes of it.
void mark_answer(std::vector<session::message>& stored) {
    const auto is_answer = [](const session::message& each) {
        return each.role == session::role::assistant;
    };
    auto answer = std::ranges::find_if(stored, [&](const session::message& each) {
        return is_answer(each) && !each.tool_calls.empty();
    });
    if (answer == stored.end()) {
        answer = std::ranges::find_if(stored, is_answer);
    }
    for (auto each = stored.begin(); each != stored.end(); ++each) {
        each->by_plugin = each->role == session::role::user || (is_answer(*each) && each != answer);
    }
}

// Drops the data with thoughts for their provider and the reply with thoughts: both repeat text
// that a plugin changed or withheld.
void forget_thoughts(session::message& answer) {
    answer.for_model = nullptr;
    if (answer.origin) {
        answer.origin =
            std::make_shared<const session::turn_origin>(session::without_thoughts(*answer.origin));
    }
}

} // namespace

run_hooks::run_hooks(const run_parts& run, const plugin_list& plugins)
    : run_(run),
      hooks_(plugins, turn_of(run), run.stop, run.services.log),
      // The messages serve another model, which is asked only while nothing was shown.
      sink_(run.sink, hooks_, [this] { std::vector<session::message>().swap(draft_->messages); }) {}

boost::asio::awaitable<std::optional<stop_reason>> run_hooks::before_request(request_draft draft) {
    if (const std::optional<stop_reason> failed = co_await run_.thread.load()) {
        co_return failed;
    }
    const session::thread_record& thread = run_.thread.thread();
    draft.messages = co_await run_.thread.history(
        run_.request.agent.window, run_.foreign_tools(), run_.services.heavy
    );
    calls_ = session::statuses_of(thread);
    draft.context = run_.request.agent.context;
    given_ = draft.parameters;
    // Shared with the plugins, because one may ignore its cancellation.
    draft_ = std::make_shared<request_draft>(std::move(draft));
    const std::optional<stop_reason> ended = co_await hooks_.before_request(draft_);
    functions_.clear(); // Tools are offered anew with each request.
    for (const auto& [name, function] : draft_->functions()) {
        if (has_tool(draft_->tools, name)) {
            functions_.insert_or_assign(name, std::make_shared<const tool_function>(function));
        }
    }
    co_return ended;
}

std::vector<session::message> run_hooks::history() const {
    std::vector<session::message> history = session::repair_history({draft_->messages, calls_});
    put_context(history, draft_->context);
    return history;
}

void run_hooks::edit(model_request& request) const {
    carry_all(given_, draft_->parameters, request.parameters);
    request.instructions = draft_->instructions;
    request.tools = &draft_->tools;
}

void run_hooks::warn(std::string_view what) {
    run_.services.log.log(
        log_level::warning, what, {{"run", session::client_run_id(run_.request.run_id)}}
    );
}

// Clients tell messages apart by their ids.
void run_hooks::give_own_id(session::message& message) {
    if (message.id.empty() || stored_ids_.contains(message.id)) {
        message.id = run_.services.ids.next("msg");
    }
    stored_ids_.insert(message.id);
}

// Removes calls that the model did not make and repeated calls. Takes the kept ones out of `left`.
void run_hooks::keep_own_calls(session::message& message, std::vector<session::call_record>& left) {
    const auto removed = std::erase_if(message.tool_calls, [&](const session::tool_call& call) {
        return std::erase_if(left, [&](const call_record& own) { return own.id == call.id; }) == 0;
    });
    if (removed > 0) {
        warn("a call that a plugin added to a message was left out");
    }
}

// The client must neither wait for this call nor take it for its own.
void run_hooks::show_refused(const call_record& call) {
    const session::content text = std::string("The call was not allowed.");
    const std::string message_id = session::missing_result_id(call.id);
    run_.sink.emit(call_result{message_id, call.id, &text, true});
}

boost::asio::awaitable<std::optional<stop_reason>> run_hooks::append_answer(said_answer& said) {
    std::optional<stop_reason> ended;
    std::vector<session::message> stored;
    std::vector<call_record> left = said.calls;
    std::set<std::string, std::less<>> denied;
    bool thoughts_changed = false; // Thoughts come before the answer.
    answer_ = {};
    answer_.role = session::role::assistant;
    answer_.content = std::string();
    for (session::message& each : said.messages) {
        if (thoughts_changed && each.role == session::role::assistant) {
            forget_thoughts(each);
        }
        if (ended) {
            stored.push_back(std::move(each));
            continue;
        }
        const bool is_thought = each.role == session::role::reasoning;
        turn_hooks::appended one = co_await hooks_.append(each);
        const bool kept = !is_thought || holds(one.stored, each.id, each.content);
        thoughts_changed = thoughts_changed || !kept;
        ended = one.ended;
        changed_ = changed_ || one.changed;
        denied.merge(one.denied);
        std::ranges::move(one.stored, std::back_inserter(stored));
        if (one.message.role == session::role::assistant) {
            answer_ = std::move(one.message);
        }
    }
    const auto results = std::erase_if(stored, [](const session::message& each) {
        return each.role == session::role::tool;
    });
    if (results > 0) {
        warn("a result was left out: a plugin appended it before its call was stored");
    }
    stored_ids_.clear();
    for (session::message& each : stored) {
        give_own_id(each);
        keep_own_calls(each, left);
    }
    mark_answer(stored);
    for (const call_record& call : left) {
        show_refused(call);
    }
    for (call_record& call : said.calls) {
        const bool removed = std::ranges::find(left, call.id, &call_record::id) != left.end();
        if (!removed && denied.contains(call.id)) {
            call.status = session::call_status::denied;
            show_refused(call);
        }
    }
    said.messages = std::move(stored);
    co_return ended;
}

boost::asio::awaitable<std::optional<stop_reason>> run_hooks::append_results(
    std::vector<session::message>& results, std::vector<session::message>& others
) {
    std::optional<stop_reason> ended;
    for (session::message& each : results) {
        if (ended) {
            break;
        }
        turn_hooks::appended one = co_await hooks_.append(each);
        ended = one.ended;
        const auto own = std::ranges::find_if(one.stored, [&](const session::message& stored) {
            return stored.id == each.id && stored.tool_call_id == each.tool_call_id;
        });
        if (own == one.stored.end()) {
            each.content = std::string("The result was withheld.");
            each.error = "The result was withheld.";
            each.for_model = nullptr;
        } else {
            each = std::move(*own);
            one.stored.erase(own);
        }
        changed_ = changed_ || !one.stored.empty();
        std::ranges::move(one.stored, std::back_inserter(others));
    }
    co_return ended;
}

bool run_hooks::add_following(branch_growth& growing, session::message& message) {
    give_own_id(message);
    message.by_plugin = true;
    message.origin = nullptr;
    if (!message.tool_calls.empty()) {
        warn("the calls of a message that a plugin appended were left out");
        message.tool_calls.clear();
    }
    if (message.role != session::role::tool) {
        run_.thread.append(growing, message);
        if (message.role == session::role::user || message.role == session::role::assistant) {
            run_.thread.add_event(
                growing.change, std::string(session::to_string(message.role)) + ".message",
                {{"messageId", message.id}}
            );
        }
        return true;
    }
    const std::vector<call_record>& open = run_.thread.open_calls();
    const auto call = std::ranges::find(open, message.tool_call_id, &call_record::id);
    const bool again = std::ranges::any_of(growing.change.calls, [&](const call_record& changed) {
        return changed.id == message.tool_call_id;
    });
    if (call == open.end() || again) {
        warn("a result was left out: a plugin appended it, but it answers no open call");
        return false;
    }
    conversation::set_status(growing.change, *call, session::call_status::answered);
    run_.thread.append(growing, message);
    run_.thread.add_event(
        growing.change, "tool.response",
        {{"toolCallId", message.tool_call_id}, {"messageId", message.id}}
    );
    return true;
}

boost::asio::awaitable<run_hooks::following> run_hooks::follow() {
    turn_hooks::followed after = co_await hooks_.after_request(answer_, last_);
    branch_growth growing = run_.thread.growth();
    std::erase_if(after.stored, [&](session::message& each) {
        return !add_following(growing, each);
    });
    following next{after.ended, after.requested};
    if (after.stored.empty()) {
        co_return next;
    }
    const auto stored = co_await run_.thread.commit(run_.thread.take(std::move(growing)));
    if (!stored) {
        next.ended = stop_reason::store_unavailable;
        co_return next;
    }
    for (const session::message& each : after.stored) {
        if (each.role == session::role::tool) {
            run_.sink.emit(
                call_result{each.id, each.tool_call_id, &each.content, each.error.has_value()}
            );
        } else {
            changed_ = true;
        }
    }
    co_return next;
}

bool run_hooks::changed_tool(std::string_view name) const noexcept {
    const bool taken_out =
        draft_ != nullptr && has_tool(run_.tools.offered(), name) && !has_tool(draft_->tools, name);
    return taken_out || function_of(name) != nullptr;
}

std::shared_ptr<const tool_function> run_hooks::function_of(std::string_view name) const noexcept {
    const auto found = functions_.find(name);
    return found == functions_.end() ? nullptr : found->second;
}

} // namespace agui::runner
