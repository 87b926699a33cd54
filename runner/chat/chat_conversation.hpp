#pragma once

#include "runner/base/owned_model.hpp"
#include "runner/chat/chat_result.hpp"
#include "runner/loop/agent_loop.hpp"
#include "runner/tools/tool_registry.hpp"
#include "session/base/clock.hpp"
#include "session/base/id.hpp"
#include "session/base/log.hpp"
#include "session/conversation/thread.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {

/// A message of the user.
[[nodiscard]] session::message user(std::string text);

/// The result of a tool call, to be given back to the model.
struct chat_tool_result {
    std::string call_id;
    session::content content;
    bool failed = false;
};

/// Called while a conversation runs, on its executor. Each may be empty. An exception thrown by one
/// ends the run as stop_reason::error.
struct chat_listeners {
    std::function<void(std::string_view delta)> thinking = {};
    std::function<void(std::string_view delta)> content = {};
    /// Calls are about to be executed; `content` is the text before them. Not called for calls that
    /// a limit stopped or that a plugin denied or answered.
    std::function<void(const std::vector<session::tool_call>& calls, std::string_view content)>
        calls = {};
    /// In call order.
    std::function<void(const std::vector<chat_tool_result>& results)> results = {};
    /// With reply_format::items: a part of the reply that is not text.
    std::function<void(const boost::json::object& segment)> segment = {};
};

/// The parts of a conversation, which keeps them until its last run has ended.
struct chat_parts {
    owned_model model;
    std::vector<owned_model> fallbacks; ///< Asked in this order when a model fails.
    std::vector<session::message> messages;
    agent_settings agent; ///< Its parameters are replaced by those of the model that is asked.
    chat_listeners listeners;
    plugin_list plugins;
    std::shared_ptr<logger> log; ///< May be null.
};

/// A conversation in memory that run_agent() continues; chat_loop and chat_loop_with_tools() share
/// it. Lives on one executor, with one continue_run() at a time. Its limits count over all its
/// runs.
class chat_conversation final : private run_sink {
public:
    explicit chat_conversation(chat_parts parts);

    /// Runs until the model answers without calls, calls are left to the caller, or `stop` ends the
    /// run. Calls of `tools` are executed; those of `external` are left to the caller. Never
    /// throws.
    [[nodiscard]] boost::asio::awaitable<chat_end> continue_run(
        const tool_registry& tools, std::vector<tool_definition> external, stop_source& stop
    );

    /// The calls that the last run left to the caller and that have no result yet, in order.
    [[nodiscard]] const std::vector<session::tool_call>& pending() const noexcept {
        return pending_;
    }
    /// The text before the pending calls.
    [[nodiscard]] const std::string& pending_content() const noexcept { return turn_content_; }
    /// Stores the results of pending calls. errc::unknown_tool_call for a result of any other call;
    /// nothing is stored then.
    [[nodiscard]] result<void> add_results(const std::vector<chat_tool_result>& results);

    /// Sets run_sink's has_room() and room(), for a reader that may be slower than the model.
    /// Without this call there is always room.
    void
    set_room(std::function<bool()> has_room, std::function<boost::asio::awaitable<void>()> room) {
        has_room_ = std::move(has_room);
        room_ = std::move(room);
    }

    [[nodiscard]] const chat_totals& totals() const noexcept { return totals_; }
    /// All messages, for a later conversation.
    [[nodiscard]] std::vector<session::message> messages() const;

private:
    // run_sink
    void emit(const runner_event& event) override;
    [[nodiscard]] bool has_room() const noexcept override { return !has_room_ || has_room_(); }
    [[nodiscard]] boost::asio::awaitable<void> room() override { return room_(); }
    /// A conversation in memory has no store for failed attempts.
    void keep_attempt(session::failed_attempt /*attempt*/) noexcept override {}
    [[nodiscard]] boost::asio::awaitable<result<void>> commit(session::changes change) override;
    [[nodiscard]] boost::asio::awaitable<result<session::thread_record>> load_thread() override;
    [[nodiscard]] boost::asio::awaitable<result<json_text>> load_state() override;
    [[nodiscard]] boost::asio::awaitable<result<void>> change_state(session::state_change change
    ) override;
    [[nodiscard]] boost::asio::awaitable<void>
    finish(session::changes change, run_end end) override;

    void on_event(const text_delta& event);
    void on_event(const reasoning_delta& event);
    void on_event(const call_started& event);
    void on_event(const call_executing& event);
    void on_event(const reply_segment& event);
    template <class Other>
    void on_event(const Other& /*event*/) {}

    [[nodiscard]] run_request make_request(std::vector<tool_definition> external);
    void append(session::changes& change, session::message value) const;
    void tell_results(const session::changes& change) const;
    void begin_turn(std::string_view message_id);
    [[nodiscard]] const session::tool_call* call_of(const session::call_record& record) const;

    chat_parts parts_;
    std::function<bool()> has_room_;
    std::function<boost::asio::awaitable<void>()> room_;
    uuid_ids ids_;
    session::thread_record thread_;
    std::vector<session::tool_call> pending_;
    std::set<std::string, std::less<>> announced_; ///< Ids of the calls in totals_.
    /// messageId of the last answer, whose state `turn_content_` and `turn_calls_` hold, too.
    std::string turn_id_;
    std::string turn_content_;
    bool turn_calls_ = false;
    chat_totals totals_;
    turn_use used_;
    std::uint32_t earlier_rounds_ = 0; ///< Rounds in the messages given to this conversation.
    chat_end end_;
    bool new_user_turn_ = true;
    std::uint32_t runs_ = 0;
};

} // namespace agui::runner
