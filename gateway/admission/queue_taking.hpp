#pragma once

#include "gateway/admission/accepted_run.hpp"
#include "gateway/run/run_core.hpp"
#include "session/base/clock.hpp"
#include "session/base/error.hpp"
#include "session/conversation/queued_request.hpp"
#include "session/conversation/thread.hpp"
#include "session/store/store.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace agui::gateway {

/// Returns true if a queued message stays in the queue after its run failed to begin with this
/// error.
[[nodiscard]] inline bool may_succeed_later(errc code) noexcept {
    return code == errc::store_unavailable || code == errc::internal || code == errc::overloaded ||
           code == errc::lease_lost || code == errc::quota_exceeded;
}

/// Moves queued messages of a thread into a request whose run is about to begin. Does so if the
/// request itself waits in the queue, or if it answers all open calls and no request waits in this
/// process, as after a restart. Must exist until the run is active, because the messages leave the
/// queue only then. Used on the request's executor.
class queue_taking {
public:
    /// The request must outlive it. Its thread must have been read before take() is called.
    explicit queue_taking(accepted_run::admitted& request);

    /// Sets admitted::batch if the run takes anything. errc::not_found: the request's own message
    /// is no longer in the queue; then nothing was taken.
    [[nodiscard]] boost::asio::awaitable<result<void>> take();
    /// To be called after errc::conflict: other processes may have withdrawn taken messages.
    [[nodiscard]] boost::asio::awaitable<result<void>> take_again();

    /// Adds the removal of the taken requests from the queue, and the records of those that the run
    /// answers.
    void add_to(session::changes& change, unix_ms now) const;

private:
    [[nodiscard]] bool may_take_abandoned() const;
    boost::asio::awaitable<result<void>> take_messages();
    boost::asio::awaitable<result<void>>
    leave_out_begun(std::vector<session::queued_request>& queued);

    accepted_run::admitted& request_;
    run_core& core_;
    session::store& store_;
    /// Null if nothing is taken from the queue.
    std::unique_ptr<run_registry::key_lock> queue_lock_;
    /// Number of the request's messages that are not from the queue.
    std::size_t own_messages_ = 0;
    std::vector<session::queued_request> taken_; ///< In order.
};

} // namespace agui::gateway
