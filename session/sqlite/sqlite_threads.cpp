#include "session/sqlite/sqlite_threads.hpp"

#include "session/conversation/change_check.hpp"
#include "session/conversation/message_json.hpp"

#include <boost/json/serialize.hpp>

namespace agui::session {

namespace json = boost::json;

namespace {

std::optional<std::int64_t> number_or_null(node_index node) {
    return node == no_node ? std::nullopt : std::optional<std::int64_t>(node);
}

template <class Json>
std::optional<std::string> serialized(const std::optional<Json>& value) {
    return value ? std::optional(json::serialize(*value)) : std::nullopt;
}

std::optional<std::string_view> text_of(const std::optional<json_text>& document) {
    return document ? std::optional(document->view()) : std::nullopt;
}

std::vector<std::string> texts_of(const node_list& messages) {
    std::vector<std::string> texts;
    texts.reserve(messages.size());
    for (const stored_message& added : messages) {
        texts.push_back(json::serialize(to_stored_json(added.message)));
    }
    return texts;
}

std::uint64_t bytes_of(const std::vector<std::string>& texts) {
    std::uint64_t bytes = 0;
    for (const std::string& text : texts) {
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
        .version = static_cast<std::uint64_t>(row.integer(8)),
        .event_count = static_cast<std::uint64_t>(row.integer(3)),
        .bytes = static_cast<std::uint64_t>(row.integer(4)),
        .documents =
            {.state = static_cast<std::uint64_t>(row.integer(5)),
             .offered_tools = static_cast<std::uint64_t>(row.integer(6)),
             .context = static_cast<std::uint64_t>(row.integer(7))},
    };
}

} // namespace

// The stored texts of a change's documents.
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

sqlite_threads::sqlite_threads(database& db)
    : last_id_(db.integer("SELECT max((SELECT coalesce(max(id), 0) FROM threads), "
                          "(SELECT coalesce(max(thread), 0) FROM removed_threads))")),
      find_(
          db, "SELECT id, message_count, branch_count, event_count, bytes, "
              "state_bytes, offered_tools_bytes, context_bytes, version FROM threads "
              "WHERE principal = ? AND thread_id = ?"
      ),
      create_(
          db,
          "INSERT INTO threads (id, principal, thread_id, agent_id, created_at, updated_at, title, "
          "archived, metadata, last_run_at, head, last_request_had_history, message_count, "
          "branch_count, event_count, bytes, state_bytes, offered_tools_bytes, context_bytes, "
          "version) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
      ),
      update_(
          db, "UPDATE threads SET head = coalesce(?, head), "
              "last_request_had_history = coalesce(?, last_request_had_history), "
              "agent_id = coalesce(?, agent_id), title = coalesce(?, title), "
              "archived = coalesce(?, archived), metadata = coalesce(?, metadata), "
              "updated_at = coalesce(?, updated_at), last_run_at = coalesce(?, last_run_at), "
              "message_count = ?, branch_count = ?, event_count = ?, bytes = ?, "
              "state_bytes = ?, offered_tools_bytes = ?, context_bytes = ?, version = ? "
              "WHERE id = ?"
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
      ) {}

std::optional<sqlite_threads::position> sqlite_threads::find(const thread_key& key) {
    statement::rows row = find_.query(key.principal, key.thread_id);
    return row.next() ? std::optional(position_of(row)) : std::nullopt;
}

std::int64_t sqlite_threads::create(
    const thread_key& key, const std::string& agent_id, const changes& change, unix_ms last_run_at
) {
    check_change({}, change);
    const thread_size size = size_after({}, change);
    const std::vector<std::string> messages = texts_of(change.messages);
    const document_texts documents(change);
    const document_sizes sizes = documents.sizes_after({});
    // All columns at once, because each change of a row writes all of it again, with index entries.
    const std::string_view metadata = text_of(change.metadata).value_or("{}");
    const std::int64_t thread = ++last_id_;
    const std::uint64_t version = first_version(thread);
    create_.execute(
        thread, key.principal, key.thread_id, change.agent_id.value_or(agent_id), change.at,
        change.at, change.title.value_or(std::string()), change.archived.value_or(false), metadata,
        last_run_at, change.head.value_or(0), change.last_request_had_history.value_or(false),
        std::uint64_t{size.messages}, std::uint64_t{size.branches},
        std::uint64_t{change.events.size()}, bytes_of(messages) + sizes.total(), sizes.state,
        sizes.offered_tools, sizes.context, version
    );
    add_rows(
        {.thread = thread, .size = {}, .version = version, .documents = {}}, change, messages,
        documents
    );
    return thread;
}

void sqlite_threads::apply(
    const position& at, const changes& change, std::optional<unix_ms> last_run_at
) {
    check_change(at.size, change);
    const std::vector<std::string> messages = texts_of(change.messages);
    const document_texts documents(change);
    add_rows(at, change, messages, documents);
    const document_sizes sizes = documents.sizes_after(at.documents);
    const thread_size size = size_after(at.size, change);
    const std::optional<unix_ms> updated_at =
        change.at == 0 ? std::nullopt : std::optional(change.at);
    update_.execute(
        change.head, change.last_request_had_history, change.agent_id, change.title,
        change.archived, text_of(change.metadata), updated_at, last_run_at,
        std::uint64_t{size.messages}, std::uint64_t{size.branches},
        at.event_count + change.events.size(),
        at.bytes - at.documents.total() + sizes.total() + bytes_of(messages), sizes.state,
        sizes.offered_tools, sizes.context, at.version + (changes_conversation(change) ? 1 : 0),
        at.thread
    );
}

void sqlite_threads::add_rows(
    const position& at, const changes& change, const std::vector<std::string>& messages,
    const document_texts& documents
) {
    for (std::size_t i = 0; i < change.messages.size(); ++i) {
        const stored_message& added = change.messages[i];
        add_message_.execute(
            at.thread, std::uint64_t{at.size.messages + i}, number_or_null(added.parent),
            added.run_id, added.created_at, messages[i]
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

} // namespace agui::session
