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

/// The plugins of one run: the request as they have edited it, where its answer goes, and the tools
/// that they brought. For one run, on its executor.
class run_hooks {
public:
    run_hooks(const run_parts& run, const plugin_list& plugins);
    run_hooks(const run_hooks&) = delete;
    run_hooks& operator=(const run_hooks&) = delete;

    [[nodiscard]] turn_hooks& turn() noexcept { return hooks_; }

    /// Lets plugins edit the request of the next round; `draft` has no messages and no context yet.
    /// The thread is in memory until history().
    [[nodiscard]] boost::asio::awaitable<std::optional<stop_reason>>
    before_request(request_draft draft);
    /// The messages to be sent, repaired. As often as wanted, until something was shown.
    [[nodiscard]] std::vector<session::message> history() const;
    /// Changes a request of one of the run's models as the plugins have changed the draft. The
    /// request refers to this object then.
    void edit(model_request& request) const;

    /// Where an answer is shown.
    [[nodiscard]] run_sink& sink() noexcept { return sink_; }
    /// The next answer is in that message.
    void begin_answer(std::string_view message_id) { sink_.begin_answer(message_id); }
    void note_answer(const model_answer& answer) { last_ = answer; }

    /// Asks the plugins about each message of an answer, and says on the wire which of its calls
    /// they have removed.
    [[nodiscard]] boost::asio::awaitable<std::optional<stop_reason>> append_answer(said_answer& said
    );

    /// Asks the plugins about results before they are stored and shown. One that is not to be
    /// stored becomes an error result: its call needs one. `others`: what is stored besides.
    [[nodiscard]] boost::asio::awaitable<std::optional<stop_reason>>
    append_results(std::vector<session::message>& results, std::vector<session::message>& others);
    /// Appends what a plugin has made. False: it is no message that can follow.
    bool add_following(branch_growth& growing, session::message& message);

    struct following {
        std::optional<stop_reason> ended;
        bool requested = false;
    };
    /// on_after_request for the answer that was appended last, which is stored; stores what it
    /// appends.
    [[nodiscard]] boost::asio::awaitable<following> follow();

    /// Null if no plugin has brought a tool of that name to the last request.
    [[nodiscard]] std::shared_ptr<const tool_function> function_of(std::string_view name
    ) const noexcept;

    /// In the last request, a tool of that name is one that a plugin has brought (function_of()),
    /// or plugins have taken it out: a model that calls it all the same is told that there is none.
    [[nodiscard]] bool changed_tool(std::string_view name) const noexcept;

    /// The client has not seen the conversation as it is stored.
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
    model_parameters given_; ///< draft_->parameters before the plugins.
    session::call_statuses calls_;
    std::map<std::string, std::shared_ptr<const tool_function>, std::less<>> functions_;
    session::message answer_;                       ///< That was appended last.
    std::set<std::string, std::less<>> stored_ids_; ///< With it and since.
    model_answer last_;
    bool changed_ = false;
};

} // namespace agui::runner
