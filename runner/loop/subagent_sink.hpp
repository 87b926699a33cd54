#pragma once

#include "runner/loop/agent_loop.hpp"
#include "runner/loop/delegation.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace agui::runner {

/// Where the events and changes of a subagent go: to the run in which it works. Its messages are
/// stored with its id, and its events are shown in its lane. Its conversation has numbers of its
/// own (session::subagent_thread), which are those of the thread for the run.
class subagent_sink final : public run_sink {
public:
    /// For the call with that id, of a run with `stop`. `stored` is the number of messages of its
    /// conversation. The references must outlive this object.
    subagent_sink(
        delegation& within, const stop_source& stop, std::string call_id, std::string task,
        std::size_t stored
    );

    [[nodiscard]] const std::string& id() const noexcept { return id_; }
    /// How it ended; a value after run_agent().
    [[nodiscard]] const std::optional<run_end>& end() const noexcept { return end_; }
    /// The text of its last answer.
    [[nodiscard]] const std::string& last_text() const noexcept { return last_text_; }

    void emit(const runner_event& event) override;
    [[nodiscard]] std::string_view subagent_run_id() const noexcept override { return id_; }
    void begin_batch() override { within_.sink.begin_batch(); }
    void end_batch() override { within_.sink.end_batch(); }
    [[nodiscard]] bool has_room() const noexcept override { return within_.sink.has_room(); }
    [[nodiscard]] boost::asio::awaitable<void> room() override { return within_.sink.room(); }
    void keep_attempt(session::failed_attempt attempt) noexcept override {
        within_.sink.keep_attempt(std::move(attempt));
    }
    [[nodiscard]] boost::asio::awaitable<result<void>> commit(session::changes change) override;
    [[nodiscard]] boost::asio::awaitable<result<session::thread_record>> load_thread() override;
    [[nodiscard]] boost::asio::awaitable<result<json_text>> load_state() override {
        return within_.sink.load_state();
    }
    [[nodiscard]] boost::asio::awaitable<result<void>> change_state(session::state_change change
    ) override {
        return within_.sink.change_state(std::move(change));
    }
    /// Stores what is left of it. Calls that wait stay open: the end of the run decides about them.
    [[nodiscard]] boost::asio::awaitable<void>
    finish(session::changes change, run_end end) override;

private:
    void settle_calls(std::vector<session::call_record>& calls, stop_reason reason) const;
    [[nodiscard]] std::optional<session::call_record>
    stored_call(const session::call_record& changed) const;

    delegation& within_;
    const stop_source& stop_;
    const std::string call_id_;
    const std::string task_;
    const std::string id_;
    std::size_t stored_;
    std::string last_text_;
    std::optional<run_end> end_;
};

/// True if a subagent that ended like this goes on in a later run.
[[nodiscard]] bool is_suspended(stop_reason reason) noexcept;

} // namespace agui::runner
