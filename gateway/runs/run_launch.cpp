#include "gateway/runs/run_launch.hpp"

#include "session/base/failpoint.hpp"

#include <optional>
#include <utility>

namespace agui::gateway {

namespace {

using runner::stop_reason;

void on_detached(run_core& core, const std::shared_ptr<live_run>& run) {
    if (const auto too_many = core.registry.add_detached(run)) {
        core.services.log.log(
            log_level::warning, "a run without a reader was ended: server.max_detached_runs",
            {{"thread", too_many->key().thread_id}, {"run", too_many->record().run_id}}
        );
        too_many->stop(stop_reason::run_timeout);
    }
}

void on_end(run_core& core, const std::shared_ptr<live_run>& run) {
    // Removed even if something fails here, because a drain waits for every registered run; but
    // last, so that a reader always finds the run in the registry or its log among the kept ones.
    struct removal {
        ~removal() { owner.remove(ended); }
        run_registry& owner;
        const std::shared_ptr<live_run>& ended;
    } const removed_at_the_end{core.registry, run};
    check_failpoint("run.ending");
    if (!core.store_of(run->place()).keeps_logs()) {
        core.registry.keep_log(*run);
    }
    if (run->place().ephemeral) {
        core.ephemeral->grown(run->key(), run->log()->bytes(), run->executor());
    }
}

// The run may outlive the service: then nobody is notified.
live_run::handlers handlers_of(const std::shared_ptr<run_core>& core) {
    const std::weak_ptr<run_core> weak = core;
    live_run::handlers handlers;
    handlers.on_detached = [weak](const std::shared_ptr<live_run>& run) {
        if (const auto owner = weak.lock()) {
            on_detached(*owner, run);
        }
    };
    handlers.on_orphaned = [weak](const std::shared_ptr<live_run>& run) {
        if (const auto owner = weak.lock()) {
            owner->orphans.add(run->place());
        }
    };
    handlers.on_end = [weak](const std::shared_ptr<live_run>& run) {
        if (const auto owner = weak.lock()) {
            on_end(*owner, run);
        }
    };
    if (core->settings.queue) {
        handlers.is_awaited = [weak](const conversation_key& place) {
            const auto owner = weak.lock();
            return owner && owner->queue.is_awaited(place);
        };
    }
    return handlers;
}

live_run::settings settings_of(const run_core& core, const requested_run& what) {
    live_run::settings options;
    options.on_disconnect = what.on_disconnect.value_or(core.settings.on_disconnect);
    options.run_timeout = core.settings.run_timeout;
    options.detached = core.settings.detached;
    options.max_bytes = core.settings.max_run_bytes;
    options.translation = core.settings.translation;
    options.observer = core.services.observer;
    return options;
}

} // namespace

std::shared_ptr<live_run> launch_run(
    accepted_run::admitted& request, std::shared_ptr<event_log> log, session::run_record record,
    runner::run_request run, runner::model_provider& model
) {
    run_core& core = *request.core;
    const process_services& services = core.services;
    const auto live = std::make_shared<live_run>(
        request.executor, core.store_of(request.place), services.time, services.log, std::move(log),
        request.place, request.held, std::move(record),
        static_cast<session::node_index>(run.thread.nodes.size()), settings_of(core, request.what)
    );
    if (request.place.ephemeral) {
        core.ephemeral->grown(live->key(), request.what.body_bytes, live->executor());
    }
    const runner::loop_services parts{
        model,
        services.tools,
        services.ids,
        services.time,
        services.log,
        core.settings.max_result_bytes,
        core.settings.max_thread_bytes,
        services.plugins
    };
    live_run::handlers handlers = handlers_of(request.core);
    // Undone if the run cannot start, because a drain waits for every registered run.
    struct registration {
        ~registration() {
            if (live) {
                owner.remove(live);
                live->give_up();
            }
        }
        run_registry& owner;
        std::shared_ptr<live_run> live;
    } registered{core.registry, live};
    const std::optional<stop_reason> stopped = core.registry.add(live, *request.arrival);
    check_failpoint("launch.registered");
    live->start(std::move(run), parts, std::move(handlers), stopped);
    registered.live.reset();
    return live;
}

} // namespace agui::gateway
