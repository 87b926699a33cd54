#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace agui::translator {

/// A conversation as UI messages of the AI SDK, made from AG-UI messages one after the other. What
/// follows a user message, up to the next one, is one assistant message with a step for each answer
/// of the model. Results of tools are parts of their calls. Source: `UIMessage` of the npm package
/// `ai`, 6.0 and 7.0.
class ui_messages {
public:
    /// Takes the next message, in the form of MESSAGES_SNAPSHOT. Messages of the system and the
    /// texts of subagents are left out.
    void take(const boost::json::object& message);

    [[nodiscard]] boost::json::array release() && { return std::move(messages_); }

private:
    struct place {
        std::size_t message = 0;
        std::size_t part = 0;
    };

    void take_user(const boost::json::object& message);
    void take_assistant(const boost::json::object& message);
    void take_reasoning(const boost::json::object& message);
    void take_activity(const boost::json::object& message);
    void take_result(const boost::json::object& message);
    void take_interrupts(const boost::json::object& message);
    void add_call(const boost::json::object& call);
    void begin_step(std::string_view message_id);
    boost::json::array& answer(std::string_view message_id);
    [[nodiscard]] boost::json::object* call_part(std::string_view call_id);

    boost::json::array messages_;
    std::map<std::string, place, std::less<>> calls_;
    std::string answered_;        ///< The id of the last user message.
    bool in_answer_ = false;      ///< The last UI message is an assistant's.
    bool step_has_answer_ = true; ///< The step has the message of its model answer.
};

/// The user's or an assistant's content as parts; empty for no content.
[[nodiscard]] boost::json::array ui_content(const boost::json::value& content);

} // namespace agui::translator
