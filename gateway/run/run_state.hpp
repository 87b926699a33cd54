#pragma once

#include "gateway/base/completion_event.hpp"
#include "gateway/run/state_writer.hpp"
#include "runner/base/runner_event.hpp"
#include "session/base/clock.hpp"
#include "session/conversation/state_change.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/json/value.hpp>

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string_view>

namespace agui::gateway {

/// The state document of a thread during one run, which holds the thread and is thus its only
/// writer: changes are stored and shown one after the other. Each log has the whole document before
/// the first change of it, so a change always fits what a reader holds. Lives on the run's
/// executor; functions marked "any thread" may be called from any thread.
class run_state {
public:
    /// `show` is given state_shown events. `time` must outlive this object.
    run_state(
        boost::asio::any_io_executor executor, const clock& time, state_writing where,
        std::function<void(const runner::runner_event&)> show
    );

    /// Shows the document at the start of the run, unless it is null.
    void begin(const json_text& state);

    /// Any thread. Stores and shows a change. It is carried out even if the caller is cancelled.
    /// `owner` keeps this object alive until then. runner::run_is_over() after close().
    [[nodiscard]] boost::asio::awaitable<result<void>>
    change(std::shared_ptr<void> owner, session::state_change change);

    /// Shows readers a member of the document that is not stored. What is stored replaces it with
    /// the next change, with refresh(), or with close(). A document that is no object stays as it
    /// is.
    void predict(std::string_view key, const boost::json::value& value);
    /// Shows what is stored if readers were shown a prediction. `owner` is as for change().
    void refresh(const std::shared_ptr<void>& owner);

    /// Refuses further changes and waits for those under way, so that the end of the run comes
    /// after them.
    [[nodiscard]] boost::asio::awaitable<void> close(std::shared_ptr<void> owner);

private:
    struct job {
        std::optional<session::state_change> change; ///< nullopt for refresh().
        result<void> outcome{};
        completion_event over{};
    };

    void add(const std::shared_ptr<void>& owner, std::shared_ptr<job> added);
    void start_work(const std::shared_ptr<void>& owner);
    void show(const json_text& state, std::string_view patch);
    [[nodiscard]] boost::asio::awaitable<result<void>> show_stored();
    [[nodiscard]] boost::asio::awaitable<void> work(std::shared_ptr<void> owner);
    [[nodiscard]] boost::asio::awaitable<result<void>> carry_out(session::state_change change);

    const boost::asio::any_io_executor executor_;
    const clock& time_;
    const state_writing where_;
    const std::function<void(const runner::runner_event&)> show_;
    std::list<std::shared_ptr<job>> jobs_; ///< A list, because an empty deque takes 0.6 KB.
    bool is_working_ = false;
    bool closed_ = false;
    /// Readers hold the document that is stored. Otherwise the next change shows all of it.
    bool is_shown_ = false;
    bool is_object_ = true;     ///< The document that readers hold, or none, can have members.
    bool is_predicted_ = false; ///< Readers hold members that are not stored.
    completion_event idle_;     ///< Set when the last change after close() is over.
};

} // namespace agui::gateway
