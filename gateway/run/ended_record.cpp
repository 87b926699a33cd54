#include "gateway/run/ended_record.hpp"

#include "session/conversation/run_segment.hpp"

#include <optional>
#include <string>

namespace agui::gateway {

namespace {

using runner::stop_class;
using runner::stop_reason;

session::run_status status_of(stop_reason reason) noexcept {
    switch (runner::class_of(reason)) {
    case stop_class::success:
        return session::run_status::finished;
    case stop_class::stopped:
        return session::run_status::cancelled;
    case stop_class::failed:
        return session::run_status::failed;
    }
    return session::run_status::failed;
}

std::string_view reason_of_success(stop_reason reason) noexcept {
    switch (reason) {
    case stop_reason::external_tool:
        return handed_off;
    case stop_reason::partial_answers:
        return answered_in_part;
    case stop_reason::approval_needed:
        return interrupted;
    default:
        return completed;
    }
}

} // namespace

session::run_record ended_record(
    const session::run_record& begun, const runner::run_end& end, unix_ms ended_at,
    std::uint64_t last_sequence
) {
    session::run_record ended = begun;
    ended.status = status_of(end.reason);
    ended.end_reason = runner::error_code(end.reason);
    if (ended.end_reason.empty()) {
        ended.end_reason = reason_of_success(end.reason);
    }
    ended.ended_at = ended_at;
    ended.last_sequence = last_sequence;
    return ended;
}

session::session_event end_event(const session::run_record& ended) {
    session::session_event event;
    event.type = ended.status == session::run_status::failed ? "run.failed" : "run.finished";
    event.run_id = ended.run_id;
    event.timestamp = ended.ended_at;
    event.data["reason"] = ended.end_reason;
    return event;
}

// Operators see by the cached tokens whether requests begin alike (P13).
void log_end(
    logger& log, std::string_view thread_id, const session::run_record& ended,
    const std::vector<runner::token_usage>& usage
) {
    std::optional<std::int64_t> input;
    std::optional<std::int64_t> cached;
    for (const runner::token_usage& each : usage) {
        if (each.input_tokens) {
            input = input.value_or(0) + *each.input_tokens;
        }
        if (each.cached_input_tokens) {
            cached = cached.value_or(0) + *each.cached_input_tokens;
        }
    }
    const auto text = [](const std::optional<std::int64_t>& count) {
        return count ? std::to_string(*count) : std::string("unknown");
    };
    log.log(
        log_level::info, "run ended",
        {{"thread", thread_id},
         {"run", session::client_run_id(ended.run_id)},
         {"reason", ended.end_reason},
         {"agent", ended.agent_id},
         {"input_tokens", text(input)},
         {"cached_tokens", text(cached)}}
    );
}

} // namespace agui::gateway
