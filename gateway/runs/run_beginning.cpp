#include "gateway/runs/run_beginning.hpp"

#include "gateway/runs/run_launch.hpp"
#include "gateway/runs/run_setup.hpp"
#include "session/base/failpoint.hpp"
#include "session/conversation/message_size.hpp"

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace agui::gateway {

namespace {

using runner::stop_reason;

bool ends_in_user_message(const translator::run_input& input) {
    return !input.messages.empty() && input.messages.back().role == session::role::user;
}

bool gives_way(const run_settings& settings, const live_run& active) {
    return settings.supersede_active || (settings.supersede_detached && active.detached());
}

// Acquires the thread for the run. A request with a new user message may wait for a busy thread:
// its sender may have just left the active run, and the server may not have noticed yet. The
// settings say which runs give way to it. A stop ends the wait.
boost::asio::awaitable<result<void>> take_thread(accepted_run::admitted& request) {
    run_core& core = *request.core;
    const conversation_key& place = request.place;
    const translator::run_input& input = request.what.input;
    session::store& store = core.store_of(place);
    const auto is_busy = [](const result<void>& taken) {
        return !taken && taken.error().code == errc::thread_busy;
    };
    auto taken = co_await store.acquire(place.thread, input.run_id);
    if (!is_busy(taken) || !ends_in_user_message(input)) {
        co_return taken;
    }
    pass_failpoint("admission.busy");
    const auto give_up = std::chrono::steady_clock::now() + core.settings.busy_wait;
    const auto watch = core.registry.watch_place(place, request.executor);
    for (;;) {
        // Before the first wait too: the run may have ended before the watch was there.
        taken = co_await store.acquire(place.thread, input.run_id);
        if (!is_busy(taken) || request.arrival->stopped()) {
            co_return taken;
        }
        const auto holder = core.registry.active(place);
        if (holder && gives_way(core.settings, *holder)) {
            holder->stop(stop_reason::superseded);
            co_await holder->ended().wait();
        } else if (std::chrono::steady_clock::now() >= give_up) {
            co_return taken;
        } else {
            pass_failpoint("admission.waits");
            co_await watch->wait_until(give_up);
        }
    }
}

// The steps while the run holds its thread: nothing else changes what they rely on.
class run_beginning {
public:
    run_beginning(accepted_run::admitted& request, std::shared_ptr<event_log> log)
        : request_(request),
          core_(*request.core),
          store_(core_.store_of(request.place)),
          log_(std::move(log)) {}

    boost::asio::awaitable<result<void>> begin() {
        check_failpoint("admission.thread_taken");
        const bool recovered = co_await core_.orphans.recover_held(store_, request_.place);
        check_failpoint("admission.settled");
        if (!recovered) {
            co_return failure{
                errc::store_unavailable, "the thread's previous run is not over yet", {}, {}
            };
        }
        if (const auto loaded = co_await load(); !loaded) {
            co_return loaded.error();
        }
        check_failpoint("begin.loaded");
        auto planned = plan();
        if (!planned) {
            co_return planned.error();
        }
        check_failpoint("begin.planned");
        session::run_record record = make_record();
        const auto begun =
            co_await store_.begin(request_.place.thread, record, plan_.change, basis_);
        if (!begun) {
            co_return begun.error();
        }
        check_failpoint("begin.stored");
        record.number = begun->number;
        session::apply(thread_, plan_.change);
        launch(std::move(record));
        co_return result<void>();
    }

private:
    boost::asio::awaitable<result<void>> load() {
        basis_.as_of = request_.as_of;
        if (!store_.is_current(request_.as_of)) {
            auto loaded = co_await store_.load(request_.place.thread);
            if (!loaded) {
                co_return loaded.error();
            }
            request_.thread = std::move(*loaded);
        }
        co_return result<void>();
    }

    result<void> plan() {
        thread_.key = request_.place.thread;
        if (request_.thread) {
            thread_ = std::move(*request_.thread);
            basis_.thread_exists = true;
            basis_.size = session::size_of(thread_);
        }
        const translator::run_input& input = request_.what.input;
        const process_services& services = core_.services;
        auto tools = external_tools(core_.settings, services.tools, input, thread_, services.log);
        if (!tools) {
            return tools.error();
        }
        tools_ = std::move(*tools);
        session::history_policy policy = core_.settings.history;
        const auto sends = request_.what.client_history ? request_.what.client_history
                                                        : request_.agent->client_history;
        if (sends) {
            policy.client_history = *sends;
        }
        auto plan = session::plan_history(
            thread_, history_of(core_.settings, services.tools, input), policy
        );
        if (!plan) {
            return plan.error();
        }
        plan_ = std::move(*plan);
        for (const std::string& warning : plan_.warnings) {
            services.log.log(
                log_level::warning, warning, {{"thread", input.thread_id}, {"run", input.run_id}}
            );
        }
        now_ = services.time.now();
        complete_change(plan_, input, thread_, *request_.agent, policy, now_);
        return check_size();
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

    [[nodiscard]] session::run_record make_record() {
        const translator::run_input& input = request_.what.input;
        session::run_record record;
        record.run_id = input.run_id;
        record.parent_run_id = input.parent_run_id;
        record.agent_id = request_.agent->settings.id;
        record.input_digest = std::move(request_.digest);
        record.idempotency_key = request_.what.idempotency_key;
        record.protocol = translator::to_string(input.projection);
        record.started_at = now_;
        return record;
    }

    void launch(session::run_record record) {
        const translator::run_input& input = request_.what.input;
        runner::run_request run;
        run.key = request_.place.thread;
        run.run_id = input.run_id;
        chosen_agent agent = agent_of(*request_.agent, input, thread_, core_.services.log);
        run.agent = std::move(agent.settings);
        run.fallbacks = std::move(agent.fallbacks);
        run.next = plan_.next;
        run.snapshot = plan_.snapshot;
        run.new_user_turn = plan_.new_user_turn;
        run.external_tools = std::move(tools_);
        run.headers = std::move(request_.what.headers);
        run.thread = std::move(thread_);
        launch_run(request_, std::move(log_), std::move(record), std::move(run), *agent.model);
    }

    accepted_run::admitted& request_;
    run_core& core_;
    session::store& store_;
    std::shared_ptr<event_log> log_;
    session::thread_record thread_;
    session::store::basis basis_;
    std::vector<runner::tool_definition> tools_;
    session::history_plan plan_;
    unix_ms now_ = 0;
};

} // namespace

boost::asio::awaitable<result<void>> begin_run(accepted_run accepted) {
    // Destroyed when this function returns.
    const std::unique_ptr<accepted_run::admitted> to_begin = std::move(accepted.to_begin);
    if (!to_begin) {
        co_return result<void>();
    }
    accepted_run::admitted& request = *to_begin;
    run_core& core = *request.core;
    if (core.settings.supersede_active) {
        // In the order in which they came: an older message must not stop the run of a newer one.
        // Until the run has begun, because only then the next message can stop it.
        request.thread_turn = co_await core.registry.take_turn(request.place, "thread");
    }
    const auto taken = co_await take_thread(request);
    if (!taken) {
        co_return taken.error();
    }
    request.arrival->holds_thread();
    result<void> begun = failure{errc::internal, {}, {}, {}};
    std::exception_ptr thrown;
    try {
        run_beginning beginning(request, std::move(accepted.log));
        begun = co_await beginning.begin();
    } catch (...) {
        thrown = std::current_exception();
    }
    if (thrown || !begun) {
        // The start of the run may have been stored nevertheless.
        if (thrown || begun.error().code == errc::store_unavailable) {
            core.orphans.add(request.place);
        }
        core.store_of(request.place).release(request.place.thread, request.what.input.run_id);
    }
    if (thrown) {
        std::rethrow_exception(thrown);
    }
    co_return begun;
}

} // namespace agui::gateway
