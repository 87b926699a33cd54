#include "runner/chat/chat_conversation.hpp"

#include <algorithm>
#include <exception>
#include <utility>
#include <variant>

namespace agui::runner {

using session::call_status;

chat_conversation::chat_conversation(
    model_provider& model, std::vector<session::message> messages, agent_settings agent,
    chat_listeners listeners, logger& log
)
    : model_(model), agent_(std::move(agent)), listeners_(std::move(listeners)), log_(log) {
    thread_.key.thread_id = "chat";
    new_user_turn_ = !messages.empty() && messages.back().role == session::role::user;
    session::changes change;
    for (session::message& each : messages) {
        if (each.id.empty()) {
            each.id = ids_.next("msg");
        }
        append(change, std::move(each));
    }
    session::apply(thread_, change);
}

// After the last message of the thread with what the change already holds.
void chat_conversation::append(session::changes& change, session::message value) const {
    const auto next =
        static_cast<session::node_index>(thread_.nodes.size() + change.messages.size());
    session::stored_message node;
    node.parent = next == 0 ? session::no_node : next - 1;
    node.message = std::move(value);
    change.messages.push_back(std::move(node));
    change.branches = {{0, {next, 0}}};
}

boost::asio::awaitable<stop_reason> chat_conversation::continue_run(
    const tool_registry& tools, std::vector<tool_definition> external, stop_source& stop
) {
    run_request request;
    request.key = thread_.key;
    request.run_id = "run-" + std::to_string(++runs_);
    request.agent = agent_;
    request.thread = thread_;
    request.new_user_turn = std::exchange(new_user_turn_, false);
    request.external_tools = std::move(external);
    pending_.clear();
    turn_content_.clear();
    reason_ = stop_reason::error;
    const loop_services services{
        .model = model_,
        .tools = tools,
        .ids = ids_,
        .time = system_clock(),
        .log = log_,
        .plugins = plugins_.empty() ? nullptr : &plugins_,
    };
    co_await run_agent(std::move(request), services, *this, stop);
    co_return reason_;
}

result<void> chat_conversation::add_results(const std::vector<chat_tool_result>& results) {
    session::changes change;
    for (const chat_tool_result& each : results) {
        const session::call_record* const call = thread_.find_call(each.call_id);
        const bool again =
            std::ranges::count(results, each.call_id, &chat_tool_result::call_id) > 1;
        if (call == nullptr || call->status != call_status::pending || again) {
            return failure{
                errc::unknown_tool_call, "there is no pending call with this id", each.call_id
            };
        }
        session::message answer;
        answer.id = ids_.next("msg");
        answer.role = session::role::tool;
        answer.tool_call_id = each.call_id;
        answer.content = each.content;
        if (each.failed) {
            answer.error = session::text_of(each.content);
        }
        append(change, std::move(answer));
        session::call_record answered = *call;
        answered.status = call_status::answered;
        change.calls.push_back(std::move(answered));
    }
    // The model is told of those that nobody answers.
    for (const session::tool_call& call : pending_) {
        if (std::ranges::count(results, call.id, &chat_tool_result::call_id) == 0) {
            session::call_record abandoned = *thread_.find_call(call.id);
            abandoned.status = call_status::abandoned;
            change.calls.push_back(std::move(abandoned));
        }
    }
    session::apply(thread_, change);
    pending_.clear();
    return result<void>();
}

std::vector<session::message> chat_conversation::messages() const {
    std::vector<session::message> all;
    for (const session::stored_message& node : thread_.nodes) {
        all.push_back(node.message);
    }
    return all;
}

void chat_conversation::emit(const runner_event& event) {
    if (const auto* const text = std::get_if<text_delta>(&event)) {
        begin_turn(text->message_id);
        turn_content_ += text->text;
        totals_.content += text->text;
        if (listeners_.content) {
            listeners_.content(text->text);
        }
    } else if (const auto* const call = std::get_if<call_started>(&event)) {
        begin_turn(call->parent_message_id);
    } else if (const auto* const thought = std::get_if<reasoning_delta>(&event)) {
        if (listeners_.thinking) {
            listeners_.thinking(thought->text);
        }
    }
}

// An answer may be stored long before the run ends.
void chat_conversation::begin_turn(std::string_view message_id) {
    if (turn_id_ != message_id) {
        turn_id_ = message_id;
        turn_content_.clear();
    }
}

// An answer with calls, or results of calls.
void chat_conversation::take(const session::changes& change) {
    std::vector<chat_tool_result> results;
    for (const session::stored_message& node : change.messages) {
        const session::message& each = node.message;
        if (each.role == session::role::tool) {
            results.push_back({each.tool_call_id, each.content, each.error.has_value()});
        }
        if (each.tool_calls.empty()) {
            continue;
        }
        ++totals_.rounds;
        totals_.calls.insert(totals_.calls.end(), each.tool_calls.begin(), each.tool_calls.end());
        if (listeners_.calls) {
            listeners_.calls(each.tool_calls, session::text_of(each.content));
        }
    }
    if (!results.empty() && listeners_.results) {
        listeners_.results(results);
    }
}

boost::asio::awaitable<result<void>> chat_conversation::commit(session::changes change) {
    session::apply(thread_, change);
    take(change);
    co_return result<void>();
}

boost::asio::awaitable<result<session::thread_record>> chat_conversation::load_thread() {
    co_return thread_;
}

boost::asio::awaitable<void> chat_conversation::finish(session::changes change, run_end end) {
    reason_ = end.reason;
    session::apply(thread_, change);
    for (const token_usage& each : end.usage) {
        add_usage(totals_.usage, each);
    }
    for (const std::string& id : end.pending_call_ids) {
        const session::call_record* const record = thread_.find_call(id);
        if (record == nullptr || record->made_in >= thread_.nodes.size()) {
            continue;
        }
        const auto& calls = thread_.nodes[record->made_in].message.tool_calls;
        const auto call = std::ranges::find(calls, id, &session::tool_call::id);
        if (call != calls.end()) {
            pending_.push_back(*call);
        }
    }
    try {
        take(change);
    } catch (const std::exception& error) {
        log_.log(log_level::error, "a listener has failed", {{"detail", error.what()}});
        reason_ = stop_reason::error;
    }
    co_return;
}

} // namespace agui::runner
