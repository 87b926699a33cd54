#include "gateway/log/thread_recording.hpp"

#include "session/history/shown_messages.hpp"

#include <utility>
#include <vector>

namespace agui::gateway {

void write_history(
    const session::thread_record& thread, session::node_index end,
    std::chrono::seconds approval_life, const translator::run_opening& opening, unix_ms now,
    translator::translator_settings settings, translator::wire_sink& out
) {
    std::vector<session::message> messages;
    runner::run_end over;
    if (thread.head < thread.branches.size()) {
        const session::node_index tip = thread.branches[thread.head].tip;
        messages = session::shown_messages(thread, tip, end);
        over.approvals = session::open_approvals(thread, tip, approval_life);
    }
    if (!over.approvals.empty()) {
        over.reason = runner::stop_reason::approval_needed;
    }
    translator::agui_translator writer(out, std::move(settings));
    writer.set_time(now);
    writer.start(opening);
    writer.translate(runner::messages_snapshot{&messages});
    // A thread without a state must not clear the client's own initial state.
    if (!thread.state.is_null()) {
        writer.translate(runner::state_shown{&thread.state});
    }
    writer.finish(over);
}

} // namespace agui::gateway
