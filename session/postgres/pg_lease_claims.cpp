// The leases of gateways that are gone, and the comparison with the table after a failover.
#include "session/postgres/pg_error.hpp"
#include "session/postgres/pg_leases.hpp"
#include "session/postgres/pg_log_rows.hpp"
#include "session/postgres/pg_transaction.hpp"

#include <algorithm>
#include <utility>

namespace agui::session {

namespace asio = boost::asio;

namespace {

// Retried threads have newer tokens and come last.
constexpr const char* lock_left_leases =
    "WITH l AS MATERIALIZED (SELECT principal, thread_id FROM agui.leases "
    "WHERE gateway = ANY($1) ORDER BY token LIMIT $2 FOR UPDATE SKIP LOCKED) "
    "SELECT l.principal, l.thread_id, " AGUI_PG_LEASE_HAS_RUN " FROM l";
constexpr const char* next_tokens = "SELECT agui.next_lease_token() FROM generate_series(1, $1)";
constexpr const char* take_left_leases =
    "UPDATE agui.leases l SET gateway = $1, token = c.token, run_id = '', attempt = NULL, "
    "run_number = 0, first_own_message = -1 "
    "FROM unnest($2, $3, $4) AS c(principal, thread_id, token) "
    "WHERE l.principal = c.principal AND l.thread_id = c.thread_id";
constexpr const char* drop_left_leases =
    "DELETE FROM agui.leases l USING unnest($1, $2) AS c(principal, thread_id) "
    "WHERE l.principal = c.principal AND l.thread_id = c.thread_id "
    "AND NOT " AGUI_PG_LEASE_HAS_RUN;
// Looks at all active runs, so it must not run often. A run without a lease, or with the lease of a
// gateway that has no row, was left by a program that deletes each lease that it releases, or by a
// repair.
constexpr const char* note_strays =
    "INSERT INTO agui.leases AS l (principal, thread_id, gateway, token, run_id) "
    "SELECT t.principal, t.thread_id, 0, 0, '' FROM agui.threads t "
    "WHERE t.id IN (SELECT r.thread FROM agui.runs r WHERE r.status = 'active') "
    "AND NOT EXISTS (SELECT FROM agui.leases l WHERE l.principal = t.principal "
    "AND l.thread_id = t.thread_id AND (l.gateway = 0 OR EXISTS "
    "(SELECT FROM agui.gateways g WHERE g.id = l.gateway))) "
    "ON CONFLICT (principal, thread_id) DO UPDATE SET gateway = 0 WHERE l.gateway <> 0 "
    "AND NOT EXISTS (SELECT FROM agui.gateways g WHERE g.id = l.gateway)";
constexpr const char* own_leases =
    "SELECT principal, thread_id, token FROM agui.leases WHERE gateway = $1";
// Limit of one transaction.
constexpr std::size_t claims_max = 1000;

struct keys_of_threads {
    std::vector<std::string> principals;
    std::vector<std::string> threads;
    void add(const thread_key& key) {
        principals.push_back(key.principal);
        threads.push_back(key.thread_id);
    }
};

// Decodes a token of agui.next_lease_token(). A lease of the current timeline was acquired after
// the failover, perhaps while the table was read.
bool is_of_timeline(const lease& held, std::int64_t timeline) {
    constexpr std::uint64_t mask = (1U << 20U) - 1;
    return held.token() >> 40U == (static_cast<std::uint64_t>(timeline) & mask);
}

} // namespace

asio::awaitable<result<std::vector<lease_ptr>>> pg_leases::claim_orphans(std::size_t limit) {
    if (const std::uint64_t fences = gateway_.fences(); strays_seen_at_ != fences) {
        (void)co_await write_at_once(shared_, {}, [] {
            pg_batch batch;
            batch.emplace_back(note_strays);
            return batch;
        });
        strays_seen_at_ = fences;
    }
    const bool is_due = compare_from_ && std::chrono::steady_clock::now() >= *compare_from_;
    if (const std::int64_t timeline = gateway_.timeline(); compared_at_ != timeline || is_due) {
        if (is_due) {
            compare_from_.reset();
        }
        co_await compare_with_table();
        compared_at_ = timeline;
    }
    const std::vector<std::int64_t> left_by = co_await gateway_.fence_expired();
    const std::int64_t gateway = gateway_.id();
    if (left_by.empty() || gateway == 0) {
        co_return std::vector<lease_ptr>();
    }
    std::vector<claim> claims;
    try {
        bool goes_on = true;
        while (goes_on && claims.empty()) { // Most of a gateway's leases may have no active run.
            goes_on = co_await transact<bool>(
                shared_.pool, shared_.patience, {.gateway = gateway},
                [&](pg_transaction& in) {
                    return claim_in(in, left_by, gateway, std::min(limit, claims_max), claims);
                }
            );
        }
    } catch (const pg_unavailable&) {
        note_unsure(claims, gateway); // No call learns of the leases that it may have acquired.
        throw;
    }
    co_return keep_claims(claims, gateway);
}

// If several processes ask at once, each gets different leases. Returns false if none are left.
asio::awaitable<bool> pg_leases::claim_in(
    pg_transaction& in, const std::vector<std::int64_t>& left_by, std::int64_t gateway,
    std::size_t limit, std::vector<claim>& claims
) {
    claims.clear();
    pg_batch look;
    look.emplace_back(lock_left_leases, left_by, limit);
    // Tokens are drawn after the locks, so that they never decrease.
    look.emplace_back(next_tokens, limit);
    const auto found = co_await in.read(std::move(look));
    const pg_rows& rows = found.at(0);
    if (rows.empty()) {
        co_return false;
    }
    keys_of_threads taken;
    keys_of_threads idle;
    std::vector<std::int64_t> tokens;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const thread_key key{std::string(rows.text(i, 0)), std::string(rows.text(i, 1))};
        if (rows.boolean(i, 2)) {
            taken.add(key);
            tokens.push_back(found.at(1).integer(i, 0));
            claims.push_back({key, static_cast<std::uint64_t>(tokens.back())});
        } else {
            idle.add(key);
        }
    }
    pg_batch change;
    change.emplace_back(take_left_leases, gateway, taken.principals, taken.threads, tokens);
    change.emplace_back(drop_left_leases, idle.principals, idle.threads);
    co_await in.commit(std::move(change));
    co_return true;
}

// A standby that was behind still has leases that were released here, with their runs active: no
// other gateway takes leases of a live one. It also lacks leases that were acquired here.
asio::awaitable<void> pg_leases::compare_with_table() {
    const std::int64_t gateway = gateway_.id();
    const auto found = co_await read_at_once(shared_, [gateway] {
        pg_batch batch;
        batch.emplace_back(own_leases, gateway);
        return batch;
    });
    if (gateway != gateway_.id()) {
        co_return; // Others take over the rows of a lost number.
    }
    std::map<thread_key, std::uint64_t> in_table;
    for (std::size_t i = 0; i < found.at(0).size(); ++i) {
        in_table.emplace(
            thread_key{std::string(found[0].text(i, 0)), std::string(found[0].text(i, 1))},
            static_cast<std::uint64_t>(found[0].integer(i, 2))
        );
    }
    std::vector<claim> forgotten;
    for (const lease_ptr& held : missing_in(in_table)) {
        lose(held);
    }
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [key, token] : in_table) {
            if (!here_.contains(key)) {
                forgotten.push_back({key, token});
            }
        }
    }
    note_unsure(forgotten, gateway);
}

std::vector<lease_ptr> pg_leases::missing_in(const std::map<thread_key, std::uint64_t>& table
) const {
    std::vector<lease_ptr> missing;
    const std::lock_guard lock(mutex_);
    for (const auto& [key, by] : here_) {
        if (!by.held || by.ending || is_of_timeline(*by.held, gateway_.timeline())) {
            continue; // The lease is changing, or was acquired later.
        }
        if (const auto row = table.find(key);
            row == table.end() || row->second != by.held->token()) {
            missing.push_back(by.held);
        }
    }
    return missing;
}

void pg_leases::note_unsure(const std::vector<claim>& claims, std::int64_t gateway) {
    const std::lock_guard lock(mutex_);
    for (const claim& each : claims) {
        unsure_.push_back({each.key, gateway});
    }
    if (!claims.empty()) {
        wake_writer();
    }
}

std::vector<lease_ptr>
pg_leases::keep_claims(const std::vector<claim>& claims, std::int64_t gateway) {
    std::vector<lease_ptr> kept;
    if (gateway != gateway_.id()) {
        return kept; // The number was lost meanwhile, and the claims with it.
    }
    const std::lock_guard lock(mutex_);
    for (const claim& each : claims) {
        auto held = std::make_shared<lease>(each.key, "", each.token, gateway_.term(), true);
        const auto [place, is_new] = here_.try_emplace(each.key);
        if (is_new) {
            place->second.held = held;
            kept.push_back(std::move(held));
        } else { // A local call asks for the thread, and takes it from its own gateway.
            (void)held->set_released();
            released_.push_back({std::move(held), 0});
            wake_writer();
        }
    }
    return kept;
}

} // namespace agui::session
