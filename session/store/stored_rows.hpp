#pragma once

#include "session/store/list_cursor.hpp"
#include "session/store/store.hpp"
#include "session/store/thread_position.hpp"

#include "session/base/stored_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace agui::session {

// Readers of rows that have the same columns in every store: each names them, in order. A `Row` has
// is_null(), text(), integer() and boolean(), each of a column from 0 on; of NULL, they return an
// empty text, 0 and false.

/// Empty if the text is not an array, or is damaged.
[[nodiscard]] boost::json::array stored_array(std::string_view text);
/// Null if the text is damaged.
[[nodiscard]] json_text stored_document(std::string_view text);
/// Empty if the text is not an object, or is damaged.
[[nodiscard]] boost::json::object stored_data(std::string_view text);

template <class Row>
[[nodiscard]] std::uint64_t count_at(const Row& row, int column) {
    return static_cast<std::uint64_t>(row.integer(column));
}

/// The column is NULL or negative for no_node.
template <class Row>
[[nodiscard]] node_index node_at(const Row& row, int column) {
    const bool is_none = row.is_null(column) || row.integer(column) < 0;
    return is_none ? no_node : static_cast<node_index>(row.integer(column));
}

/// bytes, state_bytes, offered_tools_bytes, context_bytes, from `column` on. `To` is a
/// thread_record, a thread_summary_columns or a thread_position.
template <class Row, class To>
void read_size_columns(const Row& row, int column, To& to) {
    to.bytes = count_at(row, column);
    to.documents = {
        .state = count_at(row, column + 1),
        .offered_tools = count_at(row, column + 2),
        .context = count_at(row, column + 3),
    };
}

/// id, message_count, branch_count, event_count, the columns of read_size_columns(), version
template <class Row>
[[nodiscard]] thread_position position_at(const Row& row) {
    thread_position at;
    at.thread = row.integer(0);
    at.size = {.messages = count_at(row, 1), .branches = count_at(row, 2)};
    at.event_count = count_at(row, 3);
    read_size_columns(row, 4, at);
    at.version = count_at(row, 8);
    return at;
}

/// agent_id, title, archived, metadata, created_at, updated_at, last_run_at. `To` is a
/// thread_record or a thread_summary_columns.
template <class Row, class To>
void read_summary_columns(const Row& row, To& to) {
    to.agent_id = row.text(0);
    to.title = row.text(1);
    to.archived = row.boolean(2);
    to.metadata = stored_object(row.text(3));
    to.created_at = row.integer(4);
    to.updated_at = row.integer(5);
    to.last_run_at = row.integer(6);
}

/// The columns of read_summary_columns(), thread_id, id
template <class Row>
[[nodiscard]] listed_thread listed_at(const Row& row, const std::string& principal) {
    listed_thread found;
    found.summary.key = {principal, std::string(row.text(7))};
    read_summary_columns(row, found.summary);
    found.place = {.updated_at = found.summary.updated_at, .number = row.integer(8)};
    return found;
}

/// An unreadable right gives the least.
template <class Row>
[[nodiscard]] access_right access_right_at(const Row& row, int column) {
    return access_right_from_string(row.text(column)).value_or(access_right::read);
}

/// principal, access_right
template <class Row>
[[nodiscard]] access_entry access_entry_at(const Row& row) {
    return {std::string(row.text(0)), access_right_at(row, 1)};
}

/// principal, thread_id, access_right
template <class Row>
[[nodiscard]] shared_thread shared_thread_at(const Row& row) {
    return {{std::string(row.text(0)), std::string(row.text(1))}, access_right_at(row, 2)};
}

/// The owner, the thread's shared id and access_right, from `column` on, of a thread that is listed
/// as opened.
template <class Row>
void read_opened_columns(const Row& row, int column, thread_summary& to) {
    to.key.principal = row.text(column);
    to.shared_id = row.text(column + 1);
    to.right = access_right_at(row, column + 2);
}

/// The columns of read_summary_columns(), head, last_request_had_history
template <class Row>
void read_thread_columns(const Row& row, thread_record& to) {
    read_summary_columns(row, to);
    to.head = static_cast<std::uint32_t>(row.integer(7));
    to.last_request_had_history = row.boolean(8);
}

/// state, offered_tools, context, from `column` on
template <class Row>
void read_document_columns(const Row& row, int column, thread_record& to) {
    to.state = stored_document(row.text(column));
    to.offered_tools = stored_array(row.text(column + 1));
    to.context = stored_array(row.text(column + 2));
}

/// tip, updated_at
template <class Row>
[[nodiscard]] branch branch_at(const Row& row) {
    return {.tip = node_at(row, 0), .updated_at = row.integer(1)};
}

/// call_id, name, run_id, owner, status, made_in
template <class Row>
[[nodiscard]] call_record call_at(const Row& row) {
    call_record call;
    call.id = row.text(0);
    call.name = row.text(1);
    call.run_id = row.text(2);
    call.owner = row.text(3) == "server" ? call_owner::server : call_owner::external;
    // An unreadable status must not make a call answerable.
    call.status = call_status_from_string(row.text(4)).value_or(call_status::dead);
    call.made_in = node_at(row, 5);
    return call;
}

/// sequence, type, run_id, timestamp, data
template <class Row>
[[nodiscard]] session_event event_at(const Row& row) {
    session_event event;
    event.sequence = count_at(row, 0);
    event.type = row.text(1);
    event.run_id = row.text(2);
    event.timestamp = row.integer(3);
    event.data = stored_data(row.text(4));
    return event;
}

/// number, run_id, parent_run_id, agent_id, input_digest, status, end_reason, started_at, ended_at,
/// last_sequence, idempotency_key, protocol, answered_by
template <class Row>
[[nodiscard]] run_record run_at(const Row& row) {
    run_record run;
    run.number = row.integer(0);
    run.run_id = row.text(1);
    run.parent_run_id = row.text(2);
    run.agent_id = row.text(3);
    run.input_digest = row.text(4);
    run.status = run_status_from_string(row.text(5)).value_or(run_status::failed);
    run.end_reason = row.text(6);
    run.started_at = row.integer(7);
    run.ended_at = row.integer(8);
    run.last_sequence = count_at(row, 9);
    run.idempotency_key = row.text(10);
    run.protocol = row.text(11);
    run.answered_by = row.text(12);
    return run;
}

/// number, run_id, parent_run_id, agent_id, input_digest, idempotency_key, protocol, queued_at. The
/// messages are read by read_queued_messages().
template <class Row>
[[nodiscard]] queued_request request_at(const Row& row) {
    queued_request request;
    request.number = row.integer(0);
    request.run_id = row.text(1);
    request.parent_run_id = row.text(2);
    request.agent_id = row.text(3);
    request.input_digest = row.text(4);
    request.idempotency_key = row.text(5);
    request.protocol = row.text(6);
    request.queued_at = row.integer(7);
    return request;
}

} // namespace agui::session
