#include "gateway/runs/run_service.hpp"

#include "gateway/admission/run_admission.hpp"
#include "gateway/queue/begin_run.hpp"
#include "gateway/queue/queue_pickup.hpp"
#include "gateway/replay/continued_log.hpp"
#include "gateway/replay/run_replay.hpp"
#include "gateway/run/live_run.hpp"
#include "gateway/run/run_registry.hpp"
#include "gateway/runs/approval_agents.hpp"
#include "gateway/runs/peer_link.hpp"
#include "gateway/runs/state_change.hpp"
#include "gateway/runs/stop_elsewhere.hpp"
#include "session/base/failpoint.hpp"
#include "session/base/pause.hpp"
#include "session/conversation/run_segment.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <iterator>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace agui::gateway {

namespace {

using runner::stop_reason;
using session::thread_key;

// The stored run with that id or, if it was continued under its id, its latest segment.
boost::asio::awaitable<result<std::optional<session::run_record>>>
latest_segment(session::store& store, thread_key key, std::string run_id) {
    auto latest = co_await store.find_run(key, run_id);
    for (std::uint32_t number = 2; latest && latest->has_value(); ++number) {
        auto next = co_await store.find_run(key, session::segment_id(run_id, number));
        if (!next) {
            co_return next.error();
        }
        if (!next->has_value()) {
            break;
        }
        latest = std::move(next);
    }
    co_return latest;
}

/// A stopped run ends within a second.
constexpr std::chrono::seconds ephemeral_patience{20};
constexpr std::chrono::milliseconds between_removals{100};

boost::asio::awaitable<void> stop_ephemeral(run_core& core, thread_key key) {
    auto reached =
        core.registry.stop({std::move(key), true}, std::nullopt, std::chrono::steady_clock::now());
    (void)co_await reached.wait();
}

} // namespace

run_service::run_service(process_services services, run_settings settings)
    : core_(std::make_shared<run_core>(services, std::move(settings), go_on_elsewhere)),
      peers_(
          services.store.is_shared() ? std::make_unique<peer_link>(services.store, core_) : nullptr
      ) {}

run_service::~run_service() = default;

boost::asio::awaitable<result<accepted_run>> run_service::accept(requested_run what) {
    return accept_run(core_, std::move(what));
}

boost::asio::awaitable<result<void>> run_service::begin(accepted_run accepted) {
    return begin_run(std::move(accepted));
}

boost::asio::awaitable<result<run_service::attachment>>
run_service::attach(thread_key key, std::string run_id, std::uint64_t after) {
    return attach_to_run(core_, std::move(key), std::move(run_id), after);
}

boost::asio::awaitable<result<run_service::recording>> run_service::history(
    thread_key key, const translator::run_input& input, session::thread_key links
) {
    return record_history(core_, std::move(key), input, std::move(links));
}

boost::asio::awaitable<result<json_text>>
run_service::change_state(thread_key key, session::state_change change) {
    return change_state_here(core_, std::move(key), std::move(change));
}

boost::asio::awaitable<result<std::optional<steered_run>>>
run_service::steer(steering what, std::chrono::steady_clock::time_point give_up) {
    return gateway::steer(core_, std::move(what), give_up);
}

boost::asio::awaitable<result<std::vector<std::string>>>
run_service::agents_that_asked(thread_key key, bool ephemeral, std::vector<std::string> approvals) {
    return find_agents_that_asked(core_, {std::move(key), ephemeral}, std::move(approvals));
}

const process_services& run_service::services() const noexcept { return core_->services; }

const std::string& run_service::default_agent() const noexcept {
    return core_->settings.default_agent;
}

bool run_service::can_pass() const noexcept { return core_->services.peers != nullptr; }

boost::asio::awaitable<result<client_answer>>
run_service::pass(std::int64_t gateway, client_request request) {
    return core_->services.peers->pass(gateway, std::move(request));
}

boost::asio::awaitable<result<std::shared_ptr<event_log>>>
run_service::follow(thread_key key, std::string run_id, std::int64_t gateway) {
    const std::shared_ptr<run_core> core = core_;
    const conversation_key conversation{std::move(key), false};
    auto known = co_await find_run(*core, conversation, run_id);
    if (known && !known->has_value()) {
        known = co_await find_queued(*core, conversation, run_id);
    }
    if (!known) {
        co_return known.error();
    }
    if (!known->has_value()) {
        co_return failure{errc::not_found, "the thread has no run with this id", {}, {}};
    }
    if ((*known)->place == run_place::elsewhere) {
        (*known)->gateway = gateway;
    }
    co_return co_await log_of(*core, conversation, **known);
}

boost::asio::awaitable<std::shared_ptr<event_log>>
run_service::find_here(thread_key key, std::string run_id, std::int64_t run_number) {
    const std::shared_ptr<run_core> core = core_;
    const conversation_key conversation{std::move(key), false};
    // Locks the runId, because a run that is just beginning is neither active nor queued.
    const auto lock = co_await core->registry.lock_key(conversation, "run " + run_id);
    if (const auto live = core->registry.active(conversation);
        live && live->record().run_id == run_id) {
        const bool is_meant = run_number == 0 || live->record().number == run_number;
        co_return is_meant ? live->log() : nullptr;
    }
    const auto waiting = core->queue.find(conversation, run_id);
    co_return waiting ? waiting->log : nullptr;
}

boost::asio::awaitable<stopped_here> run_service::stop_here(
    thread_key key, std::optional<std::string> run_id, stop_wish wish,
    std::chrono::steady_clock::time_point asked
) {
    const std::shared_ptr<run_core> core = core_;
    conversation_key conversation{std::move(key), false};
    if (wish != stop_wish::cancelled) {
        const bool if_left = wish == stop_wish::superseded_if_left;
        co_return co_await supersede_here(
            core, std::move(conversation), std::move(run_id), if_left
        );
    }
    run_registry::stopping reached = core->registry.stop(conversation, run_id, asked);
    stopped_here met{reached.any(), false};
    met.stopped = co_await reached.wait();
    co_return met;
}

boost::asio::awaitable<result<bool>>
run_service::cancel(thread_key key, std::optional<std::string> run_id) {
    const std::shared_ptr<run_core> core = core_;
    const auto asked = std::chrono::steady_clock::now();
    check_failpoint("cancel.requested");
    const conversation_key conversations[] = {{key, false}, {key, true}};
    std::vector<run_registry::stopping> reached;
    for (const conversation_key& conversation : conversations) {
        reached.push_back(core->registry.stop(conversation, run_id, asked));
    }
    pass_failpoint("cancel.counted");
    bool any = false;
    bool stopped = false;
    for (run_registry::stopping& one : reached) {
        any = any || one.any();
        const bool by_stop = co_await one.wait();
        stopped = stopped || by_stop;
    }
    if (const auto there = co_await find_elsewhere(*core, conversations[0]);
        run_id && there && there->has_value() &&
        session::client_run_id((*there)->run_id) == *run_id) {
        run_id = (*there)->run_id; // The segment that runs.
    }
    // Requests stopped here may also wait for the thread in other processes.
    if (core->services.store.is_shared() && (!(stopped && run_id) || core->settings.queue)) {
        const auto there = co_await stop_elsewhere(*core, conversations[0], run_id, asked);
        if (!there) {
            co_return there.error();
        }
        any = any || there->any;
        stopped = stopped || there->stopped;
    }
    for (std::size_t i = 0; i < std::size(conversations) && !any; ++i) {
        session::store& store = core->store_of(conversations[i]);
        const auto latest = co_await (
            run_id ? latest_segment(store, conversations[i].thread, *run_id)
                   : store.latest_run(conversations[i].thread)
        );
        if (!latest) {
            co_return latest.error();
        }
        any = latest->has_value();
        stopped = any && (*latest)->status == session::run_status::cancelled;
    }
    for (const conversation_key& conversation : conversations) {
        if (run_id && any) {
            core->registry.forget_early_stop(conversation, *run_id);
        }
    }
    co_return stopped;
}

boost::asio::awaitable<result<void>> run_service::forget_ephemeral(std::string principal) {
    const std::shared_ptr<run_core> core = core_;
    // First, because a thread that changes while the list is read would move to another page.
    for (const std::shared_ptr<live_run>& run : core->registry.active_runs()) {
        if (run->conversation().ephemeral && run->key().principal == principal) {
            co_await stop_ephemeral(*core, run->key());
        }
    }
    session::thread_query query;
    query.principal = std::move(principal);
    const auto give_up = std::chrono::steady_clock::now() + ephemeral_patience;
    for (;;) {
        const auto page = co_await core->ephemeral->store().list(query);
        if (!page) {
            co_return page.error();
        }
        if (page->threads.empty()) {
            co_return result<void>();
        }
        bool is_held = false;
        for (const session::thread_summary& each : page->threads) {
            co_await stop_ephemeral(*core, each.key);
            const bool removed = co_await core->ephemeral->remove_now(each.key);
            is_held = is_held || !removed;
        }
        if (std::chrono::steady_clock::now() > give_up) {
            co_return failure{errc::thread_busy, "the user goes on to begin runs"};
        }
        if (is_held) {
            co_await pause(between_removals);
        }
    }
}

boost::asio::awaitable<result<session::run_record>>
run_service::wait_for_end(thread_key key, std::string run_id) {
    const std::shared_ptr<run_core> core = core_;
    for (const bool ephemeral : {false, true}) {
        const conversation_key conversation{key, ephemeral};
        if (const auto waiting = core->queue.find(conversation, run_id)) {
            co_await waiting->over.wait();
        }
        std::shared_ptr<live_run> run;
        {
            // With the runId locked, because a run that is just beginning may be in the store, but
            // not active.
            const auto lock = co_await core->registry.lock_key(conversation, "run " + run_id);
            run = core->registry.active(conversation);
        }
        if (run && run->record().run_id == run_id) {
            co_await run->ended().wait();
        }
        session::store& store = core->store_of(conversation);
        auto found = co_await (
            store.is_shared() ? wait_for_end_elsewhere(*core, conversation, run_id)
                              : store.find_run(key, run_id)
        );
        if (!found) {
            co_return found.error();
        }
        if (!found->has_value()) {
            continue;
        }
        if ((*found)->status == session::run_status::active) {
            co_return failure{
                errc::store_unavailable, "the end of this run could not be stored", {}, {}
            };
        }
        co_return std::move(**found);
    }
    co_return failure{errc::not_found, "the thread has no run with this id", {}, {}};
}

boost::asio::awaitable<void> run_service::recover() {
    const std::shared_ptr<run_core> core = core_;
    (void)co_await core->orphans.recover_all();
    co_await pick_up_queued(core);
}

void run_service::begin_drain() {
    core_->registry.begin_drain();
    core_->titles.stop();
}

boost::asio::awaitable<void> run_service::drain(std::chrono::steady_clock::time_point deadline) {
    const std::shared_ptr<run_core> core = core_;
    begin_drain();
    pass_failpoint("drain.begun");
    const auto executor = co_await boost::asio::this_coro::executor;
    boost::asio::steady_timer timer(executor, deadline);
    timer.async_wait([core](boost::system::error_code ec) {
        if (!ec) {
            for (const auto& run : core->registry.begin_stop()) {
                run->stop(stop_reason::shutdown);
            }
        }
    });
    co_await core->registry.wait_until_empty();
    pass_failpoint("drain.runs_ended");
    timer.cancel();
}

bool run_service::draining() const { return core_->registry.draining(); }

std::vector<run_service::active_run> run_service::active_runs() const {
    std::vector<active_run> all;
    for (const std::shared_ptr<live_run>& run : core_->registry.active_runs()) {
        const session::run_record& record = run->record();
        all.push_back({
            .thread = run->key(),
            .ephemeral = run->conversation().ephemeral,
            .run_id = std::string(session::client_run_id(record.run_id)),
            .agent_id = record.agent_id,
            .started_at = record.started_at,
            .readers = run->log()->reader_count(),
        });
    }
    std::ranges::sort(all, {}, [](const active_run& run) {
        return std::tie(run.started_at, run.run_id);
    });
    return all;
}

} // namespace agui::gateway
