#pragma once

#include "session/base/clock.hpp"
#include "session/base/error.hpp"
#include "session/base/heavy_work.hpp"
#include "session/conversation/state_change.hpp"
#include "session/store/store.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>

namespace agui::gateway {

/// The state document of the thread that `held` holds, as its holder changes it.
struct state_writing {
    session::store& store;
    session::lease_ptr held; ///< Never null: only the holder writes, so that no change is lost.
    std::uint64_t max_thread_bytes = UINT64_MAX;
    heavy_work* heavy = nullptr; ///< Changes large documents; may be null.
};

/// Applies the change to the stored document and stores the result, with a session event
/// `state.changed`, unless it changes nothing. Failures: those of
/// session::change_document() and of the store; not_found if there is no such thread;
/// body_too_large if the thread would exceed `max_thread_bytes` and the new document is larger than
/// the old one.
[[nodiscard]] boost::asio::awaitable<result<session::changed_state>>
write_state(state_writing where, session::state_change change, unix_ms now);

} // namespace agui::gateway
