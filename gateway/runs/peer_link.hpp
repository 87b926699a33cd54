#pragma once

#include "gateway/runs/conversation_key.hpp"
#include "gateway/runs/peer_door.hpp"
#include "gateway/runs/run_core.hpp"
#include "session/store/store.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace agui::gateway {

/// Why one process asks another to end a run: session::stop_request::reason.
namespace peer_stop {
inline constexpr std::string_view cancelled = "cancelled"; ///< A client has asked for it.
inline constexpr std::string_view superseded = "superseded";
/// The same, but only once the run has lost its readers, within run_settings::busy_wait.
inline constexpr std::string_view superseded_if_left = "superseded_if_left";
} // namespace peer_stop

/// Stops the thread's active run, the one with that runId if one is given, because another process
/// has a new message for the thread. Returns once the run has ended. With `if_left` only if it
/// loses its readers within run_settings::busy_wait.
[[nodiscard]] boost::asio::awaitable<stopped_here> supersede_here(
    std::shared_ptr<run_core> core, conversation_key place, std::optional<std::string> run_id,
    bool if_left
);

/// Carries out what other processes on the same store want of the runs here: stops, and readers
/// there, which count like those here. While it exists it is the store's peer handler.
class peer_link final : public session::peer_handler {
public:
    /// Of a store that is shared. The store must outlive it; calls after the core is gone do
    /// nothing.
    peer_link(session::store& store, const std::shared_ptr<run_core>& core);
    ~peer_link() override;
    peer_link(const peer_link&) = delete;
    peer_link& operator=(const peer_link&) = delete;

    void on_stop_request(const session::stop_request& request) noexcept override;
    void on_peer_readers(
        std::int64_t run_number, std::int64_t peer, std::size_t readers, session::leaving how
    ) noexcept override;

private:
    void stop(const session::stop_request& request);

    session::store& store_;
    const std::weak_ptr<run_core> core_;
};

/// Wakes those here who wait for a thread that another process holds, by run_registry::wake(),
/// while it exists.
class wake_from_elsewhere {
public:
    /// `run_number` is that of the run that holds the thread.
    wake_from_elsewhere(
        run_core& core, const conversation_key& place, std::int64_t run_number,
        const boost::asio::any_io_executor& executor
    );
    ~wake_from_elsewhere();
    /// The run there is not ended for lack of readers while somebody here waits for its end.
    void count_as_reader() { watch_->set_readers(1, session::leaving::left); }
    /// Who waited here did not leave by itself.
    void set_cut_off() { watch_->set_readers(0, session::leaving::cut_off); }
    wake_from_elsewhere(const wake_from_elsewhere&) = delete;
    wake_from_elsewhere& operator=(const wake_from_elsewhere&) = delete;

private:
    const std::shared_ptr<session::run_watch> watch_;
    const std::shared_ptr<std::atomic<bool>> is_over_ = std::make_shared<std::atomic<bool>>(false);
};

} // namespace agui::gateway
