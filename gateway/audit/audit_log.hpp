#pragma once

#include "gateway/audit/line_file.hpp"
#include "session/base/clock.hpp"
#include "session/base/log.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace agui::gateway {

/// What somebody did, or tried to do.
enum class audit_event : std::uint8_t {
    auth_failed,     ///< A request was refused: it has no or wrong credentials, or lacks a scope.
    run_began,       ///< A run's beginning was stored.
    run_ended,       ///< It has ended.
    run_stopped,     ///< A stop was requested.
    approval,        ///< An approval, or another interrupt, was answered.
    thread_deleted,  ///< The deletion of a thread was requested.
    thread_exported, ///< A thread was copied through the control socket.
    thread_imported, ///< A thread was stored through it.
    user_purged,     ///< A user's data beside threads was removed through it.
    access_changed,  ///< Who else may use a thread was changed.
    session_began,   ///< A token was turned into a cookie.
    session_ended,   ///< A browser was told to forget its cookie.
};

[[nodiscard]] std::string_view to_string(audit_event what) noexcept;

/// One line of the audit. Members that are empty are left out. They hold names and ids, and never
/// contents, tokens, names of tools, or query strings. The views need to be valid during the call
/// only.
struct audit_entry {
    audit_event what = audit_event::auth_failed;
    std::string_view principal{}; ///< Of the caller: written as `tenant` and `user`.
    std::string_view address{};   ///< The client's, behind trusted proxies.
    /// Principal of the thread's owner: written as `ownerTenant` and `ownerUser` if it is another.
    std::string_view owner{};
    std::string_view thread{};
    std::string_view run{}; ///< As the client knows it (session::client_run_id).
    std::string_view agent{};
    std::string_view outcome{};
    std::string_view route{}; ///< "METHOD PATTERN", or "METHOD" where no route was found.
    std::size_t count = 1;    ///< The number of equal events that it stands for.
};

/// What a request did, for the audit: the rest of the entry is known where it is written.
struct audit_note {
    audit_event what = audit_event::auth_failed;
    std::string owner{};
    std::string thread{};
    std::string run{};
    std::string agent{};
    std::string outcome{};   ///< If empty, "ok", or the status of a refusal.
    std::string principal{}; ///< If empty, that of the request.
};

/// Where entries of the audit go. Safe to call from any thread. Never fails, and never waits long.
class audit_log {
public:
    virtual ~audit_log() = default;
    virtual void write(const audit_entry& entry) = 0;
};

/// One JSON object a line: {"time","event",…}, the time in UTC as in RFC 3339.
class audit_file final : public audit_log {
public:
    /// `path` as for line_file. Throws as line_file does. The references must outlive it.
    audit_file(std::string path, const clock& time, logger& log);

    void write(const audit_entry& entry) override;
    /// line_file::reopen()
    void reopen() { file_.reopen(); }

private:
    const clock& time_;
    line_file file_;
};

} // namespace agui::gateway
