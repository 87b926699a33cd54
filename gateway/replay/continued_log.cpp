#include "gateway/replay/continued_log.hpp"

#include "gateway/replay/followed_run.hpp"
#include "gateway/run/polling.hpp"
#include "session/base/failpoint.hpp"
#include "session/base/pause.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

namespace agui::gateway {

namespace {

// Returns true if the store has the last event shown to the log's readers, and therefore all of
// them. It may be lost after a failover to a lagging server or with relaxed durability, and its
// number reused.
boost::asio::awaitable<result<bool>>
has_what_was_shown(session::store& store, std::int64_t run_number, const event_log& log) {
    const std::uint64_t last = log.visible_sequence();
    if (last == 0) {
        co_return true;
    }
    const auto page = co_await store.read_log(run_number, last - 1, 1);
    if (!page) {
        co_return page.error();
    }
    co_return !page->empty() && page->front().json == log.event(last);
}

// Moves the readers to the continued log, or ends their streams. Returns true if nothing was done
// because the store is temporarily unreadable.
boost::asio::awaitable<bool> continue_once(
    run_core& core, const conversation_key& conversation, const session::run_record& run,
    std::shared_ptr<event_log> lost, const std::vector<std::string>& events
) {
    if (!lost) {
        co_return false; // The log has no readers.
    }
    const auto has = co_await has_what_was_shown(core.store_of(conversation), run.number, *lost);
    result<std::shared_ptr<event_log>> next = failure{errc::run_expired, {}, {}, {}};
    if (!has) {
        next = has.error();
    } else if (*has) {
        next = co_await followed_log(core, conversation, run, 0);
    }
    if (!next && next.error().code == errc::store_unavailable) {
        co_return true;
    }
    if (next) {
        lost->continue_in(*next);
    } else if (next.error().code == errc::overloaded) {
        lost->cut_off_readers();
    } else {
        lost->end_without_store(events);
    }
    co_return false;
}

boost::asio::awaitable<void> continue_log(
    std::shared_ptr<run_core> core, conversation_key conversation, session::run_record run,
    std::weak_ptr<event_log> lost, std::vector<std::string> events
) {
    const auto executor = co_await boost::asio::this_coro::executor;
    // First lets the run release its log, because a log without readers need not be continued.
    co_await boost::asio::post(executor, boost::asio::use_awaitable);
    while (!lost.expired()) {
        pass_failpoint("follow.lost");
        if (!co_await continue_once(*core, conversation, run, lost.lock(), events)) {
            co_return;
        }
        co_await pause(poll_period);
    }
}

} // namespace

void go_on_elsewhere(run_core& core, const live_run& run, std::vector<std::string> events) {
    const std::weak_ptr<event_log> lost = run.log();
    auto continuing =
        continue_log(core.shared_from_this(), run.conversation(), run.record(), lost, events);
    boost::asio::co_spawn(
        run.executor(), std::move(continuing),
        [lost, events = std::move(events)](const std::exception_ptr& thrown) {
            if (const auto left = lost.lock(); thrown && left) {
                left->end_without_store(events);
            }
        }
    );
}

} // namespace agui::gateway
