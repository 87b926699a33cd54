#include "gateway/runs/run_replay.hpp"

#include <boost/asio/this_coro.hpp>

#include <cstdint>
#include <utility>

namespace agui::gateway {

namespace {

// Entries of a stored log that are read at a time.
constexpr std::size_t log_page_entries = 1024;

} // namespace

boost::asio::awaitable<result<std::optional<known_run>>> find_run(
    session::store& store, const run_registry& registry, conversation_key place, std::string run_id
) {
    if (const auto live = registry.active(place); live && live->record().run_id == run_id) {
        co_return known_run{live->record(), live->log()};
    }
    auto kept = registry.find_log(place, run_id);
    auto stored = co_await store.find_run(std::move(place.thread), std::move(run_id));
    if (!stored) {
        co_return stored.error();
    }
    if (!stored->has_value()) {
        co_return std::optional<known_run>();
    }
    co_return known_run{std::move(**stored), std::move(kept)};
}

boost::asio::awaitable<result<std::shared_ptr<event_log>>> log_of(
    session::store& store, run_registry& registry, const known_run& run, bool join_deltas,
    memory_budget* budget
) {
    if (run.log) {
        co_return run.log;
    }
    const failure expired{errc::run_expired, "the events of this run are gone", "runId", {}};
    if (!store.keeps_logs()) {
        co_return expired;
    }
    if (run.record.status == session::run_status::active) {
        // Its end could not be stored, and cannot be yet.
        co_return failure{errc::store_unavailable, "the run is ending: try again", {}, {}};
    }
    if (auto shared = registry.find_shared_log(run.record.number)) {
        co_return shared;
    }
    const auto executor = co_await boost::asio::this_coro::executor;
    const auto log = event_log::begin_restored(executor, budget, join_deltas);
    std::uint64_t last = 0;
    for (;;) {
        const auto page = co_await store.read_log(run.record.number, last, log_page_entries);
        if (!page) {
            co_return page.error();
        }
        if (page->empty()) {
            break;
        }
        log->restore(*page);
        last = page->back().sequence;
        if (log->outgrown(SIZE_MAX)) {
            co_return failure{
                errc::overloaded, "there is no memory for the events of this run", {}, {}
            };
        }
    }
    if (last == 0 || last != run.record.last_sequence) {
        co_return expired;
    }
    log->end_restored();
    registry.share_log(run.record.number, log);
    co_return log;
}

} // namespace agui::gateway
