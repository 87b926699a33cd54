#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace agui::translator {

/// Contents of a frame of the chat stream.
enum class chat_mode {
    incremental, ///< The changed messages; for a content, only the added text.
    full,        ///< All messages in full.
};

inline constexpr std::uint64_t empty_hash = 0xcbf29ce484222325; // FNV-1a

/// Hash for comparing texts that are not kept. `before` is the hash of the preceding text.
[[nodiscard]] std::uint64_t
hash_of(std::string_view text, std::uint64_t before = empty_hash) noexcept;

/// The messages of a chat, and the frames that report their changes:
///
///     {"sessionId":…,"messageId":…,"msgStatus":"generating"|"finished","stopReason":…,"messages":[
///         {"type":…,"value":…,"timestamp":…,"id":"<messageId>-<index>",
///          "status":"generating"|"generated"}]}
///
/// Only the last frame of a chat that its user stopped has a stopReason. Knows JSON, but not the
/// events that the messages are made from. Texts are kept in their JSON form, without quotes; in
/// incremental mode, text that will not be sent again is not kept. A message is valid until the
/// next append(). Used by one thread at a time.
class chat_list {
public:
    enum class kind : std::uint8_t {
        content,
        thinking,
        tool_call_request,
        tool_execution_start,
        tool_execution_complete,
        error,
    };

    /// May be read directly, but changed only by the functions of the list.
    struct message {
        kind what = kind::content;
        bool generated = false;
        bool changed = false; ///< Changed since the last frame.
        /// The next frame marks its value as a replacement, not an added piece.
        bool replaces = false;
        bool answered = false; ///< For a tool_call_request: it will not change again.
        std::int64_t timestamp = 0;
        std::string key; ///< Key for find().
        /// For a content or thinking: its text; in incremental mode, the unreported part of a
        /// content. For all others a JSON value.
        std::string value;
        std::string name; ///< For a tool_call_request or tool_execution_start: the tool's name.
        std::string arguments; ///< For a tool_call_request: the text so far.
        /// For thinking in incremental mode: the bytes in the last frame.
        std::size_t reported = 0;
        std::int64_t reported_at = 0;    ///< The time of that frame.
        std::uint64_t hash = empty_hash; ///< For a content or thinking: hash of all its text.
    };

    chat_list(std::string_view session_id, std::string_view message_id, chat_mode mode);

    /// The timestamp of later changes.
    void set_time(std::int64_t time) noexcept { time_ = time; }

    /// `hash` is that of the text that this one continues.
    message& append(kind what, std::string_view key, std::uint64_t hash = empty_hash);
    /// The last message of that kind with that key, or null.
    [[nodiscard]] message* find(kind what, std::string_view key);
    [[nodiscard]] std::size_t size() const noexcept { return messages_.size(); }
    [[nodiscard]] message& operator[](std::size_t index) { return messages_[index]; }

    /// Adds to the text of a content or thinking.
    void add_text(message& one, std::string_view text);
    /// Replaces the whole text of a content or thinking.
    void replace_text(message& one, std::string_view text);
    void set_value(message& one, std::string value);
    /// Arguments are not shown until a value is set.
    void add_arguments(message& one, std::string_view text);
    /// Marks a call that has its result. It will not change again, so little of it is kept.
    void set_answered(message& call);
    void complete(message& one);
    /// The next frame is the last one. An empty `stop_reason` means that the chat was not stopped.
    void finish(std::string_view stop_reason = {});
    /// Makes the next frame due, even without messages.
    void touch() noexcept { changed_ = true; }

    [[nodiscard]] bool changed() const noexcept { return changed_; }
    [[nodiscard]] bool finished() const noexcept { return finished_; }
    /// Appends a frame in one line.
    void write_frame(std::string& out);
    /// Like write_frame(), but writes nothing, because the reader already has that frame.
    void skip_frame();

    /// The approximate memory of the messages.
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
    /// Upper bound for a frame of all messages.
    [[nodiscard]] std::size_t frame_bytes() const noexcept;
    /// Approximate bytes around the text in a frame with one content.
    [[nodiscard]] std::size_t frame_bytes_around() const noexcept;

private:
    static constexpr std::size_t none = SIZE_MAX;

    void touch(message& one);
    void write_message(std::size_t index, std::string& out) const;
    static std::string_view name_of(kind what) noexcept;

    const chat_mode mode_;
    std::string head_; ///< The beginning of every frame.
    std::string id_;   ///< The messageId.
    std::string stop_reason_;
    std::vector<message> messages_;
    std::size_t first_changed_ = none; ///< No message before it has changed.
    std::int64_t time_ = 0;
    std::size_t bytes_ = 0;
    bool changed_ = false;
    bool finished_ = false;
};

/// The text as in a JSON string, without its quotes.
[[nodiscard]] std::string escaped(std::string_view text);

/// Appends a member to a JSON object that begins with it or is not closed yet.
void append_member(std::string& out, std::string_view name, std::string_view text);

} // namespace agui::translator
