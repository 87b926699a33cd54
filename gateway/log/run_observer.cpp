#include "gateway/log/run_observer.hpp"

#include "session/conversation/run_segment.hpp"

#include <cstddef>
#include <exception>

namespace agui::gateway {

void observed_sink::on_event(const translator::wire_event& event) {
    next_.on_event(event);
    ++sequence_;
    if (event.terminal) {
        terminal_ = event.json;
    } else {
        report(sequence_, event.json, false);
    }
}

void observed_sink::report_end() { report(sequence_, terminal_, true); }

void observed_sink::report_end_without_store(const std::vector<std::string>& events) {
    for (std::size_t i = 0; i < events.size(); ++i) {
        report(0, events[i], i + 1 == events.size());
    }
}

void observed_sink::report(std::uint64_t sequence, std::string_view json, bool terminal) {
    try {
        observer_({thread_, run_, sequence, json, terminal});
    } catch (const std::exception& error) {
        log_.log(
            log_level::error, "the run observer of the embedding program has thrown an exception",
            {{"run", session::client_run_id(run_.run_id)}, {"detail", error.what()}}
        );
    }
}

} // namespace agui::gateway
