// The queue of a thread.
#include "session/postgres/pg_threads.hpp"

#include "session/store/store_failures.hpp"
#include "session/store/stored_messages.hpp"

#include <utility>

namespace agui::session {

namespace asio = boost::asio;
namespace json = boost::json;

namespace {

constexpr const char* next_number = "SELECT agui.next_queued_number()";
constexpr const char* size_of_queue =
    "SELECT count(*), coalesce(sum(bytes), 0)::bigint FROM agui.queued_requests "
    "WHERE thread = " AGUI_PG_THREAD;
constexpr const char* insert_request =
    "INSERT INTO agui.queued_requests (number, thread, run_id, parent_run_id, agent_id, "
    "input_digest, idempotency_key, protocol, queued_at, bytes, messages) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
constexpr const char* drop_request =
    "DELETE FROM agui.queued_requests WHERE number = $3 AND thread = " AGUI_PG_THREAD;
constexpr const char* requests_of =
    "SELECT number, run_id, parent_run_id, agent_id, input_digest, idempotency_key, protocol, "
    "queued_at, messages FROM agui.queued_requests WHERE thread = " AGUI_PG_THREAD
    " ORDER BY number";
constexpr const char* has_request =
    "SELECT EXISTS (SELECT FROM agui.queued_requests WHERE number = $3 "
    "AND thread = " AGUI_PG_THREAD ")";

asio::awaitable<result<std::int64_t>> enqueue_in(
    pg_transaction& in, const thread_key& key, const pg_queued_request& request,
    const queue_limits& limits
) {
    const queued_request& next = request.request;
    pg_batch look;
    look.push_back(lock_thread(key));
    look.push_back(is_run_taken(key, {next.run_id}, {next.idempotency_key}));
    look.push_back(is_request_taken(key, next));
    look.emplace_back(size_of_queue, key.principal, key.thread_id);
    look.emplace_back(next_number);
    const std::vector<pg_rows> found = co_await in.read(std::move(look));
    const std::optional<pg_thread_position> at = position_of(found.at(0));
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
    const std::optional<std::string_view> idempotency_key =
        next.idempotency_key.empty() ? std::nullopt
                                     : std::optional<std::string_view>(next.idempotency_key);
    pg_batch writes;
    writes.emplace_back(
        insert_request, number, at->thread, next.run_id, next.parent_run_id, next.agent_id,
        next.input_digest, idempotency_key, next.protocol, next.queued_at, request.bytes,
        request.messages
    );
    co_await in.commit(std::move(writes));
    co_return number;
}

asio::awaitable<result<bool>>
withdraw_in(pg_transaction& in, const thread_key& key, std::int64_t number) {
    // With the thread locked, a run that takes it has done so, or will not.
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

} // namespace

asio::awaitable<result<std::int64_t>> pg_threads::enqueue(
    thread_key key, std::shared_ptr<const pg_queued_request> request, queue_limits limits
) {
    co_return co_await transact<result<std::int64_t>>(
        parts_.shared.pool, parts_.shared.patience, {},
        [&](pg_transaction& in) { return enqueue_in(in, key, *request, limits); }
    );
}

asio::awaitable<result<bool>> pg_threads::withdraw(thread_key key, std::int64_t number) {
    co_return co_await transact<result<bool>>(
        parts_.shared.pool, parts_.shared.patience, {},
        [&](pg_transaction& in) { return withdraw_in(in, key, number); }
    );
}

pg_batch select_queued(const thread_key& key) {
    pg_batch batch;
    batch.emplace_back(requests_of, key.principal, key.thread_id);
    return batch;
}

std::vector<queued_request> read_queued(const std::vector<pg_rows>& results, agui::logger& log) {
    const pg_rows& rows = results.at(0);
    std::vector<queued_request> requests;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        queued_request& request = requests.emplace_back();
        request.number = rows.integer(i, 0);
        request.run_id = rows.text(i, 1);
        request.parent_run_id = rows.text(i, 2);
        request.agent_id = rows.text(i, 3);
        request.input_digest = rows.text(i, 4);
        request.idempotency_key = rows.text(i, 5);
        request.protocol = rows.text(i, 6);
        request.queued_at = rows.integer(i, 7);
        read_queued_messages(rows.text(i, 8), request, log);
    }
    return requests;
}

} // namespace agui::session
