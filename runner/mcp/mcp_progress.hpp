#pragma once

#include "runner/tools/run_context.hpp"

#include <boost/json/object.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace agui::runner {

/// A server may report this often in one call; later reports are not shown.
inline constexpr std::size_t mcp_progress_max = 1000;

/// Shows the progress of one call as an activity of the type `mcp-progress`, {toolCallId, toolName,
/// progress, total?, message?}: whole at first, then by patches.
class mcp_progress {
public:
    mcp_progress(std::shared_ptr<run_context> run, std::string call_id, std::string tool);

    /// The members of a notifications/progress that are shown; nullopt if it has no progress. May
    /// be called on any thread.
    [[nodiscard]] static std::optional<boost::json::object> read(const boost::json::object& told);
    /// On the run's executor.
    void show(const boost::json::object& news);

private:
    const std::shared_ptr<run_context> run_;
    const std::string call_id_;
    const std::string tool_;
    std::string activity_id_; ///< Empty before the first report.
    std::size_t shown_ = 0;
};

} // namespace agui::runner
