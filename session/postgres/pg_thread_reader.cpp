#include "session/postgres/pg_thread_reader.hpp"

#include "session/postgres/pg_change.hpp"
#include "session/postgres/pg_runs.hpp"

#include "session/base/work_count.hpp"
#include "session/store/stored_rows.hpp"
#include "session/store/thread_assembler.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <stdexcept>
#include <utility>

namespace agui::session {

namespace asio = boost::asio;

namespace {

// One statement, because a look at a thread comes before each run. Its rows are the messages, each
// with its number, and one for all else (number -1): a large value has a row of its own, so that
// libpq's buffer, which never shrinks, need not hold a whole thread.
constexpr const char* the_thread =
    "SELECT -1::bigint AS number, NULL::bigint AS parent, NULL::bytea AS run_id, "
    "NULL::bigint AS created_at, NULL::bytea AS message, ROW(" AGUI_PG_RUN_COLUMNS ") AS run, "
    "ROW(t.agent_id, t.title, t.archived, t.metadata, t.created_at, t.updated_at, t.last_run_at, "
    "t.head, t.last_request_had_history, d.state, d.offered_tools, d.context, t.bytes, "
    "t.state_bytes, t.offered_tools_bytes, t.context_bytes, t.message_count, "
    "agui.seen_version(t.version), t.id) AS thread, "
    "CASE WHEN r.number IS NULL THEN ARRAY(SELECT ROW(b.tip, b.updated_at) FROM agui.branches b "
    "WHERE b.thread = t.id ORDER BY b.number) END AS branches, "
    "CASE WHEN r.number IS NULL THEN ARRAY(SELECT ROW(c.call_id, c.name, c.run_id, c.owner, "
    "c.status, c.made_in) FROM agui.calls c WHERE c.thread = t.id ORDER BY c.number) END AS calls "
    "FROM agui.threads t LEFT JOIN agui.runs r ON r.thread = t.id AND r.run_id = $3 "
    "LEFT JOIN agui.thread_documents d ON d.thread = t.id AND r.number IS NULL "
    "WHERE t.principal = $1 AND t.thread_id = $2 "
    "UNION ALL "
    "SELECT m.number, m.parent, m.run_id, m.created_at, m.message, NULL, NULL, NULL, NULL "
    "FROM agui.messages m WHERE m.thread = (SELECT t.id FROM agui.threads t "
    "WHERE t.principal = $1 AND t.thread_id = $2 AND NOT EXISTS (SELECT FROM agui.runs r "
    "WHERE r.thread = t.id AND r.run_id = $3)) "
    "AND m.number >= (SELECT CASE WHEN t.id = $4 THEN $5 ELSE 0 END FROM agui.threads t "
    "WHERE t.principal = $1 AND t.thread_id = $2)";
namespace column {
constexpr int number = 0;
constexpr int message = 4;
constexpr int run = 5;
constexpr int thread = 6;
constexpr int branches = 7;
constexpr int calls = 8;
} // namespace column

// About a millisecond's worth of JSON.
constexpr std::size_t read_bytes_at_once = 128U << 10U;

// The row of everything that is not a message, and the rows of the messages by their numbers: the
// server promises no order.
struct thread_rows {
    std::size_t head;
    std::vector<std::size_t> messages; ///< From the first one that was read.
};
std::size_t head_of(const pg_rows& found) {
    std::size_t row = 0;
    while (found.integer(row, column::number) >= 0) {
        ++row;
    }
    return row;
}
thread_rows rows_in_order(const pg_rows& found, std::size_t head, std::size_t first) {
    thread_rows rows{head, std::vector<std::size_t>(found.size() - 1, found.size())};
    for (std::size_t row = 0; row < found.size(); ++row) {
        const std::int64_t number = found.integer(row, column::number);
        if (number < 0) {
            continue;
        }
        const std::size_t place = static_cast<std::size_t>(number) - first;
        if (place >= rows.messages.size()) {
            throw std::runtime_error("a message of the thread is missing");
        }
        rows.messages[place] = row;
    }
    return rows;
}

// The number of the first message to read: the last that is known is read again, because a server
// that took over may lack what another one has acknowledged.
std::size_t first_to_read(const message_cache::kept& known) {
    return known.messages ? known.messages->size() - 1 : 0;
}

void read_columns(thread_assembler& to, const pg_row& row) {
    read_thread_columns(row, to.record);
    read_document_columns(row, 9, to.record);
    read_size_columns(row, 12, to.record);
    to.message_count = count_at(row, 16);
    to.record.version = count_at(row, 17);
}

} // namespace

pg_batch select_thread(
    const thread_key& key, const std::optional<std::string>& run_id,
    const message_cache::kept& known
) {
    pg_batch batch;
    batch.emplace_back(
        the_thread, key.principal, key.thread_id, run_id, known.thread,
        static_cast<std::int64_t>(first_to_read(known))
    );
    return batch;
}

std::optional<run_record> run_found(const pg_rows& found) {
    if (found.empty()) {
        return std::nullopt;
    }
    const pg_records run = found.records(head_of(found), column::run);
    return run.is_null(0, 0) ? std::nullopt : std::optional(pg_run_at(run, 0));
}

asio::awaitable<pg_thread_reading> read_thread(
    thread_key key, pg_rows found, message_cache::kept known, message_cache& keep, agui::logger& log
) {
    if (found.empty()) {
        co_return pg_thread_reading();
    }
    thread_assembler to;
    to.record.key = std::move(key);
    const std::size_t head_row = head_of(found);
    const pg_records head = found.records(head_row, column::thread);
    read_columns(to, pg_row(head, 0));
    const std::int64_t thread = head.integer(0, 18);
    const bool is_known = known.messages && known.thread == thread;
    thread_rows rows = rows_in_order(found, head_row, is_known ? first_to_read(known) : 0);
    if (is_known) {
        if (rows.messages.empty() ||
            !to.ends_in(*known.messages, pg_row(found, rows.messages.front()), log)) {
            co_return pg_thread_reading{.thread = {}, .is_other = true};
        }
        to.begin_with(*known.messages);
        rows.messages.erase(rows.messages.begin());
    }
    to.record.branches = read_each(found.records(rows.head, column::branches), branch_at<pg_row>);
    to.record.calls = read_each(found.records(rows.head, column::calls), call_at<pg_row>);

    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    std::size_t bytes = 0;
    for (const std::size_t row : rows.messages) {
        bytes += found.text(row, column::message).size();
        if (bytes >= read_bytes_at_once) {
            bytes = 0;
            co_await asio::post(executor, asio::use_awaitable);
        }
        to.add(pg_row(found, row), log);
    }
    if (!to.finish()) {
        throw std::runtime_error("a message of the thread is missing");
    }
    if (!to.has_left_out()) {
        keep.keep(thread, to.record);
    }
    co_return pg_thread_reading{.thread = std::move(to.record)};
}

} // namespace agui::session
