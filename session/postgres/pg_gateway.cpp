#include "session/postgres/pg_gateway.hpp"

#include "session/base/as_result.hpp"
#include "session/base/id.hpp"
#include "session/postgres/pg_error.hpp"
#include "session/postgres/pg_schema.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace agui::session {

namespace asio = boost::asio;

namespace {

using namespace std::chrono_literals;

// Minimum for a try that begins when the term is almost over.
constexpr auto shortest_renewal = 300ms;
// Short, because little of the term may be left when the server is back after an outage.
constexpr auto next_try = 200ms;

constexpr const char* insert_gateway =
    "INSERT INTO agui.gateways (id, expires, knows_version, url, secret) OVERRIDING SYSTEM VALUE "
    "VALUES ($2, clock_timestamp() + $1 * interval '1 millisecond', $3, $4, $5) "
    "ON CONFLICT DO NOTHING RETURNING id, agui.now_ms(), agui.timeline()";
// Like agui.fence(), but at any time, because the number is its own.
constexpr const char* lock_former = "SELECT pg_advisory_xact_lock((16711::bigint << 48) + $1)";
constexpr const char* fence_former = "UPDATE agui.gateways SET fenced = true WHERE id = $1";
constexpr const char* renew_gateway =
    "UPDATE agui.gateways SET expires = clock_timestamp() + $2 * interval '1 millisecond' "
    "WHERE id = $1 AND NOT fenced RETURNING agui.now_ms(), agui.timeline()";
constexpr const char* announce_gateway =
    "UPDATE agui.gateways SET url = $2, secret = $3 WHERE id = $1";
constexpr const char* live_gateway =
    "SELECT id, url, secret FROM agui.gateways "
    "WHERE id = $1 AND url <> '' AND NOT fenced AND expires >= clock_timestamp()";
constexpr const char* other_live_gateways =
    "SELECT id, url, secret FROM agui.gateways "
    "WHERE id <> $1 AND NOT fenced AND expires >= clock_timestamp() ORDER BY id";
constexpr const char* fence_gateway = "SELECT agui.fence($1)";
// Leases without a holder have the number 0.
constexpr const char* gone_gateways =
    "SELECT id, fenced FROM agui.gateways WHERE fenced OR expires < clock_timestamp() "
    "UNION ALL SELECT 0, true WHERE EXISTS (SELECT FROM agui.leases WHERE gateway = 0)";
constexpr const char* drop_fenced =
    "DELETE FROM agui.gateways g WHERE g.id = ANY($1) AND g.fenced "
    "AND NOT EXISTS (SELECT FROM agui.leases l WHERE l.gateway = g.id)";
constexpr const char* leave_requests =
    "UPDATE agui.queued_requests SET gateway = 0 WHERE gateway = ANY($1) AND gateway <> 0";
constexpr const char* lock_own_leases =
    "SELECT count(*) FROM (SELECT FROM agui.leases WHERE gateway = $1 FOR UPDATE) s";
constexpr const char* drop_own_leases =
    "DELETE FROM agui.leases l WHERE l.gateway = $1 AND NOT " AGUI_PG_LEASE_HAS_RUN;
constexpr const char* leave_own_leases =
    "UPDATE agui.leases SET gateway = 0, run_id = '', run_number = 0 WHERE gateway = $1";
constexpr const char* drop_self = "DELETE FROM agui.gateways WHERE id = $1";

// Numbers from a sequence would repeat after a failover to a standby that lags behind. Advisory
// locks add them to a prefix in the upper 16 bits.
std::int64_t random_number() {
    constexpr std::uint64_t mask = (std::uint64_t{1} << 47U) - 1;
    std::uint64_t number = 0;
    while (number == 0) {
        const std::string bytes = random_bytes(sizeof number);
        std::memcpy(&number, bytes.data(), sizeof number);
        number &= mask;
    }
    return static_cast<std::int64_t>(number);
}

} // namespace

pg_gateway::pg_gateway(pg_shared& shared, std::chrono::milliseconds lease, listener& told)
    : shared_(shared),
      lease_(lease),
      told_(told),
      renewal_timer_(shared.context),
      term_timer_(shared.context) {}

// Two thirds: the last third is for clocks that do not run alike, and for the time between the
// process's check of the term and the last effect of its action.
void pg_gateway::set_term(std::chrono::nanoseconds sent) {
    term_end_ = sent + std::chrono::nanoseconds(lease_) * 2 / 3;
    term_->set_end(term_end_);
    term_timer_.cancel();
}

asio::awaitable<void> pg_gateway::enroll() {
    const std::vector<std::int64_t> former = former_;
    const std::string url = url_;
    const std::string secret = secret_;
    // Time at which the successful try was sent.
    std::chrono::nanoseconds sent{0};
    const auto results = co_await write_at_once(shared_, {}, [=, &sent, lease = lease_.count()] {
        sent = time_since_boot();
        pg_batch batch;
        for (const std::int64_t id : former) {
            batch.emplace_back(lock_former, id);
            batch.emplace_back(fence_former, id);
        }
        batch.emplace_back(
            insert_gateway, lease, random_number(), pg_newest_version(), url, secret
        );
        return batch;
    });
    former_.clear();
    if (results.back().empty()) {
        co_await enroll(); // The number is taken.
        co_return;
    }
    shared_.pool.set_unavailable({}); // A renewal that failed may have said so.
    id_ = results.back().integer(0, 0);
    shared_.time.note(results.back().integer(0, 1));
    timeline_ = results.back().integer(0, 2);
    term_ = std::make_shared<lease_term>();
    set_term(sent);
    told_.on_registered(id_);
    if (url != url_) {
        co_await announce(url_, secret_); // The process was announced meanwhile.
    }
}

asio::awaitable<void> pg_gateway::announce(std::string url, std::string secret) {
    url_ = std::move(url);
    secret_ = std::move(secret);
    if (id_ == 0) {
        co_return; // They are announced with the next number.
    }
    (void)co_await write_at_once(shared_, {}, [id = id_, url = url_, secret = secret_] {
        pg_batch batch;
        batch.emplace_back(announce_gateway, id, url, secret);
        return batch;
    });
}

namespace {

std::vector<peer_address> addresses_in(const pg_rows& rows) {
    std::vector<peer_address> found;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        found.push_back(
            {rows.integer(i, 0), std::string(rows.text(i, 1)), std::string(rows.text(i, 2))}
        );
    }
    return found;
}

} // namespace

asio::awaitable<std::optional<peer_address>> pg_gateway::find(std::int64_t number) {
    const auto results = co_await read_at_once(shared_, [number] {
        pg_batch batch;
        batch.emplace_back(live_gateway, number);
        return batch;
    });
    std::vector<peer_address> found = addresses_in(results.at(0));
    co_return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

asio::awaitable<std::vector<peer_address>> pg_gateway::others() {
    const auto results = co_await read_at_once(shared_, [own = id_] {
        pg_batch batch;
        batch.emplace_back(other_live_gateways, own);
        return batch;
    });
    co_return addresses_in(results.at(0));
}

asio::awaitable<void> pg_gateway::renew() {
    auto next = std::chrono::milliseconds(lease_ / 3);
    while (!is_closed_) {
        renewal_timer_.expires_after(next);
        co_await renewal_timer_.async_wait(as_result);
        if (is_closed_) {
            co_return;
        }
        const bool is_renewed = co_await renew_once();
        next = is_renewed ? std::chrono::milliseconds(lease_ / 3)
                          : std::chrono::milliseconds(next_try);
    }
}

// Returns false if it failed and must be retried soon.
asio::awaitable<bool> pg_gateway::renew_once() {
    try {
        if (id_ == 0) {
            co_await enroll();
            co_return true;
        }
        const std::int64_t id = id_;
        // Leaves time for two unusable connections before the term is over.
        const std::chrono::nanoseconds left =
            std::max<std::chrono::nanoseconds>(term_end_ - time_since_boot(), shortest_renewal);
        pg_shared hurried = shared_;
        hurried.patience = {
            .store_wait = std::chrono::duration_cast<std::chrono::milliseconds>(left),
            .answer_max = std::chrono::duration_cast<std::chrono::milliseconds>(left / 3),
            // Does not queue behind calls with slow statements.
            .urgency = pg_pool::urgency::at_once
        };
        // Time at which this try is sent: a wait before that must not shorten the term.
        std::chrono::nanoseconds sent{0};
        const auto results =
            co_await write_at_once(hurried, {}, [id, &sent, lease = lease_.count()] {
                sent = time_since_boot();
                pg_batch batch;
                batch.emplace_back(renew_gateway, id, lease);
                return batch;
            });
        shared_.pool.set_unavailable({});
        // An expired term stays expired: a run may have seen is_lost() return true.
        if (results.at(0).changed() == 0 || term_->is_over()) {
            lose(id);
            co_return false;
        }
        shared_.time.note(results[0].integer(0, 0));
        timeline_ = results[0].integer(0, 1);
        if (id == id_) {
            set_term(sent);
            told_.on_renewed();
        }
        co_return true;
    } catch (const pg_error& error) {
        shared_.pool.set_unavailable(error.what());
        told_.on_not_renewed(error.what());
    } catch (const pg_unavailable& error) {
        told_.on_not_renewed(error.what()); // The pool has noted the reason.
    }
    co_return false;
}

asio::awaitable<void> pg_gateway::watch_term() {
    while (!is_closed_) {
        const std::chrono::nanoseconds left = term_end_ - time_since_boot();
        if (id_ != 0 && left <= 0ns) {
            lose(id_);
        }
        if (id_ == 0) {
            term_timer_.expires_at(asio::steady_timer::time_point::max()); // Until set_term().
        } else {
            term_timer_.expires_after(left);
        }
        co_await term_timer_.async_wait(as_result);
    }
}

void pg_gateway::lose(std::int64_t id) {
    if (id != id_ || id_ == 0) {
        return;
    }
    shared_.log.log(
        log_level::error,
        "this gateway did not renew its leases in time: its runs are ended, and other gateways may "
        "take over its threads",
        {{"gateway", std::to_string(id)}}
    );
    former_.push_back(std::exchange(id_, 0));
    term_->set_end(0ns);
    told_.on_lost();
    renewal_timer_.cancel();
}

asio::awaitable<bool> pg_gateway::fence(std::int64_t id) {
    const auto results = co_await write_at_once(shared_, {}, [id] {
        pg_batch batch;
        batch.emplace_back(fence_gateway, id);
        return batch;
    });
    const bool is_fenced = results.at(0).boolean(0, 0);
    if (is_fenced) {
        ++fences_;
        shared_.log.log(
            log_level::warning, "a gateway did not renew its leases in time and was fenced",
            {{"gateway", std::to_string(id)}}
        );
    }
    co_return is_fenced;
}

asio::awaitable<std::vector<std::int64_t>> pg_gateway::fence_expired() {
    const auto found = co_await read_at_once(shared_, [] {
        pg_batch batch;
        batch.emplace_back(gone_gateways);
        return batch;
    });
    std::vector<std::int64_t> gone;
    for (std::size_t i = 0; i < found.at(0).size(); ++i) {
        const std::int64_t id = found[0].integer(i, 0);
        const bool is_fenced = found[0].boolean(i, 1);
        // Otherwise another one was faster, and takes care of it.
        if (is_fenced || co_await fence(id)) {
            gone.push_back(id);
        }
    }
    if (!gone.empty()) {
        (void)co_await write_at_once(shared_, {}, [&gone] {
            pg_batch batch;
            for (const char* const each : {drop_fenced, leave_requests}) {
                batch.emplace_back(each, gone);
            }
            return batch;
        });
    }
    co_return gone;
}

void pg_gateway::close() noexcept {
    is_closed_ = true;
    renewal_timer_.cancel();
    term_timer_.cancel();
}

asio::awaitable<void> pg_gateway::leave() {
    if (id_ == 0) {
        co_return;
    }
    (void)co_await write_at_once(shared_, {}, [id = id_] {
        pg_batch batch;
        batch.emplace_back(lock_former, id); // A commit may be under way on a lost connection.
        batch.emplace_back(lock_own_leases, id);
        batch.emplace_back(drop_own_leases, id);
        batch.emplace_back(leave_own_leases, id);
        batch.emplace_back(drop_self, id);
        batch.emplace_back(leave_requests, std::vector{id});
        return batch;
    });
    id_ = 0;
}

} // namespace agui::session
