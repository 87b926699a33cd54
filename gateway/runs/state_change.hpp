#pragma once

#include "gateway/run/run_core.hpp"
#include "session/base/error.hpp"
#include "session/base/json_text.hpp"
#include "session/conversation/state_change.hpp"
#include "session/conversation/thread.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>

namespace agui::gateway {

/// Implements run_service::change_state().
[[nodiscard]] boost::asio::awaitable<result<json_text>> change_state_here(
    std::shared_ptr<run_core> core, session::thread_key key, session::state_change change
);

} // namespace agui::gateway
