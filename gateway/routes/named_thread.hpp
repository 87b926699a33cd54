#pragma once

#include "gateway/audit/audit_log.hpp"
#include "gateway/auth/authenticator.hpp"
#include "gateway/http/http_message.hpp"
#include "gateway/log/thread_naming.hpp"
#include "gateway/run/part_links.hpp"
#include "gateway/runs/run_service.hpp"
#include "session/base/error.hpp"
#include "session/conversation/message.hpp"
#include "session/conversation/thread.hpp"
#include "session/conversation/thread_access.hpp"
#include "session/store/store.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/system/result.hpp>

#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace agui::gateway {

// The one place where the sender of a request and an id in it become a thread. A route that makes a
// session::thread_key in another way serves own threads only, and fails the columns for shared
// threads of tests/gateway/route_matrix_test.cpp.

/// The thread that a request names.
struct named_thread {
    session::thread_key key;
    std::string shown_id;   ///< The id in the request: the only one that its sender may be shown.
    bool is_shared = false; ///< It belongs to another principal, who has opened it to the sender.
    session::access_right right = session::access_right::approve; ///< The sender's.
    /// The id has the form of a shared one, and the sender has no thread with it. `key` is then one
    /// of the sender's own, which must not be made: the sender would mistake it for the thread to
    /// which it once had access.
    bool is_closed = false;
};

/// The thread is not opened to the sender for this: 403, with a sentence for it.
struct no_right {
    std::string why;
};
/// The reason for which a request cannot have its thread.
using thread_refusal = std::variant<failure, auth_error, no_right>;
[[nodiscard]] http_reply to_reply(const thread_refusal& why);

using found_thread = boost::system::result<named_thread, thread_refusal>;

/// Finds the thread with that id: the sender's own one if there is one; otherwise, if the id has
/// the form of a shared one, the thread that is opened to the sender under it. Everybody else gets
/// a key of its own, so that the thread looks like one that does not exist. Only ids of that form
/// cost a look into the store. Refused with 403 if the thread is opened to the sender, but with
/// less than route_access::right(), and if the sender has the route's scope for single agents, but
/// not for that of the thread's latest run, or if there is no run. Refused, too, if the store
/// fails.
[[nodiscard]] boost::asio::awaitable<found_thread>
find_named_thread(session::store& store, const http_request& request, std::string id);

/// The same for a principal that needs just the right to read, as the holder of a link.
[[nodiscard]] boost::asio::awaitable<found_thread>
find_thread_of(session::store& store, std::string principal, std::string id);

/// The refusal of a sender to whom a thread is opened without that right.
[[nodiscard]] no_right needs_right(session::access_right right);

/// The key under which links to the thread's parts are made for the sender: it tells nothing of the
/// owner, and find_thread_of() finds the thread by it.
[[nodiscard]] session::thread_key
key_for_links(const named_thread& thread, const http_request& request);

/// How the thread's events name it to the sender. Null for an own thread.
[[nodiscard]] std::shared_ptr<const thread_naming>
naming_for(const run_service& runs, const named_thread& thread, const http_request& request);

/// Names the thread in an entry of the audit, by its owner and the owner's id.
void name_in_audit(audit_note& note, const named_thread& thread);

/// Makes links to parts in a sender's messages, which hold the shared id, links of the thread.
void use_own_links(std::vector<session::message>& messages, const named_thread& thread);
void use_own_links(session::message& message, const named_thread& thread);

} // namespace agui::gateway
