#include "gateway/admission/run_beginning.hpp"

#include "gateway/admission/named_parts.hpp"
#include "gateway/admission/queue_taking.hpp"
#include "gateway/admission/run_admission.hpp"
#include "gateway/admission/run_launch.hpp"
#include "gateway/admission/run_setup.hpp"
#include "gateway/admission/turn_prompt.hpp"
#include "runner/loop/run_tools.hpp"
#include "session/base/failpoint.hpp"
#include "session/base/heavy_work.hpp"
#include "session/conversation/run_segment.hpp"
#include "session/history/shown_messages.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace agui::gateway {

namespace {

// Limit of attempts to plan a run while its thread changes.
constexpr int attempts_max = 8;

// The steps while the run holds its thread.
class run_beginning {
public:
    run_beginning(accepted_run::admitted& request, std::shared_ptr<event_log> log)
        : request_(request),
          core_(*request.core),
          store_(core_.store_of(request.conversation)),
          log_(std::move(log)),
          queue_(request),
          has_tools_(request.what.input.tools.has_value()),
          has_context_(request.what.input.has_context) {}

    boost::asio::awaitable<result<std::shared_ptr<live_run>>> begin() {
        check_failpoint("admission.thread_taken");
        const bool recovered =
            co_await core_.orphans.recover_held(store_, request_.conversation, request_.held);
        check_failpoint("admission.settled");
        if (!recovered) {
            co_return failure{
                errc::store_unavailable,
                "the thread's previous run has not ended yet: try again",
                {},
                {}
            };
        }
        // The messages to take from the queue depend on the thread's current state.
        bool is_read_now = false;
        if (!request_.is_thread_read || request_.waiting || request_.others_queued) {
            if (const auto loaded = co_await load(); !loaded) {
                co_return loaded.error();
            }
            is_read_now = true;
        }
        check_failpoint("begin.loaded");
        if (const auto taken = co_await queue_.take(); !taken) {
            co_return taken.error();
        }
        session::run_record record;
        for (int attempt = 1;; ++attempt) {
            const auto stored = co_await plan_and_store(record);
            if (stored) {
                break;
            }
            // If the thread was read before this request held it, another run may have changed it,
            // and a new plan may fit. While the thread is held, only a program that embeds the
            // server can change it.
            const bool is_conflict = stored.error().code == errc::conflict;
            if (!is_conflict && is_read_now) {
                co_return stored.error();
            }
            if (attempt == attempts_max) {
                co_return failure{
                    errc::overloaded, "other requests keep changing the thread: try again", {}, {}
                };
            }
            check_failpoint("begin.conflict");
            if (const auto loaded = co_await load(); !loaded) {
                co_return loaded.error();
            }
            is_read_now = true;
            if (const auto taken = co_await queue_.take_again(); !taken) {
                co_return taken.error();
            }
        }
        check_failpoint("begin.stored");
        log_warnings();
        audit_approvals();
        session::apply(thread_, plan_.change);
        co_return launch(std::move(record));
    }

private:
    boost::asio::awaitable<result<void>> load() {
        auto loaded = co_await store_.load(request_.conversation.thread);
        if (!loaded) {
            co_return loaded.error();
        }
        request_.thread = std::move(*loaded);
        co_return hold_thread(request_);
    }

    boost::asio::awaitable<result<void>> read_attachments() {
        session::thread_record none;
        none.key = request_.conversation.thread;
        co_return co_await parts_.read_attachments(
            store_, request_.what.input.messages, request_.thread ? *request_.thread : none,
            work_bytes()
        );
    }

    // errc::conflict: the thread has changed since it was read.
    boost::asio::awaitable<result<void>> plan_and_store(session::run_record& record) {
        const auto attached = co_await read_attachments();
        if (!attached) {
            co_return attached.error();
        }
        auto planning = [this] {
            return plan();
        };
        const auto planned = co_await run_heavy(core_.services.heavy, work_bytes(), planning);
        if (!planned) {
            co_return planned.error();
        }
        check_failpoint("begin.planned");
        // A waiting client saw the time in RUN_STARTED.
        record = record_of(request_, request_.waiting ? request_.waiting->record.started_at : now_);
        queue_.add_to(plan_.change, now_);
        const auto begun = co_await store_.begin(
            request_.conversation.thread, record, plan_.change, thread_.version, request_.held
        );
        if (!begun) {
            co_return begun.error();
        }
        record.number = begun->number;
        co_return result<void>();
    }

    // Bytes that planning and the search for attachments go through.
    [[nodiscard]] std::size_t work_bytes() const noexcept {
        const std::uint64_t stored = request_.thread ? request_.thread->bytes : 0;
        return std::max<std::size_t>(request_.what.body_bytes, as_parsing(stored));
    }

    // May run on a thread of heavy_work.
    result<void> plan() {
        thread_ = session::thread_record();
        thread_.key = request_.conversation.thread;
        if (request_.thread) {
            thread_ = std::move(*request_.thread);
        }
        translator::run_input& input = request_.what.input;
        // `/chat/stream` keeps the tools and context of earlier requests.
        if (!request_.what.only_new) {
            // An earlier attempt may have completed it for an older state of the thread.
            if (!has_tools_) {
                input.tools.reset();
            }
            input.has_context = has_context_;
            complete_input(input, thread_);
        }
        const process_services& services = core_.services;
        const server_tool_check is_server_tool = [this](std::string_view name) {
            return runner::is_server_tool(core_.services.tools, request_.agent->settings, name);
        };
        session::history_policy policy = core_.settings.history;
        const auto sends = request_.what.client_history ? request_.what.client_history
                                                        : request_.agent->client_history;
        if (sends) {
            policy.client_history = *sends;
        }
        if (request_.batch || request_.what.only_new) { // The queue holds only new messages.
            policy.client_history = session::client_history::delta;
            policy.mode = session::history_mode::server;
        }
        now_ = services.time.now();
        session::history_input given =
            history_of(core_.settings, is_server_tool, services.tools, input, now_);
        name_first_interrupt(given.approvals, thread_, policy.approval_life);
        std::vector<std::string> warnings;
        const auto restored = parts_.restore(given.messages, thread_, warnings);
        if (!restored) {
            return restored.error();
        }
        auto plan = session::plan_history(thread_, given, policy);
        if (!plan) {
            return plan.error();
        }
        plan_ = std::move(*plan);
        plan_.warnings.insert(plan_.warnings.end(), warnings.begin(), warnings.end());
        complete_change(plan_, input, thread_, *request_.agent, policy, now_);
        auto tools = external_tools(
            core_.settings, *request_.agent, is_server_tool, input,
            plan_.change.offered_tools ? *plan_.change.offered_tools : thread_.offered_tools,
            services.log
        );
        if (!tools) {
            return tools.error();
        }
        tools_ = std::move(*tools);
        if (policy.mode == session::history_mode::server) {
            record_prompt(plan_, thread_, *request_.agent, tool_names(), now_);
        }
        return check_size();
    }

    // The tools that the run will offer, in the order of runner::run_tools.
    [[nodiscard]] std::vector<std::string> tool_names() const {
        std::vector<std::string> names =
            runner::server_tool_names(core_.services.tools, request_.agent->settings);
        for (const runner::tool_definition& tool : tools_) {
            names.push_back(tool.name);
        }
        return names;
    }

    void log_warnings() const {
        const translator::run_input& input = request_.what.input;
        for (const std::string& warning : plan_.warnings) {
            core_.services.log.log(
                log_level::warning, warning,
                {{"thread", input.thread_id}, {"run", session::client_run_id(input.run_id)}}
            );
        }
    }

    void audit_approvals() const {
        if (core_.services.audit == nullptr) {
            return;
        }
        const requested_run& what = request_.what;
        const auto write = [&](std::string_view outcome) {
            core_.services.audit->write(
                {.what = audit_event::approval,
                 .principal = what.source.principal,
                 .address = what.source.address.whole,
                 .owner = what.principal,
                 .thread = what.input.thread_id,
                 .run = session::client_run_id(what.input.run_id),
                 .agent = request_.agent->settings.id,
                 .outcome = outcome,
                 .route = what.source.route}
            );
        };
        for (const session::approved_call& each : plan_.approved) {
            write(each.inputs.empty() ? "approved" : "answered");
        }
        for (std::size_t i = 0; i < plan_.refused_calls.size(); ++i) {
            write("refused");
        }
    }

    [[nodiscard]] result<void> check_size() const {
        const std::uint64_t most = core_.settings.max_thread_bytes;
        const std::uint64_t bytes = session::bytes_after(thread_, plan_.change);
        if (bytes <= most || bytes <= thread_.bytes) {
            return result<void>();
        }
        return failure{
            errc::body_too_large,
            "the thread would have more than " + std::to_string(most) +
                " bytes of messages, state, tools and context: start a new thread",
            plan_.change.messages.empty() ? "" : "messages",
            {}
        };
    }

    std::shared_ptr<live_run> launch(session::run_record record) {
        const translator::run_input& input = request_.what.input;
        std::vector<session::message> missing =
            session::missing_results(thread_, request_.unanswered);
        std::erase_if(missing, [this](const session::message& each) {
            return std::ranges::any_of(plan_.refused_calls, [&each](const auto& refused) {
                return refused.call_id == each.tool_call_id; // The run shows its result.
            });
        });
        runner::run_request run;
        run.key = request_.conversation.thread;
        run.run_id = input.run_id;
        run.address = request_.what.source.address.counted;
        chosen_agent agent = agent_of(*request_.agent, input, thread_, core_.services.log);
        run.agent = std::move(agent.settings);
        run.fallbacks = std::move(agent.fallbacks);
        run.next = plan_.next;
        run.snapshot = plan_.snapshot;
        run.new_user_turn = plan_.new_user_turn;
        run.approved = std::move(plan_.approved);
        run.refused_calls = std::move(plan_.refused_calls);
        run.refusal = plan_.refusal;
        run.approval_life = core_.settings.history.approval_life;
        run.external_tools = std::move(tools_);
        run.sender = request_.what.source.principal;
        run.headers = std::move(request_.what.headers);
        run.thread = std::make_shared<const session::thread_record>(std::move(thread_));
        return launch_run(
            request_, std::move(log_), std::move(record), std::move(run), missing, *agent.model
        );
    }

    accepted_run::admitted& request_;
    run_core& core_;
    session::store& store_;
    std::shared_ptr<event_log> log_;
    session::thread_record thread_;
    std::vector<runner::tool_definition> tools_;
    queue_taking queue_;
    const bool has_tools_; ///< The request has `tools`.
    const bool has_context_;
    session::history_plan plan_;
    named_parts parts_{core_}; ///< Its memory counts until the run has begun.
    unix_ms now_ = 0;
};

boost::asio::awaitable<void> set_over_after_run(
    std::shared_ptr<run_core> core, conversation_key conversation,
    std::shared_ptr<queue_batch> batch, std::shared_ptr<live_run> run
) {
    co_await run->ended().wait();
    core->queue.set_over(*batch, std::nullopt);
    core->registry.wake(conversation);
}

} // namespace

session::run_record record_of(const accepted_run::admitted& request, unix_ms started_at) {
    const translator::run_input& input = request.what.input;
    session::run_record record;
    record.run_id = input.run_id;
    record.parent_run_id = input.parent_run_id;
    record.agent_id = request.agent->settings.id;
    record.input_digest = request.digest;
    record.idempotency_key = request.what.idempotency_key;
    record.protocol = translator::to_string(input.projection);
    record.started_at = started_at;
    return record;
}

boost::asio::awaitable<result<std::shared_ptr<live_run>>>
begin_on_thread(accepted_run::admitted& request, std::shared_ptr<event_log> log) {
    run_core& core = *request.core;
    request.arrival->holds_thread();
    result<std::shared_ptr<live_run>> begun = failure{errc::internal, {}, {}, {}};
    std::exception_ptr thrown;
    try {
        run_beginning beginning(request, std::move(log));
        begun = co_await beginning.begin();
    } catch (...) {
        thrown = std::current_exception();
    }
    if (thrown || !begun) {
        // The start of the run may have been stored nevertheless.
        if (thrown || begun.error().code == errc::store_unavailable) {
            core.orphans.add(request.conversation);
        }
        core.store_of(request.conversation).release(request.held);
    }
    if (core.settings.queue) {
        // From here on messages can be stored for the thread.
        core.registry.wake(request.conversation);
    }
    if (request.batch && !thrown && begun) {
        boost::asio::co_spawn(
            request.executor,
            set_over_after_run(request.core, request.conversation, request.batch, *begun),
            boost::asio::detached
        );
    } else if (request.batch) {
        if (request.waiting && !thrown && begun.error().code == errc::lease_lost) {
            // No request is refused for a lost lease: all continue to wait.
            core.queue.put_back(request.conversation, *request.batch);
            request.batch.reset();
            co_return begun;
        }
        // Messages that can never succeed leave the queue, so that later ones are answered.
        if (!thrown && !may_succeed_later(begun.error().code)) {
            bool are_withdrawn = true;
            for (const std::int64_t number : request.batch->numbers) {
                const auto removed = co_await core.store_of(request.conversation)
                                         .withdraw(request.conversation.thread, number);
                are_withdrawn = are_withdrawn && removed;
            }
            // A message that stays is taken by the thread's next run, which fails in the same way.
            core.services.log.log(
                are_withdrawn ? log_level::warning : log_level::error,
                are_withdrawn
                    ? "queued messages of a thread cannot be answered and were withdrawn"
                    : "queued messages of a thread cannot be answered and could not be withdrawn",
                {{"thread", request.conversation.thread.thread_id},
                 {"run", session::client_run_id(request.batch->run_id)},
                 {"reason", to_string(begun.error().code)}}
            );
        }
        core.queue.set_over(
            *request.batch,
            thrown ? failure{errc::internal, "the run could not be started", {}, {}} : begun.error()
        );
        core.registry.wake(request.conversation);
    }
    if (thrown) {
        std::rethrow_exception(thrown);
    }
    co_return begun;
}

} // namespace agui::gateway
