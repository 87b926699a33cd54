#pragma once

#include "runner/tools/tool_registry.hpp"

#include <boost/asio/thread_pool.hpp>

#include <functional>

namespace agui::runner {

/// A plain function as a tool, which may block: it runs on a thread of `pool`, several calls at the
/// same time on several threads. A call that is cancelled is not waited for: its result is dropped,
/// and if it has not begun it never does. An exception becomes an error result as for any tool.
///
/// `pool` must outlive every run, and what the function refers to must outlive the pool's threads.
/// Destroying the server first and the pool after it is right, also while functions still run.
[[nodiscard]] tool_function blocking_tool(
    std::function<tool_outcome(const tool_invocation&)> function, boost::asio::thread_pool& pool
);

} // namespace agui::runner
