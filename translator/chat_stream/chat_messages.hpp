#pragma once

#include <boost/json/object.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace agui::translator {

/// How much a frame of the chat stream holds.
enum class chat_mode {
    incremental, ///< The messages that have changed; of a content only what was added.
    full,        ///< All messages as they are.
};

/// The messages of one run as the chat stream shows them, made from the run's AG-UI events in their
/// newest form, and the frames that report their changes:
///
///     {"sessionId":…,"messageId":…,"msgStatus":"generating"|"finished","messages":[
///         {"type":…,"value":…,"timestamp":…,"id":"<messageId>-<index>",
///          "status":"generating"|"generated"}]}
///
/// The rules are in translator/README.md. A pure function of the events: the same events give the
/// same messages, and also the same frames if one is written after each event that changes
/// something. Events whose deltas are joined give the same messages. One object per reader, used by
/// one thread at a time.
///
/// An event costs what it adds, a frame costs its bytes: texts are kept as JSON. In incremental
/// mode, what will not be sent again is not kept.
class chat_messages {
public:
    chat_messages(std::string_view session_id, std::string_view message_id, chat_mode mode);

    /// Takes the run's next event. What is no event, or says nothing to a chat, changes nothing;
    /// nor does anything after the end of the run.
    void take(std::string_view event);

    /// True: something has changed since the last frame.
    [[nodiscard]] bool changed() const noexcept { return changed_; }
    /// Appends a frame in one line.
    void write_frame(std::string& out);
    /// As write_frame(), but writes nothing: the reader has that frame already.
    void skip_frame();

    /// The run has ended: its last frame says `finished`.
    [[nodiscard]] bool finished() const noexcept { return finished_; }
    /// The approximate memory of the texts.
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

private:
    enum class kind : std::uint8_t {
        content,
        thinking,
        tool_call_request,
        tool_execution_start,
        tool_execution_complete,
        error,
    };

    struct message {
        kind what = kind::content;
        bool generated = false;
        bool changed = false;
        std::int64_t timestamp = 0;
        std::string key; ///< The AG-UI id of the message or call.
        /// Of a content or thinking: its text; in incremental mode, the part of a content that is
        /// not reported yet. Of all others a JSON value.
        std::string value;
        std::string name;         ///< Of a tool_call_request: the tool's.
        std::string arguments;    ///< The same: its arguments so far.
        std::size_t reported = 0; ///< Of thinking, incremental: the bytes in the last frame.
    };

    // All texts are as in a JSON string, without its quotes.

    [[nodiscard]] bool take_as_before(std::string_view event);
    void take_delta(std::string_view event, const boost::json::object& fields, kind what);
    void add(kind what, const std::string& key, std::string_view text);
    void begin_text(kind what, std::string_view key);
    void end_text(kind what, std::string_view key);
    void begin_call(std::string_view key, std::string_view name);
    void end_call(message& call);
    void take_custom(const boost::json::object& fields);
    void begin_execution(std::string_view key, std::string_view name);
    void take_result(const boost::json::object& fields);
    void take_snapshot(std::string_view event);
    void add_error(std::string_view code, std::string_view text);
    void mark_pending(const boost::json::object& fields);
    void finish();

    message& append(kind what, std::string_view key);
    [[nodiscard]] message* find(kind what, std::string_view key);
    void touch(message& one);
    void complete(message& one);
    void complete_text();
    void set_value(message& one, std::string value);
    void write_message(std::size_t index, std::string& out) const;
    void end_frame();
    static std::string_view name_of(kind what) noexcept;

    static constexpr std::size_t none = SIZE_MAX;

    const chat_mode mode_;
    std::string head_; ///< What every frame begins with.
    std::string id_;   ///< The messageId.
    std::vector<message> messages_;
    std::size_t first_changed_ = none; ///< No message before it has changed.
    std::size_t open_text_ = none;     ///< The content or thinking that is being generated.
    std::string begun_text_;           ///< The key of a text that has begun and has no delta yet.
    /// What the last delta began with, up to its text: most events are the same but for the text.
    std::string last_delta_;
    kind last_kind_ = kind::content;
    std::string last_key_;
    std::set<std::string, std::less<>> contents_; ///< The keys of all contents.
    std::set<std::string, std::less<>> failed_calls_;
    std::int64_t time_ = 0; ///< Of the last event that has one: deltas have none.
    std::size_t bytes_ = 0;
    bool changed_ = false;
    bool finished_ = false;
};

} // namespace agui::translator
