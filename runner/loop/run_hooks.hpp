#pragma once

#include "runner/hooks/turn_hooks.hpp"
#include "runner/loop/hooked_sink.hpp"
#include "runner/loop/run_parts.hpp"
#include "runner/loop/said_answer.hpp"
#include "session/history/history_selection.hpp"

#include <boost/asio/awaitable.hpp>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// The plugins of one run: the request as they edited it, the sink of its answer, and the tools
/// that they added. Lives on the run's executor.
class run_hooks {
public:
    run_hooks(const run_parts& run, const plugin_list& plugins);
    run_hooks(const run_hooks&) = delete;
    run_hooks& operator=(const run_hooks&) = delete;

    [[nodiscard]] turn_hooks& turn() noexcept { return hooks_; }

    /// Lets plugins edit the request of the next round. `draft` has no messages and no context yet.
    /// The thread stays in memory until history().
    [[nodiscard]] boost::asio::awaitable<std::optional<stop_reason>>
    before_request(request_draft draft);
    /// The repaired messages to be sent. May be called any number of times until a part of the
    /// answer is shown.
    [[nodiscard]] std::vector<session::message> history() const;
    /// Applies the plugins' changes of the draft to a request of one of the run's models. The
    /// request then refers to this object.
    void edit(model_request& request) const;

    /// The sink that shows an answer.
    [[nodiscard]] run_sink& sink() noexcept { return sink_; }
    /// Begins the next answer, in the message with this id.
    void begin_answer(std::string_view message_id) { sink_.begin_answer(message_id); }
    void note_answer(const model_answer& answer) { last_ = answer; }

    /// Asks the plugins about each message of an answer, and tells the client which of its calls
    /// they removed or denied.
    [[nodiscard]] boost::asio::awaitable<std::optional<stop_reason>> append_answer(said_answer& said
    );

    /// Asks the plugins about results before they are stored and shown. A withheld result becomes
    /// an error result, because its call needs one. `others` gets further messages to be stored.
    [[nodiscard]] boost::asio::awaitable<std::optional<stop_reason>>
    append_results(std::vector<session::message>& results, std::vector<session::message>& others);
    /// Appends a message made by a plugin. Returns false if no such message can follow.
    bool add_following(branch_growth& growing, session::message& message);

    struct following {
        std::optional<stop_reason> ended;
        bool requested = false;
    };
    /// Calls on_after_request for the answer that was appended last, which is stored, and stores
    /// the messages that the plugins append.
    [[nodiscard]] boost::asio::awaitable<following> follow();

    /// Null if no plugin added a tool of that name to the last request.
    [[nodiscard]] std::shared_ptr<const tool_function> function_of(std::string_view name
    ) const noexcept;

    /// True if, in the last request, plugins added a tool of that name (function_of()) or removed
    /// it. A model that calls a removed tool is told that there is no such tool.
    [[nodiscard]] bool changed_tool(std::string_view name) const noexcept;

    /// True if the stored conversation differs from the one that the client saw.
    [[nodiscard]] bool changed() const noexcept { return changed_; }

private:
    void warn(std::string_view what);
    void give_own_id(session::message& message);
    void keep_own_calls(session::message& message, std::vector<session::call_record>& left);
    void show_refused(const session::call_record& call);

    const run_parts run_;
    turn_hooks hooks_;
    hooked_sink sink_;
    std::shared_ptr<request_draft> draft_;
    model_parameters given_; ///< draft_->parameters before the plugins' changes.
    session::call_statuses calls_;
    std::map<std::string, std::shared_ptr<const tool_function>, std::less<>> functions_;
    session::message answer_; ///< The answer that was appended last.
    /// Ids of its messages and of those stored since.
    std::set<std::string, std::less<>> stored_ids_;
    model_answer last_;
    bool changed_ = false;
};

} // namespace agui::runner
