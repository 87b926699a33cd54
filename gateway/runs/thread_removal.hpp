#pragma once

#include "session/base/error.hpp"
#include "session/store/store.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>

namespace agui::gateway {

/// Drops what this process keeps of a thread outside of the store. May be empty.
using forget_thread_function = std::function<void(const session::thread_key&)>;

/// Removes the thread that `held` holds like a run, and releases it in any case: otherwise a thread
/// with that id could never be used again. Calls `forget` once it is removed. Returns false if
/// there was none. `store` must outlive the await.
[[nodiscard]] boost::asio::awaitable<result<bool>>
remove_held(session::store& store, session::lease_ptr held, forget_thread_function forget);

} // namespace agui::gateway
