#pragma once

#include "gateway/runs/run_service.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace agui::replay {

/// Files of the runs of one fixture, for checkers in other languages. Run N of the fixture, from 1,
/// has `N.input.json` (the request; none for a chat), and for each projection (`1.1`, `1.0`,
/// `undeclared`) `N.PROJECTION.sse` and `N.PROJECTION.pb` (its stream in both forms) and
/// `N.PROJECTION.history.sse` (POST /agui/history after the step), and `N.ai.sse` (its stream for
/// the AI SDK). Throws std::system_error if a
/// file cannot be written.
class recording {
public:
    /// Creates the folder.
    explicit recording(std::filesystem::path folder);

    /// Records a run that has ended. `input` is null for a chat.
    [[nodiscard]] boost::asio::awaitable<void>
    add_run(const boost::json::value& input, std::shared_ptr<gateway::event_log> log);

    /// Records the thread as it is now, beside the run that was recorded last. Does nothing if none
    /// was recorded since the last call.
    [[nodiscard]] boost::asio::awaitable<void>
    add_history(gateway::run_service& service, std::string thread_id);

private:
    void write(std::string_view name, std::string_view bytes) const;

    std::filesystem::path folder_;
    std::size_t runs_ = 0;
    bool is_new_ = false; ///< The last run has no history yet.
};

} // namespace agui::replay
