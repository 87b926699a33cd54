#include "gateway/replay/followed_run.hpp"

#include "gateway/replay/answered_run.hpp"
#include "gateway/replay/run_locator.hpp"
#include "gateway/run/peer_door.hpp"
#include "gateway/run/polling.hpp"
#include "gateway/run/unstored_end.hpp"
#include "session/base/change_signal.hpp"
#include "session/base/failpoint.hpp"
#include "session/base/id.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
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

std::chrono::milliseconds some_time_around(std::chrono::milliseconds time) {
    const auto random = static_cast<unsigned char>(random_bytes(1).front());
    return time * 3 / 4 + time * random / 512;
}

failure too_large() {
    return {errc::overloaded, "there is not enough memory for the events of this run", {}, {}};
}

// Compares with the translator's form of a run's last event.
bool ends_a_run(std::string_view event) {
    return event.starts_with(R"({"type":"RUN_FINISHED")") ||
           event.starts_with(R"({"type":"RUN_ERROR")");
}

std::string last_event(const event_log& log) { return log.event(log.last_sequence()); }

// Appends the store's entries beyond the log's end. The first `own_events` of the log were made
// here. Returns false if the store has another event in place of the last one received from
// elsewhere. That event may be lost after a failover to a lagging server or with relaxed
// durability, and its number reused.
boost::asio::awaitable<result<bool>>
read_on(session::store& store, std::int64_t run_number, event_log& log, std::uint64_t own_events) {
    for (;;) {
        const std::uint64_t last = log.last_sequence();
        const std::uint64_t compared = last > own_events ? 1 : 0;
        auto page = co_await store.read_log(run_number, last - compared, page_entries);
        if (!page) {
            co_return page.error();
        }
        const bool is_full = page->size() == page_entries;
        if (compared > 0 && !page->empty()) {
            if (page->front().json != last_event(log)) {
                co_return false;
            }
            page->erase(page->begin());
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
        if (!is_full) {
            co_return true;
        }
    }
}

struct seen {
    bool is_over = false;              ///< The log is complete, or can never be completed.
    bool has_no_memory = false;        ///< The log cannot be shown here; `is_over` is irrelevant.
    std::int64_t gateway = 0;          ///< The gateway that has the run; 0 if unknown.
    std::shared_ptr<event_log> rest{}; ///< Another log that has the rest, or null.
};

// The result after a failed read of the store.
seen unread(const failure& why) {
    return {
        .is_over = why.code != errc::store_unavailable,
        .has_no_memory = why.code == errc::overloaded
    };
}

// Looks up a request that waits in the queue of its thread. Once it has begun in another process,
// sets `run` to its record and returns nullopt.
boost::asio::awaitable<std::optional<seen>>
look_for_begun(run_core& core, const conversation_key& conversation, session::run_record& run) {
    auto known = co_await find_run(core, conversation, run.run_id);
    if (known && !known->has_value()) {
        known = co_await find_queued(core, conversation, run.run_id);
    }
    if (!known) {
        co_return seen();
    }
    if (!known->has_value()) {
        co_return seen{.is_over = true}; // The request was withdrawn.
    }
    if ((*known)->place == run_place::here) {
        co_return seen{.is_over = true, .rest = std::move((*known)->log)};
    }
    if ((*known)->record.number == 0) {
        co_return seen{.gateway = (*known)->gateway};
    }
    run = std::move((*known)->record);
    if (run.answered_by.empty()) {
        co_return std::nullopt;
    }
    auto answered = co_await answered_log(core, conversation, run);
    if (!answered) {
        co_return unread(answered.error());
    }
    co_return seen{.is_over = true, .rest = std::move(*answered)};
}

// Looks up the run in the store, and reads its log there to the end.
boost::asio::awaitable<seen> find_and_read(
    run_core& core, const conversation_key& conversation, session::run_record& run, event_log& log,
    std::uint64_t own_events
) {
    if (run.number == 0 || !run.answered_by.empty()) {
        if (auto waits = co_await look_for_begun(core, conversation, run)) {
            co_return std::move(*waits);
        }
    }
    const auto known = co_await find_run(core, conversation, run.run_id);
    if (!known) {
        co_return seen();
    }
    const bool is_gone = !known->has_value() || (*known)->record.number != run.number;
    const bool has_ended = !is_gone && (*known)->place == run_place::ended;
    // Read after the lookup, so that no event before the run's end is missed.
    const auto read = co_await read_on(core.store_of(conversation), run.number, log, own_events);
    if (!read) {
        co_return unread(read.error());
    }
    co_return seen{
        .is_over = is_gone || has_ended || !*read, .gateway = is_gone ? 0 : (*known)->gateway
    };
}

// Polls a run that no gateway shows.
class look_out {
public:
    explicit look_out(std::uint64_t own_events) : own_events_(own_events) {}

    boost::asio::awaitable<seen> look(
        run_core& core, const conversation_key& conversation, session::run_record& run,
        event_log& log
    ) {
        const auto now = std::chrono::steady_clock::now();
        if (run.number != 0 && run.answered_by.empty() && now < find_at_) {
            const std::uint64_t before = log.last_sequence();
            const auto read =
                co_await read_on(core.store_of(conversation), run.number, log, own_events_);
            if (!read || !*read) {
                co_return read ? seen{.is_over = true} : unread(read.error());
            }
            if (!ends_a_run(last_event(log))) {
                find_at_ = log.last_sequence() > before ? now + poll_rarely : find_at_;
                co_return seen{.gateway = gateway_};
            }
        }
        seen found = co_await find_and_read(core, conversation, run, log, own_events_);
        // A run without a gateway is about to be ended, so look it up again at once.
        find_at_ = found.gateway == 0 ? now : now + poll_rarely;
        gateway_ = found.gateway;
        co_return found;
    }
    /// Makes the next look() look the run up, because the known gateway may be stale.
    void forget() { find_at_ = {}; }

private:
    const std::uint64_t own_events_;
    std::chrono::steady_clock::time_point find_at_{};
    std::int64_t gateway_ = 0;
};

// Ends the log when nothing more can be read, so that no reader is left without an end.
void end_followed(
    run_core& core, const conversation_key& conversation, const session::run_record& run,
    event_log& log
) {
    if (ends_a_run(last_event(log))) {
        log.end_restored();
        return;
    }
    core.registry.share_log(run.number, nullptr); // Later readers are told that it is gone.
    log.end_without_store(unstored_end(
        log, conversation.thread.thread_id, run, runner::stop_reason::error, core.services.time
    ));
}

// Cuts readers off although the run continues; after reconnecting they may get the missing events.
void cut_off(run_core& core, const session::run_record& run, event_log& log) {
    log.set_readers_handler({});
    core.registry.share_log(run.number, nullptr);
    log.cut_off_readers();
}

// Connects a log's readers to its follower. Used on the log's executor.
struct following {
    following(const boost::asio::any_io_executor& executor, std::uint64_t own)
        : changed(std::make_shared<change_signal>(executor)), own_events(own) {}
    /// The current reader. Reset before it is destroyed.
    entry_reader* reader = nullptr;
    /// How the last reader left; cut_off if there was none.
    session::leaving how = session::leaving::cut_off;
    const std::shared_ptr<change_signal> changed;
    const std::uint64_t own_events; ///< Number of events that the log had before.

    void on_readers(std::size_t count, session::leaving gone) {
        if (count > 0) {
            return;
        }
        how = gone;
        if (reader != nullptr) {
            reader->leave(how);
        }
        changed->notify(); // The log may have lost its last holder.
    }
};

// The next step after a stream of entries.
enum class outcome {
    complete,  ///< The log has ended.
    no_memory, ///< It has become too large.
    go_on,     ///< The same gateway has more.
    look,      ///< The store must be read for the rest or its location.
};

// Appends the received entries.
outcome add(run_core& core, const session::run_record& run, event_log& log, run_entries& next) {
    if (!next.entries.empty()) {
        if (!restore_entries(log, next.entries)) {
            return outcome::look;
        }
        log.show_restored();
    }
    if (log.outgrown(SIZE_MAX)) {
        return outcome::no_memory;
    }
    if (next.end != entries_end::ended) {
        return outcome::go_on;
    }
    if (next.unnumbered.empty() && !ends_a_run(last_event(log))) {
        return outcome::look;
    }
    if (next.unnumbered.empty()) {
        log.end_restored();
    } else {
        core.registry.share_log(run.number, nullptr); // Later readers get the stored log.
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
            // The handler that sets at.how is already posted.
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

// Returns null if the gateway does not show the run.
boost::asio::awaitable<std::unique_ptr<entry_reader>> open_entries(
    run_core& core, const conversation_key& conversation, const session::run_record& run,
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
    auto opened = co_await core.services.peers->open(
        gateway, {conversation.thread, run.run_id, run.number}, after
    );
    if (!opened) {
        co_return nullptr;
    }
    co_return std::move(*opened);
}

bool is_read(const std::weak_ptr<event_log>& followed) {
    const auto log = followed.lock();
    return log && log->reader_count() > 0;
}

// `from` reads from the gateway that has the run; if null, the gateway must be looked up.
boost::asio::awaitable<void> follow(
    std::shared_ptr<run_core> core, conversation_key conversation, session::run_record run,
    std::weak_ptr<event_log> followed, std::shared_ptr<following> at,
    std::unique_ptr<entry_reader> from
) {
    look_out out(at->own_events);
    std::chrono::steady_clock::time_point note_at{};
    for (;;) {
        outcome came = outcome::look;
        if (from) {
            struct current {
                current(following& of, entry_reader* reader) : at(of) { at.reader = reader; }
                ~current() { at.reader = nullptr; }
                following& at;
            } const reading(*at, from.get());
            came = co_await read_entries(*core, run, followed, *at, *from);
            out.forget();
        }
        from.reset();
        std::int64_t gateway = 0;
        {
            const std::shared_ptr<event_log> log = followed.lock();
            if (!log || came == outcome::complete) {
                co_return; // The log has no holder any more, or it has ended.
            }
            pass_failpoint("follow.look");
            const seen now = came == outcome::no_memory
                                 ? seen{.has_no_memory = true}
                                 : co_await out.look(*core, conversation, run, *log);
            if (now.has_no_memory) {
                cut_off(*core, run, *log);
                co_return;
            }
            if (now.is_over) {
                log->set_readers_handler({});
                if (now.rest) {
                    log->continue_in(now.rest);
                } else {
                    end_followed(*core, conversation, run, *log);
                }
                co_return;
            }
            gateway = now.gateway;
        }
        if (came != outcome::go_on) {
            co_await at->changed->wait_until(
                std::chrono::steady_clock::now() + some_time_around(poll_period)
            );
        }
        from = co_await open_entries(*core, conversation, run, gateway, followed);
        const auto now = std::chrono::steady_clock::now();
        if (!from && run.number != 0 && now >= note_at && is_read(followed)) {
            note_at = now + poll_rarely;
            // If the store fails, this is repeated.
            (void)co_await core->store_of(conversation)
                .note_reader(conversation.thread, run.run_id);
        }
    }
}

} // namespace

boost::asio::awaitable<result<void>> follow_run(
    run_core& core, const conversation_key& conversation, const session::run_record& run,
    std::int64_t gateway, const std::shared_ptr<event_log>& log
) {
    const auto executor = co_await boost::asio::this_coro::executor;
    const std::uint64_t own = log->last_sequence();
    if (gateway == 0) {
        const auto there = co_await find_elsewhere(core, conversation);
        const bool is_there = there && there->has_value() && (*there)->run_id == run.run_id;
        gateway = is_there ? (*there)->gateway : 0;
    }
    auto from = co_await open_entries(core, conversation, run, gateway, log);
    if (!from && run.number != 0) {
        const auto read = co_await read_on(core.store_of(conversation), run.number, *log, own);
        if (!read) {
            co_return read.error();
        }
    }
    const auto at = std::make_shared<following>(executor, own);
    log->set_readers_handler([at](std::size_t count, session::leaving how) {
        at->on_readers(count, how);
    });
    boost::asio::co_spawn(
        executor, follow(core.shared_from_this(), conversation, run, log, at, std::move(from)),
        [core = core.shared_from_this(), conversation, run,
         followed = std::weak_ptr(log)](const std::exception_ptr& thrown) {
            if (const auto left = followed.lock(); thrown && left) {
                cut_off(*core, run, *left);
            }
        }
    );
    co_return result<void>();
}

boost::asio::awaitable<result<std::shared_ptr<event_log>>> followed_log(
    run_core& core, const conversation_key& conversation, const session::run_record& run,
    std::int64_t gateway
) {
    // One at a time, so that all share one stream.
    const auto lock =
        co_await core.registry.lock_key(conversation, "follow " + std::to_string(run.number));
    if (auto shared = core.registry.find_shared_log(run.number); shared && run.number != 0) {
        co_return shared;
    }
    const auto executor = co_await boost::asio::this_coro::executor;
    auto log = event_log::begin_restored(executor, core.services.memory, false);
    const auto followed = co_await follow_run(core, conversation, run, gateway, log);
    if (!followed) {
        co_return followed.error();
    }
    if (run.number != 0) {
        core.registry.share_log(run.number, log);
    }
    co_return log;
}

} // namespace agui::gateway
