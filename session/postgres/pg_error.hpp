#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace agui::session {

/// The failure of a statement or a connection. what() is for the operator's log: it holds no value
/// of a row or a parameter, no password and no URL.
class pg_error : public std::runtime_error {
public:
    enum class effect {
        refused,        ///< The server has refused the statement; the connection is usable.
        connection_lost ///< Statements under way may or may not have taken effect.
    };

    /// `sqlstate` has five characters, or none if the server has sent none.
    pg_error(std::string sqlstate, const std::string& text, effect on_connection);

    [[nodiscard]] const std::string& sqlstate() const noexcept { return sqlstate_; }
    [[nodiscard]] bool is_connection_lost() const noexcept {
        return effect_ == effect::connection_lost;
    }
    /// True if the server refused it because of concurrent transactions.
    [[nodiscard]] bool may_succeed_later() const noexcept;
    /// True if the server only reads: it is a standby that may become a primary, or the other way
    /// round.
    [[nodiscard]] bool is_read_only() const noexcept;
    /// True if the server is temporarily unable to serve any client: it only reads, is starting, or
    /// is short of memory, room on its disk or connections.
    [[nodiscard]] bool needs_time() const noexcept;
    /// True if it may succeed on another connection.
    [[nodiscard]] bool is_stale_connection() const noexcept;
    /// True if a table or an index is damaged where it was read: the server can read its other
    /// pages.
    [[nodiscard]] bool is_damage() const noexcept;
    /// True for agui.begin_run() and agui.end_run() if the change does not fit the thread, which is
    /// a bug.
    [[nodiscard]] bool is_misfit() const noexcept;
    /// True for agui.enter() if the gateway has lost its leases.
    [[nodiscard]] bool is_fenced() const noexcept;

private:
    std::string sqlstate_;
    effect effect_;
};

/// Thrown if a call may wait no longer: it got no connection, or could not learn the outcome of a
/// commit.
class pg_unavailable : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The server's primary message, or a text without details for classes of errors whose messages can
/// repeat values.
[[nodiscard]] std::string safe_message(std::string_view sqlstate, std::string_view primary);

/// libpq's texts have several lines; a log line has one.
[[nodiscard]] std::string as_one_line(std::string_view text);

} // namespace agui::session
