#include "gateway/config/config_sections.hpp"

#include "gateway/config/config_values.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace agui::gateway {

namespace {

bool is_postgres_url(std::string_view url) {
    return url.starts_with("postgres://") || url.starts_with("postgresql://");
}

// URLs are printed and logged, so secrets must come from the environment or from separate files.
void refuse_password(config_table& table, std::string_view key, std::string_view url) {
    const std::string_view rest = url.substr(std::min(url.find("://") + 3, url.size()));
    const std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
    const std::size_t user_end = authority.rfind('@');
    const bool in_authority = user_end != std::string_view::npos &&
                              authority.substr(0, user_end).find(':') != std::string_view::npos;
    const std::size_t query = rest.find('?');
    const bool in_query = query != std::string_view::npos &&
                          rest.substr(query).find("password=") != std::string::npos;
    if (in_authority || in_query) {
        table.problem(
            key, "must not hold a password: use store_password_env or store_password_file"
        );
    }
}

std::string name_of_store(const session_config& session) {
    switch (session.store) {
    case session_config::store_kind::memory:
        return "memory:";
    case session_config::store_kind::sqlite:
        return "sqlite:" + session.sqlite_path;
    case session_config::store_kind::postgres:
        return masked_url(session.postgres_url);
    }
    return {};
}

void describe_postgres(config_table& table, session_config& session) {
    secret_value(table, "store_password", session.store_password);
    table.value("prepared", session.prepared);
    table.time<std::chrono::milliseconds>("batch_ms", session.batch, 0, 1'000);
    table.number("store_connections", session.store_connections, 2, 1'000);
    // Long enough for three renewals with a slow server.
    table.time("lease_seconds", session.lease, 6, 3'600);
    table.time("store_wait_seconds", session.store_wait, 1, 600);
}

} // namespace

void describe_session(config_table& table, session_config& session) {
    std::string store = name_of_store(session);
    if (table.value("store", store)) {
        if (store == "memory:") {
            session.store = session_config::store_kind::memory;
        } else if (store.starts_with("sqlite:") && store.size() > 7) {
            session.sqlite_path = store.substr(7);
        } else if (is_postgres_url(store)) {
            session.store = session_config::store_kind::postgres;
            session.postgres_url = store;
            refuse_password(table, "store", store);
        } else {
            table.problem("store", "must be \"memory:\", \"sqlite:PATH\" or \"postgres://...\"");
        }
    }
    if (table.uses(session.store == session_config::store_kind::postgres)) {
        describe_postgres(table, session);
    }
    using session::client_history;
    using session::durability;
    using session::history_mode;
    table.choice(
        "history", session.history.mode,
        {{"server", history_mode::server}, {"client", history_mode::client}}
    );
    table.choice(
        "durability", session.durability,
        {{"process", durability::process},
         {"power", durability::power},
         {"relaxed", durability::relaxed}}
    );
    table.choice(
        "client_history", session.history.client_history,
        {{"auto", client_history::automatic},
         {"full", client_history::full},
         {"delta", client_history::delta}}
    );
    table.value("accept_client_system", session.history.accept_client_system);
    table.choice(
        "on_busy", session.on_busy,
        {{"reject", busy_policy::reject},
         {"enqueue", busy_policy::enqueue},
         {"supersede", busy_policy::supersede},
         {"steer", busy_policy::steer}}
    );
    table.number("queue_max", session.queue_max, 1, 10'000);
    table.time("queue_hold_seconds", session.queue_hold, 0, day);
    table.choice(
        "on_busy_detached", session.supersede_detached, {{"supersede", true}, {"reject", false}}
    );
    table.time<std::chrono::milliseconds>("busy_wait_ms", session.busy_wait, 0, 60'000);
    table.time("replay_seconds", session.replay, 0, 365 * day);
    if (table.time<std::chrono::days>("log_days", session.log_age, 1, 36'500)) {
        session.link_age = session.log_age;
    }
    table.time<std::chrono::days>("link_days", session.link_age, 1, 36'500);
    table.number("max_thread_bytes", session.max_thread_bytes, 65'536, std::int64_t{1} << 40);
    table.number("log_max_bytes", session.log_max_bytes, 0, std::int64_t{1} << 50);
}

} // namespace agui::gateway
