#include "gateway/admission/request_warnings.hpp"

#include "gateway/admission/run_setup.hpp"
#include "runner/base/utf8.hpp"
#include "session/conversation/run_segment.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace agui::gateway {

namespace {

// Enough to recognize a name; clients may send any length.
constexpr std::size_t name_bytes_max = 64;

} // namespace

void warn_of_ignored_parts(
    logger& log, warned_names& told, const translator::run_input& input, const agent_entry& agent
) {
    const auto now = std::chrono::steady_clock::now();
    const auto warn = [&](std::string_view text, std::string_view name) {
        const std::string_view shown = runner::utf8_head(name, name_bytes_max);
        if (told.due(text, shown, now)) {
            log.log(
                log_level::warning, text,
                {{"name", shown},
                 {"thread", input.thread_id},
                 {"run", session::client_run_id(input.run_id)}}
            );
        }
    };
    for (const std::string& name : input.unknown_members) {
        warn("an unknown member of a request was ignored", name);
    }
    if (input.forwarded.model && !can_use_model(agent, *input.forwarded.model)) {
        warn("a request named a model that requests may not choose", *input.forwarded.model);
    }
    if (!input.notes.empty()) {
        std::string text = "a part of a request was left out: " + input.notes.front();
        if (input.notes.size() > 1) {
            text += " (and " + std::to_string(input.notes.size() - 1) + " more)";
        }
        log.log(
            log_level::warning, text,
            {{"thread", input.thread_id}, {"run", session::client_run_id(input.run_id)}}
        );
    }
}

} // namespace agui::gateway
