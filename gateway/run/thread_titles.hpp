#pragma once

#include "gateway/run/live_run.hpp"
#include "gateway/run/process_services.hpp"
#include "gateway/run/run_registry.hpp"
#include "runner/base/stop_source.hpp"
#include "runner/loop/agent_loop.hpp"
#include "session/base/mutex.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <set>

namespace agui::gateway {

/// Replaces the titles that threads have from their first messages by titles of a model
/// (`title = "model"`). A model is asked at most once for each thread, after the first of its runs
/// that succeeded, which the stored events tell: not again after a failure, after a restart or by
/// another process. Each request counts among the minor runs, so that a drain waits for it. A
/// failure is a line in the log. Safe to use from any thread.
class thread_titles {
public:
    /// The references must outlive the requests.
    thread_titles(const process_services& services, run_registry& registry)
        : services_(services), registry_(registry) {}
    thread_titles(const thread_titles&) = delete;
    thread_titles& operator=(const thread_titles&) = delete;

    /// To be called at the end of a run with an automatic title. Only starts the work, on the run's
    /// executor, after this call. `owner` owns this object, and the work keeps it alive.
    void after(
        std::shared_ptr<const void> owner, const live_run& run, const runner::model_choice& model
    );

    /// Ends all requests that are under way; later ones end at once.
    void stop() noexcept;

private:
    struct ended_run;
    class registration;

    [[nodiscard]] boost::asio::awaitable<void>
    make(std::shared_ptr<const void> owner, ended_run run, runner::model_choice model);
    [[nodiscard]] boost::asio::awaitable<void>
    make_admitted(const ended_run& run, const runner::model_choice& model);
    [[nodiscard]] boost::asio::awaitable<bool> is_first_success(const ended_run& run);
    [[nodiscard]] boost::asio::awaitable<std::string> question_of(const ended_run& run);
    void log_failure(
        const ended_run& run, std::string_view model, std::string_view detail, int status
    ) const;

    const process_services& services_;
    run_registry& registry_;
    mutex mutex_;
    std::set<runner::stop_source*> asking_ AGUI_GUARDED_BY(mutex_);
    bool stopping_ AGUI_GUARDED_BY(mutex_) = false;
};

} // namespace agui::gateway
