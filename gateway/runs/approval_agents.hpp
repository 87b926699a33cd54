#pragma once

#include "gateway/run/run_core.hpp"
#include "session/base/error.hpp"
#include "session/conversation/thread.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>
#include <vector>

namespace agui::gateway {

/// Implements run_service::agents_that_asked().
[[nodiscard]] boost::asio::awaitable<result<std::vector<std::string>>> find_agents_that_asked(
    std::shared_ptr<run_core> core, conversation_key conversation, std::vector<std::string> ids
);

} // namespace agui::gateway
