#include "gateway/log/event_log.hpp"

#include <stdexcept>
#include <utility>

namespace agui::gateway {

std::shared_ptr<event_log> event_log::restored(
    boost::asio::any_io_executor executor, const std::vector<session::log_entry>& entries,
    bool join_deltas
) {
    auto log = begin_restored(std::move(executor), nullptr, join_deltas);
    log->restore(entries);
    log->end_restored();
    return log;
}

std::shared_ptr<event_log> event_log::begin_restored(
    boost::asio::any_io_executor executor, memory_budget* budget, bool join_deltas
) {
    settings options;
    options.budget = budget;
    options.join_deltas = join_deltas;
    return std::make_shared<event_log>(std::move(executor), options);
}

void event_log::restore(const std::vector<session::log_entry>& entries) {
    const std::lock_guard lock(mutex_);
    for (const session::log_entry& entry : entries) {
        written_.events.restore(entry);
    }
}

void event_log::show_restored() { make_visible(own().events.size(), stored::yes); }

void event_log::end_restored() { publish_end(); }

result<void> restore_entries(event_log& log, const std::vector<session::log_entry>& entries) {
    try {
        log.restore(entries);
        return {};
    } catch (const std::runtime_error&) {
        return failure{
            errc::run_expired, "the events of this run are no longer stored", "runId", {}
        };
    }
}

} // namespace agui::gateway
