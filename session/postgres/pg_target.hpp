#pragma once

#include "session/base/mutex.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace agui::session {

/// The address of a server and the way to connect to it: libpq's URL, or its `key=value` form.
/// Holds a password: never log it.
class pg_target {
public:
    using options = std::vector<std::pair<std::string, std::string>>;

    /// `password` (if not empty) overrides one in the URL. Throws std::runtime_error, which repeats
    /// nothing of the URL, if it cannot be read.
    pg_target(const std::string& url, std::string password);

    /// Sets another password for later results of resolve(). Safe to call from any thread.
    void use_password(std::string password);

    /// libpq's options, with addresses for host names: libpq's own lookup would block the thread.
    /// Throws pg_error (connection_lost) if no host has one that is found before `deadline`. Each
    /// lookup may take half of the time that is left, so that there is some to connect.
    [[nodiscard]] boost::asio::awaitable<options>
    resolve(std::chrono::steady_clock::time_point deadline) const;

private:
    [[nodiscard]] std::string value_of(const std::string& name) const;
    [[nodiscard]] options with_password() const;

    options options_; ///< With the password of the URL, if it has one.
    mutable mutex mutex_;
    std::string password_ AGUI_GUARDED_BY(mutex_); ///< Overrides it, if not empty.
};

} // namespace agui::session
