// The queue of a thread.
#include "session/postgres/pg_threads.hpp"

#include "session/store/store_failures.hpp"
#include "session/store/stored_messages.hpp"
#include "session/store/stored_rows.hpp"

#include <utility>

namespace agui::session {

namespace asio = boost::asio;
namespace json = boost::json;

namespace {

// A gateway that is not fenced. A transaction that drops its row waits until this one has ended,
// and then leaves its requests to others.
#define AGUI_PG_OWN(id)                                                                            \
    "SELECT g.id FROM agui.gateways g WHERE g.id = " id " AND NOT g.fenced FOR KEY SHARE"

constexpr const char* next_number = "SELECT agui.next_queued_number()";
constexpr const char* size_of_queue =
    "SELECT count(*), coalesce(sum(bytes), 0)::bigint FROM agui.queued_requests "
    "WHERE thread = " AGUI_PG_THREAD;
constexpr const char* insert_request =
    "INSERT INTO agui.queued_requests (number, thread, run_id, parent_run_id, agent_id, "
    "input_digest, idempotency_key, protocol, queued_at, waits_since, bytes, messages, gateway) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, "
    "coalesce((" AGUI_PG_OWN("$13") "), 0))";
constexpr const char* drop_request =
    "DELETE FROM agui.queued_requests WHERE number = $3 AND thread = " AGUI_PG_THREAD;
constexpr const char* requests_of =
    "SELECT number, run_id, parent_run_id, agent_id, input_digest, idempotency_key, protocol, "
    "queued_at, waits_since, messages, gateway FROM agui.queued_requests WHERE thread "
    "= " AGUI_PG_THREAD " ORDER BY number";
constexpr const char* left_requests =
    "SELECT q.number, q.run_id, q.parent_run_id, q.agent_id, q.input_digest, q.idempotency_key, "
    "q.protocol, q.queued_at, q.waits_since, q.messages, q.gateway, t.principal, t.thread_id "
    "FROM agui.queued_requests q JOIN agui.threads t ON t.id = q.thread "
    "WHERE q.gateway IN (0, $2) AND q.number <> ALL ($3) "
    "ORDER BY q.number LIMIT $1 FOR UPDATE OF q SKIP LOCKED";
constexpr const char* left_request_of =
    "SELECT FROM agui.queued_requests WHERE number = $1 AND gateway = $2 FOR UPDATE";
constexpr const char* own_number = AGUI_PG_OWN("$1");
constexpr const char* claim_requests =
    "UPDATE agui.queued_requests SET gateway = $1 WHERE number = ANY($2)";
// By now another gateway may be responsible for it.
constexpr const char* leave_request =
    "UPDATE agui.queued_requests SET gateway = 0 WHERE number = $1 AND gateway = $2";
constexpr const char* has_request =
    "SELECT EXISTS (SELECT FROM agui.queued_requests WHERE number = $3 "
    "AND thread = " AGUI_PG_THREAD ")";

asio::awaitable<result<std::int64_t>> enqueue_in(
    pg_transaction& in, const thread_key& key, const stored_request& request,
    const queue_limits& limits, std::int64_t gateway
) {
    const queued_request& next = request.request;
    pg_batch look;
    look.push_back(lock_thread(key));
    look.push_back(is_run_taken(key, {next.run_id}, {next.idempotency_key}));
    look.push_back(is_request_taken(key, next));
    look.emplace_back(size_of_queue, key.principal, key.thread_id);
    look.emplace_back(next_number);
    const std::vector<pg_rows> found = co_await in.read(std::move(look));
    const std::optional<thread_position> at = position_of(found.at(0));
    if (!at) {
        co_return no_such_thread();
    }
    if (found.at(1).boolean(0, 0) || found.at(2).boolean(0, 0)) {
        co_return run_id_taken();
    }
    const auto requests = static_cast<std::uint64_t>(found.at(3).integer(0, 0));
    const auto bytes = static_cast<std::uint64_t>(found.at(3).integer(0, 1));
    if (requests >= limits.requests || bytes + request.bytes > limits.bytes) {
        co_return queue_is_full();
    }
    const std::int64_t number = found.at(4).integer(0, 0);
    pg_batch writes;
    writes.emplace_back(
        insert_request, number, at->thread, next.run_id, next.parent_run_id, next.agent_id,
        next.input_digest, text_or_null(next.idempotency_key), next.protocol, next.queued_at,
        next.waits_since, request.bytes, request.messages, gateway
    );
    co_await in.commit(std::move(writes));
    co_return number;
}

asio::awaitable<result<bool>>
withdraw_in(pg_transaction& in, const thread_key& key, std::int64_t number) {
    // With the thread locked, a run either has taken the request, or will not.
    pg_batch look;
    look.push_back(lock_thread(key));
    look.emplace_back(has_request, key.principal, key.thread_id, number);
    const std::vector<pg_rows> found = co_await in.read(std::move(look));
    if (!found.at(1).boolean(0, 0)) {
        co_return false;
    }
    pg_batch writes;
    writes.emplace_back(drop_request, key.principal, key.thread_id, number);
    co_await in.commit(std::move(writes));
    co_return true;
}

// A row of select_queued() or left_requests.
queued_request request_in(const pg_row& row, agui::logger& log) {
    queued_request request = request_at(row);
    request.waits_since = row.integer(8);
    read_queued_messages(row.text(9), request, log);
    request.gateway = row.integer(10);
    return request;
}

asio::awaitable<std::vector<left_request>> claim_in(
    pg_transaction& in, std::int64_t gateway, const std::vector<std::int64_t>& known,
    std::size_t limit, agui::logger& log
) {
    pg_batch look;
    look.emplace_back(left_requests, limit, gateway, known);
    look.emplace_back(own_number, gateway);
    const std::vector<pg_rows> found = co_await in.read(std::move(look));
    std::vector<left_request> claimed;
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 0; i < found.at(0).size() && !found.at(1).empty(); ++i) {
        left_request& next = claimed.emplace_back();
        next.key = {std::string(found[0].text(i, 11)), std::string(found[0].text(i, 12))};
        next.request = request_in(pg_row(found[0], i), log);
        next.request.gateway = gateway;
        numbers.push_back(next.request.number);
    }
    if (!claimed.empty()) {
        pg_batch writes;
        writes.emplace_back(claim_requests, gateway, numbers);
        co_await in.commit(std::move(writes));
    }
    co_return claimed;
}

asio::awaitable<result<bool>>
take_over_in(pg_transaction& in, std::int64_t number, std::int64_t from, std::int64_t gateway) {
    pg_batch look;
    look.emplace_back(left_request_of, number, from);
    look.emplace_back(own_number, gateway);
    const std::vector<pg_rows> found = co_await in.read(std::move(look));
    if (found.at(1).empty()) {
        co_return failure{errc::store_unavailable, "this server has lost its leases", {}, {}};
    }
    if (found.at(0).empty()) {
        co_return false;
    }
    pg_batch writes;
    writes.emplace_back(claim_requests, gateway, std::vector<std::int64_t>{number});
    co_await in.commit(std::move(writes));
    co_return true;
}

} // namespace

asio::awaitable<result<std::int64_t>> pg_threads::enqueue(
    thread_key key, std::shared_ptr<const stored_request> request, queue_limits limits
) {
    co_return co_await transact<result<std::int64_t>>(
        parts_.shared.pool, parts_.shared.patience, {},
        [&](pg_transaction& in) {
            return enqueue_in(in, key, *request, limits, parts_.gateway.id());
        }
    );
}

asio::awaitable<result<bool>> pg_threads::withdraw(thread_key key, std::int64_t number) {
    co_return co_await transact<result<bool>>(
        parts_.shared.pool, parts_.shared.patience, {},
        [&](pg_transaction& in) { return withdraw_in(in, key, number); }
    );
}

asio::awaitable<std::vector<left_request>>
pg_threads::claim_queued(std::vector<std::int64_t> known, std::size_t limit) {
    co_return co_await transact<std::vector<left_request>>(
        parts_.shared.pool, parts_.shared.patience, {},
        [&](pg_transaction& in) {
            return claim_in(in, parts_.gateway.id(), known, limit, parts_.shared.log);
        }
    );
}

asio::awaitable<result<bool>> pg_threads::take_over_queued(std::int64_t number, std::int64_t from) {
    co_return co_await transact<result<bool>>(
        parts_.shared.pool, parts_.shared.patience, {},
        [&](pg_transaction& in) { return take_over_in(in, number, from, parts_.gateway.id()); }
    );
}

asio::awaitable<void> pg_threads::leave_queued(std::int64_t number) {
    (void)co_await write_at_once(parts_.shared, {}, [number, gateway = parts_.gateway.id()] {
        pg_batch batch;
        batch.emplace_back(leave_request, number, gateway);
        return batch;
    });
}

pg_batch select_queued(const thread_key& key) {
    pg_batch batch;
    batch.emplace_back(requests_of, key.principal, key.thread_id);
    return batch;
}

std::vector<queued_request> read_queued(const std::vector<pg_rows>& results, agui::logger& log) {
    return read_each(results.at(0), [&log](const pg_row& row) { return request_in(row, log); });
}

} // namespace agui::session
