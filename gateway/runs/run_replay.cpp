#include "gateway/runs/run_replay.hpp"

#include "gateway/runs/answered_run.hpp"

#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace agui::gateway {

namespace {

// How many entries of a stored log are read at once.
constexpr std::size_t log_page_entries = 1024;

boost::asio::awaitable<result<std::optional<known_run>>>
look_run_up(run_core& core, conversation_key place, std::string run_id) {
    if (const auto live = core.registry.active(place); live && live->record().run_id == run_id) {
        co_return known_run{live->record(), live->log()};
    }
    if (const auto waiting = core.queue.find(place, run_id)) {
        co_return known_run{waiting->record, waiting->log};
    }
    auto kept = core.registry.find_log(place, run_id);
    auto stored =
        co_await core.store_of(place).find_run(std::move(place.thread), std::move(run_id));
    if (!stored) {
        co_return stored.error();
    }
    if (!stored->has_value()) {
        co_return std::optional<known_run>();
    }
    co_return known_run{std::move(**stored), std::move(kept)};
}

bool may_join_deltas(const run_core& core, const session::run_record& ended) {
    using std::chrono::milliseconds;
    const auto period = std::chrono::duration_cast<milliseconds>(core.settings.replay).count();
    return core.services.time.now() - ended.ended_at >= period;
}

} // namespace

boost::asio::awaitable<result<std::optional<known_run>>>
find_run(run_core& core, conversation_key place, std::string run_id) {
    auto known = co_await look_run_up(core, place, run_id);
    const bool is_orphan = known && known->has_value() && !(*known)->log &&
                           (*known)->record.status == session::run_status::active;
    if (is_orphan) {
        const bool recovered = co_await core.orphans.recover(core.store_of(place), place);
        if (recovered) {
            known = co_await look_run_up(core, place, run_id);
        }
    }
    co_return known;
}

boost::asio::awaitable<result<std::shared_ptr<event_log>>>
log_of(run_core& core, const conversation_key& place, const known_run& run) {
    if (run.log) {
        co_return run.log;
    }
    session::store& store = core.store_of(place);
    const failure expired{errc::run_expired, "the events of this run are gone", "runId", {}};
    if (!run.record.answered_by.empty()) {
        co_return co_await answered_log(core, place, run.record);
    }
    if (!store.keeps_logs()) {
        co_return expired;
    }
    if (run.record.status == session::run_status::active) {
        // It is an orphan that cannot be recovered yet.
        co_return failure{errc::store_unavailable, "the run is ending: try again", {}, {}};
    }
    if (auto shared = core.registry.find_shared_log(run.record.number)) {
        co_return shared;
    }
    const auto executor = co_await boost::asio::this_coro::executor;
    const auto log = event_log::begin_restored(
        executor, core.services.memory, may_join_deltas(core, run.record)
    );
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
                errc::overloaded, "there is not enough memory for the events of this run", {}, {}
            };
        }
    }
    if (last == 0 || last != run.record.last_sequence) {
        co_return expired;
    }
    log->end_restored();
    core.registry.share_log(run.record.number, log);
    co_return log;
}

} // namespace agui::gateway
