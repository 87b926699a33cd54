#include "runner/agent_loop.hpp"

#include "runner/tool_batch.hpp"
#include "session/base/failpoint.hpp"
#include "session/base/lean_append.hpp"
#include "session/model_history.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <utility>

namespace agui::runner {

namespace {

using session::call_owner;
using session::call_record;
using session::call_status;

// One model answer as it comes in: shown at once, kept for the thread.
class model_turn final : public model_sink {
public:
    struct call {
        std::string id;
        std::string name;
        std::string arguments;
        call_owner owner = call_owner::server;
    };

    // Gives a call an id that the thread has not seen (models repeat ids across turns), and its owner.
    using call_naming = std::function<call(std::string_view id, std::string_view name)>;

    model_turn(run_sink& out, id_source& ids, call_naming name_call)
        : out_(out), ids_(ids), name_call_(std::move(name_call)), message_id_(ids.next("msg")) {}

    void on_text(std::string_view delta) override {
        // Shown, then kept: what could not be shown is nothing that was said.
        last_is_call_ = false;
        out_.emit(text_delta{message_id_, delta});
        lean_append(text_, delta);
    }

    void on_reasoning(std::string_view delta) override {
        if (reasoning_id_.empty()) {
            reasoning_id_ = ids_.next("rsn");
        }
        last_is_call_ = false;
        out_.emit(reasoning_delta{reasoning_id_, delta});
        lean_append(reasoning_, delta);
    }

    void on_call(std::size_t index, std::string_view id, std::string_view name) override {
        if (index != calls_.size()) {
            throw std::logic_error("calls of an answer are numbered in order");
        }
        calls_.push_back(name_call_(id, name));
        last_is_call_ = true;
        const call& made = calls_.back();
        out_.emit(call_started{
            made.id, made.name, message_id_, made.owner == call_owner::external});
    }

    void on_call_arguments(std::size_t index, std::string_view delta) override {
        call& made = calls_.at(index);
        last_is_call_ = true;
        out_.emit(call_arguments{made.id, delta});
        made.arguments.append(delta);
    }

    /// The answer is complete: a call without arguments has the empty object, which clients parse.
    void complete_calls() {
        for (std::size_t index = 0; index < calls_.size(); ++index) {
            if (calls_[index].arguments.find_first_not_of(" \t\r\n") == std::string::npos) {
                on_call_arguments(index, "{}");
            }
        }
    }

    [[nodiscard]] const std::string& message_id() const noexcept { return message_id_; }
    [[nodiscard]] const std::string& text() const noexcept { return text_; }
    [[nodiscard]] const std::string& reasoning() const noexcept { return reasoning_; }
    [[nodiscard]] const std::string& reasoning_id() const noexcept { return reasoning_id_; }
    [[nodiscard]] std::vector<call>& calls() noexcept { return calls_; }
    /// What a cut of the answer would have cut is a call.
    [[nodiscard]] bool last_is_call() const noexcept { return last_is_call_; }

private:
    run_sink& out_;
    id_source& ids_;
    call_naming name_call_;
    std::string message_id_;
    std::string reasoning_id_;
    std::string text_;
    std::string reasoning_;
    std::vector<call> calls_;
    bool last_is_call_ = false;
};

// Adds up the usage of several calls to one model; a count that no call reported stays absent.
void add_count(std::optional<std::int64_t>& sum, const std::optional<std::int64_t>& more) {
    if (more) {
        sum = sum.value_or(0) + *more;
    }
}

void add_usage(std::vector<token_usage>& all, const token_usage& more) {
    for (token_usage& one : all) {
        if (one.provider == more.provider && one.model == more.model) {
            add_count(one.input_tokens, more.input_tokens);
            add_count(one.output_tokens, more.output_tokens);
            add_count(one.reasoning_tokens, more.reasoning_tokens);
            add_count(one.cached_input_tokens, more.cached_input_tokens);
            add_count(one.cache_write_input_tokens, more.cache_write_input_tokens);
            return;
        }
    }
    all.push_back(more);
}

class agent_run {
public:
    agent_run(run_request request, run_services services, run_sink& sink, stop_source& stop)
        : request_(std::move(request)), services_(services), sink_(sink), stop_(stop) {
        tools_ = services_.tools.definitions(request_.agent.tool_patterns);
        for (const tool_definition& tool : tools_) {
            server_tools_.insert(tool.name);
        }
        for (tool_definition& tool : request_.external_tools) {
            if (!server_tools_.contains(tool.name)) {
                external_tools_.insert(tool.name);
                tools_.push_back(std::move(tool));
            }
        }
        request_.external_tools.clear();
    }

    // The reason of the end. What is not committed yet is left in turn_ for finish().
    boost::asio::awaitable<stop_reason> run() {
        switch (request_.next) {
        case session::next_step::wait_for_answers:
            co_return stop_reason::partial_answers;
        case session::next_step::nothing:
            if (request_.snapshot) {
                emit_snapshot();
            }
            co_return stop_reason::nothing_new;
        case session::next_step::call_model:
            break;
        }
        for (std::uint32_t round = 0;; ++round) {
            if (stop_.requested()) {
                co_return stop_.reason();
            }
            const std::optional<stop_reason> ended = co_await ask_model(round == 0);
            if (ended) {
                co_return *ended;
            }
            if (round == request_.agent.max_rounds) {
                co_return stop_reason::max_rounds;
            }
            const std::optional<stop_reason> handed = co_await execute_calls();
            if (handed) {
                co_return *handed;
            }
        }
    }

    boost::asio::awaitable<void> finish(stop_reason reason) {
        run_end end;
        end.reason = reason;
        end.usage = std::move(usage_);
        session::changes change;
        if (turn_) {
            change = take_turn();
        } else if (unstored_) {
            change = std::move(*unstored_);
        }
        const bool handing_off = reason == stop_reason::external_tool;
        const bool success = class_of(reason) == stop_class::success;
        for (const call_record& call : open_calls(change)) {
            if (handing_off && call.owner == call_owner::external) {
                set_status(change, call, call_status::pending);
                end.pending_call_ids.push_back(call.id);
                continue;
            }
            set_status(change, call, call_status::dead);
            if (call.owner == call_owner::server) {
                emit_lost_result(call);
            } else if (!success) {
                end.external_call_open = true;
            }
        }
        change.at = services_.time.now();
        co_await sink_.finish(std::move(change), std::move(end));
    }

private:
    [[nodiscard]] session::node_index tip() const {
        return request_.thread.branches.at(request_.thread.head).tip;
    }

    void emit_snapshot() {
        std::vector<session::message> messages;
        for (const session::node_index node : request_.thread.path(tip())) {
            messages.push_back(request_.thread.nodes[node].message);
        }
        sink_.emit(messages_snapshot{&messages});
    }

    // Asks once. Nothing: there are calls to see to.
    boost::asio::awaitable<std::optional<stop_reason>> ask_model(bool first) {
        std::vector<session::message> history = session::model_history(request_.thread, tip());
        if (!request_.agent.context.empty()) {
            session::message context;
            context.id = "context";
            context.content = request_.agent.context;
            history.insert(history.begin(), std::move(context));
        }
        model_request ask;
        ask.parameters = request_.agent.parameters;
        // A forced choice would be obeyed again after each result, without an end.
        if (!first || !request_.new_user_turn || tools_.empty()) {
            ask.parameters.tool_choice.reset();
        }
        ask.instructions = request_.agent.instructions;
        ask.messages = &history;
        ask.tools = &tools_;
        turn_.emplace(
            sink_, services_.ids,
            [this](std::string_view id, std::string_view name) { return name_call(id, name); }
        );

        check_failpoint("loop.ask_model");
        // A coroutine of its own: cancelling the call must not cancel the commits that follow it.
        const auto executor = co_await boost::asio::this_coro::executor;
        const model_outcome outcome = co_await boost::asio::co_spawn(
            executor, services_.model.ask(ask, *turn_),
            boost::asio::bind_cancellation_slot(stop_.slot(), boost::asio::use_awaitable)
        );
        check_failpoint("loop.model_answered");
        if (stop_.requested()) {
            co_return stop_.reason();
        }
        if (!outcome) {
            co_return on_model_failure(outcome.error());
        }
        co_return on_model_answer(*outcome);
    }

    std::optional<stop_reason> on_model_failure(const model_failure& failed) {
        services_.log.log(
            log_level::error, "model call failed",
            {{"run", request_.run_id},
             {"status", std::to_string(failed.status)},
             {"detail", failed.detail}}
        );
        switch (failed.what) {
        case model_failure::kind::unavailable:
            return stop_reason::model_unavailable;
        case model_failure::kind::lost:
            return turn_->last_is_call() ? stop_reason::truncated : stop_reason::model_unavailable;
        case model_failure::kind::rejected:
            return stop_reason::model_rejected;
        case model_failure::kind::timeout:
            return stop_reason::model_timeout;
        case model_failure::kind::cancelled:
            return stop_reason::cancelled;
        }
        return stop_reason::error;
    }

    std::optional<stop_reason> on_model_answer(const model_answer& answer) {
        if (answer.usage) {
            add_usage(usage_, *answer.usage);
        }
        switch (answer.reason) {
        case finish_reason::length:
            return turn_->last_is_call() ? stop_reason::truncated : stop_reason::max_output_tokens;
        case finish_reason::content_filter:
            return stop_reason::content_filtered;
        case finish_reason::stop:
        case finish_reason::tool_calls:
            break;
        }
        turn_->complete_calls();
        sink_.emit(turn_ended{});
        if (turn_->calls().empty()) {
            return stop_reason::completed;
        }
        return std::nullopt;
    }

    model_turn::call name_call(std::string_view id, std::string_view name) {
        model_turn::call call;
        call.id = id;
        const auto taken = [&](const std::string& candidate) {
            const auto& own = turn_->calls();
            return request_.thread.find_call(candidate) != nullptr ||
                   std::any_of(own.begin(), own.end(), [&](const model_turn::call& other) {
                       return other.id == candidate;
                   });
        };
        // One that no client could send back in its answer is replaced, too.
        while (call.id.empty() || !is_sound_id(call.id) || taken(call.id)) {
            call.id = services_.ids.next("call");
        }
        call.name = name;
        call.owner = external_tools_.contains(call.name) ? call_owner::external : call_owner::server;
        return call;
    }

    // The turn as messages and calls behind the branch's tip; turn_ is empty afterwards.
    session::changes take_turn() {
        session::changes change;
        session::node_index parent = tip();
        const auto add = [&](session::message value) {
            session::stored_message node;
            node.parent = parent;
            node.run_id = request_.run_id;
            node.created_at = services_.time.now();
            node.message = std::move(value);
            parent = static_cast<session::node_index>(
                request_.thread.nodes.size() + change.messages.size()
            );
            change.messages.push_back(std::move(node));
        };
        if (!turn_->reasoning().empty()) {
            session::message reasoning;
            reasoning.id = turn_->reasoning_id();
            reasoning.role = session::role::reasoning;
            reasoning.content = turn_->reasoning();
            add(std::move(reasoning));
        }
        if (!turn_->text().empty() || !turn_->calls().empty()) {
            session::message assistant;
            assistant.id = turn_->message_id();
            assistant.role = session::role::assistant;
            assistant.content = turn_->text();
            for (const model_turn::call& call : turn_->calls()) {
                assistant.tool_calls.push_back({call.id, call.name, call.arguments, {}, {}});
            }
            add(std::move(assistant));
            for (const model_turn::call& call : turn_->calls()) {
                change.calls.push_back(
                    {call.id, call.name, request_.run_id, call.owner, call_status::open, parent}
                );
            }
            change.events.push_back(event("assistant.message", {{"messageId", turn_->message_id()}}));
        }
        if (!change.messages.empty()) {
            change.branches.push_back({request_.thread.head, session::branch{parent, services_.time.now()}});
        }
        turn_.reset();
        return change;
    }

    [[nodiscard]] session::session_event
    event(std::string_view type, boost::json::object data) const {
        session::session_event made;
        made.type = type;
        made.run_id = request_.run_id;
        made.timestamp = services_.time.now();
        made.data = std::move(data);
        return made;
    }

    boost::asio::awaitable<bool> commit(session::changes change) {
        change.at = services_.time.now();
        const result<void> done = co_await sink_.commit(change);
        if (done) {
            session::apply(request_.thread, change);
        }
        co_return done.has_value();
    }

    // Executes what is the server's. Nothing: every call is answered, the model goes on.
    boost::asio::awaitable<std::optional<stop_reason>> execute_calls() {
        std::vector<model_turn::call> server_calls;
        for (const model_turn::call& call : turn_->calls()) {
            if (call.owner == call_owner::server) {
                server_calls.push_back(call);
            }
        }
        if (server_calls.empty()) {
            co_return stop_reason::external_tool; // finish() stores the turn with the terminal.
        }
        // A tool must not have an effect that a crash could make the conversation forget.
        // It was shown: if this fails, the end of the run tries once more.
        unstored_ = std::make_unique<session::changes>(take_turn());
        const bool stored = co_await commit(*unstored_);
        if (!stored) {
            co_return stop_reason::store_unavailable;
        }
        unstored_.reset();
        check_failpoint("loop.turn_stored");
        co_return co_await run_tools(server_calls);
    }

    boost::asio::awaitable<std::optional<stop_reason>>
    run_tools(const std::vector<model_turn::call>& calls) {
        const auto executor = co_await boost::asio::this_coro::executor;
        const auto batch = std::make_shared<tool_batch>(
            executor, request_.agent.max_parallel_tools, services_.max_result_bytes
        );
        for (const model_turn::call& call : calls) {
            const bool allowed = server_tools_.contains(call.name);
            batch->add(allowed ? services_.tools.find(call.name) : nullptr, invocation(call));
        }
        batch->start();
        bool handed_over = false;
        while (!batch->done()) {
            const bool stopped = co_await wait_for(*batch);
            if (stopped) {
                batch->cancel();
                co_return stop_.reason();
            }
            std::vector<tool_batch::finished> finished = batch->take_finished();
            if (finished.empty()) {
                continue;
            }
            check_failpoint("loop.tools_finished");
            const std::optional<stop_reason> failed = co_await store_results(finished, handed_over);
            check_failpoint("loop.results_stored");
            if (failed) {
                batch->cancel();
                co_return failed;
            }
        }
        // Calls of the caller may stand beside the server's in this turn.
        if (handed_over || !open_calls({}).empty()) {
            co_return stop_reason::external_tool;
        }
        co_return std::nullopt;
    }

    // True if the run was stopped meanwhile.
    boost::asio::awaitable<bool> wait_for(tool_batch& batch) {
        if (stop_.requested()) {
            co_return true;
        }
        stop_.slot().assign([&batch](boost::asio::cancellation_type) { batch.wake(); });
        co_await batch.wait();
        stop_.slot().clear();
        co_return stop_.requested();
    }

    boost::asio::awaitable<std::optional<stop_reason>>
    store_results(std::vector<tool_batch::finished>& finished, bool& handed_over) {
        session::changes change;
        std::vector<session::message> results;
        session::node_index parent = tip();
        for (tool_batch::finished& one : finished) {
            const call_record* call = request_.thread.find_call(one.call_id);
            if (one.outcome.what == tool_outcome::kind::external) {
                call_record changed = *call;
                changed.owner = call_owner::external;
                change.calls.push_back(std::move(changed));
                handed_over = true;
                continue;
            }
            set_status(change, *call, call_status::answered);
            session::stored_message node;
            node.parent = parent;
            node.run_id = request_.run_id;
            node.created_at = services_.time.now();
            node.message = result_message(one);
            results.push_back(node.message);
            parent = static_cast<session::node_index>(
                request_.thread.nodes.size() + change.messages.size()
            );
            change.events.push_back(event(
                "tool.response", {{"toolCallId", one.call_id}, {"messageId", node.message.id}}
            ));
            change.messages.push_back(std::move(node));
        }
        if (!change.messages.empty()) {
            change.branches.push_back({request_.thread.head, session::branch{parent, services_.time.now()}});
        }
        const bool stored = co_await commit(std::move(change));
        if (!stored) {
            co_return stop_reason::store_unavailable;
        }
        for (const session::message& result : results) {
            sink_.emit(call_result{
                result.id, result.tool_call_id, &result.content, result.error.has_value()});
        }
        co_return std::nullopt;
    }

    session::message result_message(tool_batch::finished& one) {
        session::message result;
        result.id = services_.ids.next("msg");
        result.role = session::role::tool;
        result.tool_call_id = one.call_id;
        result.content = std::move(one.outcome.content);
        if (one.outcome.what == tool_outcome::kind::error) {
            result.error = session::text_of(result.content);
        }
        return result;
    }

    [[nodiscard]] tool_invocation invocation(const model_turn::call& call) const {
        tool_invocation made;
        made.name = call.name;
        made.arguments_text = call.arguments;
        made.call_id = call.id;
        made.thread_id = request_.key.thread_id;
        made.run_id = request_.run_id;
        made.agent_id = request_.agent.id;
        return made;
    }

    // This run's calls without an answer, those of a change that is not applied yet included.
    [[nodiscard]] std::vector<call_record> open_calls(const session::changes& change) const {
        std::vector<call_record> open;
        for (const call_record& call : request_.thread.calls) {
            if (call.run_id == request_.run_id && call.status == call_status::open) {
                open.push_back(call);
            }
        }
        open.insert(open.end(), change.calls.begin(), change.calls.end());
        return open;
    }

    static void
    set_status(session::changes& change, const call_record& call, call_status status) {
        for (call_record& changed : change.calls) {
            if (changed.id == call.id) {
                changed.status = status;
                return;
            }
        }
        call_record changed = call;
        changed.status = status;
        change.calls.push_back(std::move(changed));
    }

    // A client must not take a call of the server for its own (specification S5): it gets a result, on
    // the wire only.
    void emit_lost_result(const call_record& call) {
        const session::content text = std::string("The call was interrupted.");
        const std::string message_id = services_.ids.next("msg");
        sink_.emit(call_result{message_id, call.id, &text, true});
    }

    run_request request_;
    run_services services_;
    run_sink& sink_;
    stop_source& stop_;
    std::vector<tool_definition> tools_;
    std::set<std::string, std::less<>> server_tools_;
    std::set<std::string, std::less<>> external_tools_;
    std::optional<model_turn> turn_;
    std::unique_ptr<session::changes> unstored_; ///< A turn whose commit has not succeeded.
    std::vector<token_usage> usage_;
};

boost::asio::awaitable<void>
drive(std::unique_ptr<agent_run> run, std::string run_id, logger& log) {
    stop_reason reason = stop_reason::error;
    try {
        reason = co_await run->run();
    } catch (const std::exception& error) {
        log.log(log_level::error, "run failed", {{"run", run_id}, {"detail", error.what()}});
    }
    try {
        co_await run->finish(reason);
    } catch (const std::exception& error) {
        log.log(
            log_level::critical, "a run could not be ended", {{"run", run_id}, {"detail", error.what()}}
        );
    }
}

} // namespace

void stop_source::request(stop_reason reason) {
    if (requested_) {
        return;
    }
    requested_ = true;
    reason_ = reason;
    signal_.emit(boost::asio::cancellation_type::terminal);
}

// The state of a run lives once, on the heap: as a coroutine's parameter and as its local it would be held
// twice for as long as the model streams.
boost::asio::awaitable<void>
run_agent(run_request request, run_services services, run_sink& sink, stop_source& stop) {
    std::string run_id = request.run_id;
    logger& log = services.log;
    return drive(
        std::make_unique<agent_run>(std::move(request), services, sink, stop), std::move(run_id), log
    );
}

} // namespace agui::runner
