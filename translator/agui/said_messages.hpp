#pragma once

#include "session/conversation/message.hpp"

#include <boost/json/object.hpp>

#include <string_view>
#include <vector>

namespace agui::translator {

/// The model's messages, rebuilt from the events of a log: reasoning and assistant messages, with
/// the text and calls that clients have seen, also those of subagents. Takes the events in order;
/// other objects change nothing.
class said_messages {
public:
    void read(const boost::json::object& event);

    /// Ordered by their beginning.
    [[nodiscard]] const std::vector<session::message>& messages() const noexcept {
        return messages_;
    }

private:
    void begin_call(const boost::json::object& event);
    session::message&
    message_of(const boost::json::object& event, std::string_view id_key, session::role role);
    session::tool_call* find_call(std::string_view id);

    std::vector<session::message> messages_;
};

} // namespace agui::translator
