#pragma once

#include "runner/loop/agent_loop.hpp"
#include "runner/tools/run_context.hpp"

#include <boost/asio/awaitable.hpp>

#include <utility>

namespace agui::runner {

/// The context that a run gives to its tools and plugins, which may outlive it.
class loop_context final : public run_context {
public:
    /// `sink` must live until close().
    explicit loop_context(run_sink& sink) noexcept : sink_(&sink) {}

    /// Ends the use of the sink: later calls fail.
    void close() noexcept { sink_ = nullptr; }

    [[nodiscard]] boost::asio::awaitable<result<json_text>> state() override {
        return sink_ != nullptr ? sink_->load_state() : failed<json_text>();
    }
    [[nodiscard]] boost::asio::awaitable<result<void>> change_state(session::state_change change
    ) override {
        return sink_ != nullptr ? sink_->change_state(std::move(change)) : failed<void>();
    }

private:
    template <class T>
    [[nodiscard]] static boost::asio::awaitable<result<T>> failed() {
        co_return run_is_over();
    }

    run_sink* sink_;
};

} // namespace agui::runner
