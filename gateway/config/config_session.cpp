#include "gateway/config/config_sections.hpp"

#include "gateway/config/config_values.hpp"

#include <optional>

namespace agui::gateway {

void read_session(config_reader& table, session_config& session) {
    std::string store;
    if (table.read("store", store)) {
        if (store == "memory:") {
            session.store = session_config::store_kind::memory;
        } else if (store.starts_with("sqlite:") && store.size() > 7) {
            session.sqlite_path = store.substr(7);
        } else if (store.starts_with("postgres://") || store.starts_with("postgresql://")) {
            table.problem("store", "postgres is not supported by this version");
        } else {
            table.problem("store", "must be \"memory:\" or \"sqlite:PATH\"");
        }
    }
    using session::client_history;
    using session::durability;
    using session::history_mode;
    table.read_choice(
        "history", session.history.mode,
        {{"server", history_mode::server}, {"client", history_mode::client}}
    );
    table.read_choice(
        "durability", session.durability,
        {{"process", durability::process},
         {"power", durability::power},
         {"relaxed", durability::relaxed}}
    );
    table.read_choice(
        "client_history", session.history.client_history,
        {{"auto", client_history::automatic},
         {"full", client_history::full},
         {"delta", client_history::delta}}
    );
    table.read("accept_client_system", session.history.accept_client_system);
    table.read_choice(
        "on_busy", session.on_busy,
        {{"reject", busy_policy::reject},
         {"enqueue", busy_policy::enqueue},
         {"supersede", busy_policy::supersede}}
    );
    table.read_number("queue_max", session.queue_max, 1, 10'000);
    table.read_seconds("queue_hold_seconds", session.queue_hold, 0, day);
    table.read_choice(
        "on_busy_detached", session.supersede_detached, {{"supersede", true}, {"reject", false}}
    );
    std::int64_t wait = 0;
    if (table.read_number("busy_wait_ms", wait, 0, 60'000)) {
        session.busy_wait = std::chrono::milliseconds(wait);
    }
    table.read_seconds("replay_seconds", session.replay, 0, 365 * day);
    std::int64_t days = 0;
    if (table.read_number("log_days", days, 1, 36'500)) {
        session.log_age = std::chrono::hours(24 * days);
    }
    table.read_number("max_thread_bytes", session.max_thread_bytes, 65'536, std::int64_t{1} << 40);
    table.read_number("log_max_bytes", session.log_max_bytes, 0, std::int64_t{1} << 50);
    table.unsupported("lease_seconds");
}

} // namespace agui::gateway
