#pragma once

#include "session/postgres/pg_connection.hpp"
#include "session/postgres/pg_target.hpp"

#include "session/base/log.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

/// Hears the notifications of some channels on a connection of its own, and connects again
/// whenever that is lost. Belongs to the store's thread.
class pg_listener {
public:
    class receiver {
    public:
        virtual ~receiver() = default;
        /// It listens from now on; what was sent before, or while it did not, was not heard.
        virtual void on_listening() = 0;
        virtual void on_notification(const pg_notification& heard) = 0;
    };

    /// The arguments must outlive this.
    pg_listener(
        const boost::asio::any_io_executor& executor, const pg_target& target, receiver& told,
        agui::logger& log
    );

    /// Listens until close(). To be called once.
    [[nodiscard]] boost::asio::awaitable<void> run();
    /// Hears these channels instead of others. Their names hold only a-z, 0-9 and _.
    void set_channels(std::vector<std::string> channels);
    void close() noexcept;

private:
    boost::asio::awaitable<void> listen();
    void note_loss(std::string_view reason);
    void note_success();

    const pg_target& target_;
    receiver& told_;
    agui::logger& log_;
    boost::asio::steady_timer timer_;
    std::vector<std::string> channels_;
    bool has_new_channels_ = false;
    bool is_closed_ = false;
    bool is_deaf_ = false;                ///< And the log says so.
    pg_connection* connection_ = nullptr; ///< While there is one.
};

} // namespace agui::session
