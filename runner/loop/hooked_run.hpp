#pragma once

#include "runner/loop/agent_run.hpp"

namespace agui::runner {

/// The loop of a run with plugins, whose hooks are called around each step.
class hooked_run final : public agent_run {
public:
    /// Precondition: `services` has plugins.
    hooked_run(
        run_request request, loop_services services, run_sink& sink, stop_source& stop,
        memory_share memory
    );

    boost::asio::awaitable<stop_reason> run() override;

private:
    boost::asio::awaitable<std::optional<stop_reason>> ask() override;
    /// Does nothing: ask() has stored the answer.
    boost::asio::awaitable<std::optional<stop_reason>> keep_answer() override {
        co_return std::nullopt;
    }
    void add_details(end_details& about) override;
    boost::asio::awaitable<void> show_changed(const session::changes& last) override;

    boost::asio::awaitable<stop_reason> run_turn();
    boost::asio::awaitable<stop_reason> bring_tools_and_run();
    boost::asio::awaitable<stop_reason> append_partial(stop_reason reason);
    boost::asio::awaitable<stop_reason> caught(boost::asio::awaitable<stop_reason> steps);
    boost::asio::awaitable<std::optional<stop_reason>> append_answer();
    boost::asio::awaitable<std::optional<stop_reason>> stream(bool first);
    boost::asio::awaitable<std::optional<stop_reason>>
    follow_answer(std::optional<stop_reason> ended);
};

} // namespace agui::runner
