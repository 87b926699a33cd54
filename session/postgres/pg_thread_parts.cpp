// Parts of a thread, and the list of threads.
#include "session/postgres/pg_change.hpp"
#include "session/postgres/pg_runs.hpp"
#include "session/postgres/pg_thread_reader.hpp"

#include "session/base/stored_json.hpp"
#include "session/base/work_count.hpp"
#include "session/conversation/message_json.hpp"
#include "session/store/list_cursor.hpp"
#include "session/store/stored_rows.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace agui::session {

namespace json = boost::json;

namespace {

constexpr const char* summary_of =
    "SELECT agent_id, title, archived, metadata, created_at, updated_at, last_run_at, bytes, "
    "state_bytes, offered_tools_bytes, context_bytes FROM agui.threads "
    "WHERE principal = $1 AND thread_id = $2";
constexpr const char* state_of =
    "SELECT d.state FROM agui.threads t LEFT JOIN agui.thread_documents d ON d.thread = t.id "
    "WHERE t.principal = $1 AND t.thread_id = $2";
constexpr const char* thread_is_there =
    "SELECT id FROM agui.threads WHERE principal = $1 AND thread_id = $2";
constexpr const char* pending_calls_of =
    "SELECT call_id, name, run_id, owner, status, made_in, claimed_until FROM agui.calls "
    "WHERE thread = " AGUI_PG_THREAD " AND status IN ('pending', 'asked') ORDER BY number";
constexpr const char* claim_of_call =
    "UPDATE agui.calls SET "
    "claimed_until = CASE WHEN claimed_by = $4 OR claimed_until <= $6 "
    "THEN $5 ELSE claimed_until END, "
    "claimed_by = CASE WHEN claimed_by = $4 OR claimed_until <= $6 THEN $4 ELSE claimed_by END "
    "WHERE thread = " AGUI_PG_THREAD " AND call_id = $3 AND status = 'pending' "
    "RETURNING claimed_by, claimed_until";
constexpr const char* title_replaced =
    "UPDATE agui.threads SET title = $4 WHERE principal = $1 AND thread_id = $2 AND title = $3 "
    "RETURNING id";
constexpr const char* messages_of_pending_calls =
    "SELECT number, message FROM agui.messages WHERE thread = " AGUI_PG_THREAD
    " AND number IN (SELECT c.made_in FROM agui.calls c WHERE c.thread = " AGUI_PG_THREAD
    " AND c.status IN ('pending', 'asked'))";
constexpr const char* events_of =
    "SELECT sequence, type, run_id, timestamp, data FROM agui.session_events "
    "WHERE thread = " AGUI_PG_THREAD " AND sequence > $3 ORDER BY sequence LIMIT $4";
// A lease of a fenced or expired gateway does not count as held. The own gateway's leases are read
// from memory.
#define AGUI_PG_PAGE_COLUMNS                                                                       \
    "SELECT t.agent_id, t.title, t.archived, t.metadata, t.created_at, t.updated_at, "             \
    "t.last_run_at, t.thread_id, t.id, CASE WHEN g.id IS NULL THEN NULL ELSE l.run_id END"
#define AGUI_PG_PAGE_HOLDERS                                                                       \
    " LEFT JOIN agui.leases l ON l.principal = t.principal AND l.thread_id = t.thread_id "         \
    "LEFT JOIN agui.gateways g ON g.id = l.gateway AND NOT g.fenced "                              \
    "AND g.expires >= clock_timestamp() AND g.id <> $7 "
#define AGUI_PG_PAGE_LIMITS                                                                        \
    " AND t.archived = $2 AND ($3 IS NULL OR t.agent_id = $3) "                                    \
    "AND (t.updated_at, t.id) < ($4, $5) ORDER BY t.updated_at DESC, t.id DESC LIMIT $6"
constexpr const char* page_of_threads = AGUI_PG_PAGE_COLUMNS
    " FROM agui.threads t" AGUI_PG_PAGE_HOLDERS "WHERE t.principal = $1" AGUI_PG_PAGE_LIMITS;
constexpr const char* page_of_opened_threads =
    AGUI_PG_PAGE_COLUMNS ", t.principal, s.shared_id, a.access_right FROM agui.thread_access a "
                         "JOIN agui.threads t ON t.id = a.thread "
                         "JOIN agui.shared_ids s ON s.thread = a.thread" AGUI_PG_PAGE_HOLDERS
                         "WHERE a.principal = $1" AGUI_PG_PAGE_LIMITS;
constexpr int opened_column = 10; // The first column that only page_of_opened_threads has.

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

std::int64_t limited(std::uint64_t value) {
    return static_cast<std::int64_t>(std::min(value, static_cast<std::uint64_t>(largest)));
}

result<message> message_at(const pg_rows& rows, std::size_t row) {
    const std::string_view text = rows.text(row, 1);
    count_work(text.size());
    const result<json::value> value = parse_stored(text);
    return value ? message_from_stored_json(*value) : result<message>(value.error());
}

pg_batch each_of(const thread_key& key, std::initializer_list<const char*> texts) {
    pg_batch batch;
    for (const char* const text : texts) {
        batch.emplace_back(text, key.principal, key.thread_id);
    }
    return batch;
}

} // namespace

pg_batch select_summary(const thread_key& key) { return each_of(key, {summary_of}); }

std::optional<thread_summary>
read_summary(const thread_key& key, const std::vector<pg_rows>& results) {
    const pg_rows& rows = results.at(0);
    if (rows.empty()) {
        return std::nullopt;
    }
    const pg_row row(rows, 0);
    thread_summary found;
    found.key = key;
    read_summary_columns(row, found);
    read_size_columns(row, 7, found);
    return found;
}

pg_batch select_state(const thread_key& key) { return each_of(key, {state_of}); }

std::optional<json_text> read_state(const std::vector<pg_rows>& results) {
    const pg_rows& row = results.at(0);
    return row.empty() ? std::nullopt : std::optional(stored_document(row.text(0, 0)));
}

pg_batch select_pending_calls(const thread_key& key) {
    return each_of(key, {thread_is_there, pending_calls_of, messages_of_pending_calls});
}

std::optional<std::vector<pending_call>> read_pending_calls(const std::vector<pg_rows>& results) {
    if (results.at(0).empty()) {
        return std::nullopt;
    }
    const pg_rows& calls = results.at(1); // Pending ones alone, so none is left out.
    std::vector<pending_call> pending = pending_of(read_each(calls, call_at<pg_row>));
    for (std::size_t i = 0; i < pending.size(); ++i) {
        pending[i].claimed_until = calls.integer(i, 6);
    }
    const std::vector<std::size_t> order = by_message(pending);
    const pg_rows& messages = results.at(2);
    std::unordered_map<node_index, std::size_t> rows;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        rows.emplace(node_of(messages.integer(i, 0)), i);
    }
    for (std::size_t next = 0; next < order.size();) {
        const std::span<const std::size_t> of_one = calls_of_one(pending, order, next);
        next += of_one.size();
        const auto row = rows.find(pending[of_one.front()].call.made_in);
        if (row != rows.end()) {
            if (const result<message> read = message_at(messages, row->second)) {
                describe(pending, of_one, *read);
            }
        }
    }
    return pending;
}

pg_batch claim_call_statement(const thread_key& key, const call_claim& claim, unix_ms now) {
    pg_batch batch;
    batch.emplace_back(
        claim_of_call, key.principal, key.thread_id, claim.call_id, claim.holder, claim.until, now
    );
    return batch;
}

std::optional<call_claim>
read_claim(const std::string& call_id, const std::vector<pg_rows>& results) {
    const pg_rows& row = results.at(0);
    if (row.empty()) {
        return std::nullopt;
    }
    return call_claim{call_id, std::string(row.text(0, 0)), row.integer(0, 1)};
}

pg_batch
replace_title_statement(const thread_key& key, const std::string& from, const std::string& to) {
    pg_batch batch;
    batch.emplace_back(title_replaced, key.principal, key.thread_id, from, to);
    return batch;
}

pg_batch select_events(const thread_key& key, std::uint64_t after, std::size_t limit) {
    pg_batch batch;
    batch.emplace_back(events_of, key.principal, key.thread_id, limited(after), limited(limit));
    return batch;
}

std::vector<session_event> read_events(const std::vector<pg_rows>& results) {
    return read_each(results.at(0), event_at<pg_row>);
}

result<pg_batch> select_page(const thread_query& query, std::int64_t gateway) {
    const result<list_cursor> after = list_cursor_from_string(query.cursor);
    if (!after) {
        return after.error();
    }
    pg_batch batch;
    batch.emplace_back(
        query.opened ? page_of_opened_threads : page_of_threads, query.principal, query.archived,
        query.agent_id, after->updated_at, after->number, threads_wanted(query), gateway
    );
    return batch;
}

thread_page read_page(const thread_query& query, const std::vector<pg_rows>& results) {
    const auto listed = [&query](const pg_row& row) {
        listed_thread found = listed_at(row, query.principal);
        found.summary.active_run_id = row.text(9);
        if (query.opened) {
            read_opened_columns(row, opened_column, found.summary);
        }
        return found;
    };
    return page_of(read_each(results.at(0), listed), query);
}

} // namespace agui::session
