#include "gateway/runs/run_service.hpp"

#include "gateway/runs/ephemeral_threads.hpp"
#include "gateway/runs/input_digest.hpp"
#include "gateway/runs/live_run.hpp"
#include "gateway/runs/orphan_recovery.hpp"
#include "gateway/runs/run_registry.hpp"
#include "gateway/runs/run_replay.hpp"
#include "gateway/runs/run_setup.hpp"
#include "gateway/runs/thread_recording.hpp"
#include "session/base/failpoint.hpp"
#include "session/conversation/message_size.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <exception>
#include <iterator>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace agui::gateway {

namespace {

using runner::stop_reason;
using session::thread_key;

// Holds a thread for the server itself: no run has this id, and none is told of.
constexpr std::string_view no_run;

// Of its text, while a thread is in memory: what is read of it, and what a snapshot says of it.
constexpr std::size_t copies_of_thread = 2;

// Of logs that no store keeps: the oldest go first, so that runs that are under way find room.
std::size_t bytes_to_keep(const memory_budget* budget) {
    constexpr std::size_t most = 256U << 20U;
    return budget == nullptr ? most : std::min(most, budget->limit() / 4);
}

bool ends_in_user_message(const translator::run_input& input) {
    return !input.messages.empty() && input.messages.back().role == session::role::user;
}

// One line a request, however much of it was left out.
void log_notes(logger& log, const translator::run_input& input) {
    const std::initializer_list<log_field> where = {
        {"thread", input.thread_id}, {"run", input.run_id}
    };
    if (!input.notes.empty()) {
        std::string text = "left out of the request: " + input.notes.front();
        if (input.notes.size() > 1) {
            text += " (and " + std::to_string(input.notes.size() - 1) + " more)";
        }
        log.log(log_level::warning, text, where);
    }
    if (input.unknown_members > 0) {
        log.log(log_level::debug, "unknown members of the request were ignored", where);
    }
}

} // namespace

struct run_service::shared {
    shared(process_services refs, run_settings options)
        : services(refs),
          settings(std::move(options)),
          registry(
              {settings.max_runs, settings.max_detached_runs, settings.replay,
               bytes_to_keep(refs.memory)}
          ),
          not_kept(refs.memory) {}

    [[nodiscard]] const agent_entry* find_agent(const std::string& id) const {
        const auto found = settings.agents.find(id.empty() ? settings.default_agent : id);
        return found == settings.agents.end() ? nullptr : &found->second;
    }

    [[nodiscard]] session::store& store_of(const conversation_key& place) const {
        return place.ephemeral ? *ephemeral_store : services.store;
    }

    /// The run that a request repeats (P6), or else what the store has of its thread.
    struct admission_view {
        std::optional<known_run> repeated;
        bool by_key = false; ///< It is known by its idempotency key, not by its runId.
        std::optional<session::thread_record> thread;
        std::uint64_t as_of = 0; ///< store::is_current
    };
    [[nodiscard]] boost::asio::awaitable<result<admission_view>>
    find_repeated(const conversation_key& place, const request& what);
    [[nodiscard]] boost::asio::awaitable<result<void>> take_thread(
        const conversation_key& place, const run_registry::arrival& arrival,
        const translator::run_input& input
    );
    [[nodiscard]] boost::asio::awaitable<result<std::shared_ptr<event_log>>> begin_run(
        const conversation_key& place, run_registry::arrival& arrival, const request& what,
        const agent_entry& agent, std::string digest, admission_view seen
    );
    [[nodiscard]] std::shared_ptr<event_log> launch(
        boost::asio::any_io_executor executor, const conversation_key& place,
        run_registry::arrival& arrival, session::run_record record, const request& what,
        runner::run_request run, runner::model_provider& model
    );
    void add_lost(const conversation_key& place);
    [[nodiscard]] boost::asio::awaitable<bool> end_lost(conversation_key place);
    [[nodiscard]] boost::asio::awaitable<bool> settle_lost(conversation_key place);
    [[nodiscard]] boost::asio::awaitable<result<std::optional<known_run>>>
    find_known(conversation_key place, std::string run_id);
    [[nodiscard]] boost::asio::awaitable<result<std::shared_ptr<event_log>>>
    log_of_known(const conversation_key& place, const known_run& run);
    void on_detached(const std::shared_ptr<live_run>& run);
    void on_end(const std::shared_ptr<live_run>& run);
    void grown_ephemerally(const live_run& run, std::size_t bytes);
    [[nodiscard]] boost::asio::awaitable<void> forget_ephemeral(ephemeral_threads::entry oldest);

    process_services services;
    run_settings settings;
    run_registry registry;
    const std::unique_ptr<session::store> ephemeral_store = session::make_memory_store();
    std::mutex lost_mutex;
    std::set<conversation_key> lost; ///< Threads with a run whose end could not be stored.
    bool orphans_listed = true;      ///< False: any thread may have one that a former process left.
    ephemeral_threads not_kept;
    std::weak_ptr<shared> self;
};

// `key` and `run` must outlive the await.
boost::asio::awaitable<result<std::shared_ptr<event_log>>>
run_service::shared::log_of_known(const conversation_key& place, const known_run& run) {
    using std::chrono::milliseconds;
    const auto period = std::chrono::duration_cast<milliseconds>(settings.replay).count();
    const bool long_ended = services.time.now() - run.record.ended_at >= period;
    co_return co_await log_of(store_of(place), registry, run, long_ended, services.memory);
}

void run_service::shared::add_lost(const conversation_key& place) {
    const std::lock_guard lock(lost_mutex);
    lost.insert(place);
}

// Ends what is left of runs whose end could not be stored; the caller holds the thread. False: it
// still cannot.
boost::asio::awaitable<bool> run_service::shared::end_lost(conversation_key place) {
    {
        const std::lock_guard lock(lost_mutex);
        if (orphans_listed && !lost.contains(place)) {
            co_return true;
        }
    }
    const auto left = co_await end_orphans(
        {store_of(place), services.tools, services.ids, services.time, services.log}, place.thread
    );
    const bool ended = left && left->empty();
    if (ended) {
        const std::lock_guard lock(lost_mutex);
        lost.erase(place);
    }
    co_return ended;
}

// The same for whoever does not hold the thread. False: not now.
boost::asio::awaitable<bool> run_service::shared::settle_lost(conversation_key place) {
    const auto taken = co_await store_of(place).acquire(place.thread, std::string(no_run));
    if (!taken) {
        co_return false;
    }
    bool ended = false;
    std::exception_ptr thrown;
    try {
        ended = co_await end_lost(place);
    } catch (...) {
        thrown = std::current_exception();
    }
    store_of(place).release(place.thread, no_run);
    if (thrown) {
        std::rethrow_exception(thrown);
    }
    co_return ended;
}

// As find_run, but a run that only the store takes for active has its end first.
boost::asio::awaitable<result<std::optional<known_run>>>
run_service::shared::find_known(conversation_key place, std::string run_id) {
    auto known = co_await find_run(store_of(place), registry, place, run_id);
    const bool is_lost = known && known->has_value() && !(*known)->log &&
                         (*known)->record.status == session::run_status::active;
    if (is_lost) {
        const bool settled = co_await settle_lost(place);
        if (settled) {
            known = co_await find_run(store_of(place), registry, place, run_id);
        }
    }
    co_return known;
}

boost::asio::awaitable<result<run_service::shared::admission_view>>
run_service::shared::find_repeated(const conversation_key& place, const request& what) {
    admission_view found;
    const std::string& run_id = what.input.run_id;
    const auto live = registry.active(place);
    bool is_known = live && live->record().run_id == run_id;
    if (!is_known) {
        auto seen = co_await store_of(place).look_up(place.thread, run_id);
        if (!seen) {
            co_return seen.error();
        }
        is_known = seen->run.has_value();
        found.thread = std::move(seen->thread);
        found.as_of = seen->as_of;
    }
    std::string repeated_id = is_known ? run_id : std::string();
    if (!is_known && !what.idempotency_key.empty()) {
        auto named = co_await store_of(place).find_run_by_key(place.thread, what.idempotency_key);
        if (!named) {
            co_return named.error();
        }
        repeated_id = named->has_value() ? (*named)->run_id : std::string();
        found.by_key = true;
    }
    if (!repeated_id.empty()) {
        auto known = co_await find_known(place, std::move(repeated_id));
        if (!known) {
            co_return known.error();
        }
        found.repeated = std::move(*known);
    }
    co_return found;
}

// Takes the thread for the run. A new user message finds a way: its sender may have just left the
// run that it answers to, and the server may not have seen it yet. A run that nobody reads gives
// way to it, unless the settings say otherwise. Once it is stopped it waits no longer.
boost::asio::awaitable<result<void>> run_service::shared::take_thread(
    const conversation_key& place, const run_registry::arrival& arrival,
    const translator::run_input& input
) {
    session::store& store = store_of(place);
    const auto is_busy = [](const result<void>& taken) {
        return !taken && taken.error().code == errc::thread_busy;
    };
    auto taken = co_await store.acquire(place.thread, input.run_id);
    if (!is_busy(taken) || !ends_in_user_message(input)) {
        co_return taken;
    }
    pass_failpoint("admission.busy");
    const auto give_up = std::chrono::steady_clock::now() + settings.busy_wait;
    const auto executor = co_await boost::asio::this_coro::executor;
    const auto watch = registry.watch_place(place, executor);
    for (;;) {
        // Also before the first wait: the run may have ended before there was a watch.
        taken = co_await store.acquire(place.thread, input.run_id);
        if (!is_busy(taken) || arrival.stopped()) {
            co_return taken;
        }
        const auto holder = registry.active(place);
        if (settings.supersede_detached && holder && holder->detached()) {
            holder->stop(stop_reason::superseded);
            co_await holder->ended().wait();
        } else if (std::chrono::steady_clock::now() >= give_up) {
            co_return taken;
        } else {
            pass_failpoint("admission.waits");
            co_await watch->wait_until(give_up);
        }
    }
}

boost::asio::awaitable<result<std::shared_ptr<event_log>>> run_service::shared::begin_run(
    const conversation_key& place, run_registry::arrival& arrival, const request& what,
    const agent_entry& agent, std::string digest, admission_view seen
) {
    const translator::run_input& input = what.input;
    if (!store_of(place).is_current(seen.as_of)) {
        // From here on nobody else changes what a run goes by: the thread is held.
        auto loaded = co_await store_of(place).load(place.thread);
        if (!loaded) {
            co_return loaded.error();
        }
        seen.thread = std::move(*loaded);
    }
    check_failpoint("begin.loaded");
    session::thread_record thread;
    thread.key = place.thread;
    session::store::basis basis;
    basis.as_of = seen.as_of;
    if (seen.thread) {
        thread = std::move(*seen.thread);
        basis.thread_exists = true;
        basis.size = session::size_of(thread);
    }
    auto tools = external_tools(settings, services.tools, input, thread, services.log);
    if (!tools) {
        co_return tools.error();
    }
    session::history_policy policy = settings.history;
    if (const auto sends = what.client_history ? what.client_history : agent.client_history) {
        policy.client_history = *sends;
    }
    auto plan = session::plan_history(thread, history_of(settings, services.tools, input), policy);
    if (!plan) {
        co_return plan.error();
    }
    for (const std::string& warning : plan->warnings) {
        services.log.log(
            log_level::warning, warning, {{"thread", input.thread_id}, {"run", input.run_id}}
        );
    }

    const unix_ms now = services.time.now();
    complete_change(*plan, input, thread, agent, policy, now);
    const std::uint64_t bytes = session::bytes_after(thread, plan->change);
    if (bytes > settings.max_thread_bytes && bytes > thread.bytes) {
        co_return failure{
            errc::body_too_large,
            "the thread would have more than " + std::to_string(settings.max_thread_bytes) +
                " bytes of messages, state, tools and context: start a new thread",
            plan->change.messages.empty() ? "" : "messages",
            {}
        };
    }

    session::run_record record;
    record.run_id = input.run_id;
    record.parent_run_id = input.parent_run_id;
    record.agent_id = agent.settings.id;
    record.input_digest = std::move(digest);
    record.idempotency_key = what.idempotency_key;
    record.protocol = translator::to_string(input.projection);
    record.started_at = now;
    check_failpoint("begin.planned");
    const auto begun = co_await store_of(place).begin(place.thread, record, plan->change, basis);
    if (!begun) {
        co_return begun.error();
    }
    check_failpoint("begin.stored");
    record.number = begun->number;
    session::apply(thread, plan->change);

    runner::run_request run;
    run.key = place.thread;
    run.run_id = input.run_id;
    auto [settings_of_run, model] = agent_of(agent, input, thread.context, services.log);
    run.agent = std::move(settings_of_run);
    run.next = plan->next;
    run.snapshot = plan->snapshot;
    run.new_user_turn = plan->new_user_turn;
    run.external_tools = std::move(*tools);
    run.thread = std::move(thread);
    const auto executor = co_await boost::asio::this_coro::executor;
    co_return launch(executor, place, arrival, std::move(record), what, std::move(run), *model);
}

std::shared_ptr<event_log> run_service::shared::launch(
    boost::asio::any_io_executor executor, const conversation_key& place,
    run_registry::arrival& arrival, session::run_record record, const request& what,
    runner::run_request run, runner::model_provider& model
) {
    live_run::settings options;
    options.on_disconnect = what.on_disconnect.value_or(settings.on_disconnect);
    options.run_timeout = settings.run_timeout;
    options.detached = settings.detached;
    options.max_bytes = settings.max_run_bytes;
    options.relaxed_durability = settings.relaxed_durability;
    options.memory = services.memory;
    options.translation = settings.translation;
    const auto live = std::make_shared<live_run>(
        std::move(executor), store_of(place), services.time, services.log, place, std::move(record),
        static_cast<session::node_index>(run.thread.nodes.size()), options
    );
    if (place.ephemeral) {
        grown_ephemerally(*live, what.body_bytes);
    }
    runner::loop_services parts{
        model,
        services.tools,
        services.ids,
        services.time,
        services.log,
        settings.max_result_bytes,
        settings.max_thread_bytes
    };
    live_run::handlers handlers;
    handlers.on_detached = [weak = self](const std::shared_ptr<live_run>& left) {
        if (const auto owner = weak.lock()) {
            owner->on_detached(left);
        }
    };
    handlers.on_lost = [weak = self](const std::shared_ptr<live_run>& ended) {
        if (const auto owner = weak.lock()) {
            owner->add_lost(ended->place());
        }
    };
    handlers.on_end = [weak = self](const std::shared_ptr<live_run>& ended) {
        if (const auto owner = weak.lock()) {
            owner->on_end(ended);
        }
    };
    // Taken back if it cannot start: a drain waits for every run that is registered.
    struct registration {
        ~registration() {
            if (live) {
                owner.remove(live);
                live->give_up();
            }
        }
        run_registry& owner;
        std::shared_ptr<live_run> live;
    } registered{registry, live};
    const std::optional<stop_reason> stopped = registry.add(live, arrival);
    check_failpoint("launch.registered");
    live->start(std::move(run), parts, std::move(handlers), stopped);
    registered.live.reset();
    return live->log();
}

void run_service::shared::on_detached(const std::shared_ptr<live_run>& run) {
    if (const auto too_many = registry.add_detached(run)) {
        services.log.log(
            log_level::warning, "a run without a reader was ended: server.max_detached_runs",
            {{"thread", too_many->key().thread_id}, {"run", too_many->record().run_id}}
        );
        too_many->stop(stop_reason::run_timeout);
    }
}

void run_service::shared::on_end(const std::shared_ptr<live_run>& run) {
    // Whatever fails here, a drain waits for every run that is registered. Last, so that a reader
    // who looks for the run always finds it here or among the kept logs.
    struct removal {
        ~removal() { owner.remove(ended); }
        run_registry& owner;
        const std::shared_ptr<live_run>& ended;
    } const removed_at_the_end{registry, run};
    check_failpoint("run.ending");
    if (!store_of(run->place()).keeps_logs()) {
        registry.keep_log(*run);
    }
    if (run->place().ephemeral) {
        grown_ephemerally(*run, run->log()->bytes());
    }
}

void run_service::shared::grown_ephemerally(const live_run& run, std::size_t bytes) {
    for (ephemeral_threads::entry& oldest : not_kept.grown(run.key(), bytes)) {
        boost::asio::co_spawn(
            run.executor(), forget_ephemeral(std::move(oldest)),
            [keep = self.lock()](const std::exception_ptr&) {}
        );
    }
}

// Not under the hands of a request: it goes with the next one that has grown.
boost::asio::awaitable<void> run_service::shared::forget_ephemeral(ephemeral_threads::entry oldest
) {
    const auto taken = co_await ephemeral_store->acquire(oldest.key, std::string(no_run));
    if (!taken) {
        not_kept.put_back(oldest);
        co_return;
    }
    // There may be none: nothing is to be done then.
    (void)co_await ephemeral_store->remove(oldest.key);
    ephemeral_store->release(oldest.key, no_run);
}

run_service::run_service(process_services services, run_settings settings)
    : shared_(std::make_shared<shared>(services, std::move(settings))) {
    shared_->self = shared_;
}

run_service::~run_service() = default;

boost::asio::awaitable<result<std::shared_ptr<event_log>>> run_service::start(request what) {
    const std::shared_ptr<shared> self = shared_;
    const agent_entry* agent = self->find_agent(what.agent_id);
    if (agent == nullptr) {
        co_return failure{errc::not_found, "there is no agent with this name", {}, {}};
    }
    log_notes(self->services.log, what.input);
    const conversation_key place{
        {what.principal, what.input.thread_id}, what.input.forwarded.ephemeral
    };
    // From here on a stop finds it; one that came before is kept for it.
    const auto arrival = self->registry.arrive(place, what.input.run_id, what.received);
    check_failpoint("admission.arrived");
    std::string digest =
        what.digest.empty() ? input_digest(what.input.canonical) : std::move(what.digest);
    std::string().swap(what.input.canonical);
    // First the key's turn, then the runId's: always in this order, so that nobody waits in a
    // circle.
    std::unique_ptr<run_registry::turn> key_turn;
    if (!what.idempotency_key.empty()) {
        key_turn = co_await self->registry.take_turn(place, "key " + what.idempotency_key);
    }
    const auto turn = co_await self->registry.take_turn(place, "run " + what.input.run_id);
    check_failpoint("admission.turn_taken");
    auto seen = co_await self->find_repeated(place, what);
    check_failpoint("admission.looked_up");
    if (!seen) {
        co_return seen.error();
    }
    if (seen->repeated) {
        const session::run_record& first = seen->repeated->record;
        if (first.input_digest != digest || first.agent_id != agent->settings.id) {
            co_return seen->by_key
                ? failure{errc::run_id_reused, "this key was already used with a different request", "Idempotency-Key", {}}
                : failure{
                      errc::run_id_reused,
                      "this runId was already used with a different request",
                      "runId",
                      {}
                  };
        }
        co_return co_await self->log_of_known(place, *seen->repeated);
    }
    const auto admitted = self->registry.admit();
    if (!admitted) {
        co_return admitted.error();
    }
    check_failpoint("admission.admitted");
    const auto taken = co_await self->take_thread(place, *arrival, what.input);
    if (!taken) {
        co_return taken.error();
    }
    arrival->holds_thread();
    result<std::shared_ptr<event_log>> begun = failure{errc::internal, {}, {}, {}};
    std::exception_ptr thrown;
    try {
        check_failpoint("admission.thread_taken");
        const bool settled = co_await self->end_lost(place);
        check_failpoint("admission.settled");
        if (!settled) {
            begun = failure{
                errc::store_unavailable, "the thread's previous run is not over yet", {}, {}
            };
        } else {
            begun = co_await self->begin_run(
                place, *arrival, what, *agent, std::move(digest), std::move(*seen)
            );
        }
    } catch (...) {
        thrown = std::current_exception();
    }
    if (thrown || !begun) {
        // It may have been stored nevertheless.
        if (thrown || begun.error().code == errc::store_unavailable) {
            self->add_lost(place);
        }
        self->store_of(place).release(place.thread, what.input.run_id);
    }
    if (thrown) {
        std::rethrow_exception(thrown);
    }
    co_return begun;
}

boost::asio::awaitable<result<run_service::attachment>>
run_service::attach(thread_key key, std::string run_id, std::uint64_t after) {
    const std::shared_ptr<shared> self = shared_;
    std::optional<known_run> run;
    conversation_key place{std::move(key), false};
    for (const bool ephemeral : {false, true}) {
        place.ephemeral = ephemeral;
        // A run that is being begun is not under way yet and in the store already.
        const auto turn = co_await self->registry.take_turn(place, "run " + run_id);
        auto known = co_await self->find_known(place, run_id);
        if (!known) {
            co_return known.error();
        }
        if (known->has_value()) {
            run = std::move(*known);
            break;
        }
    }
    if (!run) {
        co_return failure{errc::not_found, "the thread has no run with this id", {}, {}};
    }
    auto log = co_await self->log_of_known(place, *run);
    const std::uint64_t end = run->record.last_sequence;
    if (!log && log.error().code == errc::run_expired && after != end) {
        co_return failure{
            errc::cursor_expired, "the events of this run are gone", "after", {}, end
        };
    }
    if (!log && log.error().code != errc::run_expired) {
        co_return log.error();
    }
    attachment found;
    found.log = log ? *log : event_log::empty_at(co_await boost::asio::this_coro::executor, end);
    if (after > found.log->visible_sequence()) {
        co_return failure{errc::bad_cursor, "the run has no such event", "after", {}};
    }
    found.projection = translator::projection_from_string(run->record.protocol)
                           .value_or(translator::projection::undeclared);
    co_return found;
}

boost::asio::awaitable<result<run_service::recording>>
run_service::history(std::string principal, const translator::run_input& input) {
    const std::shared_ptr<shared> self = shared_;
    const thread_key key{std::move(principal), input.thread_id};
    // A long conversation is there twice for a moment, as it is read and as it is written.
    memory_share memory(self->services.memory);
    auto known = co_await self->services.store.summary(key);
    if (!known) {
        co_return known.error();
    }
    if (known->has_value() && !memory.grow_to(copies_of_thread * (*known)->bytes)) {
        co_return failure{errc::overloaded, "there is no memory for this conversation", {}, {}};
    }
    session::thread_record thread;
    std::shared_ptr<live_run> live;
    // The run is looked at before and after, so that the thread is that of its begin and no later
    // one's.
    for (;;) {
        live = input.forwarded.follow ? self->registry.active({key, false}) : nullptr;
        auto loaded = co_await self->services.store.load(key);
        if (!loaded) {
            co_return loaded.error();
        }
        if (!live || self->registry.active({key, false}) == live) {
            thread = loaded->has_value() ? std::move(**loaded) : session::thread_record();
            break;
        }
    }
    recording out;
    event_log::settings options;
    options.budget = self->services.memory;
    out.log = std::make_shared<event_log>(co_await boost::asio::this_coro::executor, options);
    write_history(
        thread, live ? live->first_own_message() : session::no_node,
        {input.thread_id, input.run_id, input.parent_run_id}, self->services.time.now(), *out.log
    );
    out.log->publish_end();
    if (out.log->outgrown(SIZE_MAX)) {
        co_return failure{errc::overloaded, "there is no memory for this conversation", {}, {}};
    }
    out.live = live ? live->log() : nullptr;
    co_return out;
}

boost::asio::awaitable<bool>
run_service::cancel(thread_key key, std::optional<std::string> run_id) {
    const std::shared_ptr<shared> self = shared_;
    check_failpoint("cancel.requested");
    const conversation_key places[] = {{key, false}, {key, true}};
    std::vector<run_registry::stopping> reached;
    for (const conversation_key& place : places) {
        reached.push_back(self->registry.stop(place, run_id));
    }
    pass_failpoint("cancel.counted");
    bool any = false;
    bool stopped = false;
    for (run_registry::stopping& one : reached) {
        any = any || one.any();
        const bool by_stop = co_await one.wait();
        stopped = stopped || by_stop;
    }
    for (std::size_t i = 0; i < std::size(places) && !any; ++i) {
        session::store& store = self->store_of(places[i]);
        const auto latest = co_await (
            run_id ? store.find_run(places[i].thread, *run_id) : store.latest_run(places[i].thread)
        );
        any = latest && latest->has_value();
        stopped = any && (*latest)->status == session::run_status::cancelled;
    }
    for (const conversation_key& place : places) {
        if (run_id && any) {
            self->registry.forget_early_stop(place, *run_id);
        }
    }
    co_return stopped;
}

boost::asio::awaitable<void> run_service::recover() {
    const std::shared_ptr<shared> self = shared_;
    const auto left = co_await end_orphans(
        {self->services.store, self->services.tools, self->services.ids, self->services.time,
         self->services.log}
    );
    const std::lock_guard lock(self->lost_mutex);
    self->orphans_listed = left.has_value();
    if (left) {
        for (const thread_key& key : *left) {
            self->lost.insert({key, false});
        }
    }
}

void run_service::begin_drain() { shared_->registry.begin_drain(); }

boost::asio::awaitable<void> run_service::drain(std::chrono::steady_clock::time_point deadline) {
    const std::shared_ptr<shared> self = shared_;
    begin_drain();
    pass_failpoint("drain.begun");
    const auto executor = co_await boost::asio::this_coro::executor;
    boost::asio::steady_timer timer(executor, deadline);
    timer.async_wait([self](boost::system::error_code ec) {
        if (!ec) {
            for (const auto& run : self->registry.begin_stop()) {
                run->stop(stop_reason::shutdown);
            }
        }
    });
    co_await self->registry.wait_until_empty();
    pass_failpoint("drain.runs_ended");
    timer.cancel();
}

bool run_service::draining() const { return shared_->registry.draining(); }

std::size_t run_service::active_runs() const { return shared_->registry.size(); }

} // namespace agui::gateway
