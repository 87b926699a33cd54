#include "session/postgres/pg_leases.hpp"

#include "session/base/as_result.hpp"
#include "session/postgres/pg_change.hpp"
#include "session/postgres/pg_error.hpp"

#include <boost/asio/post.hpp>

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

failure busy(std::string run_id, std::int64_t gateway) {
    return {
        errc::thread_busy, "another run is active on this thread", {}, std::move(run_id), gateway
    };
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
            // A call that is still asking does not hold the thread, and soon has its answer. Naming
            // it would hide the holder, which may be in another process.
            co_return busy(place->second.held ? place->second.run_id : std::string(), 0);
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
