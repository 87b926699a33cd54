#pragma once

#include "session/conversation/message.hpp"
#include "translator/agui/event_writer.hpp"

#include <boost/json/object.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace agui::gateway {

/// What can be read from the log of a run whose process has gone: which brackets it left open, and
/// what the model had said. Reads the events in order; what is no JSON object is passed over.
class lost_run {
public:
    void read(std::string_view json);

    /// The missing ends, innermost first, as JSON.
    void close(translator::event_writer& writer, std::vector<std::string>& out) const;

    /// The reasoning and assistant messages, in the order begun, with what was shown of their text
    /// and calls. Messages that the run had committed are among them.
    [[nodiscard]] const std::vector<session::message>& messages() const noexcept {
        return messages_;
    }

private:
    struct bracket {
        std::string_view start;
        std::string_view end;
        std::string_view id;
    };
    static const bracket kinds[];

    struct open_bracket {
        const bracket* kind;
        std::string id;
    };

    void follow_brackets(std::string_view type, const boost::json::object& event);
    void follow_messages(std::string_view type, const boost::json::object& event);
    session::message& message_of(std::string_view id, session::role role);
    session::tool_call* find_call(std::string_view id);

    std::vector<open_bracket> open_;
    std::vector<session::message> messages_;
};

} // namespace agui::gateway
