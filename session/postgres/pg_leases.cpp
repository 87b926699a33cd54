#include "session/postgres/pg_leases.hpp"

#include "session/base/as_result.hpp"
#include "session/postgres/pg_change.hpp"
#include "session/postgres/pg_error.hpp"
#include "session/postgres/pg_log_rows.hpp"
#include "session/store/store_failures.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace agui::session {

namespace asio = boost::asio;

namespace {

using namespace std::chrono_literals;

constexpr const char* take_lease =
    "SELECT its_token, has_orphans, its_run, its_gateway, has_expired "
    "FROM agui.take_lease($1, $2, $3, $4, $5)";
constexpr const char* holder_of =
    "SELECT l.run_id, l.run_number, l.first_own_message, l.gateway FROM agui.leases l "
    "JOIN agui.gateways g ON g.id = l.gateway AND NOT g.fenced AND g.expires >= clock_timestamp() "
    "WHERE l.principal = $1 AND l.thread_id = $2 AND l.gateway <> $3";
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
constexpr const char* has_lease =
    "SELECT EXISTS (SELECT FROM agui.leases WHERE principal = $1 AND thread_id = $2 "
    "AND token = $3)";
constexpr const char* note_run_of_lease =
    "UPDATE agui.leases SET run_number = $4, first_own_message = $5 "
    "WHERE principal = $1 AND thread_id = $2 AND token = $3";
constexpr const char* drop_lease =
    "DELETE FROM agui.leases WHERE principal = $1 AND thread_id = $2 AND token = $3";
// Fencing a gateway takes one more round; a third is needed only if other processes do the same.
constexpr int rounds_max = 4;
constexpr auto number_look_again = 20ms;
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

failure busy(std::string run_id, std::int64_t gateway) {
    return {
        errc::thread_busy, "another run is active on this thread", {}, std::move(run_id), gateway
    };
}

// Decodes a token of agui.next_lease_token(). A lease of the current timeline was acquired after
// the failover, perhaps while the table was read.
bool is_of_timeline(const lease& held, std::int64_t timeline) {
    constexpr std::uint64_t mask = (1U << 20U) - 1;
    return held.token() >> 40U == (static_cast<std::uint64_t>(timeline) & mask);
}

failure no_gateway() {
    return {errc::store_unavailable, "this server has lost its leases: try again"};
}

} // namespace

pg_leases::pg_leases(pg_shared& shared, pg_gateway& gateway, before_release prepare)
    : shared_(shared),
      gateway_(gateway),
      before_release_(std::move(prepare)),
      writer_timer_(shared.context) {}

asio::awaitable<result<lease_ptr>> pg_leases::acquire(thread_key key, std::string run_id) {
    while (const auto ending = ending_of(key)) {
        co_await ending->async_wait(as_result);
    }
    {
        const std::lock_guard lock(mutex_);
        const auto [place, is_new] = here_.try_emplace(key);
        if (!is_new) {
            co_return busy(place->second.run_id, 0);
        }
        place->second.run_id = run_id;
    }
    struct reservation {
        pg_leases& of;
        const thread_key& key;
        bool has_answer = false;
        bool is_kept = false;
        // If the answer was lost, the table may have a lease that no call knows of.
        ~reservation() {
            if (!is_kept) {
                const std::lock_guard lock(of.mutex_);
                of.here_.erase(key);
                // Others take over the rows of a lost number.
                if (const std::int64_t gateway = of.gateway_.id(); !has_answer && gateway != 0) {
                    of.unsure_.push_back({key, gateway});
                    of.wake_writer();
                }
            }
        }
    } reserved{*this, key};
    result<lease_ptr> got = co_await acquire_in_table(key, std::move(run_id));
    reserved.has_answer = true;
    if (got) {
        const std::lock_guard lock(mutex_);
        here_.at(key).held = *got;
        reserved.is_kept = true;
    }
    co_return got;
}

asio::awaitable<result<lease_ptr>> pg_leases::acquire_in_table(thread_key key, std::string run_id) {
    const auto give_up = std::chrono::steady_clock::now() + shared_.patience.store_wait;
    const std::int64_t attempt = ++attempts_;
    answer last;
    for (int round = 0; round < rounds_max; ++round) {
        if (!co_await has_number(give_up)) {
            co_return no_gateway();
        }
        const std::int64_t gateway = gateway_.id();
        last = co_await ask(key, run_id, gateway, attempt);
        if (gateway != gateway_.id()) {
            continue; // Its number was lost while it was asked for.
        }
        if (last.token) {
            co_return std::make_shared<lease>(
                key, run_id, *last.token, gateway_.term(), last.has_orphans
            );
        }
        if (last.gateway != 0 && !last.has_expired) {
            break;
        }
        if (last.gateway != 0) {
            (void)co_await gateway_.fence(last.gateway); // Otherwise another process has fenced it.
        }
    }
    if (gateway_.id() == 0) {
        co_return no_gateway();
    }
    co_return busy(std::move(last.holder), last.gateway);
}

// A process that wakes up has lost its number, and gets another one within some milliseconds.
asio::awaitable<bool> pg_leases::has_number(std::chrono::steady_clock::time_point give_up) {
    asio::steady_timer timer(shared_.context);
    while (gateway_.id() == 0) {
        if (is_closed_ || std::chrono::steady_clock::now() >= give_up) {
            co_return false;
        }
        timer.expires_after(number_look_again);
        co_await timer.async_wait(as_result);
    }
    co_return true;
}

asio::awaitable<pg_leases::answer> pg_leases::ask(
    const thread_key& key, const std::string& run_id, std::int64_t gateway, std::int64_t attempt
) {
    std::vector<pg_rows> results;
    int tries = 0;
    try {
        results = co_await write_at_once(shared_, {}, [&, gateway, attempt] {
            // The server may execute an earlier try when the thread has been released again.
            if (++tries > 1) {
                compare_from_ = std::chrono::steady_clock::now() + 3 * shared_.patience.store_wait;
            }
            pg_batch batch;
            batch.emplace_back(take_lease, key.principal, key.thread_id, gateway, run_id, attempt);
            return batch;
        });
    } catch (const pg_error& error) {
        if (!error.is_fenced()) {
            throw;
        }
        gateway_.lose(gateway);
        co_return answer();
    }
    answer found;
    const pg_rows& row = results.at(0);
    if (!row.is_null(0, 0)) {
        found.token = static_cast<std::uint64_t>(row.integer(0, 0));
        // No run holds the thread, so an active one is an orphan.
        found.has_orphans = row.boolean(0, 1);
    } else if (!row.is_null(0, 3)) {
        found.holder = row.text(0, 2);
        found.gateway = row.integer(0, 3);
        found.has_expired = row.boolean(0, 4);
    }
    co_return found;
}

asio::awaitable<result<std::optional<thread_holder>>> pg_leases::holder(thread_key key) {
    if (auto here = holder_here(key)) {
        co_return here;
    }
    const auto results = co_await read_at_once(shared_, [this, key] {
        pg_batch batch;
        batch.push_back(select_holder(key));
        return batch;
    });
    co_return holder_in(results.at(0));
}

pg_statement pg_leases::select_holder(const thread_key& key) const {
    return pg_statement(holder_of, key.principal, key.thread_id, gateway_.id());
}

std::optional<thread_holder> pg_leases::holder_in(const pg_rows& found) {
    if (found.empty()) {
        return std::nullopt;
    }
    return thread_holder{
        std::string(found.text(0, 0)), found.integer(0, 1), node_of(found.integer(0, 2)), false,
        found.integer(0, 3)
    };
}

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

void pg_leases::released_by_commit(const lease_ptr& held) noexcept {
    if (held) {
        (void)held->set_released();
        const std::lock_guard lock(mutex_);
        const auto found = here_.find(held->key());
        if (found != here_.end() && found->second.held == held) {
            erase(found);
        }
    }
}

void pg_leases::ends_with_commit(const lease_ptr& held) {
    const std::lock_guard lock(mutex_);
    const auto found = here_.find(held->key());
    if (found != here_.end() && found->second.held == held) {
        found->second.ending = std::make_shared<asio::steady_timer>(
            shared_.context, asio::steady_timer::time_point::max()
        );
    }
}

std::shared_ptr<asio::steady_timer> pg_leases::ending_of(const thread_key& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = here_.find(key);
    return found == here_.end() ? nullptr : found->second.ending;
}

// Waiting calls are woken on the store's thread, which owns the timer.
void pg_leases::erase(std::map<thread_key, entry>::iterator gone) {
    if (gone->second.ending) {
        asio::post(shared_.context, [timer = gone->second.ending] {
            timer->expires_at(asio::steady_timer::time_point::min());
        });
    }
    runs_here_.erase(gone->second.run_number);
    here_.erase(gone);
}

void pg_leases::set_begun(
    const lease_ptr& held, std::int64_t run_number, node_index first_own_message
) {
    if (!held) {
        return;
    }
    const std::lock_guard lock(mutex_);
    const auto found = here_.find(held->key());
    if (found != here_.end() && found->second.held == held) {
        runs_here_.erase(std::exchange(found->second.run_number, run_number));
        runs_here_.insert(run_number);
        found->second.first_own_message = first_own_message;
    }
}

void pg_leases::lose(const lease_ptr& held) {
    {
        const std::lock_guard lock(mutex_);
        const auto found = here_.find(held->key());
        if (found != here_.end() && found->second.held == held) {
            erase(found);
        }
    }
    held->set_lost();
}

void pg_leases::lose_all() {
    std::vector<lease_ptr> lost;
    {
        const std::lock_guard lock(mutex_);
        for (auto each = here_.begin(); each != here_.end();) {
            if (each->second.held) {
                lost.push_back(each->second.held);
                erase(each++);
            } else {
                ++each; // It is being acquired, and gets the next number.
            }
        }
        // Others take over the rows of a fenced number.
        released_.clear();
        unsure_.clear();
    }
    for (const lease_ptr& held : lost) {
        held->set_lost();
    }
}

void pg_leases::close() noexcept {
    is_closed_ = true;
    writer_timer_.cancel();
}

std::optional<thread_holder> pg_leases::holder_here(const thread_key& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = here_.find(key);
    if (found == here_.end() || !found->second.held) {
        return std::nullopt;
    }
    const entry& by = found->second;
    return thread_holder{by.run_id, by.run_number, by.first_own_message, true};
}

std::optional<std::string> pg_leases::run_here(const thread_key& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = here_.find(key);
    return found == here_.end() || !found->second.held ? std::nullopt
                                                       : std::optional(found->second.run_id);
}

std::int64_t pg_leases::run_of(const lease_ptr& held) const {
    if (!held) {
        return 0;
    }
    const std::lock_guard lock(mutex_);
    const auto found = here_.find(held->key());
    return found != here_.end() && found->second.held == held ? found->second.run_number : 0;
}

pg_statement pg_leases::select_lease(const lease& held) const {
    return pg_statement(has_lease, held.key().principal, held.key().thread_id, held.token());
}

pg_statement pg_leases::note_run(const lease& held, std::int64_t run, node_index first) const {
    return pg_statement(
        note_run_of_lease, held.key().principal, held.key().thread_id, held.token(), run,
        number_of(first)
    );
}

pg_statement pg_leases::delete_lease(const lease& held) const {
    return pg_statement(drop_lease, held.key().principal, held.key().thread_id, held.token());
}

} // namespace agui::session
