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

/// True: a queued message whose run could not begin for that reason stays in the queue.
[[nodiscard]] inline bool may_succeed_later(errc code) noexcept {
    return code == errc::store_unavailable || code == errc::internal || code == errc::overloaded ||
           code == errc::lease_lost;
}

/// What a run that is about to begin takes from its thread's queue: the messages that wait become
/// those of its request, if the request is itself one that waits, or if it answers all open calls
/// and nobody waits, which is so after a restart. Exists until the run is active: then the queue no
/// longer has what it takes. On the request's executor.
class queue_taking {
public:
    /// The request must outlive it. Its thread must have been read before take() is called.
    explicit queue_taking(accepted_run::admitted& request);

    /// Sets admitted::pass if the run takes anything. errc::not_found: the request's own message is
    /// no longer in the queue; then nothing was taken.
    [[nodiscard]] boost::asio::awaitable<result<void>> take();
    /// To be called after errc::conflict: other processes may have withdrawn what was taken.
    [[nodiscard]] boost::asio::awaitable<result<void>> take_again();

    /// What taking it changes in the store.
    void add_to(session::changes& change, unix_ms now) const;

private:
    [[nodiscard]] bool may_take_abandoned() const;
    boost::asio::awaitable<result<void>> take_messages();
    boost::asio::awaitable<result<void>>
    leave_out_begun(std::vector<session::queued_request>& queued);

    accepted_run::admitted& request_;
    run_core& core_;
    session::store& store_;
    std::unique_ptr<run_registry::turn> turn_; ///< Null: it takes nothing from the queue.
    std::size_t own_messages_ = 0;             ///< Of the request's messages, those not from there.
    std::vector<session::queued_request> taken_; ///< In order.
};

} // namespace agui::gateway
