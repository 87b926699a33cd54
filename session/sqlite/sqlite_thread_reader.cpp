#include "session/sqlite/sqlite_thread_reader.hpp"

#include "session/base/stored_json.hpp"
#include "session/base/work_count.hpp"
#include "session/conversation/message_json.hpp"
#include "session/store/list_cursor.hpp"
#include "session/store/stored_rows.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace agui::session {

namespace json = boost::json;

namespace {

// Bytes of JSON of a long thread that are read at once, in two or three milliseconds.
constexpr std::size_t read_bytes_at_once = 256U << 10U;
// The same limit in rows, for short messages.
constexpr std::uint64_t read_rows_at_once = 1000;
} // namespace

sqlite_thread_reader::sqlite_thread_reader(database& db, sqlite_threads& threads, agui::logger& log)
    : threads_(threads),
      log_(log),
      load_thread_(
          db, "SELECT agent_id, title, archived, metadata, created_at, updated_at, last_run_at, "
              "head, last_request_had_history FROM threads WHERE id = ?"
      ),
      load_documents_(
          db, "SELECT state, offered_tools, context FROM thread_documents WHERE thread = ?"
      ),
      load_messages_(
          db, "SELECT number, parent, run_id, created_at, message FROM messages "
              "WHERE thread = ? AND number >= ? ORDER BY number LIMIT ?"
      ),
      load_message_(db, "SELECT message FROM messages WHERE thread = ? AND number = ?"),
      load_branches_(db, "SELECT tip, updated_at FROM branches WHERE thread = ? ORDER BY number"),
      load_calls_(
          db, "SELECT call_id, name, run_id, owner, status, made_in FROM calls "
              "WHERE thread = ? ORDER BY number"
      ),
      load_claim_(db, "SELECT claimed_until FROM calls WHERE thread = ? AND call_id = ?"),
      load_events_(
          db, "SELECT sequence, type, run_id, timestamp, data FROM session_events "
              "WHERE thread = (SELECT id FROM threads WHERE principal = ? AND thread_id = ?) "
              "AND sequence > ? ORDER BY sequence LIMIT ?"
      ),
      list_(
          db, "SELECT agent_id, title, archived, metadata, created_at, updated_at, last_run_at, "
              "thread_id, id FROM threads WHERE principal = ?1 AND archived = ?2 "
              "AND (?3 IS NULL OR agent_id = ?3) AND (updated_at, id) < (?4, ?5) "
              "ORDER BY updated_at DESC, id DESC LIMIT ?6"
      ),
      list_opened_(
          db, "SELECT agent_id, title, archived, metadata, created_at, updated_at, last_run_at, "
              "thread_id, id, t.principal, s.shared_id, a.access_right FROM thread_access a "
              "JOIN threads t ON t.id = a.thread JOIN shared_ids s ON s.thread = a.thread "
              "WHERE a.principal = ?1 AND archived = ?2 "
              "AND (?3 IS NULL OR agent_id = ?3) AND (updated_at, id) < (?4, ?5) "
              "ORDER BY updated_at DESC, id DESC LIMIT ?6"
      ) {}

sqlite_thread_reader::reading
sqlite_thread_reader::begin_reading(const thread_key& key, const thread_position& at) {
    reading begun;
    begun.thread = at.thread;
    begun.message_count = at.size.messages;
    begun.record.key = key;
    refresh(begun.record, at);
    load_documents(at.thread, begun.record);
    load_branches(at.thread, begun.record);
    load_calls(at.thread, begun.record);
    return begun;
}

void sqlite_thread_reader::refresh(thread_record& record, const thread_position& at) {
    record.version = at.version;
    record.bytes = at.bytes;
    record.documents = at.documents;
    statement::rows row = load_thread_.query(at.thread);
    if (!row.next()) {
        throw std::runtime_error("the row of the thread is missing");
    }
    read_thread_columns(row, record);
}

bool sqlite_thread_reader::read_on(reading& what) {
    const std::size_t before = what.record.nodes.size();
    const std::uint64_t rows =
        std::min<std::uint64_t>(read_rows_at_once, what.message_count - before);
    statement::rows row = load_messages_.query(what.thread, std::uint64_t{before}, rows);
    std::size_t bytes = 0;
    for (std::uint64_t i = 0; i < rows && bytes < read_bytes_at_once; ++i) {
        if (!row.next()) {
            throw std::runtime_error("a message of the thread is missing");
        }
        bytes += row.text(4).size();
        what.add(row, log_);
    }
    return what.finish();
}

void sqlite_thread_reader::load_documents(std::int64_t thread, thread_record& record) {
    statement::rows row = load_documents_.query(thread);
    if (row.next()) {
        read_document_columns(row, 0, record);
    }
}

void sqlite_thread_reader::load_branches(std::int64_t thread, thread_record& record) {
    statement::rows row = load_branches_.query(thread);
    while (row.next()) {
        record.branches.push_back(branch_at(row));
    }
}

void sqlite_thread_reader::load_calls(std::int64_t thread, thread_record& record) {
    statement::rows row = load_calls_.query(thread);
    while (row.next()) {
        record.calls.push_back(call_at(row));
    }
}

std::optional<thread_summary> sqlite_thread_reader::summary(const thread_key& key) {
    const std::optional<thread_position> at = threads_.find(key);
    if (!at) {
        return std::nullopt;
    }
    statement::rows row = load_thread_.query(at->thread);
    if (!row.next()) {
        return std::nullopt;
    }
    thread_summary found;
    found.key = key;
    read_summary_columns(row, found);
    found.bytes = at->bytes;
    found.documents = at->documents;
    return found;
}

std::optional<json_text> sqlite_thread_reader::state(const thread_key& key) {
    const std::optional<thread_position> at = threads_.find(key);
    if (!at) {
        return std::nullopt;
    }
    thread_record documents;
    load_documents(at->thread, documents);
    return std::move(documents.state);
}

result<message>
sqlite_thread_reader::read_message(std::int64_t thread, std::size_t number, std::size_t& bytes) {
    statement::rows row = load_message_.query(thread, std::uint64_t{number});
    if (!row.next()) {
        return failure{errc::not_found, "a message of the thread is missing"};
    }
    count_work(row.text(0).size());
    bytes += row.text(0).size();
    const result<json::value> value = parse_stored(row.text(0));
    return value ? message_from_stored_json(*value) : result<message>(value.error());
}

sqlite_thread_reader::pending_reading
sqlite_thread_reader::begin_pending_calls(const thread_position& at) {
    pending_reading begun;
    begun.thread = at.thread;
    thread_record record;
    load_calls(at.thread, record);
    begun.found = pending_of(record.calls);
    for (pending_call& each : begun.found) {
        statement::rows row = load_claim_.query(at.thread, each.call.id);
        each.claimed_until = row.next() ? row.integer(0) : 0;
    }
    begun.order = by_message(begun.found);
    return begun;
}

bool sqlite_thread_reader::read_on(pending_reading& what) {
    std::size_t bytes = 0;
    while (what.next < what.order.size() && bytes < read_bytes_at_once) {
        const std::span<const std::size_t> calls = calls_of_one(what.found, what.order, what.next);
        what.next += calls.size();
        const node_index made_in = what.found[calls.front()].call.made_in;
        if (const result<message> read = read_message(what.thread, made_in, bytes)) {
            describe(what.found, calls, *read);
        }
    }
    return what.next == what.order.size();
}

std::vector<session_event>
sqlite_thread_reader::events(const thread_key& key, std::uint64_t after, std::size_t limit) {
    std::vector<session_event> page;
    constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();
    statement::rows row = load_events_.query(
        key.principal, key.thread_id, std::min(after, largest),
        std::min(std::uint64_t{limit}, largest)
    );
    while (row.next()) {
        page.push_back(event_at(row));
    }
    return page;
}

result<thread_page> sqlite_thread_reader::list(const thread_query& query) {
    const result<list_cursor> after = list_cursor_from_string(query.cursor);
    if (!after) {
        return after.error();
    }
    std::vector<listed_thread> found;
    statement::rows row =
        (query.opened ? list_opened_ : list_)
            .query(
                query.principal, query.archived, query.agent_id, after->updated_at, after->number,
                std::uint64_t{threads_wanted(query)}
            );
    while (row.next()) {
        found.push_back(listed_at(row, query.principal));
        if (query.opened) {
            read_opened_columns(row, 9, found.back().summary);
        }
    }
    return page_of(std::move(found), query);
}

} // namespace agui::session
