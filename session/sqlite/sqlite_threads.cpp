#include "session/sqlite/sqlite_threads.hpp"

#include "session/base/stored_json.hpp"
#include "session/base/work_count.hpp"
#include "session/conversation/change_check.hpp"
#include "session/conversation/message_json.hpp"
#include "session/store/list_cursor.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace agui::session {

namespace json = boost::json;

namespace {

std::optional<std::int64_t> number_or_null(node_index node) {
    return node == no_node ? std::nullopt : std::optional<std::int64_t>(node);
}

node_index node_or_none(const statement::rows& row, int column) {
    return row.is_null(column) ? no_node : static_cast<node_index>(row.integer(column));
}

json::object object_or_empty(std::string_view text) {
    result<json::value> value = parse_stored(text);
    return value && value->is_object() ? std::move(value->get_object()) : json::object();
}

template <class Json>
std::optional<std::string> serialized(const std::optional<Json>& value) {
    return value ? std::optional(json::serialize(*value)) : std::nullopt;
}

std::optional<std::string_view> text_of(const std::optional<json_text>& document) {
    return document ? std::optional(document->view()) : std::nullopt;
}

// What is read of a long thread at once, in JSON: two or three milliseconds.
constexpr std::size_t read_bytes_at_once = 256U << 10U;
// And in rows, for those of short messages.
constexpr std::uint64_t read_rows_at_once = 1000;
// And in links between them.
constexpr std::size_t read_links_at_once = 4000;

// The message itself or, where it was left out, the first one before it that was not.
node_index kept(const sqlite_threads::reading& of, node_index node) {
    while (node != no_node && of.left_out[node]) {
        node = of.record.nodes[node].parent;
    }
    return node;
}

// The texts of a change's messages, as they are stored. `made` keeps those that were not given.
std::vector<std::string_view> texts_of(
    const changes& change, const sqlite_threads::message_texts& given,
    std::vector<std::string>& made
) {
    if (!given.empty()) {
        return {given.begin(), given.end()};
    }
    for (const stored_message& added : change.messages) {
        made.push_back(json::serialize(to_stored_json(added.message)));
    }
    return {made.begin(), made.end()};
}

std::uint64_t bytes_of(const std::vector<std::string_view>& texts) {
    std::uint64_t bytes = 0;
    for (const std::string_view text : texts) {
        bytes += text.size();
    }
    return bytes;
}

sqlite_threads::position position_of(const statement::rows& row) {
    return {
        .thread = row.integer(0),
        .size =
            {.messages = static_cast<std::size_t>(row.integer(1)),
             .branches = static_cast<std::size_t>(row.integer(2))},
        .event_count = static_cast<std::uint64_t>(row.integer(3)),
        .bytes = static_cast<std::uint64_t>(row.integer(4)),
        .documents =
            {.state = static_cast<std::uint64_t>(row.integer(5)),
             .offered_tools = static_cast<std::uint64_t>(row.integer(6)),
             .context = static_cast<std::uint64_t>(row.integer(7))},
    };
}

} // namespace

// The documents of a change, as they are stored.
struct sqlite_threads::document_texts {
    explicit document_texts(const changes& change)
        : state(text_of(change.state)),
          offered_tools(serialized(change.offered_tools)),
          context(serialized(change.context)) {}

    [[nodiscard]] document_sizes sizes_after(document_sizes sizes) const {
        sizes.state = state ? state->size() : sizes.state;
        sizes.offered_tools = offered_tools ? offered_tools->size() : sizes.offered_tools;
        sizes.context = context ? context->size() : sizes.context;
        return sizes;
    }

    std::optional<std::string_view> state;
    std::optional<std::string> offered_tools;
    std::optional<std::string> context;
};

sqlite_threads::sqlite_threads(database& db, agui::logger& log)
    : db_(db),
      log_(log),
      find_(
          db, "SELECT id, message_count, branch_count, event_count, bytes, "
              "state_bytes, offered_tools_bytes, context_bytes FROM threads "
              "WHERE principal = ? AND thread_id = ?"
      ),
      find_of_run_(
          db, "SELECT id, message_count, branch_count, event_count, bytes, "
              "state_bytes, offered_tools_bytes, context_bytes FROM threads "
              "WHERE id = (SELECT thread FROM runs WHERE number = ?)"
      ),
      create_(
          // An id is not used again while there are rows left of a thread that had it, nor by the
          // same process: who reads a thread in slices knows by it whether it is still the same.
          db,
          "INSERT INTO threads (id, principal, thread_id, agent_id, created_at, updated_at, title, "
          "archived, metadata, last_run_at, head, last_request_had_history, message_count, "
          "branch_count, event_count, bytes, state_bytes, offered_tools_bytes, context_bytes) "
          "VALUES (1 + max(?, "
          "(SELECT coalesce(max(id), 0) FROM threads), "
          "(SELECT coalesce(max(thread), 0) FROM removed_threads)), "
          "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
      ),
      update_(
          db, "UPDATE threads SET head = coalesce(?, head), "
              "last_request_had_history = coalesce(?, last_request_had_history), "
              "agent_id = coalesce(?, agent_id), title = coalesce(?, title), "
              "archived = coalesce(?, archived), metadata = coalesce(?, metadata), "
              "updated_at = coalesce(?, updated_at), last_run_at = coalesce(?, last_run_at), "
              "message_count = ?, branch_count = ?, event_count = ?, bytes = ?, "
              "state_bytes = ?, offered_tools_bytes = ?, context_bytes = ? WHERE id = ?"
      ),
      update_documents_(
          db, "INSERT INTO thread_documents (thread, state, offered_tools, context) "
              "VALUES (?1, ?2, ?3, ?4) "
              "ON CONFLICT (thread) DO UPDATE SET state = coalesce(?2, state), "
              "offered_tools = coalesce(?3, offered_tools), context = coalesce(?4, context)"
      ),
      add_message_(
          db, "INSERT INTO messages (thread, number, parent, run_id, created_at, message) "
              "VALUES (?, ?, ?, ?, ?, ?)"
      ),
      set_branch_(
          db, "INSERT INTO branches (thread, number, tip, updated_at) VALUES (?1, ?2, ?3, ?4) "
              "ON CONFLICT (thread, number) DO UPDATE SET tip = ?3, updated_at = ?4"
      ),
      set_call_(
          db, "INSERT INTO calls (thread, call_id, name, run_id, owner, status, made_in) "
              "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (thread, call_id) DO UPDATE SET "
              "name = ?3, run_id = ?4, owner = ?5, status = ?6, made_in = ?7"
      ),
      add_event_(
          db, "INSERT INTO session_events (thread, sequence, type, run_id, timestamp, data) "
              "VALUES (?, ?, ?, ?, ?, ?)"
      ),
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
      load_links_(
          db, "SELECT number, parent FROM messages WHERE thread = ? AND number >= ? ORDER BY "
              "number LIMIT ?"
      ),
      load_branches_(
          db, "SELECT number, tip, updated_at FROM branches WHERE thread = ? ORDER BY number"
      ),
      load_calls_(
          db, "SELECT call_id, name, run_id, owner, status, made_in FROM calls "
              "WHERE thread = ? ORDER BY number"
      ),
      load_events_(
          db, "SELECT sequence, type, run_id, timestamp, data FROM session_events "
              "WHERE thread = (SELECT id FROM threads WHERE principal = ? AND thread_id = ?) "
              "AND sequence > ? ORDER BY sequence LIMIT ?"
      ),
      list_(
          db,
          "SELECT id, thread_id, agent_id, title, metadata, created_at, updated_at, last_run_at "
          "FROM threads WHERE principal = ?1 AND archived = ?2 "
          "AND (?3 IS NULL OR agent_id = ?3) AND (updated_at, id) < (?4, ?5) "
          "ORDER BY updated_at DESC, id DESC LIMIT ?6"
      ) {}

std::optional<sqlite_threads::position> sqlite_threads::find(const thread_key& key) {
    statement::rows row = find_.query(key.principal, key.thread_id);
    return row.next() ? std::optional(position_of(row)) : std::nullopt;
}

std::optional<sqlite_threads::position> sqlite_threads::find_of_run(std::int64_t run_number) {
    statement::rows row = find_of_run_.query(run_number);
    return row.next() ? std::optional(position_of(row)) : std::nullopt;
}

std::int64_t sqlite_threads::create(
    const thread_key& key, const std::string& agent_id, const changes& change, unix_ms last_run_at,
    const message_texts& texts
) {
    check_change({}, change);
    const thread_size size = size_after({}, change);
    std::vector<std::string> made;
    const std::vector<std::string_view> written = texts_of(change, texts, made);
    const document_texts documents(change);
    const document_sizes sizes = documents.sizes_after({});
    // All of it at once: a row that is changed again is written again, with its index entries.
    const std::string metadata = json::serialize(change.metadata.value_or(json::object()));
    create_.execute(
        last_id_, key.principal, key.thread_id, change.agent_id.value_or(agent_id), change.at,
        change.at, change.title.value_or(std::string()), change.archived.value_or(false), metadata,
        last_run_at, change.head.value_or(0), change.last_request_had_history.value_or(false),
        std::uint64_t{size.messages}, std::uint64_t{size.branches},
        std::uint64_t{change.events.size()}, bytes_of(written) + sizes.total(), sizes.state,
        sizes.offered_tools, sizes.context
    );
    const std::int64_t thread = db_.last_insert_id();
    last_id_ = thread;
    add_rows({.thread = thread, .size = {}, .documents = {}}, change, written, documents);
    return thread;
}

void sqlite_threads::apply(
    const position& at, const changes& change, std::optional<unix_ms> last_run_at,
    const message_texts& texts
) {
    check_change(at.size, change);
    std::vector<std::string> made;
    const std::vector<std::string_view> written = texts_of(change, texts, made);
    const document_texts documents(change);
    add_rows(at, change, written, documents);
    const document_sizes sizes = documents.sizes_after(at.documents);
    const thread_size size = size_after(at.size, change);
    const std::optional<unix_ms> updated_at =
        change.at == 0 ? std::nullopt : std::optional(change.at);
    update_.execute(
        change.head, change.last_request_had_history, change.agent_id, change.title,
        change.archived, serialized(change.metadata), updated_at, last_run_at,
        std::uint64_t{size.messages}, std::uint64_t{size.branches},
        at.event_count + change.events.size(),
        at.bytes - at.documents.total() + sizes.total() + bytes_of(written), sizes.state,
        sizes.offered_tools, sizes.context, at.thread
    );
}

void sqlite_threads::add_rows(
    const position& at, const changes& change, std::span<const std::string_view> texts,
    const document_texts& documents
) {
    for (std::size_t i = 0; i < change.messages.size(); ++i) {
        const stored_message& added = change.messages[i];
        add_message_.execute(
            at.thread, std::uint64_t{at.size.messages + i}, number_or_null(added.parent),
            added.run_id, added.created_at, texts[i]
        );
    }
    for (const changes::branch_change& changed : change.branches) {
        set_branch_.execute(
            at.thread, changed.index, number_or_null(changed.value.tip), changed.value.updated_at
        );
    }
    for (const call_record& call : change.calls) {
        const std::string_view owner = call.owner == call_owner::server ? "server" : "external";
        set_call_.execute(
            at.thread, call.id, call.name, call.run_id, owner, to_string(call.status),
            number_or_null(call.made_in)
        );
    }
    std::uint64_t sequence = at.event_count;
    for (const session_event& event : change.events) {
        const std::string data = json::serialize(event.data);
        add_event_.execute(at.thread, ++sequence, event.type, event.run_id, event.timestamp, data);
    }
    if (change.state || change.offered_tools || change.context) {
        update_documents_.execute(
            at.thread, documents.state, documents.offered_tools, documents.context
        );
    }
}

sqlite_threads::reading sqlite_threads::begin_reading(const thread_key& key, const position& at) {
    reading begun;
    begun.thread = at.thread;
    begun.message_count = at.size.messages;
    thread_record& record = begun.record;
    record.key = key;
    record.bytes = at.bytes;
    record.documents = at.documents;
    {
        statement::rows row = load_thread_.query(at.thread);
        if (!row.next()) {
            throw std::runtime_error("the row of the thread is missing");
        }
        record.agent_id = row.text(0);
        record.title = row.text(1);
        record.archived = row.integer(2) != 0;
        record.metadata = object_or_empty(row.text(3));
        record.created_at = row.integer(4);
        record.updated_at = row.integer(5);
        record.last_run_at = row.integer(6);
        record.head = static_cast<std::uint32_t>(row.integer(7));
        record.last_request_had_history = row.integer(8) != 0;
    }
    load_documents(at.thread, record);
    load_branches(at.thread, record);
    load_calls(at.thread, record);
    return begun;
}

bool sqlite_threads::read_on(reading& what) {
    const std::size_t wanted = what.message_count;
    const std::size_t before = what.record.nodes.size();
    if (before < wanted) {
        std::size_t bytes = 0;
        const std::uint64_t rows = std::min<std::uint64_t>(read_rows_at_once, wanted - before);
        statement::rows row = load_messages_.query(what.thread, std::uint64_t{before}, rows);
        for (std::uint64_t i = 0; i < rows && bytes < read_bytes_at_once; ++i) {
            if (!row.next() || row.integer(0) != static_cast<std::int64_t>(before + i)) {
                throw std::runtime_error("a message of the thread is missing");
            }
            bytes += row.text(4).size();
            read_message(what, row);
        }
    }
    if (what.record.nodes.size() < wanted) {
        return false;
    }
    for (branch& held : what.record.branches) {
        if (held.tip != no_node && held.tip >= wanted) {
            throw std::runtime_error("a branch of the thread ends in a message that is missing");
        }
        held.tip = kept(what, held.tip);
    }
    return true;
}

void sqlite_threads::read_message(reading& what, const statement::rows& row) {
    const std::size_t number = what.record.nodes.size();
    stored_message node;
    node.parent = node_or_none(row, 1);
    if (node.parent != no_node && node.parent >= number) {
        throw std::runtime_error("the messages of the thread are not a tree");
    }
    node.parent = kept(what, node.parent);
    node.run_id = row.text(2);
    node.created_at = row.integer(3);
    const result<json::value> value = parse_stored(row.text(4));
    result<message> read =
        value ? message_from_stored_json(*value) : result<message>(value.error());
    if (read) {
        node.message = std::move(*read);
    } else {
        node.message.role = role::activity;
        log_.log(
            log_level::warning, "left out a stored message that cannot be read",
            {{"thread", what.record.key.thread_id},
             {"message", std::to_string(number)},
             {"reason", read.error().detail}}
        );
    }
    what.left_out.push_back(!read);
    what.record.nodes.push_back(std::move(node));
}

void sqlite_threads::load_documents(std::int64_t thread, thread_record& record) {
    statement::rows row = load_documents_.query(thread);
    if (!row.next()) {
        return;
    }
    if (result<json_text> state = read_stored_text(row.text(0)); state) {
        record.state = std::move(*state);
    }
    if (result<json::value> tools = parse_stored(row.text(1)); tools && tools->is_array()) {
        record.offered_tools = std::move(tools->get_array());
    }
    if (result<json::value> context = parse_stored(row.text(2)); context && context->is_array()) {
        record.context = std::move(context->get_array());
    }
}

void sqlite_threads::load_branches(std::int64_t thread, thread_record& record) {
    statement::rows row = load_branches_.query(thread);
    while (row.next()) {
        record.branches.push_back({.tip = node_or_none(row, 1), .updated_at = row.integer(2)});
    }
}

void sqlite_threads::load_calls(std::int64_t thread, thread_record& record) {
    statement::rows row = load_calls_.query(thread);
    while (row.next()) {
        call_record& call = record.calls.emplace_back();
        call.id = row.text(0);
        call.name = row.text(1);
        call.run_id = row.text(2);
        call.owner = row.text(3) == "server" ? call_owner::server : call_owner::external;
        // A status that cannot be read must not make a call answerable.
        call.status = call_status_from_string(row.text(4)).value_or(call_status::dead);
        call.made_in = node_or_none(row, 5);
    }
}

std::optional<thread_summary> sqlite_threads::summary(const thread_key& key) {
    const std::optional<position> at = find(key);
    if (!at) {
        return std::nullopt;
    }
    statement::rows row = load_thread_.query(at->thread);
    if (!row.next()) {
        return std::nullopt;
    }
    thread_summary found;
    found.key = key;
    found.agent_id = row.text(0);
    found.title = row.text(1);
    found.archived = row.integer(2) != 0;
    found.metadata = object_or_empty(row.text(3));
    found.created_at = row.integer(4);
    found.updated_at = row.integer(5);
    found.last_run_at = row.integer(6);
    found.bytes = at->bytes;
    found.documents = at->documents;
    return found;
}

std::optional<json_text> sqlite_threads::state(const thread_key& key) {
    const std::optional<position> at = find(key);
    if (!at) {
        return std::nullopt;
    }
    thread_record documents;
    load_documents(at->thread, documents);
    return std::move(documents.state);
}

result<message>
sqlite_threads::read_message(std::int64_t thread, std::size_t number, std::size_t& bytes) {
    statement::rows row = load_message_.query(thread, std::uint64_t{number});
    if (!row.next()) {
        return failure{errc::not_found, "a message of the thread is missing", {}, {}};
    }
    count_work(row.text(0).size());
    bytes += row.text(0).size();
    const result<json::value> value = parse_stored(row.text(0));
    return value ? message_from_stored_json(*value) : result<message>(value.error());
}

void sqlite_threads::begin_reading(const position& at, pending_reading& what) {
    what.thread = at.thread;
    thread_record record;
    load_calls(at.thread, record);
    what.found = pending_of(record.calls);
    what.order = by_message(what.found);
}

bool sqlite_threads::read_on(pending_reading& what) {
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

void sqlite_threads::begin_reading(const position& at, branches_reading& what) {
    what.thread = at.thread;
    what.message_count = at.size.messages;
    thread_record record;
    {
        statement::rows row = load_thread_.query(at.thread);
        record.head = row.next() ? static_cast<std::uint32_t>(row.integer(7)) : 0;
    }
    load_branches(at.thread, record);
    what.branches = std::move(record.branches);
    what.head = record.head;
}

bool sqlite_threads::read_on(branches_reading& what) {
    const std::size_t before = what.parents.size();
    if (before < what.message_count) {
        read_links(what, std::min(read_links_at_once, what.message_count - before));
        return false;
    }
    std::size_t bytes = 0;
    while (what.found.size() < what.branches.size() && bytes < read_bytes_at_once) {
        const branch& each = what.branches[what.found.size()];
        branch_summary summary;
        summary.updated_at = each.updated_at;
        summary.is_head = what.found.size() == what.head;
        // Those at the end that load() leaves out are none here either.
        std::vector<node_index> left_out;
        node_index last = each.tip;
        while (last != no_node && !id_of(what, last, bytes)) {
            left_out.push_back(last);
            last = what.parents.at(last);
        }
        for (const node_index node : left_out) {
            what.parents[node] = last; // Other branches get there in one step.
        }
        if (last != no_node) {
            summary.last_message_id = *id_of(what, last, bytes);
            summary.message_count = what.depths[last];
        }
        what.found.push_back(std::move(summary));
    }
    return what.found.size() == what.branches.size();
}

void sqlite_threads::read_links(branches_reading& what, std::size_t count) {
    const std::size_t before = what.parents.size();
    statement::rows row =
        load_links_.query(what.thread, std::uint64_t{before}, std::uint64_t{count});
    while (row.next()) {
        count_work();
        const node_index parent = node_or_none(row, 1);
        if (parent != no_node && parent >= what.parents.size()) {
            throw std::runtime_error("the messages of the thread are not a tree");
        }
        what.depths.push_back(parent == no_node ? 1 : what.depths[parent] + 1);
        what.parents.push_back(parent);
    }
    if (what.parents.size() != before + count) {
        throw std::runtime_error("a message of the thread is missing");
    }
}

// Nullopt: the message cannot be read.
const std::optional<std::string>&
sqlite_threads::id_of(branches_reading& what, node_index node, std::size_t& bytes) {
    count_work();
    const auto [known, is_new] = what.ids.try_emplace(node);
    if (is_new) {
        if (const result<message> read = read_message(what.thread, node, bytes)) {
            known->second = read->id;
        }
    }
    return known->second;
}

std::vector<session_event>
sqlite_threads::events(const thread_key& key, std::uint64_t after, std::size_t limit) {
    std::vector<session_event> page;
    constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();
    statement::rows row = load_events_.query(
        key.principal, key.thread_id, std::min(after, largest),
        std::min(std::uint64_t{limit}, largest)
    );
    while (row.next()) {
        session_event& event = page.emplace_back();
        event.sequence = static_cast<std::uint64_t>(row.integer(0));
        event.type = row.text(1);
        event.run_id = row.text(2);
        event.timestamp = row.integer(3);
        event.data = object_or_empty(row.text(4));
    }
    return page;
}

result<thread_page> sqlite_threads::list(const thread_query& query) {
    const result<std::optional<list_cursor>> given = list_cursor_from_string(query.cursor);
    if (!given) {
        return given.error();
    }
    constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
    const list_cursor after = given->value_or(list_cursor{largest, largest});

    thread_page page;
    list_cursor last = after;
    // One more than asked for tells whether there is a next page.
    statement::rows row = list_.query(
        query.principal, query.archived, query.agent_id, after.updated_at, after.number,
        std::min(std::uint64_t{query.limit}, std::uint64_t{1'000'000}) + 1
    );
    while (row.next()) {
        if (page.threads.size() == query.limit) {
            page.next_cursor = to_string(last);
            break;
        }
        thread_summary& summary = page.threads.emplace_back();
        summary.key = {query.principal, std::string(row.text(1))};
        summary.agent_id = row.text(2);
        summary.title = row.text(3);
        summary.archived = query.archived;
        summary.metadata = object_or_empty(row.text(4));
        summary.created_at = row.integer(5);
        summary.updated_at = row.integer(6);
        summary.last_run_at = row.integer(7);
        last = {.updated_at = summary.updated_at, .number = row.integer(0)};
    }
    return page;
}

} // namespace agui::session
