#pragma once

#include "runner/mcp/child_process.hpp"
#include "runner/mcp/mcp_channel.hpp"
#include "session/base/log.hpp"
#include "session/base/memory_budget.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace agui::runner {

struct mcp_stdio_settings {
    std::string server; ///< Its name, for the log.
    child_command command;
    std::vector<std::string> secrets; ///< Cut out of what the child says on standard error.
    /// How long the child has to end by itself once its standard input is closed, and after
    /// SIGTERM.
    std::chrono::milliseconds grace{2'000};
    memory_budget* budget = nullptr; ///< Counts what is kept of messages; null: nothing does.
};

/// A channel to a process, which open() starts, with one message per line. The process's standard
/// error goes to the log at debug level. `log` must outlive the channel.
[[nodiscard]] std::shared_ptr<mcp_channel> make_mcp_stdio_channel(
    boost::asio::any_io_executor executor, mcp_stdio_settings settings, logger& log
);

} // namespace agui::runner
