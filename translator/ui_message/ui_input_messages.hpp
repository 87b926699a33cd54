#pragma once

#include "session/base/error.hpp"
#include "translator/ui_message/ui_stream.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace agui::translator {

/// errc::invalid_input at that place of the request.
[[nodiscard]] failure ui_invalid(std::string path, std::string_view rule);

/// `messages[3]`
[[nodiscard]] std::string element(std::string_view of, std::size_t index);

/// The text of a member; a member of another type is a failure, an absent one an empty text. `path`
/// ends with a full stop, or is empty.
[[nodiscard]] result<std::string_view>
ui_text(const boost::json::object& of, std::string_view key, const std::string& path);

/// The AG-UI messages, and the answers to approvals, for the UI messages of a request. Used by
/// read_ui_request() alone.
class ui_input_messages {
public:
    /// `continued` is the assistant message that the request continues; null if there is none.
    ui_input_messages(const boost::json::object* continued, ui_stream_start& start)
        : continued_(continued), start_(start) {}

    /// Takes the next message. `path` is its place in the request, with a full stop.
    [[nodiscard]] result<void> take(const boost::json::object& message, const std::string& path);

    [[nodiscard]] boost::json::array& messages() noexcept { return messages_; }
    [[nodiscard]] boost::json::array& resume() noexcept { return resume_; }

private:
    [[nodiscard]] result<void> take_content(
        const boost::json::object& message, const boost::json::array& parts, const std::string& path
    );
    [[nodiscard]] result<void> take_answer(
        const boost::json::object& message, const boost::json::array& parts, const std::string& path
    );
    [[nodiscard]] result<void> take_call(const boost::json::object& part, const std::string& path);
    void
    take_outcome(const boost::json::object& part, std::string_view state, std::string_view call_id);
    void take_approval(const boost::json::object& part, std::string_view call_id);
    void end_step();

    const boost::json::object* const continued_;
    ui_stream_start& start_;
    boost::json::array messages_;
    boost::json::array resume_;
    bool is_continued_ = false; ///< Reading `continued_`.

    // The step that is being read.
    std::string id_; ///< Only the first step of a message has one.
    std::string text_;
    boost::json::array calls_;
    boost::json::array results_;
};

} // namespace agui::translator
