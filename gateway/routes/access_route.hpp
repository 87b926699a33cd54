#pragma once

#include "gateway/http/router.hpp"
#include "session/base/log.hpp"
#include "session/store/store.hpp"

#include <vector>

namespace agui::gateway {

/// The principals to whom a thread is opened, for its owner alone:
///
/// - `GET /agui/threads/{threadId}/access`: `{"threadId", "sharedId"?, "access": [{"tenant",
///   "user", "rights": "read" | "write" | "approve"}]}`. `sharedId` is the id by which the others
///   name the thread, once it was opened to somebody.
/// - `PATCH` of the same path with `{"access": [...]}` replaces the whole list and answers like
///   GET. A missing `tenant` is the owner's own; an empty one is none. An empty list closes the
///   thread for requests that come afterwards. At most session::access_entries_max entries.
///
/// PATCH needs scope::run, and the sender cannot give a right that its own scopes do not include:
/// `read` needs scope::read, `write` also scope::run, `approve` also scope::approve. 404 if there
/// is no such thread. All references must outlive the handlers.
[[nodiscard]] std::vector<route> make_access_routes(session::store& store, agui::logger& log);

} // namespace agui::gateway
