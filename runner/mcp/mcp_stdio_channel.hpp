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
    std::vector<std::string> secrets; ///< Cut out of the child's standard error.
    /// How long the child may take to end after its standard input is closed, and again after
    /// SIGTERM.
    std::chrono::milliseconds grace{2'000};
    memory_budget* budget = nullptr; ///< Counts the kept bytes of messages; may be null.
};

/// A channel to a process, which open() starts, with one message per line. The process's standard
/// error goes to the log at debug level. `log` must outlive the channel.
[[nodiscard]] std::shared_ptr<mcp_channel> make_mcp_stdio_channel(
    boost::asio::any_io_executor executor, mcp_stdio_settings settings, logger& log
);

} // namespace agui::runner
