#include "gateway/runs/run_core.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace agui::gateway {

namespace {

// The limit of logs that no store keeps: the oldest are dropped, so that active runs have room.
std::size_t bytes_to_keep(const memory_budget* budget) {
    constexpr std::size_t most = 256U << 20U;
    return budget == nullptr ? most : std::min(most, budget->limit() / 4);
}

} // namespace

run_core::run_core(process_services given, run_settings options)
    : services(given),
      settings(std::move(options)),
      registry(
          {settings.max_runs, settings.max_detached_runs, settings.replay,
           bytes_to_keep(given.memory)}
      ),
      orphans(given),
      ephemeral(std::make_shared<ephemeral_store>(given.memory)) {}

const agent_entry* run_core::find_agent(const std::string& id) const {
    const auto found = settings.agents.find(id.empty() ? settings.default_agent : id);
    return found == settings.agents.end() ? nullptr : &found->second;
}

session::store& run_core::store_of(const conversation_key& place) const {
    return place.ephemeral ? ephemeral->store() : services.store;
}

} // namespace agui::gateway
