#pragma once

#include "gateway/admission/accepted_run.hpp"
#include "session/base/error.hpp"

#include <boost/asio/awaitable.hpp>

namespace agui::gateway {

/// Implements run_service::begin().
[[nodiscard]] boost::asio::awaitable<result<void>> begin_run(accepted_run accepted);

} // namespace agui::gateway
