#include "gateway/run/live_run.hpp"

#include "gateway/run/ended_record.hpp"
#include "gateway/run/polling.hpp"
#include "gateway/run/taken_messages.hpp"
#include "gateway/run/unstored_end.hpp"
#include "runner/base/deadline_sweep.hpp"
#include "session/base/failpoint.hpp"
#include "session/conversation/run_segment.hpp"
#include "session/store/store_failures.hpp"
#include "translator/agui/protocol_version.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <exception>
#include <memory>
#include <string_view>
#include <utility>
#include <variant>

namespace agui::gateway {

namespace {

using boost::asio::steady_timer;
using runner::stop_class;
using runner::stop_reason;

// Copies of a run's text in memory: in the log; as the turn's text, whose string may have as much
// spare capacity; and at the end in the message, its serialized form and the copy queued for the
// store.
constexpr std::size_t copies_of_text = 6;

// Other processes report their readers every poll_rarely. One or two reports may be late.
constexpr std::chrono::milliseconds reader_elsewhere_life = 3 * poll_rarely + poll_period;

// Makes it if it is not there yet.
steady_timer&
timer_in(std::unique_ptr<steady_timer>& timer, const boost::asio::any_io_executor& executor) {
    if (!timer) {
        timer = std::make_unique<steady_timer>(executor);
    }
    return *timer;
}

bool is_delta(const runner::runner_event& event) noexcept {
    return std::holds_alternative<runner::text_delta>(event) ||
           std::holds_alternative<runner::reasoning_delta>(event) ||
           std::holds_alternative<runner::call_arguments>(event);
}

// The name of the failpoint at an event.
std::string_view moment_of(const runner::runner_event& event) noexcept {
    if (std::holds_alternative<runner::text_delta>(event)) {
        return "run.text";
    }
    if (std::holds_alternative<runner::reasoning_delta>(event)) {
        return "run.reasoning";
    }
    if (std::holds_alternative<runner::call_started>(event)) {
        return "run.call";
    }
    if (std::holds_alternative<runner::call_arguments>(event)) {
        return "run.arguments";
    }
    if (std::holds_alternative<runner::turn_ended>(event)) {
        return "run.turn_ended";
    }
    return std::holds_alternative<runner::call_result>(event) ? "run.result" : "run.other";
}

} // namespace

std::shared_ptr<event_log> live_run::make_log(
    boost::asio::any_io_executor executor, session::store& store, bool relaxed_durability,
    memory_budget* memory
) {
    event_log::settings options;
    options.store = store.keeps_logs() ? &store : nullptr;
    options.visible_before_durable = relaxed_durability;
    options.budget = memory;
    options.copies = copies_of_text;
    return std::make_shared<event_log>(std::move(executor), options);
}

/// Stops a run that takes too long. Used on the run's executor.
class live_run::time_limit final : runner::deadline_sweep::watch {
public:
    explicit time_limit(live_run& of) : watch(of.executor_), of_(of) {
        arm(runner::deadline_sweep::clock::now() + of.settings_.run_timeout);
    }

private:
    void expired() noexcept override { of_.stop(stop_reason::run_timeout); }

    live_run& of_;
};

live_run::~live_run() = default;

live_run::live_run(
    boost::asio::any_io_executor executor, session::store& store, const clock& time, logger& log,
    std::shared_ptr<event_log> events, conversation_key conversation, session::lease_ptr held,
    session::run_record record, session::node_index first_own_message, settings options
)
    : executor_(std::move(executor)),
      store_(store),
      logger_(log),
      conversation_(std::move(conversation)),
      held_(std::move(held)),
      record_(std::move(record)),
      first_own_message_(first_own_message),
      settings_(std::move(options)),
      time_(time),
      log_(std::move(events)),
      observed_(
          settings_.observer == nullptr ? nullptr
                                        : std::make_unique<observed_sink>(
                                              *log_, *settings_.observer, conversation_.thread,
                                              record_, logger_, log_->last_sequence()
                                          )
      ),
      translator_(
          observed_ ? static_cast<translator::wire_sink&>(*observed_) : *log_,
          std::move(settings_.translation)
      ),
      state_(
          executor_, time_,
          {.store = store_,
           .held = held_,
           .max_thread_bytes = settings_.max_thread_bytes,
           .heavy = settings_.heavy},
          [this](const runner::runner_event& event) { emit(event); }
      ),
      stop_(executor_),
      mailbox_(settings_.max_waiting_messages) {
    log_->set_run(record_.number, held_);
}

void live_run::start(
    runner::run_request request, runner::loop_services services, memory_share memory,
    std::weak_ptr<owner> to_notify, std::optional<stop_reason> stopped,
    const std::vector<session::message>& missing
) {
    if (stopped) {
        stop(*stopped);
    }
    owner_ = std::move(to_notify);
    const std::weak_ptr<live_run> weak = weak_from_this();
    log_->set_failure_handler([weak] {
        if (const auto self = weak.lock()) {
            self->stop(stop_reason::store_unavailable);
        }
    });
    log_->set_last_reader_handler([weak](event_log::leaving how) {
        if (const auto self = weak.lock()) {
            self->on_last_reader_left(how);
        }
    });
    if (store_.is_shared()) { // Otherwise no other process can have the thread.
        stop_.stop_if([held = held_] { return held->is_lost(); }, stop_reason::store_unavailable);
        held_->on_lost([weak] {
            if (const auto self = weak.lock()) {
                self->stop(stop_reason::store_unavailable);
            }
        });
    }
    time_limit_ = std::make_unique<time_limit>(*this);

    pass_failpoint("run.start");
    const translator::run_opening opening{key().thread_id, record_.run_id, record_.parent_run_id};
    if (log_->last_sequence() == 0) {
        // The record's time, so that whoever finds the run lost can write the same event.
        translator_.set_time(record_.started_at);
        translator_.start(opening);
    } else {
        translator_.resume(opening, {});
    }
    translator_.set_time(time_.now());
    for (const session::message& result : missing) {
        translator_.earlier_result(result);
    }
    state_.begin(request.thread->state);
    if (!settings_.predictions.empty()) {
        const std::string told = prediction_text(settings_.predictions);
        translator_.translate(runner::custom_sent{prediction_event, told});
        prediction_ = std::make_unique<state_prediction>(std::move(settings_.predictions));
    }
    audit(audit_event::run_began, {});
    boost::asio::co_spawn(
        executor_, runner::run_agent(std::move(request), services, *this, stop_, std::move(memory)),
        [self = shared_from_this()](const std::exception_ptr&) { self->ensure_ended(); }
    );
}

void live_run::count_reader_elsewhere() {
    boost::asio::post(executor_, [self = shared_from_this()] {
        if (self->finished_) {
            return;
        }
        if (!self->reader_elsewhere_) {
            self->reader_elsewhere_ = std::make_unique<event_log::reader_token>(self->log_);
            self->reader_elsewhere_->set_cut_off();
        }
        steady_timer& timer = timer_in(self->elsewhere_timer_, self->executor_);
        timer.expires_after(reader_elsewhere_life);
        timer.async_wait([weak = self->weak_from_this()](auto ec) {
            if (const auto run = weak.lock(); !ec && run) {
                run->reader_elsewhere_.reset();
            }
        });
    });
}

// An end that is not stored has no entry here: whoever recovers the run writes it.
void live_run::audit(audit_event what, std::string_view outcome) const {
    if (settings_.audit == nullptr) {
        return;
    }
    settings_.audit->write(
        {.what = what,
         .principal = settings_.source.principal,
         .address = settings_.source.address.whole,
         .owner = key().principal,
         .thread = key().thread_id,
         .run = session::client_run_id(record_.run_id),
         .agent = record_.agent_id,
         .outcome = outcome,
         .route = settings_.source.route}
    );
}

void live_run::give_up() noexcept {
    finished_ = true;
    mailbox_.close();
    (void)stop_.close(); // There is nothing left to stop.
    cancel_timers();
    try {
        show_end_without_store(end_seen_by_readers(), false);
    } catch (const std::exception&) {
        log_->end_without_store({}); // Without memory for events, the stream just ends.
    }
    set_over();
}

// run_agent() normally ends the run. This ends it after any exception, even one thrown by the end
// itself, so that no client is left waiting.
void live_run::ensure_ended() noexcept {
    time_limit_.reset(); // Now, because another thread may destroy the run.
    if (over_) {
        return;
    }
    try {
        if (stored_) {
            log_->publish_end();
            set_over();
        } else {
            end_without_store();
        }
    } catch (const std::exception&) {
        give_up();
    }
}

void live_run::set_over() noexcept {
    over_ = true;
    ended_.set();
}

// An exception of the owner must not keep readers from seeing the end.
void live_run::notify_end() {
    settings_.place.reset();
    try {
        if (const auto to_notify = owner_.lock()) {
            to_notify->on_end(shared_from_this());
        }
    } catch (const std::exception& error) {
        logger_.log(
            log_level::error, "the work after the end of a run has failed",
            {{"run", session::client_run_id(record_.run_id)}, {"detail", error.what()}}
        );
    }
}

void live_run::begin_batch() {
    in_batch_ = true;
    translator_.set_time(time_.now());
    log_->begin_batch();
}

void live_run::end_batch() {
    in_batch_ = false;
    log_->end_batch();
}

void live_run::show(const runner::runner_event& event, std::string_view subagent_run_id) {
    // Deltas that arrived together have the same time.
    if (!in_batch_ || !is_delta(event)) {
        translator_.set_time(time_.now());
    }
    pass_failpoint(moment_of(event));
    check_failpoint("run.event");
    if (!subagent_run_id.empty()) {
        translator_.translate(event, subagent_run_id);
    } else {
        translator_.translate(event);
        if (prediction_) {
            predict(event);
        }
    }
    if (log_->outgrown(settings_.max_bytes) && !std::exchange(too_long_, true)) {
        stop(stop_reason::token_limit);
    }
}

// The result of a call ends its prediction: its tool has changed the state, or never will.
void live_run::predict(const runner::runner_event& event) {
    for (const state_prediction::change& each : prediction_->on(event)) {
        state_.predict(each.key, each.value);
    }
    if (std::holds_alternative<runner::call_result>(event)) {
        state_.refresh(shared_from_this());
    }
}

void live_run::keep_attempt(session::failed_attempt attempt) noexcept {
    try {
        attempt.run_number = record_.number;
        check_failpoint("run.keep_attempt");
        store_.keep_attempt(std::move(attempt));
    } catch (const std::exception& error) {
        logger_.log(
            log_level::warning, "a failed model call could not be recorded",
            {{"run", session::client_run_id(record_.run_id)}, {"reason", error.what()}}
        );
    }
}

boost::asio::awaitable<result<void>> live_run::commit(session::changes change) {
    check_failpoint("run.commit");
    const result<void> stored =
        co_await store_.commit(key(), std::move(change), std::nullopt, {.held = held_});
    mailbox_.settle(stored);
    check_failpoint("run.committed");
    co_return stored;
}

runner::user_messages live_run::take_messages() {
    // The next event shows the conversation with them.
    const auto letters = mailbox_.take(log_->last_sequence() + 1);
    pass_failpoint("run.messages");
    return to_store(letters, record_, time_.now());
}

boost::asio::awaitable<result<session::thread_record>> live_run::load_thread() {
    check_failpoint("run.load");
    auto loaded = co_await store_.load(key());
    if (!loaded) {
        co_return loaded.error();
    }
    if (!loaded->has_value()) {
        co_return session::no_such_thread();
    }
    co_return std::move(**loaded);
}

boost::asio::awaitable<result<json_text>> live_run::load_state() {
    auto loaded = co_await store_.state(key());
    if (!loaded) {
        co_return loaded.error();
    }
    co_return std::move(*loaded).value_or(json_text());
}

boost::asio::awaitable<result<void>> live_run::change_state(session::state_change change) {
    return state_.change(shared_from_this(), std::move(change));
}

boost::asio::awaitable<void> live_run::finish(session::changes change, runner::run_end end) {
    check_failpoint("run.finish");
    mailbox_.close();
    co_await state_.close(shared_from_this());
    cancel_timers();
    translator_.set_time(time_.now());
    translator_.finish(end);
    const session::run_record ended =
        ended_record(record_, end, time_.now(), log_->last_sequence());
    change.run = ended;
    change.events.push_back(end_event(ended));
    was_stopped_ = runner::class_of(end.reason) == stop_class::stopped;

    std::optional<session::log_slice> terminal;
    if (store_.keeps_logs()) {
        terminal = log_->take_staged();
    }
    const result<void> stored = co_await store_.commit(
        key(), std::move(change), std::move(terminal), {.held = held_, .releases = true}
    );
    finished_ = true;
    pass_failpoint("run.finish_stored");
    if (!stored) {
        logger_.log(
            log_level::error, "the end of a run could not be stored",
            {{"run", session::client_run_id(record_.run_id)}, {"detail", stored.error().detail}}
        );
        end_without_store();
        co_return;
    }
    stored_ = true;
    log_end(logger_, key().thread_id, ended, end.usage);
    audit(audit_event::run_ended, ended.end_reason);
    notify_end();
    if (observed_) {
        observed_->report_end();
    }
    pass_failpoint("run.thread_free");
    log_->publish_end();
    pass_failpoint("run.end_published");
    set_over();
}

void live_run::end_without_store() {
    finished_ = true;
    mailbox_.close();
    if (const auto to_notify = owner_.lock()) {
        to_notify->on_orphaned(shared_from_this());
    }
    const bool is_lost = held_->is_lost();
    store_.release(held_);
    std::vector<std::string> events = end_seen_by_readers();
    notify_end();
    show_end_without_store(std::move(events), is_lost);
    set_over();
}

void live_run::show_end_without_store(std::vector<std::string> events, bool is_lost) {
    if (observed_) {
        observed_->report_end_without_store(events);
    }
    const auto to_notify = is_lost ? owner_.lock() : nullptr;
    if (to_notify) {
        to_notify->on_lost(shared_from_this(), std::move(events));
    } else {
        log_->end_without_store(events);
    }
}

// The exception of P3: an end that is not stored. It tells the client that the last events may be
// missing after a restart; recovery will write the durable end.
std::vector<std::string> live_run::end_seen_by_readers() {
    return unstored_end(*log_, key().thread_id, record_, stop_reason::store_unavailable, time_);
}

// A reader that was cut off for reading too slowly has not asked for the run to end, but
// suggestions are of use to nobody else.
void live_run::on_last_reader_left(event_log::leaving how) {
    if (finished_ || log_->reader_count() > 0) {
        return;
    }
    detached_ = true;
    how_left_ = how;
    const bool is_cut_off = how == event_log::leaving::cut_off && !settings_.is_for_suggestions;
    const bool goes_on = is_cut_off || is_awaited();
    switch (goes_on ? disconnect_policy::kind::go_on : settings_.on_disconnect.what) {
    case disconnect_policy::kind::cancel:
        stop(stop_reason::cancelled);
        break;
    case disconnect_policy::kind::grace:
        leave_after(settings_.on_disconnect.grace, stop_reason::cancelled);
        break;
    case disconnect_policy::kind::go_on:
        leave_after(settings_.detached, stop_reason::run_timeout);
        break;
    }
    pass_failpoint("run.left");
    if (const auto to_notify = owner_.lock()) {
        to_notify->on_detached(shared_from_this());
    }
}

void live_run::leave_after(std::chrono::seconds after, stop_reason reason) {
    steady_timer& timer = timer_in(detached_timer_, executor_);
    timer.expires_after(after);
    timer.async_wait([weak = weak_from_this(), reason](boost::system::error_code ec) {
        const auto self = weak.lock();
        if (!ec && self && !self->finished_ && self->log_->reader_count() == 0 &&
            !self->is_awaited()) {
            self->stop(reason);
        }
    });
}

void live_run::cancel_timers() {
    time_limit_.reset();
    for (const auto* const each : {&detached_timer_, &elsewhere_timer_}) {
        if (*each) {
            (*each)->cancel();
        }
    }
}

bool live_run::is_awaited() const {
    const auto asked = owner_.lock();
    return asked && asked->is_awaited(conversation_);
}

void live_run::check_readers() {
    boost::asio::post(executor_, [self = shared_from_this()] {
        if (self->detached()) {
            self->on_last_reader_left(self->how_left_);
        }
    });
}

} // namespace agui::gateway
