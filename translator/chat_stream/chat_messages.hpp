#pragma once

#include "translator/chat_stream/chat_list.hpp"

#include <boost/json/object.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace agui::translator {

/// The messages of one run in the chat stream's form, made from the run's AG-UI events in their
/// newest form, and the frames that report their changes (chat_list).
///
/// The rules are in translator/README.md. A pure function of the events: the same events give the
/// same messages, and the same frames if one is written after each event that changes a message.
/// Events whose deltas are joined give the same messages. One object per reader, used by one thread
/// at a time.
///
/// The cost of an event is proportional to its additions, the cost of a frame to its bytes.
class chat_messages {
public:
    chat_messages(std::string_view session_id, std::string_view message_id, chat_mode mode)
        : list_(session_id, message_id, mode) {}

    /// Takes the run's next event. Ignores text that is not an event, events without meaning for a
    /// chat, and everything after the end of the run.
    void take(std::string_view event);

    /// Returns true if anything has changed since the last frame.
    [[nodiscard]] bool changed() const noexcept { return list_.changed(); }
    /// Appends a frame in one line.
    void write_frame(std::string& out) { list_.write_frame(out); }
    /// Like write_frame(), but writes nothing, because the reader already has that frame.
    void skip_frame() { list_.skip_frame(); }

    /// The run has ended: its last frame says `finished`.
    [[nodiscard]] bool finished() const noexcept { return list_.finished(); }
    /// See chat_list.
    [[nodiscard]] std::size_t bytes() const noexcept { return list_.bytes(); }
    [[nodiscard]] std::size_t frame_bytes() const noexcept { return list_.frame_bytes(); }
    [[nodiscard]] std::size_t frame_bytes_around() const noexcept {
        return list_.frame_bytes_around();
    }

private:
    using kind = chat_list::kind;
    using message = chat_list::message;

    // All texts are in their JSON form, without quotes.

    [[nodiscard]] bool take_as_before(std::string_view event);
    void take_time(const boost::json::object& fields);
    void take_delta(std::string_view event, const boost::json::object& fields, kind what);
    void add(kind what, const std::string& key, std::string_view text);
    void begin_text(kind what, std::string_view key);
    void end_text(kind what, std::string_view key);
    void complete_text();
    void begin_call(std::string_view key, std::string_view name);
    void end_call(std::string_view key);
    void complete_call(message& call);
    void take_custom(const boost::json::object& fields);
    void begin_execution(std::string_view key, std::string_view name);
    void take_result(const boost::json::object& fields);
    void take_snapshot(std::string_view event);
    void correct(kind what, std::string_view key, std::string_view text);
    void add_error(std::string_view code, std::string_view text);
    void mark_pending(const boost::json::object& fields);
    void fail_calls();
    void complete_all();
    message& append(kind what, std::string_view key);

    static constexpr std::size_t none = SIZE_MAX;

    chat_list list_;
    std::size_t open_text_ = none; ///< The content or thinking that is being generated.
    std::string begun_text_;       ///< The key of a text that has begun and has no delta yet.
    /// The beginning of the last delta, up to its text: most events differ only in the text.
    std::string last_delta_;
    kind last_kind_ = kind::content;
    std::string last_key_;
    std::map<std::string, kind, std::less<>> texts_; ///< The keys of all contents and thinkings.
    std::set<std::string, std::less<>> failed_calls_;
    std::string stopped_; ///< The stop reason of a run that its user stopped.
};

} // namespace agui::translator
