#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace agui::session {

/// A statement or a connection that has failed. what() is for the operator's log: it holds no value
/// of a row or a parameter, no password and no URL.
class pg_error : public std::runtime_error {
public:
    enum class effect {
        refused,        ///< The server has refused the statement; the connection is usable.
        connection_lost ///< What was under way on it may or may not have been carried out.
    };

    /// `sqlstate` has five characters, or none if the server has sent none.
    pg_error(std::string sqlstate, const std::string& text, effect on_connection);

    [[nodiscard]] const std::string& sqlstate() const noexcept { return sqlstate_; }
    [[nodiscard]] bool is_connection_lost() const noexcept {
        return effect_ == effect::connection_lost;
    }
    /// The server has refused it because of what others did at the same time.
    [[nodiscard]] bool may_succeed_later() const noexcept;
    /// The server only reads: it is a standby that may become a primary, or the other way round.
    [[nodiscard]] bool is_read_only() const noexcept;
    /// The server can carry out nothing of that kind at the moment, whoever asks: it only reads, is
    /// starting, or is short of memory, room on its disk or connections.
    [[nodiscard]] bool needs_time() const noexcept;
    /// It may be carried out on another connection.
    [[nodiscard]] bool is_stale_connection() const noexcept;
    /// A table or an index is damaged where it was read: the server can read its other pages.
    [[nodiscard]] bool is_damage() const noexcept;
    /// agui.begin_run(), agui.end_run(): the change does not fit the thread, which is a bug.
    [[nodiscard]] bool is_misfit() const noexcept;
    /// agui.enter(): the gateway has lost its leases.
    [[nodiscard]] bool is_fenced() const noexcept;

private:
    std::string sqlstate_;
    effect effect_;
};

/// No connection could be had, or nothing known about a commit, for as long as a call may wait.
class pg_unavailable : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// What may be shown of a server's primary message: it, or for classes of errors whose messages can
/// repeat values, a text that says nothing.
[[nodiscard]] std::string safe_message(std::string_view sqlstate, std::string_view primary);

/// libpq's texts have several lines; a log line has one.
[[nodiscard]] std::string as_one_line(std::string_view text);

} // namespace agui::session
