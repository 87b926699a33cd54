#include "gateway/log/event_log.hpp"

#include "session/base/stored_json.hpp"

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::gateway {

namespace {

[[noreturn]] void fail() { throw std::runtime_error("an entry of a stored log is damaged"); }

boost::json::object forms_of(std::string_view variants) {
    auto both = session::parse_stored(variants);
    if (!both || !both->is_object()) {
        fail();
    }
    return std::move(both->get_object());
}

std::optional<std::string> form_of(const boost::json::object& both, std::string_view projection) {
    const boost::json::value* const form = both.if_contains(projection);
    if (form == nullptr) {
        return std::nullopt;
    }
    if (!form->is_string()) {
        fail();
    }
    return std::string(form->get_string());
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
    const std::lock_guard lock(log->mutex_);
    log->joins_deltas_ = join_deltas;
    return log;
}

void event_log::restore(const std::vector<session::log_entry>& entries) {
    const std::lock_guard lock(mutex_);
    for (const session::log_entry& entry : entries) {
        if (!entry.variants.empty()) {
            const boost::json::object both = forms_of(entry.variants);
            append_event(entry.json);
            count(entry.variants.size());
            variants_.push_back({entry.sequence, form_of(both, "1.0"), form_of(both, "undeclared")}
            );
            continue;
        }
        append_event(entry.json);
        if (joins_deltas_) {
            events_.let_last_join();
        }
    }
}

void event_log::show_restored() { make_visible(last_sequence(), stored::yes); }

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
