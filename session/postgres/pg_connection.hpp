#pragma once

#include "session/postgres/pg_params.hpp"
#include "session/postgres/pg_result.hpp"
#include "session/postgres/pg_target.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace agui::session {

/// A connection to a server, which never blocks its thread. Used by one thread, that of its
/// executor, for one call at a time.
class pg_connection {
public:
    using time_point = std::chrono::steady_clock::time_point;

    /// Connects and checks that the server can be used (version 13 or later, UTF8, it writes,
    /// READ COMMITTED by default). Throws pg_error, also when `deadline` has passed. Without
    /// `prepares`, a pooler is expected that does not keep prepared statements.
    [[nodiscard]] static boost::asio::awaitable<std::unique_ptr<pg_connection>>
    open(const pg_target& target, bool prepares, time_point deadline);
    ~pg_connection();
    pg_connection(const pg_connection&) = delete;
    pg_connection& operator=(const pg_connection&) = delete;

    /// Sends all statements at once, and returns their results in one round trip. Without BEGIN
    /// among them they are one transaction. The first that fails skips the rest, and its error is
    /// thrown as pg_error. If `deadline` passes or the connection is lost, the connection is no
    /// longer usable, and the effect of the statements is unknown: the server ends them by its own
    /// statement_timeout.
    [[nodiscard]] boost::asio::awaitable<std::vector<pg_rows>>
    execute(std::vector<pg_statement> statements, time_point deadline);

    /// Makes a wait under way, and every later call, fail as if the connection had been lost.
    void abandon() noexcept;

    /// False if it was lost, or if a call on it did not end. Then it can only be destroyed.
    [[nodiscard]] bool is_usable() const noexcept;
    /// The IP address of this end; empty if the connection does not use TCP.
    [[nodiscard]] std::string local_address() const;
    /// True if no transaction is open.
    [[nodiscard]] bool is_idle() const noexcept;
    /// True if the session already has the settings of a transaction: search_path, limits of time,
    /// and commits that wait for the disk. False behind a pooler, which may give each transaction
    /// another session.
    [[nodiscard]] bool has_settings() const noexcept { return has_settings_; }

private:
    struct handle;

    pg_connection(const boost::asio::any_io_executor& executor, bool prepares);

    boost::asio::awaitable<void> connect(const pg_target& target, time_point deadline);
    void check_server();
    boost::asio::awaitable<void> check_session(time_point deadline);
    void send(std::vector<pg_statement>& statements);
    boost::asio::awaitable<std::vector<pg_rows>> receive();
    boost::asio::awaitable<void> wait_readable();
    boost::asio::awaitable<void> flush();
    void use_socket();
    void read_input();
    [[noreturn]] void lose(const std::string& reason);
    [[noreturn]] void lose_to(const char* reason);

    std::shared_ptr<handle> handle_; ///< Shared with the handler of its timer.
    const bool prepares_;
    bool has_settings_ = false;
};

} // namespace agui::session
