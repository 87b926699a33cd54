#pragma once

#include "gateway/audit/audit_log.hpp"
#include "session/base/mutex.hpp"

#include <cstddef>
#include <map>
#include <string>

namespace agui::gateway {

/// Writes authentication failures to the audit, but only a bounded number, so that an attacker
/// cannot fill the disk: between two calls of sweep(), five lines for each of 64 clients and five
/// for all others together. Each client's further failures become one line with their number. Safe
/// to call from any thread.
class auth_failures {
public:
    static constexpr std::size_t lines_max = 5;
    /// Limited, because an attacker may use many addresses.
    static constexpr std::size_t clients_max = 64;

    explicit auth_failures(audit_log& audit) : audit_(audit) {}
    auth_failures(const auth_failures&) = delete;
    auth_failures& operator=(const auth_failures&) = delete;

    /// `client` is the address to which the failure is attributed (client_of()).
    void add(const audit_entry& failure, const std::string& client);

    /// To be called once a minute: writes the numbers of the failures without a line of their own.
    void sweep();

private:
    audit_log& audit_;
    mutex mutex_;
    /// Failures since the last sweep().
    std::map<std::string, std::size_t> clients_ AGUI_GUARDED_BY(mutex_);
};

} // namespace agui::gateway
