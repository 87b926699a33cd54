#include "gateway/audit/audit_log.hpp"

#include "gateway/auth/caller.hpp"
#include "runner/base/json_text.hpp"

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
    : time_(time), file_(std::move(path), "audit.file", log) {}

void audit_file::write(const audit_entry& entry) {
    std::string line = R"({"time":)";
    runner::append_json_string(line, iso_time(time_.now()));
    const auto add = [&line](std::string_view name, std::string_view value) {
        if (!value.empty()) {
            runner::append_text_member(line, name, value);
        }
    };
    add("event", to_string(entry.what));
    const caller_name names = name_of(entry.principal);
    add("tenant", names.tenant);
    add("user", names.user);
    add("address", entry.address);
    if (entry.owner != entry.principal) {
        const caller_name owner = name_of(entry.owner);
        add("ownerTenant", owner.tenant);
        add("ownerUser", owner.user);
    }
    add("thread", entry.thread);
    add("run", entry.run);
    add("agent", entry.agent);
    add("outcome", entry.outcome);
    add("route", entry.route);
    if (entry.count != 1) {
        line.append(R"(,"count":)").append(std::to_string(entry.count));
    }
    line.push_back('}');
    file_.append(line);
}

} // namespace agui::gateway
