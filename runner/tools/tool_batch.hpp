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

/// The arguments that a model wrote, as an object; empty if it wrote nothing. nullopt if the text
/// is no JSON object.
[[nodiscard]] std::optional<boost::json::object> arguments_of(const std::string& text);

/// Executes the server calls of one model turn side by side. Owned by shared_ptr: a tool that
/// ignores its cancellation keeps the batch alive until it returns, and its result is dropped (P9).
/// Used on one executor.
class tool_batch : public std::enable_shared_from_this<tool_batch> {
public:
    /// At most `max_parallel` calls run at a time. None is started once `stop` was requested;
    /// `stop` must live until cancel(). Bytes that are not UTF-8 become U+FFFD. A text of more than
    /// `max_result_bytes` is cut and gets a note that says so; of content parts that are
    /// larger, media become notes; parts that are larger all the same become an error.
    /// tool_outcome::shown is dropped if it is too large. Each error is logged once, with the
    /// outcome's log_detail. `log` must outlive every tool. `budget`, which may be null, counts the
    /// results; a result without room becomes an error.
    tool_batch(
        boost::asio::any_io_executor executor, const stop_source& stop, std::uint32_t max_parallel,
        std::size_t max_result_bytes, logger& log, memory_budget* budget = nullptr
    );

    struct finished {
        std::string call_id;
        tool_outcome outcome;
        memory_share memory; ///< Memory of the outcome and its copies until they are stored.
    };

    /// Adds a call. `executor` (may be null) executes it if `tool` is null or says that it is
    /// unavailable; with neither, the call gets an error result. Before execution the arguments are
    /// parsed: if they are not a JSON object, do not fit the tool's schema, or exceed the batch's
    /// check_budget, the call gets an error result and the tool is not called. A call holds its
    /// function until it returns.
    void
    add(std::shared_ptr<const registered_tool> tool, tool_invocation call,
        std::shared_ptr<const tool_function> executor = nullptr);
    void start();

    /// Completes when take_finished() has a result or wake() was called.
    [[nodiscard]] boost::asio::awaitable<void> wait();
    void wake();
    /// Takes finished results in the order of the calls: a result waits for those of earlier calls.
    [[nodiscard]] std::vector<finished> take_finished();
    /// Takes finished results without waiting for missing ones, for a run that was stopped.
    [[nodiscard]] std::vector<finished> take_rest();
    /// True if all results were taken.
    [[nodiscard]] bool done() const noexcept;
    /// Cancels the running tools and starts no more, even if a tool ignores its cancellation.
    void cancel() noexcept;

private:
    struct task {
        std::shared_ptr<const registered_tool> tool;
        std::shared_ptr<const tool_function> executor; ///< Null if there is none or it was called.
        tool_invocation call;
        boost::asio::cancellation_signal cancellation;
        std::optional<boost::asio::steady_timer> timeout;
        std::optional<tool_outcome> outcome; ///< Empty again once taken.
        memory_share memory;                 ///< Memory of the outcome.
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
    const stop_source& stop_; ///< Not used after cancel().
    boost::asio::steady_timer signal_;
    std::uint32_t max_parallel_;
    std::size_t max_result_bytes_;
    logger& log_;
    memory_budget* budget_;
    /// Shared by all calls, because the I/O thread may check them in one go.
    check_budget check_budget_;
    std::deque<task> tasks_; ///< Stable addresses, because running tools hold their slot.
    std::size_t next_ = 0;
    std::size_t running_ = 0;
    std::size_t taken_ = 0; ///< Number of leading tasks whose outcome was taken.
    bool woken_ = false;
    bool cancelled_ = false;
};

} // namespace agui::runner
