#pragma once

#include "session/conversation/message.hpp"

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace agui::runner {

/// A message that is about to be stored at the end of the conversation.
class appended_message {
public:
    explicit appended_message(session::message value) : message(std::move(value)) {}

    /// May be changed, except for its id and role. A removed call is neither executed nor handed to
    /// the caller, and the model does not learn of it. Calls cannot be added. The client gets
    /// changed messages in a MESSAGES_SNAPSHOT at the end of the run; a changed tool result is sent
    /// changed in the first place. Changing `content` also changes the text for models: `for_model`
    /// is dropped unless the hook sets another one.
    session::message message;

    /// The message is not stored unless it is passed to append(). A tool's result is then replaced
    /// by one that says that it was withheld.
    void prevent_default() noexcept { prevented_ = true; }
    [[nodiscard]] bool default_prevented() const noexcept { return prevented_; }

    /// Stores another message after this one, or in its place, without asking plugins about it. If
    /// it is a changed copy of `message`, models are sent the change, too. If an id occurs twice,
    /// the second message gets another id.
    void append(session::message other) { others_.push_back(std::move(other)); }

    /// The call stays in the message, but is neither executed nor handed to the caller. Its result
    /// says that it was not allowed. The model sees that result and is asked again.
    void deny_call(std::string call_id) { denied_.insert(std::move(call_id)); }
    [[nodiscard]] const std::set<std::string, std::less<>>& denied() const noexcept {
        return denied_;
    }

    /// The messages to be stored, in order.
    [[nodiscard]] std::vector<session::message> stored() const {
        std::vector<session::message> all;
        if (!prevented_) {
            all.push_back(message);
        }
        all.insert(all.end(), others_.begin(), others_.end());
        return all;
    }

    /// For turn_hooks, after a hook that was given the message `given`: content that the hook
    /// changed for clients must not reach models unchanged.
    void drop_outdated(const session::message& given) {
        drop_outdated(given, message);
        for (session::message& each : others_) {
            drop_outdated(given, each);
        }
    }

private:
    static void drop_outdated(const session::message& given, session::message& made) {
        if (made.for_model == given.for_model && made.content != given.content) {
            made.for_model = nullptr;
        }
    }

    std::vector<session::message> others_;
    std::set<std::string, std::less<>> denied_;
    bool prevented_ = false;
};

} // namespace agui::runner
