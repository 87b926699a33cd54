#pragma once

#include "gateway/run/run_core.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>

namespace agui::gateway {

/// With run_settings::queue: lets requests wait here that another process has left in the queues
/// of threads, because it ended or lost its leases. They are answered as if their clients waited
/// here without a connection (queued_run.hpp); what the requests said besides their messages is
/// that of the thread. Takes no more than this process may have runs. Returns once there are no
/// more such requests, not once they are answered.
[[nodiscard]] boost::asio::awaitable<void> pick_up_queued(std::shared_ptr<run_core> core);

} // namespace agui::gateway
