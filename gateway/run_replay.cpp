#include "gateway/run_replay.hpp"

#include <boost/asio/this_coro.hpp>

#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace agui::gateway {

namespace {

// Entries of a stored log that are read at a time.
constexpr std::size_t log_page_entries = 4096;

} // namespace

boost::asio::awaitable<result<std::optional<known_run>>> find_run(
    session::store& store, const run_registry& registry, session::thread_key key,
    std::string run_id
) {
    if (const auto live = registry.active(key); live && live->record().run_id == run_id) {
        co_return known_run{live->record(), live->log()};
    }
    auto kept = registry.find_log(key, run_id);
    auto stored = co_await store.find_run(std::move(key), std::move(run_id));
    if (!stored) {
        co_return stored.error();
    }
    if (!stored->has_value()) {
        co_return std::optional<known_run>();
    }
    co_return known_run{std::move(**stored), std::move(kept)};
}

boost::asio::awaitable<result<std::shared_ptr<run_log>>>
log_of(session::store& store, run_registry& registry, const known_run& run, bool join_deltas) {
    if (run.log) {
        co_return run.log;
    }
    const failure expired{errc::run_expired, "the events of this run are gone", "runId", {}};
    if (!store.keeps_logs()) {
        co_return expired;
    }
    if (run.record.status == session::run_status::active) {
        // Its end could not be stored, and cannot be yet.
        co_return failure{errc::store_unavailable, "the run is being ended", {}, {}};
    }
    if (auto shared = registry.find_shared_log(run.record.number)) {
        co_return shared;
    }
    std::vector<session::log_entry> entries;
    for (;;) {
        const std::uint64_t after = entries.empty() ? 0 : entries.back().sequence;
        auto page = co_await store.read_log(run.record.number, after, log_page_entries);
        if (!page) {
            co_return page.error();
        }
        if (page->empty()) {
            break;
        }
        std::move(page->begin(), page->end(), std::back_inserter(entries));
    }
    if (entries.empty() || entries.back().sequence != run.record.last_sequence) {
        co_return expired;
    }
    const auto executor = co_await boost::asio::this_coro::executor;
    auto log = run_log::restored(executor, entries, join_deltas);
    registry.share_log(run.record.number, log);
    co_return log;
}

} // namespace agui::gateway
