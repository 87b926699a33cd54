#pragma once

#include "gateway/base/warned_names.hpp"
#include "gateway/run/conversation_key.hpp"
#include "gateway/run/ephemeral_store.hpp"
#include "gateway/run/live_run.hpp"
#include "gateway/run/orphan_threads.hpp"
#include "gateway/run/process_services.hpp"
#include "gateway/run/run_queue.hpp"
#include "gateway/run/run_registry.hpp"
#include "gateway/run/run_settings.hpp"
#include "gateway/run/thread_titles.hpp"
#include "session/store/store.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace agui::gateway {

/// State shared by the parts of the run service. Owned by shared_ptr: by the service, and by every
/// call and run that may outlive it. Safe to use from any thread.
struct run_core final : live_run::owner, std::enable_shared_from_this<run_core> {
    /// Moves the readers of a run with a lost lease to its log elsewhere, or ends their streams
    /// with the events.
    using lost_run_handler =
        std::function<void(run_core&, const live_run&, std::vector<std::string> events)>;

    run_core(process_services given, run_settings options, lost_run_handler on_lost_run);
    run_core(const run_core&) = delete;
    run_core& operator=(const run_core&) = delete;

    /// An empty id means the default agent. Returns null if there is no such agent.
    [[nodiscard]] const agent_entry* find_agent(const std::string& id) const;
    [[nodiscard]] session::store& store_of(const conversation_key& conversation) const;
    /// Translator settings for a conversation and a peer's projection (`protocol` is its stored
    /// name). Parts that the projection cannot show are logged once an hour for each type of event.
    [[nodiscard]] translator::translator_settings
    translation_of(const conversation_key& conversation, std::string_view protocol);

    // live_run::owner
    void on_detached(const std::shared_ptr<live_run>& run) override;
    void on_orphaned(const std::shared_ptr<live_run>& run) override;
    void on_lost(const std::shared_ptr<live_run>& run, std::vector<std::string> events) override;
    void on_end(const std::shared_ptr<live_run>& run) override;
    [[nodiscard]] bool is_awaited(const conversation_key& conversation) const override;

    const process_services services;
    const run_settings settings;
    run_registry registry;
    run_queue queue;
    orphan_threads orphans;
    thread_titles titles;
    warned_names told; ///< Names that warnings were logged for.
    const std::shared_ptr<ephemeral_store> ephemeral;

private:
    const lost_run_handler on_lost_run_;
};

} // namespace agui::gateway
