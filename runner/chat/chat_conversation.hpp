#pragma once

#include "runner/loop/agent_loop.hpp"
#include "runner/tools/tool_registry.hpp"
#include "session/base/clock.hpp"
#include "session/base/id.hpp"
#include "session/base/log.hpp"
#include "session/conversation/thread.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {

/// The result of a tool, as it is given back to the model.
struct chat_tool_result {
    std::string call_id;
    session::content content;
    bool failed = false;
};

/// Told while a conversation runs, on its executor; each may be empty. What one throws ends the run
/// as stop_reason::error.
struct chat_listeners {
    std::function<void(std::string_view delta)> thinking;
    std::function<void(std::string_view delta)> content;
    /// An answer has calls; `content` is its text before them. Before any of them is executed.
    std::function<void(const std::vector<session::tool_call>& calls, std::string_view content)>
        calls;
    /// In call order.
    std::function<void(const std::vector<chat_tool_result>& results)> results;
};

/// What a conversation has used and said so far.
struct chat_totals {
    std::string content; ///< All text of the model, including that before calls.
    std::vector<token_usage> usage;
    std::vector<session::tool_call> calls; ///< All of them, executed or not, in order.
    std::uint32_t rounds = 0;              ///< Answers that held calls.
};

/// A conversation in memory that run_agent() continues: the part that chat_loop and
/// chat_loop_with_tools() share. Lives on one executor; one continue_run() at a time.
class chat_conversation final : private run_sink {
public:
    /// `model` and `log` must outlive it.
    chat_conversation(
        model_provider& model, std::vector<session::message> messages, agent_settings agent,
        chat_listeners listeners, logger& log
    );

    /// Runs until the model has answered without calls, calls are left to the caller, or `stop`.
    /// `tools` are executed, `external` are left. Never throws.
    [[nodiscard]] boost::asio::awaitable<stop_reason> continue_run(
        const tool_registry& tools, std::vector<tool_definition> external, stop_source& stop
    );

    /// The calls that the last run left to the caller and that have no result yet, in order.
    [[nodiscard]] const std::vector<session::tool_call>& pending() const noexcept {
        return pending_;
    }
    /// The text before them.
    [[nodiscard]] const std::string& pending_content() const noexcept { return turn_content_; }
    /// Results of pending calls. errc::unknown_tool_call for any other one: then nothing is stored.
    [[nodiscard]] result<void> add_results(const std::vector<chat_tool_result>& results);

    /// For a reader that may be slower than the model: run_sink's has_room() and room(). Not set:
    /// there is always room.
    void
    set_room(std::function<bool()> has_room, std::function<boost::asio::awaitable<void>()> room) {
        has_room_ = std::move(has_room);
        room_ = std::move(room);
    }

    /// For the runs that follow.
    void set_plugins(plugin_list plugins) { plugins_ = std::move(plugins); }

    [[nodiscard]] const chat_totals& totals() const noexcept { return totals_; }
    [[nodiscard]] agent_settings& agent() noexcept { return agent_; }
    /// All messages, to go on with later.
    [[nodiscard]] std::vector<session::message> messages() const;

private:
    // run_sink
    void emit(const runner_event& event) override;
    [[nodiscard]] bool has_room() const noexcept override { return !has_room_ || has_room_(); }
    [[nodiscard]] boost::asio::awaitable<void> room() override { return room_(); }
    /// Not kept: a conversation in memory has no store for them.
    void keep_attempt(session::failed_attempt /*attempt*/) noexcept override {}
    [[nodiscard]] boost::asio::awaitable<result<void>> commit(session::changes change) override;
    [[nodiscard]] boost::asio::awaitable<result<session::thread_record>> load_thread() override;
    [[nodiscard]] boost::asio::awaitable<void>
    finish(session::changes change, run_end end) override;

    void append(session::changes& change, session::message value) const;
    void take(const session::changes& change);
    void begin_turn(std::string_view message_id);

    model_provider& model_;
    agent_settings agent_;
    const chat_listeners listeners_;
    std::function<bool()> has_room_;
    std::function<boost::asio::awaitable<void>()> room_;
    logger& log_;
    plugin_list plugins_;
    uuid_ids ids_;
    session::thread_record thread_;
    std::vector<session::tool_call> pending_;
    std::string turn_id_;      ///< Of the last answer.
    std::string turn_content_; ///< Of the last answer.
    chat_totals totals_;
    stop_reason reason_ = stop_reason::error;
    bool new_user_turn_ = true;
    std::uint32_t runs_ = 0;
};

} // namespace agui::runner
