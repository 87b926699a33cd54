#pragma once

#include "gateway/admission/named_parts.hpp"
#include "gateway/run/live_run.hpp"
#include "gateway/run/run_core.hpp"
#include "gateway/run/run_mailbox.hpp"
#include "gateway/run/run_queue.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>

namespace agui::gateway {

/// The messages of a waiting request as a letter to the active run of its thread
/// (`session.on_busy = "steer"`). The request stays in the queue until the run takes it from there.
/// Used on the request's executor.
class queue_offer {
public:
    queue_offer(std::shared_ptr<run_core> core, std::shared_ptr<waiting_run> waiting);
    ~queue_offer();
    queue_offer(const queue_offer&) = delete;
    queue_offer& operator=(const queue_offer&) = delete;

    /// Offers the messages, if the settings say so, to a run of this process that is active with
    /// the request's agent and takes messages. Does nothing if they are offered. A failure of the
    /// store is no failure of the offer: the request waits as before.
    [[nodiscard]] boost::asio::awaitable<void> make();

    /// letter_fate::returned while nothing is offered. A decision wakes the conversation's
    /// watchers.
    [[nodiscard]] letter_fate fate() const;
    /// Takes the offer back. Returns false if it is too late; then the fate will change.
    [[nodiscard]] bool withdraw();

private:
    [[nodiscard]] boost::asio::awaitable<run_mailbox::letter_ptr> write();
    [[nodiscard]] boost::asio::awaitable<bool> complete(mailbox_letter& letter);

    const std::shared_ptr<run_core> core_;
    const std::shared_ptr<waiting_run> waiting_;
    std::shared_ptr<live_run> run_;  ///< Null while nothing is offered.
    run_mailbox::letter_ptr letter_; ///< The same.
    std::unique_ptr<named_parts> parts_;
};

} // namespace agui::gateway
