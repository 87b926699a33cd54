#include "gateway/audit/audit_log.hpp"

#include "gateway/audit/record_line.hpp"
#include "gateway/auth/caller.hpp"

#include <utility>

namespace agui::gateway {

std::string_view to_string(audit_event what) noexcept {
    switch (what) {
    case audit_event::auth_failed:
        return "auth_failed";
    case audit_event::run_began:
        return "run_began";
    case audit_event::run_ended:
        return "run_ended";
    case audit_event::run_stopped:
        return "run_stopped";
    case audit_event::approval:
        return "approval";
    case audit_event::thread_deleted:
        return "thread_deleted";
    case audit_event::thread_exported:
        return "thread_exported";
    case audit_event::thread_imported:
        return "thread_imported";
    case audit_event::user_purged:
        return "user_purged";
    case audit_event::access_changed:
        return "access_changed";
    case audit_event::session_began:
        return "session_began";
    case audit_event::session_ended:
        return "session_ended";
    }
    return "unknown";
}

audit_file::audit_file(std::string path, const clock& time, logger& log)
    : time_(time), file_(std::move(path), "audit.file", line_writing::at_once, log) {}

void audit_file::write(const audit_entry& entry) {
    record_line line(time_.now());
    line.add("event", to_string(entry.what));
    const caller_name names = name_of(entry.principal);
    line.add("tenant", names.tenant);
    line.add("user", names.user);
    line.add("address", entry.address);
    if (entry.owner != entry.principal) {
        const caller_name owner = name_of(entry.owner);
        line.add("ownerTenant", owner.tenant);
        line.add("ownerUser", owner.user);
    }
    line.add("thread", entry.thread);
    line.add("run", entry.run);
    line.add("agent", entry.agent);
    line.add("outcome", entry.outcome);
    line.add("route", entry.route);
    if (entry.count != 1) {
        line.add("count", static_cast<std::int64_t>(entry.count));
    }
    file_.append(line.end());
}

} // namespace agui::gateway
