#include "gateway/replay/run_replay.hpp"

#include "gateway/replay/answered_run.hpp"
#include "gateway/replay/followed_run.hpp"

#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace agui::gateway {

namespace {

// Entries of a stored log read at once.
constexpr std::size_t log_page_entries = 1024;

bool may_join_deltas(
    const run_core& core, const session::store& store, const session::run_record& ended
) {
    using std::chrono::milliseconds;
    const auto period = std::chrono::duration_cast<milliseconds>(core.settings.replay).count();
    return store.shared_time(core.services.time.now()) - ended.ended_at >= period;
}

} // namespace

boost::asio::awaitable<result<std::shared_ptr<event_log>>>
log_of(run_core& core, const conversation_key& conversation, const known_run& run) {
    if (run.log) {
        co_return run.log;
    }
    session::store& store = core.store_of(conversation);
    const failure expired{
        errc::run_expired, "the events of this run are no longer stored", "runId", {}
    };
    if (!run.record.answered_by.empty()) {
        co_return co_await answered_log(core, conversation, run.record);
    }
    if (!store.keeps_logs()) {
        co_return expired;
    }
    if (run.place == run_place::elsewhere) {
        co_return co_await followed_log(core, conversation, run.record, run.gateway);
    }
    if (run.place == run_place::lost) {
        co_return failure{errc::store_unavailable, "the run is ending: try again", {}, {}};
    }
    if (auto shared = core.registry.find_shared_log(run.record.number)) {
        co_return shared;
    }
    const auto executor = co_await boost::asio::this_coro::executor;
    const auto log = event_log::begin_restored(
        executor, core.services.memory, may_join_deltas(core, store, run.record)
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
        if (const auto restored = restore_entries(*log, *page); !restored) {
            co_return restored.error();
        }
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
