#include "session/postgres/pg_thread_reader.hpp"

#include "session/postgres/pg_change.hpp"
#include "session/postgres/pg_runs.hpp"

#include "session/base/stored_json.hpp"
#include "session/base/work_count.hpp"
#include "session/store/stored_messages.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <stdexcept>
#include <utility>

namespace agui::session {

namespace asio = boost::asio;
namespace json = boost::json;

namespace {

// The number of the thread whose key is $1 and $2, unless it has the run $3.
#define AGUI_PG_THREAD_WITHOUT_RUN                                                                 \
    "(SELECT t.id FROM agui.threads t WHERE t.principal = $1 AND t.thread_id = $2 AND NOT EXISTS " \
    "(SELECT FROM agui.runs r WHERE r.thread = t.id AND r.run_id = $3))"

constexpr const char* the_run =
    "SELECT " AGUI_PG_RUN_COLUMNS " FROM agui.runs r WHERE r.thread = " AGUI_PG_THREAD
    " AND r.run_id = $3";
constexpr const char* the_thread =
    "SELECT id, agent_id, title, archived, metadata, created_at, updated_at, last_run_at, head, "
    "last_request_had_history, message_count, bytes, state_bytes, offered_tools_bytes, "
    "context_bytes, version FROM agui.threads WHERE id = " AGUI_PG_THREAD_WITHOUT_RUN;
constexpr const char* its_documents = "SELECT state, offered_tools, context "
                                      "FROM agui.thread_documents "
                                      "WHERE thread = " AGUI_PG_THREAD_WITHOUT_RUN;
constexpr const char* its_branches =
    "SELECT tip, updated_at FROM agui.branches "
    "WHERE thread = " AGUI_PG_THREAD_WITHOUT_RUN " ORDER BY number";
constexpr const char* its_calls =
    "SELECT call_id, name, run_id, owner, status, made_in "
    "FROM agui.calls WHERE thread = " AGUI_PG_THREAD_WITHOUT_RUN " ORDER BY number";
constexpr const char* its_messages =
    "SELECT number, parent, run_id, created_at, message "
    "FROM agui.messages "
    "WHERE thread = " AGUI_PG_THREAD_WITHOUT_RUN " ORDER BY number";

// About a millisecond's worth of JSON.
constexpr std::size_t read_bytes_at_once = 128U << 10U;

struct reading {
    std::vector<bool> left_out; // By message number; true: the message cannot be read.
    thread_record record;
};

// The message itself or, if it was left out, the nearest one before it that was not.
node_index kept(const reading& of, node_index node) {
    while (node != no_node && of.left_out[node]) {
        node = of.record.nodes[node].parent;
    }
    return node;
}

void read_row(reading& to, const pg_rows& messages, std::size_t row, agui::logger& log) {
    const std::size_t number = to.record.nodes.size();
    if (messages.integer(row, 0) != static_cast<std::int64_t>(number)) {
        throw std::runtime_error("a message of the thread is missing");
    }
    stored_message node;
    node.parent = node_of(messages.integer(row, 1));
    if (node.parent != no_node && node.parent >= number) {
        throw std::runtime_error("the messages of the thread are not a tree");
    }
    node.parent = kept(to, node.parent);
    node.run_id = messages.text(row, 2);
    node.created_at = messages.integer(row, 3);
    const bool is_read =
        read_stored_message(messages.text(row, 4), to.record.key, number, node.message, log);
    to.left_out.push_back(!is_read);
    to.record.nodes.push_back(std::move(node));
}

void read_documents(thread_record& to, const pg_rows& rows) {
    if (rows.empty()) {
        return;
    }
    if (result<json_text> state = read_stored_text(rows.text(0, 0)); state) {
        to.state = std::move(*state);
    }
    if (result<json::value> tools = parse_stored(rows.text(0, 1)); tools && tools->is_array()) {
        to.offered_tools = std::move(tools->get_array());
    }
    if (result<json::value> given = parse_stored(rows.text(0, 2)); given && given->is_array()) {
        to.context = std::move(given->get_array());
    }
}

std::vector<branch> branches_at(const pg_rows& rows) {
    std::vector<branch> branches;
    branches.reserve(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        branches.push_back({.tip = node_of(rows.integer(i, 0)), .updated_at = rows.integer(i, 1)});
    }
    return branches;
}

std::vector<call_record> calls_at(const pg_rows& rows) {
    std::vector<call_record> calls;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        call_record& call = calls.emplace_back();
        call.id = rows.text(i, 0);
        call.name = rows.text(i, 1);
        call.run_id = rows.text(i, 2);
        call.owner = rows.text(i, 3) == "server" ? call_owner::server : call_owner::external;
        // An unreadable status must not make a call answerable.
        call.status = call_status_from_string(rows.text(i, 4)).value_or(call_status::dead);
        call.made_in = node_of(rows.integer(i, 5));
    }
    return calls;
}

} // namespace

pg_batch select_thread(const thread_key& key, const std::optional<std::string>& run_id) {
    pg_batch batch;
    for (const char* const each :
         {the_run, the_thread, its_documents, its_branches, its_calls, its_messages}) {
        batch.emplace_back(each, key.principal, key.thread_id, run_id);
    }
    return batch;
}

pg_thread_rows thread_rows(std::vector<pg_rows> results) {
    return {results.at(0), results.at(1), results.at(2),
            results.at(3), results.at(4), results.at(5)};
}

asio::awaitable<std::optional<thread_record>>
read_thread(thread_key key, pg_thread_rows rows, agui::logger& log) {
    if (rows.thread.empty()) {
        co_return std::nullopt;
    }
    reading to;
    thread_record& record = to.record;
    record.key = std::move(key);
    const pg_rows& row = rows.thread;
    const auto count = [&](int column) {
        return static_cast<std::uint64_t>(row.integer(0, column));
    };
    record.agent_id = row.text(0, 1);
    record.title = row.text(0, 2);
    record.archived = row.boolean(0, 3);
    record.metadata = stored_object(row.text(0, 4));
    record.created_at = row.integer(0, 5);
    record.updated_at = row.integer(0, 6);
    record.last_run_at = row.integer(0, 7);
    record.head = static_cast<std::uint32_t>(row.integer(0, 8));
    record.last_request_had_history = row.boolean(0, 9);
    record.bytes = count(11);
    record.documents = {.state = count(12), .offered_tools = count(13), .context = count(14)};
    record.version = count(15);
    read_documents(record, rows.documents);
    record.branches = branches_at(rows.branches);
    record.calls = calls_at(rows.calls);

    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < rows.messages.size(); ++i) {
        bytes += rows.messages.text(i, 4).size();
        if (bytes >= read_bytes_at_once) {
            bytes = 0;
            co_await asio::post(executor, asio::use_awaitable);
        }
        read_row(to, rows.messages, i, log);
    }
    if (record.nodes.size() != count(10)) {
        throw std::runtime_error("a message of the thread is missing");
    }
    for (branch& held : record.branches) {
        if (held.tip != no_node && held.tip >= record.nodes.size()) {
            throw std::runtime_error("a branch of the thread ends in a message that is missing");
        }
        held.tip = kept(to, held.tip);
    }
    co_return std::move(record);
}

} // namespace agui::session
