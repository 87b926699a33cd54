#pragma once

#include "session/conversation/queued_request.hpp"
#include "session/store/store.hpp"
#include "session/store/whole_thread.hpp"

#include "session/base/error.hpp"
#include "session/base/memory_budget.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace agui::gateway {

/// A thread as it was read for a copy, which shares its messages with the store's caches. Its
/// attachments are named only: each is read when it is written.
struct copied_thread {
    session::thread_record thread;
    std::vector<session::session_event> events;
    std::vector<session::run_record> runs;
    session::thread_access access;
    std::vector<std::string> attachments; ///< Digests.
    std::vector<session::queued_request> queue;
};

/// Reads a thread as the store has it: a run that is active has what it has stored so far. nullopt
/// if there is no such thread. `kept` grows by the memory that the copy takes. errc::overloaded:
/// its budget, which may be null, has no room. The store and `kept` must outlive the await.
[[nodiscard]] boost::asio::awaitable<result<std::optional<copied_thread>>>
read_for_copy(session::store& store, session::thread_key key, memory_share& kept);

} // namespace agui::gateway
