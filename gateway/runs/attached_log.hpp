#pragma once

#include "gateway/log/event_log.hpp"
#include "gateway/run/run_core.hpp"
#include "session/base/error.hpp"
#include "session/conversation/thread.hpp"
#include "translator/agui/protocol_version.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace agui::gateway {

/// The log of a known run for a reader that has seen its first events.
struct attached_log {
    std::shared_ptr<event_log> log;
    translator::projection projection; ///< Projection of the request that began the run.
    std::uint64_t after = 0;           ///< The cursor in the numbers of `log`.
    std::uint64_t offset = 0;          ///< What clients see added to these (session::first_number).
};

/// run_service::attach().
[[nodiscard]] boost::asio::awaitable<result<attached_log>> attach_to_run(
    std::shared_ptr<run_core> core, session::thread_key key, std::string run_id, std::uint64_t after
);

} // namespace agui::gateway
