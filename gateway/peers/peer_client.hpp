#pragma once

#include "gateway/peers/peer.hpp"
#include "gateway/run/peer_door.hpp"
#include "session/base/log.hpp"
#include "session/base/memory_budget.hpp"
#include "session/base/mutex.hpp"
#include "session/store/store.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace agui::gateway {

/// Sends requests to other gateways, at their addresses in the store.
class peer_client final : public peer_door {
public:
    struct settings {
        std::string ca_file;                    ///< More trusted certificates (PEM); may be empty.
        std::chrono::milliseconds busy_wait{0}; ///< run_settings::busy_wait, of all gateways.
        memory_budget* budget = nullptr;        ///< Counts the memory of kept answers; may be null.
    };
    /// The references must outlive this.
    peer_client(session::store& store, settings given, logger& log);

    [[nodiscard]] boost::asio::awaitable<result<std::unique_ptr<entry_reader>>>
    open(std::int64_t gateway, asked_run run, std::uint64_t after) override;
    [[nodiscard]] boost::asio::awaitable<result<stopped_here>> stop(
        std::int64_t gateway, session::thread_key key, std::optional<std::string> run_id,
        stop_wish wish
    ) override;
    [[nodiscard]] boost::asio::awaitable<result<client_answer>>
    pass(std::int64_t gateway, client_request request) override;
    [[nodiscard]] boost::asio::awaitable<result<stopped_everywhere>> stop_everywhere(
        session::thread_key key, std::optional<std::string> run_id, std::int64_t owner,
        std::chrono::steady_clock::time_point asked
    ) override;

private:
    [[nodiscard]] boost::asio::awaitable<result<std::shared_ptr<peer>>> find(std::int64_t gateway);
    [[nodiscard]] std::shared_ptr<peer> known(std::int64_t gateway);
    [[nodiscard]] std::shared_ptr<peer> add(std::int64_t own, session::peer_address address);

    session::store& store_;
    const settings settings_;
    logger& log_;
    std::atomic<std::int64_t> streams_{0}; ///< Opened so far.
    mutex mutex_;
    /// Keyed by its number and this gateway's; both change when leases are lost.
    std::map<std::pair<std::int64_t, std::int64_t>, std::shared_ptr<peer>>
        peers_ AGUI_GUARDED_BY(mutex_);
};

} // namespace agui::gateway
