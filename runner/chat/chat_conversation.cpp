#include "runner/chat/chat_conversation.hpp"

#include "runner/base/utf8.hpp"
#include "runner/loop/turn_use.hpp"
#include "session/history/turn_failure.hpp"

#include <algorithm>
#include <exception>
#include <utility>
#include <variant>

namespace agui::runner {

using session::call_status;

session::message user(std::string text) {
    session::message made;
    made.content = std::move(text);
    return made;
}

chat_conversation::chat_conversation(chat_parts parts) : parts_(std::move(parts)) {
    thread_.key.thread_id = "chat";
    std::vector<session::message>& messages = parts_.messages;
    new_user_turn_ = !messages.empty() && messages.back().role == session::role::user;
    session::changes change;
    for (session::message& each : messages) {
        if (each.id.empty()) {
            each.id = ids_.next("msg");
        }
        append(change, std::move(each));
    }
    messages.clear();
    session::apply(thread_, change);
    if (!thread_.branches.empty()) {
        used_ = use_of_turn(thread_, thread_.branches.front().tip);
        earlier_rounds_ = used_.rounds;
    }
}

// Appends after the last message of the thread, including the messages already in the change.
void chat_conversation::append(session::changes& change, session::message value) const {
    const auto next =
        static_cast<session::node_index>(thread_.nodes.size() + change.messages.size());
    session::stored_message node;
    node.parent = next == 0 ? session::no_node : next - 1;
    node.message = std::move(value);
    change.messages.push_back(std::move(node));
    change.branches = {{0, {next, 0}}};
}

run_request chat_conversation::make_request(std::vector<tool_definition> external) {
    run_request request;
    request.key = thread_.key;
    request.run_id = "run-" + std::to_string(++runs_);
    request.agent = parts_.agent;
    request.agent.parameters = parts_.model.parameters;
    // A run counts its own rounds, and each hand-off makes another run.
    std::uint32_t& rounds = request.agent.max_rounds;
    rounds -= std::min(rounds, used_.rounds - earlier_rounds_);
    request.used = used_;
    request.thread = std::make_shared<const session::thread_record>(thread_);
    request.new_user_turn = std::exchange(new_user_turn_, false);
    for (const owned_model& each : parts_.fallbacks) {
        request.fallbacks.push_back({each.provider.get(), each.parameters});
    }
    request.external_tools = std::move(external);
    return request;
}

boost::asio::awaitable<chat_end> chat_conversation::continue_run(
    const tool_registry& tools, std::vector<tool_definition> external, stop_source& stop
) {
    pending_.clear();
    turn_content_.clear();
    end_ = {{}, stop_reason::error};
    const loop_services services{
        .model = *parts_.model.provider,
        .tools = tools,
        .ids = ids_,
        .time = system_clock(),
        .log = parts_.log != nullptr ? *parts_.log : null_logger(),
        .plugins = parts_.plugins.empty() ? nullptr : &parts_.plugins,
    };
    co_await run_agent(make_request(std::move(external)), services, *this, stop);
    co_return end_;
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
        make_utf8(answer.content);
        if (each.failed) {
            answer.error = session::text_of(answer.content);
        }
        append(change, std::move(answer));
        session::call_record answered = *call;
        answered.status = call_status::answered;
        change.calls.push_back(std::move(answered));
    }
    // The model learns of the calls without a result.
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
        if (!session::is_failure_note(node.message)) {
            all.push_back(node.message);
        }
    }
    return all;
}

void chat_conversation::emit(const runner_event& event) {
    std::visit([this](const auto& one) { on_event(one); }, event);
}

void chat_conversation::on_event(const text_delta& event) {
    begin_turn(event.message_id);
    turn_content_ += event.text;
    totals_.content += event.text;
    if (parts_.listeners.content) {
        parts_.listeners.content(event.text);
    }
}

void chat_conversation::on_event(const reasoning_delta& event) {
    if (parts_.listeners.thinking) {
        parts_.listeners.thinking(event.text);
    }
}

void chat_conversation::on_event(const call_started& event) {
    begin_turn(event.parent_message_id);
    totals_.rounds += std::exchange(turn_calls_, true) ? 0 : 1;
}

// The first event of a round announces all its calls: none of them has begun.
void chat_conversation::on_event(const call_executing& event) {
    if (announced_.contains(event.call_id)) {
        return;
    }
    std::vector<session::tool_call> calls;
    for (const session::call_record& record : thread_.calls) {
        const bool executes =
            record.status == call_status::open && record.owner == session::call_owner::server;
        const session::tool_call* const call = executes ? call_of(record) : nullptr;
        if (call != nullptr && announced_.insert(call->id).second) {
            calls.push_back(*call);
        }
    }
    totals_.calls.insert(totals_.calls.end(), calls.begin(), calls.end());
    if (parts_.listeners.calls) {
        parts_.listeners.calls(calls, turn_content_);
    }
}

void chat_conversation::on_event(const reply_segment& event) {
    if (parts_.listeners.segment) {
        parts_.listeners.segment(*event.segment);
    }
}

// An answer may be stored long before the run ends.
void chat_conversation::begin_turn(std::string_view message_id) {
    if (turn_id_ != message_id) {
        turn_id_ = message_id;
        turn_content_.clear();
        turn_calls_ = false;
    }
}

const session::tool_call* chat_conversation::call_of(const session::call_record& record) const {
    if (record.made_in >= thread_.nodes.size()) {
        return nullptr;
    }
    const auto& calls = thread_.nodes[record.made_in].message.tool_calls;
    const auto call = std::ranges::find(calls, record.id, &session::tool_call::id);
    return call == calls.end() ? nullptr : &*call;
}

void chat_conversation::tell_results(const session::changes& change) const {
    std::vector<chat_tool_result> results;
    for (const session::stored_message& node : change.messages) {
        const session::message& each = node.message;
        if (each.role == session::role::tool) {
            results.push_back({each.tool_call_id, each.content, each.error.has_value()});
        }
    }
    if (!results.empty() && parts_.listeners.results) {
        parts_.listeners.results(results);
    }
}

boost::asio::awaitable<result<void>> chat_conversation::commit(session::changes change) {
    session::apply(thread_, change);
    tell_results(change);
    co_return result<void>();
}

boost::asio::awaitable<result<session::thread_record>> chat_conversation::load_thread() {
    co_return thread_;
}

boost::asio::awaitable<result<json_text>> chat_conversation::load_state() {
    co_return thread_.state;
}

boost::asio::awaitable<result<void>> chat_conversation::change_state(session::state_change change) {
    auto changed = session::change_document(thread_.state, change);
    if (!changed) {
        co_return changed.error();
    }
    session::changes stored;
    stored.state = std::move(changed->state);
    session::apply(thread_, stored);
    co_return result<void>();
}

boost::asio::awaitable<void> chat_conversation::finish(session::changes change, run_end end) {
    end_ = {std::move(end.about), end.reason};
    used_ = std::move(end.used);
    session::apply(thread_, change);
    for (const token_usage& each : end.usage) {
        add_usage(totals_.usage, each);
    }
    for (const std::string& id : end.pending_call_ids) {
        const session::call_record* const record = thread_.find_call(id);
        const session::tool_call* const call = record == nullptr ? nullptr : call_of(*record);
        if (call != nullptr) {
            pending_.push_back(*call);
            if (announced_.insert(id).second) {
                totals_.calls.push_back(*call);
            }
        }
    }
    try {
        tell_results(change);
    } catch (const std::exception& error) {
        end_.what = stop_reason::error;
        end_.detail = error.what();
    }
    co_return;
}

} // namespace agui::runner
