#pragma once

#include "runner/hooks/turn_hooks.hpp"
#include "runner/loop/agent_loop.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace agui::runner {

/// Wraps a run's sink for the model's answer and tells the plugins of everything that is shown.
/// After a hook has thrown, has_room() is false and room() throws.
class hooked_sink final : public run_sink {
public:
    /// `on_first` is called when a part of an answer is shown. `to` and `hooks` must outlive this
    /// object.
    hooked_sink(run_sink& to, turn_hooks& hooks, std::function<void()> on_first);

    /// Begins another answer; its text and calls are in the message with this id.
    void begin_answer(std::string_view message_id);

    void emit(const runner_event& event) override;
    void begin_batch() override { to_.begin_batch(); }
    void end_batch() override { to_.end_batch(); }
    [[nodiscard]] bool has_room() const noexcept override;
    [[nodiscard]] boost::asio::awaitable<void> room() override;
    void keep_attempt(session::failed_attempt attempt) noexcept override {
        to_.keep_attempt(std::move(attempt));
    }
    [[nodiscard]] boost::asio::awaitable<result<void>> commit(session::changes change) override;
    [[nodiscard]] boost::asio::awaitable<result<session::thread_record>> load_thread() override;
    [[nodiscard]] boost::asio::awaitable<result<json_text>> load_state() override;
    [[nodiscard]] boost::asio::awaitable<result<void>> change_state(session::state_change change
    ) override;
    [[nodiscard]] boost::asio::awaitable<void>
    finish(session::changes change, run_end end) override;

private:
    void tell(const text_delta& event);
    void tell(const reasoning_delta& event);
    void tell(const call_started& event);
    void tell(const call_arguments& event);
    template <class Other>
    void tell(const Other& /*event*/) {}

    run_sink& to_;
    turn_hooks& hooks_;
    std::function<void()> on_first_;
    session::message so_far_; ///< The current answer.
};

} // namespace agui::runner
