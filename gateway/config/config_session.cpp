#include "gateway/config/config_sections.hpp"

#include "gateway/config/config_values.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

namespace agui::gateway {

namespace {

bool is_postgres_url(std::string_view url) {
    return url.starts_with("postgres://") || url.starts_with("postgresql://");
}

// Secrets come from the environment or from files of their own: a URL is printed and logged.
void refuse_password(config_reader& table, std::string_view key, std::string_view url) {
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

} // namespace

void read_session(config_reader& table, session_config& session) {
    std::string store;
    if (table.read("store", store)) {
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
    if (table.read("listen", session.postgres_listen_url)) {
        if (!is_postgres_url(session.postgres_listen_url)) {
            table.problem("listen", "must be a postgres:// URL");
        }
        refuse_password(table, "listen", session.postgres_listen_url);
    }
    read_secret(table, "store_password", session.store_password);
    table.read("prepared", session.prepared);
    table.read_number("store_connections", session.store_connections, 2, 1'000);
    // Three renewals must fit, each with time for a server that is slow.
    table.read_seconds("lease_seconds", session.lease, 6, 3'600);
    table.read_seconds("store_wait_seconds", session.store_wait, 1, 600);
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
        session.link_age = session.log_age;
    }
    if (table.read_number("link_days", days, 1, 36'500)) {
        session.link_age = std::chrono::hours(24 * days);
    }
    table.read_number("max_thread_bytes", session.max_thread_bytes, 65'536, std::int64_t{1} << 40);
    table.read_number("log_max_bytes", session.log_max_bytes, 0, std::int64_t{1} << 50);
}

} // namespace agui::gateway
