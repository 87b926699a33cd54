#pragma once

#include "runner/base/stop_reason.hpp"
#include "runner/base/stop_source.hpp"
#include "runner/hooks/hook_group.hpp"
#include "runner/hooks/plugin.hpp"
#include "session/base/log.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// Calls the hooks of one turn and handles their order, concurrency, errors, aborts and clean-ups.
/// Each function returns why the turn ends, or nullopt if it goes on: `aborted` for an abort,
/// `error` if a hook threw, the reason of the stop after a stop. Lives on the run's executor.
class turn_hooks {
public:
    /// How long to wait, in all, for the hooks at the end of a stopped turn (P9).
    static constexpr std::chrono::milliseconds ending_max{500};
    /// The same limit for on_message_append.
    static constexpr std::chrono::milliseconds appending_max{250};

    using verdict = std::optional<stop_reason>;

    /// `stop` and `log` must outlive this object. Plugins are kept alive while one of their hooks
    /// runs.
    turn_hooks(plugin_list plugins, plugin_turn turn, stop_source& stop, logger& log);

    [[nodiscard]] boost::asio::awaitable<verdict> start();
    [[nodiscard]] boost::asio::awaitable<verdict>
    before_request(std::shared_ptr<request_draft> draft);

    /// Never throws. If a hook throws, no further hook is called and stream_verdict() reports the
    /// error.
    void on_stream_data(const session::message& so_far, const stream_data& data) noexcept;
    [[nodiscard]] bool stream_failed() const noexcept { return stream_error_ != nullptr; }
    [[nodiscard]] verdict stream_verdict();

    struct appended {
        verdict ended;
        session::message message; ///< The message as the hooks left it.
        std::vector<session::message> stored;
        std::set<std::string, std::less<>> denied; ///< Ids of calls.
        bool changed = false;                      ///< `stored` is more than the unchanged message.
    };
    /// Calls on_message_append for one message, also after a stop: plugins must see each message
    /// before it is stored. Changes of a hook that does not succeed are dropped.
    [[nodiscard]] boost::asio::awaitable<appended> append(session::message value);

    struct followed {
        verdict ended;
        std::vector<session::message> stored; ///< Also filled if the turn ends.
        bool requested = false;
    };
    [[nodiscard]] boost::asio::awaitable<followed>
    after_request(session::message answer, model_answer last);

    [[nodiscard]] boost::asio::awaitable<verdict> end(stop_reason reason);
    /// Runs all clean-ups, whatever happens. Only errors make a verdict.
    [[nodiscard]] boost::asio::awaitable<verdict> clean_up();

    /// Adds an error of the turn that no hook threw.
    void add_error(std::string text) { errors_.push_back(std::move(text)); }
    /// Errors thrown during the turn and its clean-ups, in order, for the log.
    [[nodiscard]] const std::vector<std::string>& errors() const noexcept { return errors_; }

private:
    enum class phase { in_turn, appending, ending };
    [[nodiscard]] boost::asio::awaitable<verdict>
    await(boost::asio::awaitable<void> hook, phase at);
    [[nodiscard]] boost::asio::awaitable<bool> await_clean_up(turn_clean_up what);
    [[nodiscard]] boost::asio::awaitable<void>
    append_one(appended_after::entry entry, followed& result);
    /// When waiting for the hooks of a stopped turn ends.
    [[nodiscard]] hook_group::time_point end_by(phase at);
    [[nodiscard]] verdict judge(const std::exception_ptr& thrown);
    void note_error(const std::exception_ptr& thrown);

    const plugin_list plugins_;
    const std::shared_ptr<plugin_turn> turn_; ///< Shared with the running hooks.
    stop_source& stop_;
    logger& log_;
    std::vector<turn_clean_up> clean_ups_;
    std::vector<std::string> errors_;
    std::exception_ptr stream_error_;
    std::optional<hook_group::time_point> append_by_;
    std::optional<hook_group::time_point> end_by_;
};

} // namespace agui::runner
