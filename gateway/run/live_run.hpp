#pragma once

#include "gateway/audit/audit_log.hpp"
#include "gateway/base/completion_event.hpp"
#include "gateway/base/request_source.hpp"
#include "gateway/log/event_log.hpp"
#include "gateway/log/run_observer.hpp"
#include "gateway/run/conversation_key.hpp"
#include "gateway/run/disconnect_policy.hpp"
#include "gateway/run/run_mailbox.hpp"
#include "gateway/run/run_state.hpp"
#include "gateway/run/state_prediction.hpp"
#include "runner/loop/agent_loop.hpp"
#include "session/store/store.hpp"
#include "translator/agui/agui_translator.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::gateway {

/// One run from its start to its end: translates the runner's events into its log, commits its
/// changes, and ends it early if asked to. Used on one executor; functions marked "any thread" may
/// be called from any thread. Owned by shared_ptr: by the run registry while it is active, and by
/// its coroutine.
class live_run final : public runner::run_sink, public std::enable_shared_from_this<live_run> {
public:
    struct settings {
        disconnect_policy on_disconnect;
        std::chrono::seconds run_timeout{3600};
        std::chrono::seconds detached{3600};
        /// Limit of its events. Above it, or if the log's budget has no room, the run ends with
        /// token_limit.
        std::size_t max_bytes = 64U << 20U;
        std::size_t max_waiting_messages = 100; ///< For its mailbox.
        translator::translator_settings translation;
        const run_observer* observer = nullptr;      ///< Must outlive the run; may be null.
        std::uint64_t max_thread_bytes = UINT64_MAX; ///< For state_writing.
        heavy_work* heavy = nullptr;                 ///< The same; must outlive the run.
        std::vector<predicted_member> predictions{};
        /// Its answer is suggestions, of use to its reader alone: it ends with its last reader,
        /// whatever the reason, and its owner keeps nothing of it.
        bool is_for_suggestions = false;
        /// The thread's title if it is the one that its first message gave it and a model may
        /// replace it (thread_titles); otherwise empty.
        std::string automatic_title{};
        audit_log* audit = nullptr; ///< Gets its beginning and its end; may be null.
        request_source source{};    ///< requested_run::source
        /// Freed with the run.
        std::shared_ptr<const void> held{};
        /// Its place among the runs of its principal (quotas::admit_run()), which is free before
        /// its end is visible. May be null.
        std::shared_ptr<const void> place{};
    };

    /// Makes the log for a run that is about to begin. `memory` (may be null) counts its events.
    [[nodiscard]] static std::shared_ptr<event_log> make_log(
        boost::asio::any_io_executor executor, session::store& store, bool relaxed_durability,
        memory_budget* memory
    );

    /// `events` is from make_log(), with the same executor and store. `conversation` is the thread
    /// with the stored `record`, and `held` the run's lease of it. The references must outlive the
    /// run.
    live_run(
        boost::asio::any_io_executor executor, session::store& store, const clock& time,
        logger& log, std::shared_ptr<event_log> events, conversation_key conversation,
        session::lease_ptr held, session::run_record record, session::node_index first_own_message,
        settings options
    );
    ~live_run() override;

    /// Receives notifications about the run, on its executor.
    class owner {
    public:
        virtual ~owner() = default;
        /// The last reader is gone, and the run continues for the time being.
        virtual void on_detached(const std::shared_ptr<live_run>& run) = 0;
        /// The run's end could not be stored, so it becomes an orphan. Called before on_end(),
        /// while the run holds its thread.
        virtual void on_orphaned(const std::shared_ptr<live_run>& run) = 0;
        /// Another process may have taken over the run. Its readers must continue with the stored
        /// events or, failing that, get `events`. Called after on_end().
        virtual void
        on_lost(const std::shared_ptr<live_run>& run, std::vector<std::string> events) = 0;
        /// The run has ended and its thread is free; its terminal event is not visible yet.
        virtual void on_end(const std::shared_ptr<live_run>& run) = 0;
        /// Returns true if requests wait for its end, so it must not end for lack of readers. When
        /// they stop waiting, they call check_readers().
        [[nodiscard]] virtual bool is_awaited(const conversation_key& conversation) const = 0;
    };

    /// Writes RUN_STARTED, unless the log has it already, and `missing` (session::missing_results),
    /// and starts the agent loop. With `stopped`, the run is stopped for that reason before its
    /// first step. A run may outlive its owner, which then gets no notifications. `memory` is as
    /// for run_agent().
    void start(
        runner::run_request request, runner::loop_services services, memory_share memory,
        std::weak_ptr<owner> to_notify, std::optional<runner::stop_reason> stopped,
        const std::vector<session::message>& missing
    );
    /// Ends a run that cannot start, instead of start() or after it has thrown. Shows readers an
    /// end that is not stored, and releases all callers that wait for the end.
    void give_up() noexcept;

    /// Any thread. Asks the run to end. Only the first reason takes effect, and none once the end
    /// is being stored.
    void stop(runner::stop_reason reason) noexcept { (void)stop_.request(reason); }
    /// Any thread. Clients read the run through a process that cannot reach this one: counts as a
    /// reader for 10 s, and then as one that was cut off.
    void count_reader_elsewhere();
    /// Any thread. Acts as if the last reader had just left, if the run had readers and has none.
    void check_readers();
    /// To be called if the last reader left before the run began. On the executor, after start().
    void readers_left_before(event_log::leaving how) { on_last_reader_left(how); }
    [[nodiscard]] const boost::asio::any_io_executor& executor() const noexcept {
        return executor_;
    }
    /// Any thread. Set once readers can see the end, or will get it from the store (on_lost()).
    [[nodiscard]] completion_event& ended() noexcept { return ended_; }
    [[nodiscard]] const conversation_key& conversation() const noexcept { return conversation_; }
    [[nodiscard]] const session::thread_key& key() const noexcept { return conversation_.thread; }
    /// The record from the run's beginning; any thread.
    [[nodiscard]] const session::run_record& record() const noexcept { return record_; }
    [[nodiscard]] const std::shared_ptr<event_log>& log() const noexcept { return log_; }
    /// User messages for the run; any thread.
    [[nodiscard]] run_mailbox& mailbox() noexcept { return mailbox_; }
    /// The first message of the thread that the run itself makes; any thread.
    [[nodiscard]] session::node_index first_own_message() const noexcept {
        return first_own_message_;
    }
    /// Any thread. True if it had readers and has none now.
    [[nodiscard]] bool detached() const noexcept { return detached_ && log_->reader_count() == 0; }
    [[nodiscard]] bool is_for_suggestions() const noexcept { return settings_.is_for_suggestions; }
    /// live_run::settings::automatic_title.
    [[nodiscard]] const std::string& automatic_title() const noexcept {
        return settings_.automatic_title;
    }
    /// request_source::principal; any thread.
    [[nodiscard]] const std::string& sender() const noexcept { return settings_.source.principal; }
    /// client_address::counted; any thread.
    [[nodiscard]] const std::string& address() const noexcept {
        return settings_.source.address.counted;
    }
    /// Any thread, once it has ended. True if it ended by a stop of any kind.
    [[nodiscard]] bool was_stopped() const noexcept { return was_stopped_; }

    // runner::run_sink
    void emit(const runner::runner_event& event) override { show(event, {}); }
    void emit_inner(std::string_view subagent_run_id, const runner::runner_event& event) override {
        show(event, subagent_run_id);
    }
    void begin_batch() override;
    void end_batch() override;
    [[nodiscard]] bool has_room() const noexcept override { return log_->has_room(); }
    [[nodiscard]] boost::asio::awaitable<void> room() override { return log_->room(); }
    void keep_attempt(session::failed_attempt attempt) noexcept override;
    [[nodiscard]] boost::asio::awaitable<result<void>> commit(session::changes change) override;
    [[nodiscard]] boost::asio::awaitable<result<session::thread_record>> load_thread() override;
    [[nodiscard]] boost::asio::awaitable<result<json_text>> load_state() override;
    /// Any thread.
    [[nodiscard]] boost::asio::awaitable<result<void>> change_state(session::state_change change
    ) override;
    [[nodiscard]] bool has_messages() const noexcept override { return mailbox_.has_waiting(); }
    [[nodiscard]] runner::user_messages take_messages() override;
    [[nodiscard]] boost::asio::awaitable<void>
    finish(session::changes change, runner::run_end end) override;

private:
    class time_limit;

    /// `subagent_run_id` is empty for an event of the run itself.
    void show(const runner::runner_event& event, std::string_view subagent_run_id);
    void predict(const runner::runner_event& event);
    void on_last_reader_left(event_log::leaving how);
    void leave_after(std::chrono::seconds after, runner::stop_reason reason);
    void cancel_timers();
    [[nodiscard]] bool is_awaited() const;
    void ensure_ended() noexcept;
    void end_without_store();
    void audit(audit_event what, std::string_view outcome) const;
    [[nodiscard]] std::vector<std::string> end_seen_by_readers();
    void show_end_without_store(std::vector<std::string> events, bool is_lost);
    void notify_end();
    void set_over() noexcept;

    boost::asio::any_io_executor executor_;
    session::store& store_;
    logger& logger_;
    const conversation_key conversation_;
    const session::lease_ptr held_;
    const session::run_record record_;
    const session::node_index first_own_message_;
    settings settings_;
    // What each token uses is kept together, in few cache lines.
    const clock& time_;
    std::unique_ptr<state_prediction> prediction_; ///< Null if nothing is predicted.
    bool in_batch_ = false;
    bool too_long_ = false; ///< Its events have exceeded their limit.
    std::shared_ptr<event_log> log_;
    std::unique_ptr<observed_sink> observed_; ///< Null without an observer.
    translator::agui_translator translator_;
    run_state state_;
    runner::stop_source stop_;
    run_mailbox mailbox_;
    std::unique_ptr<time_limit> time_limit_; ///< Null before start() and after the end.
    // Made when they are needed, which is rare: each takes 120 bytes.
    std::unique_ptr<boost::asio::steady_timer> detached_timer_;
    std::unique_ptr<boost::asio::steady_timer> elsewhere_timer_;
    std::unique_ptr<event_log::reader_token> reader_elsewhere_;
    std::weak_ptr<owner> owner_;
    completion_event ended_;
    std::atomic<bool> detached_{false};
    std::atomic<bool> was_stopped_{false};
    /// How the last reader left, if detached_.
    event_log::leaving how_left_ = event_log::leaving::left;
    bool finished_ = false; ///< Its end was committed or has failed: stops have no effect.
    bool stored_ = false;   ///< Its end is stored.
    bool over_ = false;     ///< Readers can see its end, and ended_ is set.
};

} // namespace agui::gateway
