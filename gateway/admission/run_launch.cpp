#include "gateway/admission/run_launch.hpp"

#include "session/base/failpoint.hpp"
#include "session/history/title.hpp"

#include <optional>
#include <utility>

namespace agui::gateway {

namespace {

live_run::settings settings_of(
    run_core& core, const requested_run& what, const conversation_key& conversation,
    std::string_view protocol, const agent_entry& agent
) {
    live_run::settings options;
    options.on_disconnect = what.on_disconnect.value_or(core.settings.on_disconnect);
    options.run_timeout = core.settings.run_timeout;
    options.detached = core.settings.detached;
    options.max_bytes = core.settings.max_run_bytes;
    options.max_waiting_messages = core.settings.max_waiting_messages;
    options.translation = core.translation_of(conversation, protocol);
    options.translation.legacy_interrupts = agent.legacy_interrupts;
    options.translation.tanstack = agent.tanstack;
    options.observer = core.services.observer;
    options.max_thread_bytes = core.settings.max_thread_bytes;
    options.heavy = core.services.heavy;
    options.predictions = agent.predictions;
    options.audit = core.services.audit;
    options.source = what.source;
    return options;
}

// What a run for suggestions takes until its end, when its thread is removed.
struct taken_for_suggestions {
    std::shared_ptr<const void> place;
    memory_share thread;
};

void set_for_suggestions(accepted_run::admitted& request, live_run::settings& options) {
    auto taken = std::make_shared<taken_for_suggestions>();
    taken->place = request.admission->take_minor_place();
    taken->thread = memory_share(request.core->services.memory);
    taken->thread.grow_anyway_to(request.what.body_bytes);
    options.is_for_suggestions = true;
    options.held = std::move(taken);
}

} // namespace

std::shared_ptr<live_run> launch_run(
    accepted_run::admitted& request, std::shared_ptr<event_log> log, session::run_record record,
    runner::run_request run, const std::vector<session::message>& missing,
    runner::model_provider& model
) {
    run_core& core = *request.core;
    const process_services& services = core.services;
    live_run::settings options =
        settings_of(core, request.what, request.conversation, record.protocol, *request.agent);
    options.place = std::move(request.quota_place);
    const bool is_for_suggestions = request.what.input.is_for_suggestions;
    if (is_for_suggestions) {
        set_for_suggestions(request, options);
    }
    // The stored messages of `history = "client"` are those that the client sends each time.
    if (request.agent->title_model.provider != nullptr && !request.conversation.ephemeral &&
        core.settings.history.mode == session::history_mode::server) {
        options.automatic_title = session::automatic_title(*run.thread);
    }
    const auto live = std::make_shared<live_run>(
        request.executor, core.store_of(request.conversation), services.time, services.log,
        std::move(log), request.conversation, request.held, std::move(record),
        static_cast<session::node_index>(run.thread->nodes.size()), std::move(options)
    );
    if (request.conversation.ephemeral && !is_for_suggestions) {
        core.ephemeral->grown(live->key(), request.what.body_bytes, live->executor());
    }
    const runner::loop_services parts{
        model, services.tools, services.ids, services.time, services.log,
        core.settings.max_result_bytes, core.settings.max_thread_bytes, services.plugins,
        services.memory, services.heavy,
        // An ephemeral thread may share its key with a stored one.
        request.agent->checks_prefix && !request.conversation.ephemeral ? services.prefixes
                                                                        : nullptr
    };
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
    const std::optional<runner::stop_reason> stopped = core.registry.add(live, *request.arrival);
    check_failpoint("launch.registered");
    live->start(
        std::move(run), parts, std::move(request.what.memory), request.core, stopped, missing
    );
    registered.live.reset();
    return live;
}

} // namespace agui::gateway
