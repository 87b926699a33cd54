#pragma once

#include "gateway/run/conversation_key.hpp"
#include "gateway/run/peer_door.hpp"
#include "gateway/run/run_core.hpp"
#include "session/store/store.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace agui::gateway {

/// Stops the thread's active run (only the one with that runId, if given), because another process
/// has a new message for the thread. Returns once the run has ended. With `if_left`, stops it only
/// if it loses its readers within run_settings::busy_wait.
[[nodiscard]] boost::asio::awaitable<stopped_here> supersede_here(
    std::shared_ptr<run_core> core, conversation_key conversation,
    std::optional<std::string> run_id, bool if_left
);

/// Carries out stops that other processes request through the store because they cannot reach this
/// process, and counts the readers that they report. While it exists, it is the store's peer
/// handler.
class peer_link final : public session::peer_handler {
public:
    /// The store must be shared and outlive it. Calls after the core is destroyed do nothing.
    peer_link(session::store& store, const std::shared_ptr<run_core>& core);
    ~peer_link() override;
    peer_link(const peer_link&) = delete;
    peer_link& operator=(const peer_link&) = delete;

    void on_stop_request(const session::stop_request& request) noexcept override;
    void on_reader(const session::thread_key& key, const std::string& run_id) noexcept override;

private:
    void stop(const session::stop_request& request);

    session::store& store_;
    const std::weak_ptr<run_core> core_;
};

} // namespace agui::gateway
