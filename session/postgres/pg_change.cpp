#include "session/postgres/pg_change.hpp"

#include "session/conversation/change_check.hpp"
#include "session/store/stored_rows.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace agui::session {

namespace {

constexpr const char* find_locked =
    "SELECT id, message_count, branch_count, event_count, bytes, state_bytes, "
    "offered_tools_bytes, context_bytes, version, agui.seen_version(version) FROM agui.threads "
    "WHERE principal = $1 AND thread_id = $2 FOR UPDATE";
constexpr const char* insert_thread =
    "INSERT INTO agui.threads (id, principal, thread_id, agent_id, title, archived, metadata, "
    "created_at, updated_at, last_run_at, head, last_request_had_history, message_count, "
    "branch_count, event_count, bytes, state_bytes, offered_tools_bytes, context_bytes, version) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, "
    "$19)";
constexpr const char* update_thread =
    "UPDATE agui.threads SET head = coalesce($2, head), "
    "last_request_had_history = coalesce($3, last_request_had_history), "
    "agent_id = coalesce($4, agent_id), title = coalesce($5, title), "
    "archived = coalesce($6, archived), metadata = coalesce($7, metadata), "
    "updated_at = coalesce($8, updated_at), last_run_at = coalesce($9, last_run_at), "
    "message_count = $10, branch_count = $11, event_count = $12, bytes = $13, state_bytes = $14, "
    "offered_tools_bytes = $15, context_bytes = $16, version = $17 WHERE id = $1";
constexpr const char* set_documents =
    "INSERT INTO agui.thread_documents AS d (thread, state, offered_tools, context) "
    "VALUES ($1, $2, $3, $4) ON CONFLICT (thread) DO UPDATE SET "
    "state = coalesce(excluded.state, d.state), "
    "offered_tools = coalesce(excluded.offered_tools, d.offered_tools), "
    "context = coalesce(excluded.context, d.context)";
#define AGUI_PG_ADD_MESSAGES                                                                       \
    "INSERT INTO agui.messages (thread, number, parent, run_id, created_at, message) "             \
    "SELECT $1, $2 + n - 1, parent, run_id, created_at, message "                                  \
    "FROM unnest($3, $4, $5, $6) WITH ORDINALITY AS m(parent, run_id, created_at, message, n)"
constexpr const char* insert_messages = AGUI_PG_ADD_MESSAGES;
constexpr const char* insert_missing_messages = AGUI_PG_ADD_MESSAGES " ON CONFLICT DO NOTHING";
constexpr const char* set_branches =
    "INSERT INTO agui.branches (thread, number, tip, updated_at) "
    "SELECT $1, * FROM unnest($2, $3, $4) ON CONFLICT (thread, number) DO UPDATE SET "
    "tip = excluded.tip, updated_at = excluded.updated_at";
// In order: the identity column numbers them.
constexpr const char* set_calls =
    "INSERT INTO agui.calls (thread, call_id, name, run_id, owner, status, made_in) "
    "SELECT $1, call_id, name, run_id, owner, status, made_in "
    "FROM unnest($2, $3, $4, $5, $6, $7) WITH ORDINALITY "
    "AS c(call_id, name, run_id, owner, status, made_in, n) ORDER BY n "
    "ON CONFLICT (thread, call_id) DO UPDATE SET name = excluded.name, run_id = excluded.run_id, "
    "owner = excluded.owner, status = excluded.status, made_in = excluded.made_in";
#define AGUI_PG_ADD_EVENTS                                                                         \
    "INSERT INTO agui.session_events (thread, sequence, type, run_id, timestamp, data) "           \
    "SELECT $1, $2 + n, type, run_id, timestamp, data "                                            \
    "FROM unnest($3, $4, $5, $6) WITH ORDINALITY AS e(type, run_id, timestamp, data, n)"
constexpr const char* insert_events = AGUI_PG_ADD_EVENTS;
constexpr const char* insert_missing_events = AGUI_PG_ADD_EVENTS " ON CONFLICT DO NOTHING";

// Arrays that the server makes rows of.

struct message_columns {
    explicit message_columns(const changes& of) {
        for (const stored_message& added : of.messages) {
            parents.push_back(number_of(added.parent));
            run_ids.emplace_back(added.run_id);
            times.push_back(added.created_at);
        }
    }
    std::vector<std::int64_t> parents;
    std::vector<std::string_view> run_ids;
    std::vector<std::int64_t> times;
};

// One statement may change a row once only: of several changes of a branch or a call, the last
// counts.
struct branch_columns {
    explicit branch_columns(const changes& of) {
        std::map<std::uint32_t, branch> last;
        for (const changes::branch_change& changed : of.branches) {
            last[changed.index] = changed.value;
        }
        for (const auto& [number, value] : last) {
            numbers.push_back(number);
            tips.push_back(number_of(value.tip));
            times.push_back(value.updated_at);
        }
    }
    std::vector<std::int64_t> numbers;
    std::vector<std::int64_t> tips;
    std::vector<std::int64_t> times;
};

struct call_columns {
    explicit call_columns(const changes& of) {
        std::vector<const call_record*> calls; // Each at the place of the first change of its id.
        std::map<std::string_view, std::size_t> places;
        for (const call_record& call : of.calls) {
            const auto [place, is_new] = places.try_emplace(call.id, calls.size());
            if (is_new) {
                calls.push_back(&call);
            } else {
                calls[place->second] = &call;
            }
        }
        for (const call_record* const call : calls) {
            ids.emplace_back(call->id);
            names.emplace_back(call->name);
            run_ids.emplace_back(call->run_id);
            owners.push_back({call->owner == call_owner::server ? "server" : "external"});
            statuses.push_back({to_string(call->status)});
            made_in.push_back(number_of(call->made_in));
        }
    }
    std::vector<std::string_view> ids;
    std::vector<std::string_view> names;
    std::vector<std::string_view> run_ids;
    std::vector<pg_text> owners;
    std::vector<pg_text> statuses;
    std::vector<std::int64_t> made_in;
};

struct event_columns {
    explicit event_columns(const changes& of) {
        for (const session_event& event : of.events) {
            types.emplace_back(event.type);
            run_ids.emplace_back(event.run_id);
            times.push_back(event.timestamp);
        }
    }
    std::vector<std::string_view> types;
    std::vector<std::string_view> run_ids;
    std::vector<std::int64_t> times;
};

} // namespace

pg_statement lock_thread(const thread_key& key) {
    return pg_statement(find_locked, key.principal, key.thread_id);
}

std::optional<thread_position> position_of(const pg_rows& rows) {
    return rows.empty() ? std::nullopt : std::optional(position_at(pg_row(rows, 0)));
}

std::uint64_t seen_version_of(const pg_rows& rows) {
    return rows.empty() ? 0 : static_cast<std::uint64_t>(rows.integer(0, 9));
}

void pg_change::create(
    pg_batch& to, std::int64_t thread, const thread_key& key, const std::string& agent_id,
    unix_ms last_run_at
) const {
    const changes& change = what_.change;
    const thread_position made = what_.after_creation(thread);
    to.emplace_back(
        insert_thread, thread, key.principal, key.thread_id, change.agent_id.value_or(agent_id),
        change.title.value_or(std::string()), change.archived.value_or(false),
        what_.metadata.value_or("{}"), change.at, last_run_at, change.head.value_or(0),
        change.last_request_had_history.value_or(false), made.size.messages, made.size.branches,
        made.event_count, made.bytes, made.documents.state, made.documents.offered_tools,
        made.documents.context, made.version
    );
    thread_position empty;
    empty.thread = thread;
    add_rows(to, empty, rows::are_new);
}

void pg_change::apply(pg_batch& to, const thread_position& at, std::optional<unix_ms> last_run_at)
    const {
    apply_rows(to, at, last_run_at, rows::are_new);
}

void pg_change::apply_again(pg_batch& to, thread_position before, const thread_position& now)
    const {
    before.version = now.version;
    apply_rows(to, before, std::nullopt, rows::may_be_there);
}

bool pg_change::repeats(
    const pg_change& earlier, const thread_position& before, const thread_position& now
) const {
    const changes& first = earlier.what_.change;
    if (first.messages.empty() || now.thread != before.thread ||
        now.size != size_after(before.size, first) ||
        now.event_count != before.event_count + first.events.size()) {
        return false;
    }
    const auto is_same_message = [](const stored_message& one, const stored_message& other) {
        return one.parent == other.parent && one.run_id == other.run_id &&
               one.message.id == other.message.id;
    };
    const auto is_same_event = [](const session_event& one, const session_event& other) {
        return one.type == other.type && one.run_id == other.run_id && one.data == other.data;
    };
    return what_.change.messages.size() >= first.messages.size() &&
           what_.change.events.size() >= first.events.size() &&
           std::equal(
               first.messages.begin(), first.messages.end(), what_.change.messages.begin(),
               is_same_message
           ) &&
           std::equal(
               first.events.begin(), first.events.end(), what_.change.events.begin(), is_same_event
           );
}

void pg_change::apply_rows(
    pg_batch& to, const thread_position& at, std::optional<unix_ms> last_run_at, rows which
) const {
    const changes& change = what_.change;
    const thread_position after = what_.after(at);
    add_rows(to, at, which);
    const std::optional<unix_ms> updated_at =
        change.at == 0 ? std::nullopt : std::optional(change.at);
    to.emplace_back(
        update_thread, at.thread, change.head, change.last_request_had_history, change.agent_id,
        change.title, change.archived, what_.metadata, updated_at, last_run_at, after.size.messages,
        after.size.branches, after.event_count, after.bytes, after.documents.state,
        after.documents.offered_tools, after.documents.context, after.version
    );
}

void pg_change::add_rows(pg_batch& to, const thread_position& at, rows which) const {
    if (!what_.messages.empty()) {
        const message_columns columns(what_.change);
        to.emplace_back(
            which == rows::are_new ? insert_messages : insert_missing_messages, at.thread,
            at.size.messages, columns.parents, columns.run_ids, columns.times, what_.messages
        );
    }
    add_branches(to, at.thread);
    add_calls(to, at.thread);
    add_events(to, at, which);
    if (what_.state || what_.offered_tools || what_.context) {
        to.emplace_back(set_documents, at.thread, what_.state, what_.offered_tools, what_.context);
    }
}

void pg_change::add_branches(pg_batch& to, std::int64_t thread) const {
    if (const branch_columns rows(what_.change); !rows.numbers.empty()) {
        to.emplace_back(set_branches, thread, rows.numbers, rows.tips, rows.times);
    }
}

void pg_change::add_calls(pg_batch& to, std::int64_t thread) const {
    if (const call_columns rows(what_.change); !rows.ids.empty()) {
        to.emplace_back(
            set_calls, thread, rows.ids, rows.names, rows.run_ids, rows.owners, rows.statuses,
            rows.made_in
        );
    }
}

void pg_change::add_arguments(pg_params& to) const {
    const auto add = [&to](const auto&... each) {
        (to.add(each), ...);
    };
    const thread_size least = least_size_for(what_.change);
    add(what_.change.head, what_.change.last_request_had_history, what_.change.agent_id,
        what_.change.title, what_.change.archived, what_.metadata, what_.change.at, least.messages,
        least.branches, size_after({}, what_.change).branches, what_.message_bytes,
        changes_conversation(what_.change));
    const message_columns messages(what_.change);
    add(messages.parents, messages.run_ids, messages.times, what_.messages);
    const branch_columns branches(what_.change);
    add(branches.numbers, branches.tips, branches.times);
    const call_columns calls(what_.change);
    add(calls.ids, calls.names, calls.run_ids, calls.owners, calls.statuses, calls.made_in);
    const event_columns events(what_.change);
    add(events.types, events.run_ids, events.times, what_.events);
    add(what_.state, what_.offered_tools, what_.context);
}

void pg_change::add_events(pg_batch& to, const thread_position& at, rows which) const {
    if (what_.events.empty()) {
        return;
    }
    const event_columns columns(what_.change);
    to.emplace_back(
        which == rows::are_new ? insert_events : insert_missing_events, at.thread, at.event_count,
        columns.types, columns.run_ids, columns.times, what_.events
    );
}

} // namespace agui::session
