#include "gateway/runs/followed_run.hpp"

#include "gateway/runs/answered_run.hpp"
#include "gateway/runs/peer_door.hpp"
#include "gateway/runs/run_locator.hpp"
#include "gateway/runs/run_replay.hpp"
#include "gateway/runs/unstored_end.hpp"
#include "session/base/change_signal.hpp"
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
#include <optional>
#include <string_view>
#include <utility>

namespace agui::gateway {

namespace {

constexpr std::size_t page_entries = 1024;

// While no gateway shows the run, the store is read this often.
constexpr std::chrono::milliseconds read_again{500};

failure too_large() {
    return {errc::overloaded, "there is not enough memory for the events of this run", {}, {}};
}

// As the translator begins the last event of a run.
bool ends_a_run(std::string_view event) {
    return event.starts_with(R"({"type":"RUN_FINISHED")") ||
           event.starts_with(R"({"type":"RUN_ERROR")");
}

// Appends what the store has beyond the log's end.
boost::asio::awaitable<result<void>>
read_on(session::store& store, std::int64_t run_number, event_log& log) {
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
        }
        if (log.outgrown(SIZE_MAX)) {
            co_return too_large();
        }
        if (page->size() < page_entries) {
            co_return result<void>();
        }
    }
}

// True: the store has the last event that readers were shown, or may still get it. A server that
// was replaced by one that lags behind, or relaxed durability, may have lost it; another one may
// have its number by now.
boost::asio::awaitable<result<bool>>
has_what_was_shown(session::store& store, std::int64_t run_number, const event_log& log) {
    const std::uint64_t last = log.last_sequence();
    if (last == 0) {
        co_return true;
    }
    const auto page = co_await store.read_log(run_number, last - 1, 1);
    if (!page) {
        co_return page.error();
    }
    co_return page->empty() || page->front().json == log.last_event();
}

struct seen {
    bool is_over = false;              ///< The log is complete, or can never be.
    std::int64_t gateway = 0;          ///< Which has the run; 0: none that is known.
    std::shared_ptr<event_log> rest{}; ///< Another log that has the rest; null: there is none.
};

// Of a request that waits in the queue of its thread. Once it has begun in another process, `run`
// is its record, and the result is nullopt.
boost::asio::awaitable<std::optional<seen>>
look_for_begun(run_core& core, const conversation_key& place, session::run_record& run) {
    auto known = co_await find_run(core, place, run.run_id);
    if (known && !known->has_value()) {
        known = co_await find_queued(core, place, run.run_id);
    }
    if (!known) {
        co_return seen();
    }
    if (!known->has_value()) {
        co_return seen{.is_over = true}; // It was withdrawn.
    }
    if ((*known)->place == run_place::here) {
        co_return seen{.is_over = true, .gateway = 0, .rest = std::move((*known)->log)};
    }
    if ((*known)->record.number == 0) {
        co_return seen{.is_over = false, .gateway = (*known)->gateway};
    }
    run = std::move((*known)->record);
    if (run.answered_by.empty()) {
        co_return std::nullopt;
    }
    auto answered = co_await answered_log(core, place, run);
    const bool is_away = !answered && answered.error().code == errc::store_unavailable;
    co_return seen{
        .is_over = !is_away, .gateway = 0, .rest = answered ? std::move(*answered) : nullptr
    };
}

// What a look at the run in the store says.
boost::asio::awaitable<seen>
look(run_core& core, const conversation_key& place, session::run_record& run, event_log& log) {
    if (run.number == 0 || !run.answered_by.empty()) {
        if (auto waits = co_await look_for_begun(core, place, run)) {
            co_return std::move(*waits);
        }
    }
    session::store& store = core.store_of(place);
    const auto same = co_await has_what_was_shown(store, run.number, log);
    if (same && !*same) {
        co_return seen{.is_over = true};
    }
    const auto known = co_await find_run(core, place, run.run_id);
    if (!known) {
        co_return seen();
    }
    const bool is_gone = !known->has_value() || (*known)->record.number != run.number;
    const bool has_ended = !is_gone && (*known)->place == run_place::ended;
    // After the run was looked up, so that nothing is missed that came before its end.
    const auto read = co_await read_on(store, run.number, log);
    if (!read) {
        co_return seen{.is_over = read.error().code != errc::store_unavailable};
    }
    co_return seen{is_gone || has_ended, is_gone ? 0 : (*known)->gateway};
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

// What the readers of a log tell the one who fills it. Used on the log's executor.
struct following {
    explicit following(const boost::asio::any_io_executor& executor)
        : changed(std::make_shared<change_signal>(executor)) {}
    entry_reader* reader = nullptr;                ///< What is read at the moment.
    session::leaving how = session::leaving::left; ///< The last reader, if there was one.
    const std::shared_ptr<change_signal> changed;

    void on_readers(std::size_t count, session::leaving gone) {
        if (count > 0) {
            return;
        }
        how = gone;
        if (reader != nullptr) {
            reader->leave(how);
        }
        changed->notify(); // Nobody may hold the log any more.
    }
};

// What follows a stream of entries.
enum class outcome {
    complete, ///< The log has ended.
    hopeless, ///< It can never be complete.
    go_on,    ///< There is more where it came from.
    look,     ///< The store has to say where the rest is, or has it.
};

// Adds what has come to the log.
outcome add(run_core& core, const session::run_record& run, event_log& log, run_entries& next) {
    if (!next.entries.empty()) {
        if (!restore_entries(log, next.entries)) {
            return outcome::look;
        }
        log.show_restored();
    }
    if (log.outgrown(SIZE_MAX)) {
        return outcome::hopeless;
    }
    if (next.end != entries_end::ended) {
        return outcome::go_on;
    }
    if (next.unnumbered.empty()) {
        log.end_restored();
    } else {
        core.registry.share_log(run.number, nullptr); // Later readers get what the store has.
        log.end_without_store(next.unnumbered);
    }
    return outcome::complete;
}

boost::asio::awaitable<outcome> read_entries(
    run_core& core, const session::run_record& run, const std::weak_ptr<event_log>& followed,
    const following& at, entry_reader& from
) {
    const auto executor = co_await boost::asio::this_coro::executor;
    bool has_come = false;
    for (;;) {
        if (followed.expired()) {
            // How its last reader has left is on its way.
            co_await boost::asio::post(executor, boost::asio::use_awaitable);
            from.leave(at.how);
        }
        run_entries next = co_await from.read();
        const std::shared_ptr<event_log> log = followed.lock();
        if (!log) {
            if (next.end) {
                co_return outcome::look;
            }
            continue;
        }
        pass_failpoint("follow.entries");
        has_come = has_come || !next.entries.empty();
        const outcome added = add(core, run, *log, next);
        if (added != outcome::go_on) {
            co_return added;
        }
        if (next.end) {
            const bool has_more = has_come || next.end == entries_end::left;
            co_return has_more ? outcome::go_on : outcome::look;
        }
    }
}

// Null: the gateway does not show the run.
boost::asio::awaitable<std::unique_ptr<entry_reader>> open_entries(
    run_core& core, const conversation_key& place, const session::run_record& run,
    std::int64_t gateway, const std::weak_ptr<event_log>& followed
) {
    std::uint64_t after = 0;
    if (const auto log = followed.lock()) {
        after = log->last_sequence();
    } else {
        co_return nullptr;
    }
    if (core.services.peers == nullptr || gateway == 0) {
        co_return nullptr;
    }
    auto opened = co_await core.services.peers->open(gateway, place.thread, run.run_id, after);
    if (!opened) {
        co_return nullptr;
    }
    co_return std::move(*opened);
}

// `from` is what the gateway shows that has the run; null: it has to be looked up.
boost::asio::awaitable<void> follow(
    std::shared_ptr<run_core> core, conversation_key place, session::run_record run,
    std::weak_ptr<event_log> followed, std::shared_ptr<following> at,
    std::unique_ptr<entry_reader> from
) {
    for (;;) {
        outcome came = outcome::look;
        if (from) {
            at->reader = from.get();
            came = co_await read_entries(*core, run, followed, *at, *from);
            at->reader = nullptr;
            from.reset();
        }
        std::int64_t gateway = 0;
        {
            const std::shared_ptr<event_log> log = followed.lock();
            if (!log || came == outcome::complete) {
                co_return; // Nobody reads it any more, or it has ended.
            }
            pass_failpoint("follow.look");
            const seen now = came == outcome::hopeless ? seen{.is_over = true}
                                                       : co_await look(*core, place, run, *log);
            if (now.is_over) {
                log->set_readers_handler({});
                if (!now.rest || !log->continue_in(now.rest)) {
                    end_followed(*core, place, run, *log);
                }
                co_return;
            }
            gateway = now.gateway;
        }
        if (came != outcome::go_on) {
            co_await at->changed->wait_until(std::chrono::steady_clock::now() + read_again);
        }
        from = co_await open_entries(*core, place, run, gateway, followed);
    }
}

} // namespace

boost::asio::awaitable<result<void>> follow_run(
    run_core& core, const conversation_key& place, const session::run_record& run,
    std::int64_t gateway, const std::shared_ptr<event_log>& log
) {
    const auto executor = co_await boost::asio::this_coro::executor;
    if (gateway == 0) {
        const auto there = co_await find_elsewhere(core, place);
        const bool is_there = there && there->has_value() && (*there)->run_id == run.run_id;
        gateway = is_there ? (*there)->gateway : 0;
    }
    auto from = co_await open_entries(core, place, run, gateway, log);
    if (!from && run.number != 0) {
        const auto read = co_await read_on(core.store_of(place), run.number, *log);
        if (!read) {
            co_return read.error();
        }
    }
    const auto at = std::make_shared<following>(executor);
    log->set_readers_handler([at](std::size_t count, session::leaving how) {
        at->on_readers(count, how);
    });
    boost::asio::co_spawn(
        executor, follow(core.shared_from_this(), place, run, log, at, std::move(from)),
        [core = core.shared_from_this(), place, run,
         followed = std::weak_ptr(log)](const std::exception_ptr& thrown) {
            if (const auto left = followed.lock(); thrown && left) {
                end_followed(*core, place, run, *left);
            }
        }
    );
    co_return result<void>();
}

boost::asio::awaitable<result<std::shared_ptr<event_log>>> followed_log(
    run_core& core, const conversation_key& place, const session::run_record& run,
    std::int64_t gateway
) {
    // One after the other, so that all share one stream.
    const auto turn =
        co_await core.registry.take_turn(place, "follow " + std::to_string(run.number));
    if (auto shared = core.registry.find_shared_log(run.number); shared && run.number != 0) {
        co_return shared;
    }
    const auto executor = co_await boost::asio::this_coro::executor;
    auto log = event_log::begin_restored(executor, core.services.memory, false);
    const auto followed = co_await follow_run(core, place, run, gateway, log);
    if (!followed) {
        co_return followed.error();
    }
    if (run.number != 0) {
        core.registry.share_log(run.number, log);
    }
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
        const auto next = co_await followed_log(*core, place, run, 0);
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
        timer.expires_after(read_again);
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
