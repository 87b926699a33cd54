#pragma once

#include "runner/base/runner_event.hpp"
#include "runner/base/stop_reason.hpp"
#include "session/base/clock.hpp"
#include "session/base/json_text.hpp"
#include "session/conversation/message.hpp"
#include "translator/agui/event_writer.hpp"
#include "translator/agui/open_brackets.hpp"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::translator {

/// One AG-UI event, ready to be framed. The views are valid during the call of the sink only.
struct wire_event {
    std::string_view json; ///< AG-UI 1.1.
    /// The form for readers of an older projection: nullopt if it is the same, an empty view if
    /// there is no event.
    std::optional<std::string_view> v1_0;
    std::optional<std::string_view> undeclared;
    bool terminal = false;
};

/// Receives the events in order.
class wire_sink {
public:
    virtual ~wire_sink() = default;
    virtual void on_event(const wire_event& event) = 0;
};

struct translator_settings {
    enum class usage_detail { full, totals, off };
    usage_detail usage = usage_detail::full; ///< `totals` leaves provider and model out.
    /// Returns the URL of a part that an event does not hold itself, by its digest. Returns an
    /// empty text, or is itself empty, if there is none.
    std::function<std::string(std::string_view sha256, unix_ms now)> part_link = {};
    /// Called with the type of an event whose `undeclared` form leaves out parts of its content.
    /// May be empty.
    std::function<void(std::string_view type)> on_loss = {};
    /// A run that ends with interrupts sends the first one as CUSTOM `on_interrupt` before its end.
    /// The end then has no outcome for undeclared peers, because a CopilotKit that waits for this
    /// event does not resume after an outcome that it does not know.
    bool legacy_interrupts = false;
    /// A run that leaves calls to the caller sends each as CUSTOM `tool-input-available`
    /// {"toolCallId","toolName","input"} before its end, for the clients of TanStack AI.
    bool tanstack = false;
};

/// The contents of RUN_STARTED.
struct run_opening {
    std::string_view thread_id;
    std::string_view run_id;        ///< As stored (session::run_segment).
    std::string_view parent_run_id; ///< Empty if absent.
};

/// The only writer of AG-UI events: a state machine from runner events to wire events that ensures
/// P1 and P2 by itself. Whatever the order of events, all open texts, reasoning and calls are
/// closed before an event that they must not enclose and before the terminal. Pure: no clock (the
/// caller sets the time), no I/O. One object per run, used by one thread at a time; the sink must
/// outlive it.
///
/// Text: one TEXT_MESSAGE_START/END bracket at a time; text after a call of the same turn reopens
/// its messageId (S9). Calls: opened with the turn's message as parentMessageId. A call has one
/// START and one END and is never reopened, because a page acts on TOOL_CALL_END. It is closed by
/// call_ended, turn_ended and a result, but not by text, reasoning or another call. Reasoning:
/// REASONING_START, REASONING_MESSAGE_START (role "reasoning"), …, both ends, before a text or a
/// call begins. Segment of a reply: CUSTOM `agui-gateway.chat.segment` {"messageId","segment"};
/// closes nothing. State: STATE_SNAPSHOT or, with a patch, STATE_DELTA; closes nothing.
/// Activities, CUSTOM and RAW of the application, and steps, which the terminal ends: close
/// nothing. An activity that has a data part shows it as a link (wire_activity()). Writes no empty
/// deltas, and no nulls except in passed-on values.
///
/// Subagents: each has a lane of its own, with the rules above for itself. Its events carry its
/// `subagentRunId`. SUBAGENT_FINISHED and SUBAGENT_ERROR close its lane first. The terminal closes
/// all lanes and ends the subagents that are left: suspended ones with their interrupts if the run
/// is a success, all others with SUBAGENT_ERROR. Undeclared peers, which know no SUBAGENT_* event,
/// get the other events of a lane only.
///
/// Server calls, for which AG-UI defines only the result: CUSTOM `agui-gateway.tool.started`
/// {"toolCallId","toolCallName"} when one is handed to its tool, CUSTOM `agui-gateway.tool.failed`
/// {"toolCallId"} before the result of one that failed.
///
/// Size: no event exceeds event_bytes_max (snapshot_limit.hpp), and no delta 64 KB.
///
/// Terminal by stop reason: a success gives RUN_FINISHED (with `pendingToolCallIds` after a
/// hand-off; no outcome for undeclared peers). If calls wait for an approval or for input, it has
/// the outcome `interrupt` with the `interrupts`, for undeclared peers too; those that do not fit
/// into the event are shown by the run that answers the others. A stop gives CUSTOM
/// `agui-gateway.run.stopped`
/// {"reason"}, then RUN_FINISHED with outcome `cancelled`; undeclared peers get no outcome for
/// user_stop, plugin_stop, superseded and max_output_tokens, and RUN_ERROR with the reason as code
/// for the others, and for all of them if an external call is open. A failure gives RUN_ERROR. Each
/// terminal has `usage` (S12).
class agui_translator {
public:
    agui_translator(wire_sink& out, translator_settings settings);
    agui_translator(const agui_translator&) = delete;
    agui_translator& operator=(const agui_translator&) = delete;

    /// The timestamp of later events. Deltas carry none, to save its cost for each token, except
    /// that a text or reasoning delta has one if no event had one for a second.
    void set_time(unix_ms now) noexcept { now_ = now; }

    void start(const run_opening& opening);
    /// Instead of start(): continues an interrupted stream. Closes everything that it left open,
    /// innermost first.
    void resume(const run_opening& opening, const open_brackets& left);
    /// To be called right after start() or resume(): TOOL_CALL_RESULT for a call of an earlier run
    /// that can never be answered, for a client that does not know it. Has no `role`, because this
    /// run has not made the result.
    void earlier_result(const session::message& result);
    void translate(const runner::runner_event& event);
    /// The same for an event of a subagent, whether it was announced or not.
    void translate(const runner::runner_event& event, std::string_view subagent_run_id);
    /// Closes everything open and writes the terminal. Later calls of translate() and finish() do
    /// nothing.
    void finish(const runner::run_end& end);
    /// Instead of finish(): writes RUN_ERROR for a run that could not begin.
    void fail(std::string_view code, std::string_view message);
    /// For a request whose messages an active run has taken: CUSTOM `agui-gateway.message.taken`
    /// {"runId","messageIds","seq"}, with that run and the number of its event.
    void
    taken(std::string_view run_id, const std::vector<std::string>& message_ids, std::uint64_t seq);

    /// The run's own calls whose TOOL_CALL_START has no TOOL_CALL_END yet, in order.
    [[nodiscard]] const std::vector<std::string>& open_tool_call_ids() const noexcept {
        return own_.calls;
    }
    [[nodiscard]] bool finished() const noexcept { return finished_; }

private:
    static constexpr std::string_view subagent_key = "subagentRunId";

    /// What the run itself, or one of its subagents, has begun and not ended.
    struct lane {
        std::string subagent_run_id; ///< Empty for the run itself.
        bool is_announced = false;   ///< Its SUBAGENT_STARTED has no end yet.
        bool is_suspended = false;   ///< It ends with the run.
        std::string text;            ///< The messageId. Empty if no text is open.
        std::string reasoning;       ///< The same for reasoning.
        std::vector<std::string> calls;
        std::vector<std::string> steps;
    };

    void on(const runner::text_delta& event);
    void on(const runner::reasoning_delta& event);
    void on(const runner::call_started& event);
    void on(const runner::call_arguments& event);
    void on(const runner::call_ended& event);
    void on(const runner::turn_ended& event);
    void on(const runner::call_executing& event);
    void on(const runner::call_result& event);
    void on(const runner::messages_snapshot& event);
    void on(const runner::reply_segment& event);
    void on(const runner::state_shown& event);
    void on(const runner::activity_shown& event);
    void on(const runner::activity_patched& event);
    void on(const runner::step_started& event);
    void on(const runner::step_finished& event);
    void on(const runner::custom_sent& event);
    void on(const runner::raw_sent& event);
    void on(const runner::subagent_started& event);
    void on(const runner::subagent_ended& event);

    void set_started(const run_opening& opening);
    void open_text(std::string_view message_id);
    void open_reasoning(std::string_view message_id);
    void close_text();
    void close_reasoning();
    void close_call(std::string_view call_id);
    void close_all();
    void close_steps();
    [[nodiscard]] lane& lane_of(std::string_view subagent_run_id);
    void close_texts_of_all();
    void close_lanes();
    void end_subagents(std::string_view message, std::string_view code);
    void suspend_subagents(const runner::run_end& end, const boost::json::array& interrupts);
    void fail_subagent(lane& ended, std::string_view message, std::string_view code);
    void send_to_declared(std::string_view type);
    [[nodiscard]] bool is_open(std::string_view call_id) const;

    void begin(event_writer& writer, std::string_view type);
    void begin_finished(event_writer& writer);
    void begin_error(event_writer& writer, runner::stop_reason reason);
    void send();
    void send(std::string_view json);
    [[nodiscard]] std::function<std::string(std::string_view sha256)> link() const;
    void limit(boost::json::array& messages) const;
    void note_loss(std::string_view type, bool whole) const;
    [[nodiscard]] boost::json::value limited(const session::content& content) const;
    void send_text(std::string_view type, std::string_view message_id, std::string_view text);
    void send_delta(
        std::string_view type, std::string_view id_key, std::string_view id, std::string_view text
    );
    void begin_delta(std::string_view type, std::string_view id_key, std::string_view id);
    void send_custom(std::string_view name, std::string_view value);
    using text_member = std::pair<std::string_view, std::string_view>;
    void send_custom(std::string_view name, std::initializer_list<text_member> members);
    void send_tool_inputs(const std::vector<std::string>& call_ids);
    void finish_asking(boost::json::array interrupts, std::string_view usage);
    void finish_success(
        const runner::run_end& end, boost::json::array interrupts, std::string_view usage
    );
    void finish_stopped(const runner::run_end& end, std::string_view usage);
    void finish_failed(const runner::run_end& end, std::string_view usage);

    // Writers of the other forms that some events have for older clients. Shared by the translators
    // of a thread: nothing that the sink calls before it has copied an event may translate.
    static thread_local event_writer v1_0_writer_;
    static thread_local event_writer undeclared_writer_;

    // What each token uses comes first, in few cache lines.
    wire_sink& out_;
    lane* lane_ = &own_; ///< Of the event that is being translated.
    unix_ms now_ = 0;
    unix_ms stamped_ = 0; ///< The timestamp of the last event that has one.
    bool started_ = false;
    bool finished_ = false;
    event_writer writer_;
    translator_settings settings_;
    std::string thread_id_;
    std::string run_id_;
    /// With `tanstack`: the name and the arguments of each call, by its id.
    std::map<std::string, std::pair<std::string, std::string>, std::less<>> tool_inputs_;
    lane own_;
    std::vector<std::unique_ptr<lane>> subagents_; ///< In the order of their beginning.
};

} // namespace agui::translator
