#pragma once

#include "runner/tools/tool_registry.hpp"

#include <boost/asio/thread_pool.hpp>

#include <functional>

namespace agui::runner {

/// Makes a tool from a plain function, which may block: each call runs on a thread of `pool`,
/// several calls in parallel. A cancelled call is not waited for: its result is dropped, and it
/// does not begin if it has not begun yet. An exception becomes an error result, as for any tool.
///
/// `pool` must outlive every run, and everything that the function refers to must outlive the
/// pool's threads. Destroy the server first and then the pool, even while functions still run.
[[nodiscard]] tool_function blocking_tool(
    std::function<tool_outcome(const tool_invocation&)> function, boost::asio::thread_pool& pool
);

} // namespace agui::runner
