#pragma once

#include "translator/agui/event_writer.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace agui::translator {

/// The header with which a reply declares the form of ui_stream.
inline constexpr std::string_view ui_stream_header = "x-vercel-ai-ui-message-stream: v1";

/// What a reader of a run has before the run's first event.
struct ui_stream_start {
    /// The id of the UI message that the run begins or continues. Empty: that of the conversation
    /// that comes first.
    std::string message_id;
    /// The calls in that message, whose results may come in this run. A result of any other call
    /// would make the client fail.
    std::set<std::string, std::less<>> calls;
    std::set<std::string, std::less<>> denied_calls; ///< Those that the request denies.
    /// First come the events of POST /agui/history, then those of a run. The answer to the last
    /// user message is written from its beginning.
    bool is_replay = false;
};

/// A run's AG-UI events, in their newest form, as the AI SDK's UI message stream (data stream
/// protocol v1): server-sent events whose data are chunks of one UI message, and `[DONE]`. The
/// table is in translator/README.md. A pure function of the events. One object per reader, used by
/// one thread at a time.
///
/// Source: `uiMessageChunkSchema` and `processUIMessageStream` of the npm package `ai`, 6.0 and
/// 7.0. Chunks are only those of 6.0.
class ui_stream {
public:
    explicit ui_stream(ui_stream_start start);

    /// Appends the server-sent events for the run's next event. Ignores text that is not an event,
    /// and everything after the end of the run.
    void take(std::string_view event, std::string& out);

    /// Appends the state and the activities that have changed. A data part is always sent whole, so
    /// a reader calls this once for all events that it has taken, not after each.
    void write_changes(std::string& out);

    /// `[DONE]` has been written.
    [[nodiscard]] bool finished() const noexcept { return finished_; }
    /// Approximate memory of documents and unfinished arguments.
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

private:
    struct call {
        std::string name;
        std::string arguments; ///< In JSON form, without quotes. Empty once they are complete.
        bool ended = false;
        bool answered = false;
    };
    /// Data that deltas change.
    struct document {
        boost::json::value value;
        std::string activity_type; ///< Empty for the state.
        std::size_t bytes = 0;
        bool changed = false;
        bool has_file = false; ///< The `file` part has been written.
    };

    [[nodiscard]] bool take_as_before(std::string_view event, std::string& out);
    void take_fields(
        std::string_view type, std::string_view event, const boost::json::object& fields,
        std::string& out
    );
    void take_delta(std::string_view event, const boost::json::object& fields, std::string& out);
    void take_text(std::string_view step, const boost::json::object& fields, std::string& out);
    void take_reasoning(std::string_view step, const boost::json::object& fields, std::string& out);
    void take_call(std::string_view step, const boost::json::object& fields, std::string& out);
    void take_arguments(std::string_view call_id, std::string_view text);
    void end_call(std::string_view call_id, std::string& out);
    void take_result(const boost::json::object& fields, std::string& out);
    void take_custom(const boost::json::object& fields, std::string& out);
    void take_document(std::string_view type, const boost::json::object& fields, std::string& out);
    void take_subagent(std::string_view step, const boost::json::object& fields, std::string& out);
    void take_step(std::string_view step, const boost::json::object& fields, std::string& out);
    void take_snapshot(std::string_view event, std::string& out);
    void take_history(std::string_view event);
    void start(const boost::json::object& fields, std::string& out);
    void write_parts(const boost::json::array& parts, std::string& out);
    void write_part(const boost::json::object& part, std::string& out);
    void write_stored_call(const boost::json::object& part, std::string& out);
    void begin_step(std::string_view message_id, std::string& out);
    void end_step(std::string& out);
    void finish(const boost::json::object& fields, std::string& out);
    void fail(std::string_view text, std::string& out);
    void write_interrupts(const boost::json::object& outcome, std::string& out);
    void set_document(document& changed, boost::json::value value);
    void end(std::string& out);

    /// Begins a chunk; send() ends it and appends it as a server-sent event.
    void begin(std::string_view type) { chunk_.begin(type); }
    void send(std::string& out);
    void send(std::string_view type, std::string_view id, std::string& out);
    void send_data(
        std::string_view type, std::string_view id, const boost::json::value& data, std::string& out
    );

    ui_stream_start start_;
    event_writer chunk_;
    boost::json::array before_;    ///< Parts of the message that earlier runs have made.
    std::size_t stored_texts_ = 0; ///< Those written of `before_` and of snapshots.
    bool in_history_;              ///< Until the end of the conversation that comes first.
    bool started_ = false;
    bool finished_ = false;

    bool in_step_ = false;
    bool step_has_result_ = false;
    std::string step_message_; ///< The AG-UI message of the step; empty until it is known.

    std::string open_text_;                    ///< The id of the open text; empty if there is none.
    std::string open_reasoning_;               ///< The same.
    std::set<std::string, std::less<>> texts_; ///< The ids of all texts.
    std::map<std::string, call, std::less<>> calls_;
    std::set<std::string, std::less<>> failed_calls_;
    std::map<std::string, document, std::less<>> documents_; ///< By id; the state's is empty.
    std::map<std::string, boost::json::object, std::less<>> subagents_;
    std::string stop_reason_;
    std::size_t bytes_ = 0;

    /// The last delta up to its text, and the chunk up to its text: most events differ only in it.
    std::string last_delta_;
    std::string last_chunk_;
    std::string last_call_; ///< The call of that delta; empty for a text.
};

} // namespace agui::translator
