#pragma once

#include "runner/base/stop_source.hpp"
#include "runner/tools/check_budget.hpp"
#include "runner/tools/tool_registry.hpp"
#include "session/base/log.hpp"
#include "session/base/memory_budget.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// The server calls of one model turn, executed side by side. Owned by shared_ptr: a tool that
/// ignores its cancellation keeps the batch alive until it returns, and its result is dropped (P9).
/// Used on one executor.
class tool_batch : public std::enable_shared_from_this<tool_batch> {
public:
    /// At most `max_parallel` run at a time, and none is started once `stop` was requested, which
    /// must live until cancel(). What is not UTF-8 becomes U+FFFD. A text of more than
    /// `max_result_bytes` is cut, with a note that says so; content parts of more become an error.
    /// What is to be shown instead of the content is left out if it is too large. Each error is
    /// logged once, with the outcome's log_detail. `log` must outlive every tool. `budget` (may be
    /// null) counts the results; one that it has no room for becomes an error.
    tool_batch(
        boost::asio::any_io_executor executor, const stop_source& stop, std::uint32_t max_parallel,
        std::size_t max_result_bytes, logger& log, memory_budget* budget = nullptr
    );

    struct finished {
        std::string call_id;
        tool_outcome outcome;
        memory_share memory; ///< What the outcome and its copies take until they are stored.
    };

    /// Adds a call. `executor` (may be null) executes it if there is no tool (null), or if the tool
    /// says that it is unavailable; with neither, the call gets an error result. Arguments are
    /// parsed here: text that is not a JSON object, or does not fit the tool's schema, gives an
    /// error result without a call of the tool; so do those that exceed the check_budget of the
    /// batch. A call holds its function until it returns.
    void
    add(std::shared_ptr<const registered_tool> tool, tool_invocation call,
        std::shared_ptr<const tool_function> executor = nullptr);
    void start();

    /// Completes when take_finished() has something, or wake() was called.
    [[nodiscard]] boost::asio::awaitable<void> wait();
    void wake();
    /// In the order of the calls: a result waits for those before it.
    [[nodiscard]] std::vector<finished> take_finished();
    /// The same, without waiting for those that are missing: for a run that is stopped.
    [[nodiscard]] std::vector<finished> take_rest();
    /// True if every result was taken.
    [[nodiscard]] bool done() const noexcept;
    /// Cancels the running tools and starts no more, even if a tool ignores its cancellation.
    void cancel() noexcept;

private:
    struct task {
        std::shared_ptr<const registered_tool> tool;
        std::shared_ptr<const tool_function> executor; ///< Null once it was asked.
        tool_invocation call;
        boost::asio::cancellation_signal cancellation;
        std::optional<boost::asio::steady_timer> timeout;
        std::optional<tool_outcome> outcome; ///< Until it is taken.
        memory_share memory;                 ///< For the outcome.
        bool ended = false;
    };

    [[nodiscard]] bool may_start() const noexcept;
    void start_more();
    [[nodiscard]] bool prepare(task& current);
    [[nodiscard]] static tool_invocation invocation_of(task& current);
    void execute(task& current, std::shared_ptr<const tool_function> function);
    void watch(task& current);
    void finish(task& ended, tool_outcome outcome, log_level level = log_level::warning);
    void take(task& from, std::vector<finished>& to);
    [[nodiscard]] bool has_next() const noexcept;
    void log_failure(const task& failed, log_level level, std::string_view detail) const;

    boost::asio::any_io_executor executor_;
    const stop_source& stop_; ///< Not used once cancelled.
    boost::asio::steady_timer signal_;
    std::uint32_t max_parallel_;
    std::size_t max_result_bytes_;
    logger& log_;
    memory_budget* budget_;
    check_budget check_budget_; ///< For all calls: the I/O thread may check them in one go.
    std::deque<task> tasks_;    ///< Stable addresses: running tools hold their slot.
    std::size_t next_ = 0;
    std::size_t running_ = 0;
    std::size_t taken_ = 0; ///< Of those in front.
    bool woken_ = false;
    bool cancelled_ = false;
};

} // namespace agui::runner
