#include "session/postgres/pg_attempts.hpp"

#include "session/base/as_result.hpp"

#include <boost/asio/post.hpp>

#include <string>
#include <utility>

namespace agui::session {

namespace asio = boost::asio;

namespace {

// Limit of the bytes that wait while the server is away and model servers fail.
constexpr std::size_t waiting_bytes_max = 4U << 20U;

constexpr const char* insert_attempts =
    "INSERT INTO agui.failed_attempts (run, at, model, status, request_id, bytes, body) "
    "SELECT run, at, model, status, request_id, octet_length(body), body "
    "FROM unnest($1, $2, $3, $4, $5, $6) WITH ORDINALITY "
    "AS a(run, at, model, status, request_id, body, n) ORDER BY n";

// Uses a commit mark, because nothing in the rows tells whether they were written.
asio::awaitable<bool> insert_in(pg_transaction& in, const std::vector<failed_attempt>& batch) {
    (void)co_await in.read({});
    std::vector<std::int64_t> runs;
    std::vector<std::int64_t> times;
    std::vector<std::string_view> models;
    std::vector<std::int64_t> statuses;
    std::vector<std::string_view> requests;
    std::vector<std::string_view> bodies;
    for (const failed_attempt& each : batch) {
        runs.push_back(each.run_number);
        times.push_back(each.at);
        models.emplace_back(each.model);
        statuses.push_back(each.status);
        requests.emplace_back(each.request_id);
        bodies.emplace_back(each.body);
    }
    pg_batch statements;
    statements.emplace_back(insert_attempts, runs, times, models, statuses, requests, bodies);
    co_await in.commit(std::move(statements));
    co_return true;
}

} // namespace

pg_attempts::pg_attempts(pg_shared& shared) : shared_(shared), timer_(shared.context) {}

void pg_attempts::keep(failed_attempt attempt) {
    {
        const std::size_t bytes = approximate_memory(attempt);
        const std::lock_guard lock(mutex_);
        if (!is_finished_ && waiting_bytes_ + bytes <= waiting_bytes_max) {
            waiting_bytes_ += bytes;
            ++kept_;
            waiting_.push_back(std::move(attempt));
            asio::post(shared_.context, [this] { timer_.cancel(); });
            return;
        }
    }
    warn("too many are waiting to be written");
}

asio::awaitable<void> pg_attempts::flush() {
    std::uint64_t wanted = 0;
    {
        const std::lock_guard lock(mutex_);
        wanted = kept_;
    }
    while (settled_ < wanted) {
        asio::steady_timer timer(shared_.context, asio::steady_timer::time_point::max());
        const auto place = waiters_.insert(waiters_.end(), &timer);
        co_await timer.async_wait(as_result);
        waiters_.erase(place);
    }
}

asio::awaitable<void> pg_attempts::write() {
    for (;;) {
        std::vector<failed_attempt> batch;
        {
            const std::lock_guard lock(mutex_);
            if (waiting_.empty() && is_finished_) {
                co_return;
            }
            batch.swap(waiting_);
            waiting_bytes_ = 0;
        }
        if (batch.empty()) {
            timer_.expires_at(asio::steady_timer::time_point::max());
            co_await timer_.async_wait(as_result);
            continue;
        }
        const std::size_t count = batch.size();
        co_await write_batch(std::move(batch));
        settled_ += count;
        for (asio::steady_timer* const each : waiters_) {
            each->cancel();
        }
    }
}

asio::awaitable<void> pg_attempts::write_batch(std::vector<failed_attempt> batch) {
    std::string reason;
    try {
        const auto insert = [&batch](pg_transaction& in) {
            return insert_in(in, batch);
        };
        (void)co_await transact<bool>(shared_.pool, shared_.patience, {}, insert);
    } catch (const std::exception& error) {
        reason = error.what();
    }
    if (!reason.empty()) {
        warn(reason);
    }
}

void pg_attempts::warn(std::string_view reason) {
    shared_.log.log(
        log_level::warning, "a failed model call could not be recorded", {{"reason", reason}}
    );
}

void pg_attempts::finish() {
    const std::lock_guard lock(mutex_);
    is_finished_ = true;
    timer_.cancel();
}

} // namespace agui::session
