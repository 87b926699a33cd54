#include "gateway/runs/event_log.hpp"

#include "session/base/stored_json.hpp"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::gateway {

namespace {

// Stores up to schema version 5 hold the forms of older projections as server-sent events.
std::string_view json_of(std::string_view stored) {
    constexpr std::string_view data = "\ndata: ";
    constexpr std::string_view end = "\n\n";
    if (!stored.starts_with("id: ") || !stored.ends_with(end)) {
        return stored;
    }
    const std::size_t begin = stored.find(data) + data.size();
    return stored.substr(begin, stored.size() - begin - end.size());
}
} // namespace

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
    auto log = std::make_shared<event_log>(std::move(executor), options);
    log->joins_deltas_ = join_deltas;
    return log;
}

void event_log::restore(const std::vector<session::log_entry>& entries) {
    const std::lock_guard lock(mutex_);
    for (const session::log_entry& entry : entries) {
        append_event(entry.json);
        if (!entry.variants.empty()) {
            const boost::json::object both =
                session::parse_stored(entry.variants).value().as_object();
            variant_entry variant{entry.sequence, std::nullopt, std::nullopt};
            if (const auto* json = both.if_contains("1.0")) {
                variant.v1_0 = json_of(json->as_string());
            }
            if (const auto* json = both.if_contains("undeclared")) {
                variant.undeclared = json_of(json->as_string());
            }
            count(entry.variants.size());
            variants_.push_back(std::move(variant));
        } else if (joins_deltas_) {
            events_.let_last_join();
        }
    }
}

void event_log::show_restored() { make_visible(last_sequence(), stored::yes); }

void event_log::end_restored() { publish_end(); }

} // namespace agui::gateway
