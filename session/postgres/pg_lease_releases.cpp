// The background deletion of released leases.
#include "session/base/as_result.hpp"
#include "session/postgres/pg_error.hpp"
#include "session/postgres/pg_leases.hpp"
#include "session/postgres/pg_log_rows.hpp"

#include <boost/asio/post.hpp>

#include <iterator>
#include <string_view>
#include <utility>

namespace agui::session {

namespace asio = boost::asio;

namespace {

using namespace std::chrono_literals;

// The three statements that release a batch of leases.
struct giving_up {
    const char* lock;
    const char* drop;
    const char* leave;
};
#define AGUI_PG_GIVING_UP(given, are_given)                                                        \
    {"SELECT count(*) FROM (SELECT FROM agui.leases l JOIN " given " ON " are_given                \
     " FOR UPDATE OF l) s",                                                                        \
     "DELETE FROM agui.leases l USING " given " WHERE " are_given                                  \
     " AND NOT " AGUI_PG_LEASE_HAS_RUN,                                                            \
     "UPDATE agui.leases l SET gateway = 0, run_id = '', run_number = 0 FROM " given               \
     " WHERE " are_given}
constexpr giving_up released_leases = AGUI_PG_GIVING_UP(
    "unnest($1, $2, $3) AS d(principal, thread_id, token)",
    "l.principal = d.principal AND l.thread_id = d.thread_id AND l.token = d.token"
);
constexpr giving_up unsure_leases = AGUI_PG_GIVING_UP(
    "unnest($1, $2, $3) AS d(principal, thread_id, gateway)",
    "l.principal = d.principal AND l.thread_id = d.thread_id AND l.gateway = d.gateway "
    "AND l.token <= $4"
);
constexpr const char* next_token = "SELECT agui.next_lease_token()";

template <class... Args>
void give_up(pg_batch& to, const giving_up& what, const Args&... args) {
    for (const char* const each : {what.lock, what.drop, what.leave}) {
        to.emplace_back(each, args...);
    }
}

constexpr auto pause_after_failure = 1000ms;

} // namespace

void pg_leases::release(const lease_ptr& held) noexcept {
    if (!held) {
        return;
    }
    (void)held->set_released(); // Released or lost, this process no longer holds the thread.
    const std::lock_guard lock(mutex_);
    const auto found = here_.find(held->key());
    if (found == here_.end() || found->second.held != held) {
        return;
    }
    released_.push_back({held, found->second.run_number});
    erase(found);
    wake_writer();
}

void pg_leases::wake_writer() {
    if (!std::exchange(writer_is_told_, true)) {
        asio::post(shared_.context, [this] { writer_timer_.cancel(); });
    }
}

asio::awaitable<void> pg_leases::write_releases() {
    bool has_failed = false;
    while (!is_closed_) {
        bool is_idle = false;
        {
            const std::lock_guard lock(mutex_);
            is_idle = released_.empty() && unsure_.empty();
            writer_is_told_ = false;
        }
        if (is_idle || has_failed) {
            writer_timer_.expires_after(has_failed ? pause_after_failure : 24h);
            co_await writer_timer_.async_wait(as_result);
        }
        has_failed = false;
        try {
            co_await flush();
        } catch (const pg_error&) {
            has_failed = true;
        } catch (const pg_unavailable&) {
            has_failed = true;
        }
    }
}

asio::awaitable<void> pg_leases::flush() {
    co_await delete_released();
    co_await delete_unsure();
}

asio::awaitable<void> pg_leases::delete_released() {
    std::vector<released> batch;
    {
        const std::lock_guard lock(mutex_);
        batch.swap(released_);
    }
    if (batch.empty()) {
        co_return;
    }
    std::vector<std::int64_t> numbers;
    for (const released& each : batch) {
        numbers.push_back(each.run_number);
    }
    std::exception_ptr failed;
    try {
        co_await before_release_(std::move(numbers));
        (void)co_await write_at_once(shared_, {}, [&batch] {
            std::vector<std::string_view> principals;
            std::vector<std::string_view> threads;
            std::vector<std::int64_t> tokens;
            for (const released& each : batch) {
                principals.emplace_back(each.held->key().principal);
                threads.emplace_back(each.held->key().thread_id);
                tokens.push_back(static_cast<std::int64_t>(each.held->token()));
            }
            pg_batch statements;
            give_up(statements, released_leases, principals, threads, tokens);
            return statements;
        });
    } catch (const std::exception&) {
        failed = std::current_exception();
    }
    if (failed) {
        const std::lock_guard lock(mutex_);
        std::move(batch.begin(), batch.end(), std::back_inserter(released_));
        std::rethrow_exception(failed);
    }
}

// The row that an unanswered acquisition left looks like any other row of this gateway. Leases
// acquired here after `bound` was read have a higher token, so they survive the deletion whenever
// it takes effect.
asio::awaitable<void> pg_leases::delete_unsure() {
    std::vector<unsure> batch;
    {
        const std::lock_guard lock(mutex_);
        batch.swap(unsure_);
    }
    if (batch.empty()) {
        co_return;
    }
    std::exception_ptr failed;
    try {
        const auto answer = co_await write_at_once(shared_, {}, [] {
            pg_batch question;
            question.emplace_back(next_token);
            return question;
        });
        const std::int64_t bound = answer.at(0).integer(0, 0);
        {
            // A local call that has acquired the thread by now, or is acquiring it, rewrites the
            // row.
            const std::lock_guard lock(mutex_);
            std::erase_if(batch, [this](const unsure& each) AGUI_REQUIRES(mutex_) {
                return here_.contains(each.key);
            });
        }
        if (!batch.empty()) {
            (void)co_await write_at_once(shared_, {}, [&batch, bound] {
                std::vector<std::string_view> principals;
                std::vector<std::string_view> threads;
                std::vector<std::int64_t> gateways;
                for (const unsure& each : batch) {
                    principals.emplace_back(each.key.principal);
                    threads.emplace_back(each.key.thread_id);
                    gateways.push_back(each.gateway);
                }
                pg_batch statements;
                give_up(statements, unsure_leases, principals, threads, gateways, bound);
                return statements;
            });
        }
    } catch (const std::exception&) {
        failed = std::current_exception();
    }
    if (failed) {
        const std::lock_guard lock(mutex_);
        std::move(batch.begin(), batch.end(), std::back_inserter(unsure_));
        std::rethrow_exception(failed);
    }
}

} // namespace agui::session
