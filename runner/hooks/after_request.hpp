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
    /// Ask the model again. Counts as a round. With an external call open, it is asked once the
    /// call was answered.
    bool request = false;
    int priority = 0; ///< Of deferred messages: higher ones come first.
    /// Append once all plugins are done, by priority, then in the order of registration. Otherwise
    /// at once, in the order of the calls of append().
    bool deferred = false;
};

/// What the plugins of a turn append after one answer.
struct appended_after {
    struct entry {
        session::message message;
        append_options options;
        std::size_t plugin = 0; ///< Its place in the order of registration.
        std::size_t place = 0;  ///< Among the deferred ones.
    };
    session::message message;
    model_answer last;
    std::deque<entry> now;
    std::vector<entry> deferred;
    bool requested = false;
    bool closed = false; ///< Too late: the turn goes on without.
    std::function<void()> on_append;
};

/// An answer that is complete, and what is to follow it.
class after_request {
public:
    after_request(std::shared_ptr<appended_after> all, std::size_t plugin)
        : all_(std::move(all)), plugin_(plugin) {}

    /// The answer, as on_message_append() has left it.
    [[nodiscard]] const session::message& message() const noexcept { return all_->message; }
    /// How it ended, and what it used.
    [[nodiscard]] const model_answer& last_chunk() const noexcept { return all_->last; }

    /// Appends to the conversation. A tool message that answers an open call of the answer is its
    /// result: nobody else executes it. Of an assistant message only the text is taken.
    void append(session::message message, append_options options = {});
    void append(std::vector<session::message> messages, append_options options = {});
    /// append() with options.request.
    void append_and_request(session::message message, append_options options = {});
    void append_and_request(std::vector<session::message> messages, append_options options = {});

private:
    std::shared_ptr<appended_after> all_;
    std::size_t plugin_;
};

} // namespace agui::runner
