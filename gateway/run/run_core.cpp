#include "gateway/run/run_core.hpp"

#include "gateway/quota/quotas.hpp"
#include "session/base/failpoint.hpp"
#include "session/conversation/run_segment.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

namespace agui::gateway {

namespace {

// Limit for logs that no store keeps, above which the oldest are dropped, so that active runs have
// room.
std::size_t bytes_to_keep(const memory_budget* budget) {
    constexpr std::size_t most = 256U << 20U;
    return budget == nullptr ? most : std::min(most, budget->limit() / 4);
}

// The quotas for the runs of those for whom this run counts.
std::vector<run_registry::detached_limit> limits_of(const quotas& all, const live_run& run) {
    std::vector<run_registry::detached_limit> limits;
    const quota_party party{run.key().principal, run.address()};
    for (const auto& [scope, most] : all.detached_limits(party)) {
        auto counts = [scope = scope, principal = run.key().principal,
                       address = run.address()](const live_run& other) {
            switch (scope) {
            case quota_scope::principal:
                return other.key().principal == principal;
            case quota_scope::tenant:
                return tenant_in(other.key().principal) == tenant_in(principal);
            case quota_scope::address:
                return other.address() == address;
            }
            return false;
        };
        limits.push_back({std::move(counts), most});
    }
    return limits;
}

} // namespace

run_core::run_core(process_services given, run_settings options, lost_run_handler on_lost_run)
    : services(given),
      settings(std::move(options)),
      registry(
          {settings.max_runs, settings.max_detached_runs, settings.replay,
           bytes_to_keep(given.memory)}
      ),
      orphans(given),
      titles(services, registry),
      ephemeral(std::make_shared<ephemeral_store>(given.memory)),
      on_lost_run_(std::move(on_lost_run)) {}

const agent_entry* run_core::find_agent(const std::string& id) const {
    const auto found = settings.agents.find(id.empty() ? settings.default_agent : id);
    return found == settings.agents.end() ? nullptr : &found->second;
}

session::store& run_core::store_of(const conversation_key& conversation) const {
    return conversation.ephemeral ? ephemeral->store() : services.store;
}

translator::translator_settings
run_core::translation_of(const conversation_key& conversation, std::string_view protocol) {
    using translator::projection;
    translator::translator_settings made = settings.translation;
    if (translator::projection_from_string(protocol) == projection::undeclared) {
        made.on_loss = [weak = weak_from_this(),
                        id = conversation.thread.thread_id](std::string_view type) {
            constexpr std::string_view text =
                "parts of an event were left out: the client declares no AG-UI version from 1.0 on";
            const auto core = weak.lock();
            if (core && core->told.due(text, type, std::chrono::steady_clock::now())) {
                core->services.log.log(log_level::warning, text, {{"name", type}, {"thread", id}});
            }
        };
    }
    // An ephemeral thread is in no store that could serve a link.
    if (services.links != nullptr && !conversation.ephemeral) {
        made.part_link = [links = services.links,
                          key = conversation.thread](std::string_view sha256, unix_ms now) {
            return links->link(key, sha256, now);
        };
    }
    return made;
}

void run_core::on_detached(const std::shared_ptr<live_run>& run) {
    std::vector<run_registry::detached_limit> own;
    if (services.limits != nullptr) {
        own = limits_of(*services.limits, *run);
    }
    if (const auto too_many = registry.add_detached(run, own)) {
        services.log.log(
            log_level::warning,
            "a run without a reader was ended: server.max_detached_runs or quotas.detached_runs is "
            "reached",
            {{"thread", too_many->key().thread_id},
             {"run", session::client_run_id(too_many->record().run_id)}}
        );
        too_many->stop(runner::stop_reason::run_timeout);
    }
}

void run_core::on_orphaned(const std::shared_ptr<live_run>& run) {
    orphans.add(run->conversation());
}

void run_core::on_lost(const std::shared_ptr<live_run>& run, std::vector<std::string> events) {
    on_lost_run_(*this, *run, std::move(events));
}

void run_core::on_end(const std::shared_ptr<live_run>& run) {
    // Removed even if something fails here, because a drain waits for every registered run. Removed
    // last, so that a reader always finds the run in the registry or its log among the kept ones.
    struct removal {
        ~removal() { from.remove(ended); }
        run_registry& from;
        const std::shared_ptr<live_run>& ended;
    } const removed_at_the_end{registry, run};
    check_failpoint("run.ending");
    if (run->is_for_suggestions()) {
        ephemeral->remove(run->key(), run->executor());
        return;
    }
    if (!store_of(run->conversation()).keeps_logs()) {
        registry.keep_log(*run);
    }
    const agent_entry* const agent = find_agent(run->record().agent_id);
    if (agent != nullptr && !run->automatic_title().empty()) {
        titles.after(shared_from_this(), *run, agent->title_model);
    }
    if (run->conversation().ephemeral) {
        ephemeral->grown(run->key(), run->log()->bytes(), run->executor());
    }
}

bool run_core::is_awaited(const conversation_key& conversation) const {
    return settings.queue && queue.is_awaited(conversation);
}

} // namespace agui::gateway
