#pragma once

#include "gateway/run/run_core.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>

namespace agui::gateway {

/// With run_settings::queue: takes over requests that another process left in the queues of
/// threads, because it ended or lost its leases. They are answered as if their clients had waited
/// here and disconnected (queue_entry.hpp). Only their messages are known; everything else is taken
/// from the thread. Takes at most as many as this process may have runs. Returns once no such
/// requests are left, not once they are answered.
[[nodiscard]] boost::asio::awaitable<void> pick_up_queued(std::shared_ptr<run_core> core);

} // namespace agui::gateway
