#include "gateway/run/unstored_end.hpp"

#include "translator/agui/agui_translator.hpp"
#include "translator/agui/event_reader.hpp"
#include "translator/agui/open_brackets.hpp"
#include "translator/agui/projected_events.hpp"
#include "translator/agui/protocol_version.hpp"

namespace agui::gateway {

std::vector<std::string> unstored_end(
    event_log& log, std::string_view thread_id, const session::run_record& run,
    runner::stop_reason reason, const clock& time
) {
    using translator::projection;
    const std::vector<std::string> visible = log.freeze();
    translator::projected_events events(
        translator::projection_from_string(run.protocol).value_or(projection::undeclared)
    );
    translator::agui_translator writer(events, {});
    writer.set_time(time.now());
    const translator::run_opening opening{thread_id, run.run_id, run.parent_run_id};
    if (visible.empty()) {
        writer.start(opening);
    } else {
        translator::open_brackets open;
        for (const std::string& event : visible) {
            open.read(translator::parse_event(event));
        }
        writer.resume(opening, open);
    }
    runner::run_end end;
    end.reason = reason;
    writer.finish(end);
    return events.take();
}

} // namespace agui::gateway
