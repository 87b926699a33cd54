#include "session/sqlite/sqlite_threads.hpp"

#include "session/store/stored_rows.hpp"

namespace agui::session {

namespace {

std::optional<std::int64_t> number_or_null(node_index node) {
    return node == no_node ? std::nullopt : std::optional<std::int64_t>(node);
}

} // namespace

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
      claim_call_(
          db, "UPDATE calls SET "
              "claimed_until = CASE WHEN claimed_by = ?3 OR claimed_until <= ?5 "
              "THEN ?4 ELSE claimed_until END, "
              "claimed_by = CASE WHEN claimed_by = ?3 OR claimed_until <= ?5 "
              "THEN ?3 ELSE claimed_by END "
              "WHERE thread = ?1 AND call_id = ?2 AND status = 'pending' "
              "RETURNING claimed_by, claimed_until"
      ),
      replace_title_(db, "UPDATE threads SET title = ?3 WHERE id = ?1 AND title = ?2 RETURNING id"),
      add_event_(
          db, "INSERT INTO session_events (thread, sequence, type, run_id, timestamp, data) "
              "VALUES (?, ?, ?, ?, ?, ?)"
      ),
      set_created_(db, "UPDATE threads SET created_at = ?2 WHERE id = ?1"),
      principals_(
          db, "SELECT DISTINCT principal FROM threads WHERE ?1 IS NULL OR principal > ?1 "
              "ORDER BY principal LIMIT ?2"
      ) {}

std::optional<thread_position> sqlite_threads::find(const thread_key& key) {
    statement::rows row = find_.query(key.principal, key.thread_id);
    return row.next() ? std::optional(position_at(row)) : std::nullopt;
}

std::int64_t sqlite_threads::create(
    const thread_key& key, const std::string& agent_id, const stored_change& what,
    unix_ms last_run_at
) {
    const changes& change = what.change;
    const thread_position made = what.after_creation(last_id_ + 1);
    last_id_ = made.thread;
    // All columns at once, because each change of a row writes all of it again, with index entries.
    create_.execute(
        made.thread, key.principal, key.thread_id, change.agent_id.value_or(agent_id), change.at,
        change.at, change.title.value_or(std::string()), change.archived.value_or(false),
        what.metadata.value_or("{}"), last_run_at, change.head.value_or(0),
        change.last_request_had_history.value_or(false), std::uint64_t{made.size.messages},
        std::uint64_t{made.size.branches}, made.event_count, made.bytes, made.documents.state,
        made.documents.offered_tools, made.documents.context, made.version
    );
    thread_position empty;
    empty.thread = made.thread;
    add_rows(empty, what);
    return made.thread;
}

void sqlite_threads::apply(
    const thread_position& at, const stored_change& what, std::optional<unix_ms> last_run_at
) {
    const changes& change = what.change;
    const thread_position after = what.after(at);
    add_rows(at, what);
    const std::optional<unix_ms> updated_at =
        change.at == 0 ? std::nullopt : std::optional(change.at);
    update_.execute(
        change.head, change.last_request_had_history, change.agent_id, change.title,
        change.archived, what.metadata, updated_at, last_run_at, std::uint64_t{after.size.messages},
        std::uint64_t{after.size.branches}, after.event_count, after.bytes, after.documents.state,
        after.documents.offered_tools, after.documents.context, after.version, at.thread
    );
}

bool sqlite_threads::replace_title(
    std::int64_t thread, std::string_view from, std::string_view to
) {
    return replace_title_.query(thread, from, to).next();
}

std::optional<call_claim>
sqlite_threads::claim_call(std::int64_t thread, const call_claim& claim, unix_ms now) {
    statement::rows row = claim_call_.query(thread, claim.call_id, claim.holder, claim.until, now);
    if (!row.next()) {
        return std::nullopt;
    }
    return call_claim{claim.call_id, std::string(row.text(0)), row.integer(1)};
}

void sqlite_threads::set_created(std::int64_t thread, unix_ms created_at) {
    set_created_.execute(thread, created_at);
}

std::vector<std::string>
sqlite_threads::principals(const std::optional<std::string>& after, std::size_t limit) {
    std::vector<std::string> found;
    statement::rows row = principals_.query(after, std::uint64_t{limit});
    while (row.next()) {
        found.emplace_back(row.text(0));
    }
    return found;
}

void sqlite_threads::add_rows(const thread_position& at, const stored_change& what) {
    const changes& change = what.change;
    for (std::size_t i = 0; i < change.messages.size(); ++i) {
        const stored_message& added = change.messages[i];
        add_message_.execute(
            at.thread, std::uint64_t{at.size.messages + i}, number_or_null(added.parent),
            added.run_id, added.created_at, what.messages[i]
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
    for (std::size_t i = 0; i < change.events.size(); ++i) {
        const session_event& event = change.events[i];
        add_event_.execute(
            at.thread, at.event_count + i + 1, event.type, event.run_id, event.timestamp,
            what.events[i]
        );
    }
    if (what.state || what.offered_tools || what.context) {
        update_documents_.execute(at.thread, what.state, what.offered_tools, what.context);
    }
}

} // namespace agui::session
