#pragma once

#include "runner/base/model_provider.hpp"
#include "session/conversation/message.hpp"

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace agui::runner {

struct append_options {
    /// Asks the model again, which counts as a round. If an external call is open, the model is
    /// asked after the call was answered.
    bool request = false;
    int priority = 0; ///< Order of deferred messages: higher ones come first.
    /// Appends after all plugins are done, by priority, then in the order of registration.
    /// Otherwise messages are appended at once, in the order of the append() calls.
    bool deferred = false;
};

/// The messages that the plugins of a turn append after one answer.
struct appended_after {
    struct entry {
        session::message message;
        append_options options;
        std::size_t plugin = 0; ///< Its place in the order of registration.
        std::size_t place = 0;  ///< Position among the deferred messages.
    };
    session::message message;
    model_answer last;
    std::deque<entry> now;
    std::vector<entry> deferred;
    bool requested = false;
    bool closed = false; ///< Later messages are ignored: the turn has gone on.
    std::function<void()> on_append;
};

/// A complete answer, and the messages that are to follow it.
class after_request {
public:
    after_request(std::shared_ptr<appended_after> all, std::size_t plugin)
        : all_(std::move(all)), plugin_(plugin) {}

    /// The answer, as on_message_append() has left it.
    [[nodiscard]] const session::message& message() const noexcept { return all_->message; }
    /// How the answer ended, and its use.
    [[nodiscard]] const model_answer& last_chunk() const noexcept { return all_->last; }

    /// Appends to the conversation. A tool message for an open call of the answer becomes its
    /// result, and the call is not executed. Only the text of an assistant message is taken.
    void append(session::message message, append_options options = {});
    void append(std::vector<session::message> messages, append_options options = {});
    /// Calls append() with options.request.
    void append_and_request(session::message message, append_options options = {});
    void append_and_request(std::vector<session::message> messages, append_options options = {});

private:
    std::shared_ptr<appended_after> all_;
    std::size_t plugin_;
};

} // namespace agui::runner
