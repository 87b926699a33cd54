#include "gateway/queue/queued_run.hpp"

#include "gateway/admission/queue_taking.hpp"
#include "gateway/admission/run_beginning.hpp"
#include "gateway/queue/queue_offer.hpp"
#include "gateway/replay/answered_run.hpp"
#include "gateway/replay/followed_run.hpp"
#include "gateway/replay/run_locator.hpp"
#include "gateway/run/ended_record.hpp"
#include "gateway/run/polling.hpp"
#include "gateway/run/taken_messages.hpp"
#include "session/base/failpoint.hpp"
#include "session/conversation/run_segment.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace agui::gateway {

namespace {

using runner::stop_reason;
using std::chrono::steady_clock;

// How long a waiting request relies on being woken: a thread that the server itself has held is
// freed without notice.
constexpr std::chrono::seconds look_again{1};

// A waiting request, from RUN_STARTED until it becomes the active run or its stream ends. Used on
// the request's executor.
class queued_run : public std::enable_shared_from_this<queued_run> {
public:
    queued_run(
        std::unique_ptr<accepted_run::admitted> request, std::shared_ptr<waiting_run> waiting
    )
        : request_(std::move(request)),
          core_(request_->core),
          waiting_(std::move(waiting)),
          offer_(core_, waiting_),
          leaving_(request_->executor),
          observed_(
              core_->services.observer == nullptr
                  ? nullptr
                  : std::make_unique<observed_sink>(
                        *waiting_->log, *core_->services.observer, waiting_->conversation.thread,
                        waiting_->record, core_->services.log
                    )
          ),
          writer_(
              observed_ ? static_cast<translator::wire_sink&>(*observed_) : *waiting_->log,
              core_->translation_of(waiting_->conversation, waiting_->record.protocol)
          ) {}

    void start() {
        writer_.set_time(waiting_->record.started_at);
        writer_.start(opening());
        waiting_->log->set_last_reader_handler([weak = weak_from_this()](event_log::leaving how) {
            if (const auto self = weak.lock()) {
                self->on_last_reader_left(how);
            }
        });
        boost::asio::co_spawn(
            request_->executor, wait(),
            [self = shared_from_this()](const std::exception_ptr&) { self->ensure_over(); }
        );
    }

private:
    [[nodiscard]] const conversation_key& conversation() const noexcept {
        return waiting_->conversation;
    }
    [[nodiscard]] session::store& store() const { return core_->store_of(conversation()); }

    boost::asio::awaitable<void> wait() {
        const auto watch = core_->registry.watch_conversation(conversation(), request_->executor);
        for (;;) {
            pass_failpoint("queue.waits");
            const letter_fate fate = offer_.fate();
            const auto run = co_await begun_elsewhere();
            // Checked after the store was asked, because a run here may have taken the message
            // meanwhile.
            if (const auto batch = core_->queue.batch_of(*waiting_)) {
                if (co_await follow(batch, *watch)) {
                    co_return;
                }
                continue;
            }
            if (run) {
                co_await follow_elsewhere(*run, *watch);
                co_return;
            }
            if (fate == letter_fate::in_commit || fate == letter_fate::taken) {
                co_await watch->wait_until(steady_clock::now() + look_again);
                continue;
            }
            if (request_->arrival->stopped() || gone_) {
                if (offer_.withdraw() && core_->queue.leave(*waiting_)) {
                    co_await withdraw();
                    co_return;
                }
                continue;
            }
            if (core_->registry.draining()) {
                if (!offer_.withdraw()) {
                    continue;
                }
                waiting_->log->hand_back(); // The message stays in the queue.
                // On failure, other processes get it when this one has ended.
                (void)co_await store().leave_queued(waiting_->number);
                finish(stop_reason::shutdown);
                co_return;
            }
            co_await offer_.make();
            auto next = steady_clock::now() + look_again;
            if (core_->queue.is_first(*waiting_) && !core_->registry.active(conversation())) {
                if (const auto held = co_await held_for()) {
                    next = steady_clock::now() + std::min(*held, poll_rarely);
                } else if (co_await begin()) {
                    co_return;
                }
            }
            co_await watch->wait_until(next);
        }
    }

    // The run that another process has begun from this request or with its message, or the record
    // of this request if an active run may have taken its message. nullopt if there is none or the
    // store fails.
    boost::asio::awaitable<std::optional<session::run_record>> begun_elsewhere() {
        const letter_fate fate = offer_.fate();
        const bool may_be_taken = fate == letter_fate::taken || fate == letter_fate::unknown;
        if (!store().is_shared() && !may_be_taken) {
            co_return std::nullopt;
        }
        auto run = co_await store().find_run(conversation().thread, waiting_->record.run_id);
        co_return run ? std::move(*run) : std::nullopt;
    }

    // Follows the run that another process has begun, until it is over.
    boost::asio::awaitable<void>
    follow_elsewhere(session::run_record run, run_registry::watch& watch) {
        pass_failpoint("queue.begun_elsewhere");
        if (run.end_reason == taken_while_active) {
            auto writing = [&] {
                return write_taken_end(*core_, conversation(), run, writer_);
            };
            co_await end_by(writing, watch);
            co_return;
        }
        if (run.answered_by.empty()) {
            // The run is of this request, which was sent to both processes. Its log continues after
            // the events shown here, and the request is not found here any more.
            core_->queue.remove(waiting_);
            co_await remove_message(); // The run may have begun without taking the queued message.
            auto followed = co_await follow_run(*core_, conversation(), run, 0, waiting_->log);
            while (!followed && may_succeed_soon(followed.error())) {
                co_await watch.wait_until(steady_clock::now() + look_again);
                followed = co_await follow_run(*core_, conversation(), run, 0, waiting_->log);
            }
            end_or_release(followed);
            co_return;
        }
        for (;;) {
            if (request_->arrival->stopped()) {
                request_->arrival->set_ended_by_stop();
                finish(stop_reason::cancelled);
                co_return;
            }
            if (core_->registry.draining()) { // A drain stops no run of another process.
                waiting_->log->hand_back();
                finish(stop_reason::shutdown);
                co_return;
            }
            const auto answer = co_await find_run(*core_, conversation(), run.answered_by);
            if (!answer || !answer->has_value() || (*answer)->place == run_place::ended) {
                break;
            }
            co_await watch.wait_until(steady_clock::now() + look_again);
        }
        co_await end_answered(run.answered_by, watch);
    }

    // How long a hand-off still holds the queue, because its calls are open and no message was sent
    // since. nullopt if none holds it, or if the store fails, which begin() will notice too. Does
    // not hold the thread, so that an answer is not refused meanwhile.
    boost::asio::awaitable<std::optional<std::chrono::milliseconds>> held_for() {
        const auto latest = co_await store().latest_run(conversation().thread);
        if (!latest || !latest->has_value()) {
            co_return std::nullopt;
        }
        const session::run_record& run = **latest;
        const auto now = store().shared_time(core_->services.time.now());
        const auto hold =
            std::chrono::duration_cast<std::chrono::milliseconds>(core_->settings.queue->hold);
        const bool left_calls = run.end_reason == handed_off || run.end_reason == answered_in_part;
        if (!left_calls || core_->queue.newest(conversation()) > run.ended_at ||
            now >= run.ended_at + hold.count()) {
            co_return std::nullopt;
        }
        const auto pending = co_await store().pending_calls(conversation().thread);
        if (!pending || !pending->has_value() || (*pending)->empty()) {
            co_return std::nullopt;
        }
        pass_failpoint("queue.held");
        co_return std::chrono::milliseconds(run.ended_at + hold.count() - now);
    }

    // Returns false if the thread is busy, or a hand-off holds the queue. Otherwise this request
    // has become the run that takes all messages, or its stream has ended.
    boost::asio::awaitable<bool> begin() {
        pass_failpoint("queue.begins");
        const auto taken = co_await store().acquire(conversation().thread, waiting_->record.run_id);
        if (!taken && taken.error().code == errc::thread_busy) {
            co_return false;
        }
        // Checked again, because a run may have ended in a hand-off since, or another process may
        // have taken the message.
        if (taken && (co_await begun_elsewhere() || co_await held_for())) {
            store().release(*taken);
            core_->registry.wake(conversation()); // An answer may wait for the thread.
            co_return false;
        }
        result<std::shared_ptr<live_run>> begun = taken ? failure{} : taken.error();
        if (taken) {
            request_->held = *taken;
            try {
                begun = co_await begin_on_thread(*request_, waiting_->log);
            } catch (const std::exception& error) {
                core_->services.log.log(
                    log_level::error, "a queued request could not start its run",
                    {{"run", session::client_run_id(waiting_->record.run_id)},
                     {"detail", error.what()}}
                );
                begun = failure{errc::internal, "the run could not be started"};
            }
        }
        if (!begun) {
            if (begun.error().code == errc::lease_lost) {
                co_return false;
            }
            co_await fail(begun.error());
            co_return true;
        }
        if (left_ && waiting_->log->reader_count() == 0) {
            (*begun)->readers_left_before(*left_);
        }
        over();
        co_return true;
    }

    // Ends the request because the run with its message could not begin. A message that can never
    // succeed leaves the queue, so that it does not block later ones.
    boost::asio::awaitable<void> fail(failure reason) {
        if (!may_succeed_later(reason.code)) {
            co_await remove_message();
        }
        end_with_failure(reason);
    }

    void end_with_failure(const failure& reason) {
        end_without_store([&](translator::agui_translator& writer) {
            writer.fail(to_string(reason.code), reason.detail);
        });
    }

    // Waits until the run that has taken its message is over. Returns false if that run has put the
    // message back.
    boost::asio::awaitable<bool>
    follow(std::shared_ptr<queue_batch> batch, run_registry::watch& watch) {
        while (!core_->queue.is_over(*batch)) {
            if (core_->queue.batch_of(*waiting_) != batch) {
                co_return false;
            }
            if (request_->arrival->stopped()) {
                request_->arrival->set_ended_by_stop();
                finish(stop_reason::cancelled);
                co_return true;
            }
            co_await watch.wait_until(steady_clock::now() + look_again);
        }
        if (batch->failed) {
            co_await fail(*batch->failed);
        } else {
            co_await end_answered(batch->run_id, watch);
        }
        co_return true;
    }

    boost::asio::awaitable<void>
    end_answered(const std::string& answered_by, run_registry::watch& watch) {
        auto writing = [&] {
            return write_answered_end(*core_, conversation(), answered_by, writer_);
        };
        co_await end_by(writing, watch);
    }

    // Ends the stream with what another run has done for the request.
    template <class Write>
    boost::asio::awaitable<void> end_by(Write& write, run_registry::watch& watch) {
        result<void> written = co_await write();
        while (!written && may_succeed_soon(written.error())) {
            co_await watch.wait_until(steady_clock::now() + look_again);
            written = co_await write();
        }
        if (written) {
            if (observed_) {
                observed_->report_end();
            }
            waiting_->log->publish_end();
        }
        end_or_release(written);
    }

    // The run goes on, or the message is answered, whatever happens to this stream.
    void end_or_release(const result<void>& shown) {
        if (shown) {
            over();
        } else if (request_->arrival->stopped()) {
            request_->arrival->set_ended_by_stop();
            finish(stop_reason::cancelled);
        } else if (core_->registry.draining()) {
            waiting_->log->hand_back();
            finish(stop_reason::shutdown);
        } else if (shown.error().code == errc::overloaded) {
            waiting_->log->cut_off_readers();
            over();
        } else {
            end_with_failure(shown.error());
        }
    }

    // A temporary failure of the store is worth a retry.
    [[nodiscard]] bool may_succeed_soon(const failure& why) const {
        return why.code == errc::store_unavailable && store().is_shared() &&
               !core_->registry.draining() && !request_->arrival->stopped();
    }

    boost::asio::awaitable<void> withdraw() {
        co_await remove_message();
        if (request_->arrival->stopped()) {
            request_->arrival->set_ended_by_stop();
        }
        finish(stop_reason::cancelled);
    }

    boost::asio::awaitable<bool> is_own() {
        const auto queued = co_await store().queued(conversation().thread);
        const bool waits_here = !queued || std::ranges::any_of(*queued, [&](const auto& each) {
            return each.number == waiting_->number && each.gateway == store().gateway_number();
        });
        co_return waits_here;
    }

    boost::asio::awaitable<void> remove_message() {
        pass_failpoint("queue.withdraw");
        if (store().is_shared() && !co_await is_own()) {
            co_return; // This process has lost its leases, and the request waits in another one.
        }
        const auto removed = co_await store().withdraw(conversation().thread, waiting_->number);
        if (!removed) {
            // Keeps it from being picked up and answered here.
            core_->queue.begin_pick_up(waiting_->number);
            core_->services.log.log(
                log_level::warning, "a message could not be withdrawn from the queue",
                {{"thread", conversation().thread.thread_id},
                 {"run", session::client_run_id(waiting_->record.run_id)}}
            );
        }
    }

    void finish(stop_reason reason) {
        end_without_store([reason](translator::agui_translator& writer) {
            runner::run_end end;
            end.reason = reason;
            writer.finish(end);
        });
    }

    template <class Write>
    void end_without_store(Write write) {
        const std::vector<std::string> last =
            end_unstored(*core_, conversation(), waiting_->record, *waiting_->log, write);
        if (observed_) {
            observed_->report_end_without_store(last);
        }
        over();
    }

    [[nodiscard]] translator::run_opening opening() const {
        return {
            conversation().thread.thread_id, waiting_->record.run_id, waiting_->record.parent_run_id
        };
    }

    // Removes the request from the queue; its run, if any, is found elsewhere from here on.
    // Releases everything that others wait for: repeats, a drain, a stop, and an active run without
    // readers.
    void over() {
        leaving_.cancel();
        core_->queue.remove(waiting_);
        request_.reset();
        core_->registry.wake(conversation());
        if (const auto active = core_->registry.active(conversation())) {
            active->check_readers();
        }
    }

    // Ends the wait after any exception, so that no client is left waiting.
    void ensure_over() noexcept {
        try {
            if (!request_) {
                return;
            }
            finish(stop_reason::error);
        } catch (const std::exception&) {
            // Without memory for events, the stream just ends.
            waiting_->log->end_without_store({});
            over();
        }
    }

    // Applies the same policy as for an active run, but ends the wait. A reader that was cut off
    // has not left by itself.
    void on_last_reader_left(event_log::leaving how) {
        if (!request_) {
            return;
        }
        left_ = how;
        const disconnect_policy policy =
            request_->what.on_disconnect.value_or(core_->settings.on_disconnect);
        if (how == event_log::leaving::cut_off || policy.what == disconnect_policy::kind::go_on) {
            return;
        }
        const bool at_once = policy.what == disconnect_policy::kind::cancel;
        leaving_.expires_after(at_once ? std::chrono::seconds(0) : policy.grace);
        leaving_.async_wait([weak = weak_from_this()](boost::system::error_code ec) {
            const auto self = weak.lock();
            if (!ec && self && self->request_ && self->waiting_->log->reader_count() == 0) {
                self->gone_ = true;
                self->core_->registry.wake(self->conversation());
            }
        });
    }

    std::unique_ptr<accepted_run::admitted> request_; ///< Null once it has stopped waiting.
    const std::shared_ptr<run_core> core_;
    const std::shared_ptr<waiting_run> waiting_;
    queue_offer offer_;
    boost::asio::steady_timer leaving_;
    std::unique_ptr<observed_sink> observed_; ///< Null without an observer.
    translator::agui_translator writer_;
    std::optional<event_log::leaving> left_; ///< How the last reader left; it may have come back.
    bool gone_ = false;                      ///< The client's grace period expired.
};

} // namespace

void start_queued_run(
    std::unique_ptr<accepted_run::admitted>&& request, std::shared_ptr<waiting_run> waiting
) {
    std::make_shared<queued_run>(std::move(request), std::move(waiting))->start();
}

} // namespace agui::gateway
