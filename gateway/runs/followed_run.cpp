#include "gateway/runs/followed_run.hpp"

#include "gateway/runs/run_locator.hpp"
#include "gateway/runs/run_replay.hpp"
#include "gateway/runs/unstored_end.hpp"
#include "session/base/failpoint.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <string_view>
#include <utility>

namespace agui::gateway {

namespace {

constexpr std::size_t page_entries = 1024;

// As long as this a follower relies on being woken. A process that was killed wakes nobody.
constexpr std::chrono::seconds look_again{5};
// The same while the store cannot be read.
constexpr std::chrono::seconds try_again{1};

failure too_large() {
    return {errc::overloaded, "there is not enough memory for the events of this run", {}, {}};
}

// As the translator begins the last event of a run.
bool ends_a_run(std::string_view event) {
    return event.starts_with(R"({"type":"RUN_FINISHED")") ||
           event.starts_with(R"({"type":"RUN_ERROR")");
}

enum class found { nothing, events, last_event };

// Appends what the store has beyond the log's end.
boost::asio::awaitable<result<found>>
read_on(session::store& store, std::int64_t run_number, event_log& log) {
    found what = found::nothing;
    for (;;) {
        const auto page = co_await store.read_log(run_number, log.last_sequence(), page_entries);
        if (!page) {
            co_return page.error();
        }
        if (!page->empty()) {
            if (const auto restored = restore_entries(log, *page); !restored) {
                co_return restored.error();
            }
            log.show_restored();
            what = ends_a_run(page->back().json) ? found::last_event : found::events;
        }
        if (log.outgrown(SIZE_MAX)) {
            co_return too_large();
        }
        if (page->size() < page_entries) {
            co_return what;
        }
    }
}

enum class step { go_on, wait, end };

// One look at the run. `step::end`: the log is complete, or can never be.
boost::asio::awaitable<step> look(
    run_core& core, const conversation_key& place, const session::run_record& run, event_log& log
) {
    // A run that has just said something has not ended, so that nobody need be asked.
    const auto said = co_await read_on(core.store_of(place), run.number, log);
    if (said && *said == found::events) {
        co_return step::go_on;
    }
    const auto known = co_await find_run(core, place, run.run_id);
    if (!known) {
        co_return step::wait;
    }
    const bool is_gone = !known->has_value() || (*known)->record.number != run.number;
    const bool has_ended = !is_gone && (*known)->place == run_place::ended;
    // After the run was looked up, so that nothing is missed that came before its end.
    const auto read = co_await read_on(core.store_of(place), run.number, log);
    if (!read) {
        co_return read.error().code == errc::store_unavailable ? step::wait : step::end;
    }
    co_return is_gone || has_ended ? step::end : step::go_on;
}

// Nothing more can be read. No reader may be left without an end, whatever the store has.
void end_followed(
    run_core& core, const conversation_key& place, const session::run_record& run, event_log& log
) {
    if (ends_a_run(log.last_event())) {
        log.end_restored();
        return;
    }
    core.registry.share_log(run.number, nullptr); // Later readers are told that it is gone.
    log.end_without_store(unstored_end(
        log, place.thread.thread_id, run, runner::stop_reason::error, core.services.time
    ));
}

boost::asio::awaitable<void> follow(
    std::shared_ptr<run_core> core, conversation_key place, session::run_record run,
    std::weak_ptr<event_log> followed, std::shared_ptr<session::run_watch> watch
) {
    for (;;) {
        auto next = look_again;
        {
            const std::shared_ptr<event_log> log = followed.lock();
            if (!log) {
                co_return; // Nobody reads it any more.
            }
            pass_failpoint("follow.look");
            const step seen = co_await look(*core, place, run, *log);
            if (seen == step::end) {
                if (!ends_a_run(log->last_event())) { // Its readers do not leave by themselves.
                    log->set_readers_handler({});
                    watch->set_readers(0, session::leaving::cut_off);
                }
                end_followed(*core, place, run, *log);
                co_return;
            }
            next = seen == step::wait ? try_again : look_again;
        }
        co_await watch->wait_until(std::chrono::steady_clock::now() + next);
    }
}

} // namespace

boost::asio::awaitable<result<void>> follow_run(
    run_core& core, const conversation_key& place, const session::run_record& run,
    const std::shared_ptr<event_log>& log
) {
    const auto executor = co_await boost::asio::this_coro::executor;
    session::store& store = core.store_of(place);
    // Before the first read, so that what comes after it is noticed.
    const std::shared_ptr<session::run_watch> watch = store.watch(run.number, executor);
    const auto read = co_await read_on(store, run.number, *log);
    if (!read) {
        co_return read.error();
    }
    log->set_readers_handler([watch](std::size_t count, session::leaving how) {
        watch->set_readers(count, how);
        if (count == 0) {
            watch->wake(); // Nobody may hold the log any more.
        }
    });
    watch->set_readers(log->reader_count(), session::leaving::left);
    boost::asio::co_spawn(
        executor, follow(core.shared_from_this(), place, run, log, watch),
        [core = core.shared_from_this(), place, run,
         followed = std::weak_ptr(log)](const std::exception_ptr& thrown) {
            if (const auto left = followed.lock(); thrown && left) {
                end_followed(*core, place, run, *left);
            }
        }
    );
    co_return result<void>();
}

boost::asio::awaitable<result<std::shared_ptr<event_log>>>
followed_log(run_core& core, const conversation_key& place, const session::run_record& run) {
    if (auto shared = core.registry.find_shared_log(run.number)) {
        co_return shared;
    }
    const auto executor = co_await boost::asio::this_coro::executor;
    auto log = event_log::begin_restored(executor, core.services.memory, false);
    const auto followed = co_await follow_run(core, place, run, log);
    if (!followed) {
        co_return followed.error();
    }
    core.registry.share_log(run.number, log);
    co_return log;
}

namespace {

boost::asio::awaitable<void> continue_log(
    std::shared_ptr<run_core> core, conversation_key place, session::run_record run,
    std::weak_ptr<event_log> lost, std::vector<std::string> events
) {
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
    // First the run lets go of its log: one that nobody reads need not be continued.
    co_await boost::asio::post(timer.get_executor(), boost::asio::use_awaitable);
    while (!lost.expired()) {
        pass_failpoint("follow.lost");
        const auto next = co_await followed_log(*core, place, run);
        const std::shared_ptr<event_log> log = lost.lock();
        if (!log) {
            co_return; // Nobody reads it any more.
        }
        const bool is_away = !next && next.error().code == errc::store_unavailable;
        if (!is_away) {
            if (!next || !log->continue_in(*next)) {
                log->end_without_store(events);
            }
            co_return;
        }
        timer.expires_after(try_again);
        co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    }
}

} // namespace

void go_on_elsewhere(run_core& core, const live_run& run, std::vector<std::string> events) {
    const std::weak_ptr<event_log> lost = run.log();
    auto continuing =
        continue_log(core.shared_from_this(), run.place(), run.record(), lost, events);
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
