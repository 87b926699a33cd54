#include "session/postgres/pg_change.hpp"

#include "session/conversation/change_check.hpp"
#include "session/store/stored_rows.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

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
constexpr const char* add_to_thread =
    "SELECT agui.add_to_thread($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, "
    "$16, $17, $18, $19, $20, $21, $22, $23)";

// Arrays that the server makes rows of.

template <class... Arrays>
void add_all(pg_params& to, const Arrays&... arrays) {
    (to.add(arrays), ...);
}

void add_messages(pg_params& to, const stored_change& what) {
    std::vector<std::int64_t> parents;
    std::vector<std::string_view> run_ids;
    std::vector<std::int64_t> times;
    for (const stored_message& added : what.change.messages) {
        parents.push_back(number_of(added.parent));
        run_ids.emplace_back(added.run_id);
        times.push_back(added.created_at);
    }
    add_all(to, parents, run_ids, times, what.messages);
}

// One statement may change a row once only: of several changes of a branch or a call, the last
// counts.
void add_branches(pg_params& to, const changes& change) {
    std::map<std::uint32_t, branch> last;
    for (const changes::branch_change& changed : change.branches) {
        last[changed.index] = changed.value;
    }
    std::vector<std::int64_t> numbers;
    std::vector<std::int64_t> tips;
    std::vector<std::int64_t> times;
    for (const auto& [number, value] : last) {
        numbers.push_back(number);
        tips.push_back(number_of(value.tip));
        times.push_back(value.updated_at);
    }
    add_all(to, numbers, tips, times);
}

void add_calls(pg_params& to, const changes& change) {
    std::vector<const call_record*> calls; // Each at the place of the first change of its id.
    std::map<std::string_view, std::size_t> places;
    for (const call_record& call : change.calls) {
        const auto [place, is_new] = places.try_emplace(call.id, calls.size());
        if (is_new) {
            calls.push_back(&call);
        } else {
            calls[place->second] = &call;
        }
    }
    std::vector<std::string_view> ids;
    std::vector<std::string_view> names;
    std::vector<std::string_view> run_ids;
    std::vector<pg_text> owners;
    std::vector<pg_text> statuses;
    std::vector<std::int64_t> made_in;
    for (const call_record* const call : calls) {
        ids.emplace_back(call->id);
        names.emplace_back(call->name);
        run_ids.emplace_back(call->run_id);
        owners.push_back({call->owner == call_owner::server ? "server" : "external"});
        statuses.push_back({to_string(call->status)});
        made_in.push_back(number_of(call->made_in));
    }
    add_all(to, ids, names, run_ids, owners, statuses, made_in);
}

void add_events(pg_params& to, const stored_change& what) {
    std::vector<std::string_view> types;
    std::vector<std::string_view> run_ids;
    std::vector<std::int64_t> times;
    for (const session_event& event : what.change.events) {
        types.emplace_back(event.type);
        run_ids.emplace_back(event.run_id);
        times.push_back(event.timestamp);
    }
    add_all(to, types, run_ids, times, what.events);
}

// The last arguments of agui.add_to_thread().
void add_rows(pg_params& to, const stored_change& what) {
    add_messages(to, what);
    add_branches(to, what.change);
    add_calls(to, what.change);
    add_events(to, what);
    add_all(to, what.state, what.offered_tools, what.context);
}

void add_rows(pg_batch& to, const thread_position& at, const stored_change& what) {
    if (changes_conversation(what.change) || !what.events.empty()) {
        pg_statement& call =
            to.emplace_back(add_to_thread, at.thread, at.size.messages, at.event_count);
        add_rows(call.params, what);
    }
}

// True if the thread, which was at `before`, now has the messages that `first` has added, and
// `change` begins with the messages and events of `first`. Changes of the state may have added
// events in between.
bool repeats(
    const changes& change, const changes& first, const thread_position& before,
    const thread_position& now
) {
    if (first.messages.empty() || now.thread != before.thread ||
        now.size != size_after(before.size, first)) {
        return false;
    }
    const auto is_same_message = [](const stored_message& one, const stored_message& other) {
        return one.parent == other.parent && one.run_id == other.run_id &&
               one.message.id == other.message.id;
    };
    const auto is_same_event = [](const session_event& one, const session_event& other) {
        return one.type == other.type && one.run_id == other.run_id && one.data == other.data;
    };
    return change.messages.size() >= first.messages.size() &&
           change.events.size() >= first.events.size() &&
           std::equal(
               first.messages.begin(), first.messages.end(), change.messages.begin(),
               is_same_message
           ) &&
           std::equal(
               first.events.begin(), first.events.end(), change.events.begin(), is_same_event
           );
}

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

void create_thread(
    pg_batch& to, const stored_change& what, std::int64_t thread, const thread_key& key,
    const std::string& agent_id, unix_ms last_run_at
) {
    const changes& change = what.change;
    const thread_position made = what.after_creation(thread);
    to.emplace_back(
        insert_thread, thread, key.principal, key.thread_id, change.agent_id.value_or(agent_id),
        change.title.value_or(std::string()), change.archived.value_or(false),
        what.metadata.value_or("{}"), change.at, last_run_at, change.head.value_or(0),
        change.last_request_had_history.value_or(false), made.size.messages, made.size.branches,
        made.event_count, made.bytes, made.documents.state, made.documents.offered_tools,
        made.documents.context, made.version
    );
    thread_position empty;
    empty.thread = thread;
    add_rows(to, empty, what);
}

void change_thread(
    pg_batch& to, const stored_change& what, const thread_position& at,
    std::optional<unix_ms> last_run_at
) {
    const changes& change = what.change;
    const thread_position after = what.after(at);
    add_rows(to, at, what);
    const std::optional<unix_ms> updated_at =
        change.at == 0 ? std::nullopt : std::optional(change.at);
    to.emplace_back(
        update_thread, at.thread, change.head, change.last_request_had_history, change.agent_id,
        change.title, change.archived, what.metadata, updated_at, last_run_at, after.size.messages,
        after.size.branches, after.event_count, after.bytes, after.documents.state,
        after.documents.offered_tools, after.documents.context, after.version
    );
}

std::optional<stored_change> rest_of(
    const changes& change, const changes& first, const thread_position& before,
    const thread_position& now
) {
    if (!repeats(change, first, before, now)) {
        return std::nullopt;
    }
    changes rest = change;
    rest.messages = node_list();
    for (std::size_t i = first.messages.size(); i < change.messages.size(); ++i) {
        rest.messages.push_back(change.messages[i]);
    }
    rest.events.assign(
        change.events.begin() + static_cast<std::ptrdiff_t>(first.events.size()),
        change.events.end()
    );
    return stored_change(std::move(rest));
}

void add_arguments(pg_params& to, const stored_change& what) {
    const changes& change = what.change;
    const thread_size least = least_size_for(change);
    add_all(
        to, change.head, change.last_request_had_history, change.agent_id, change.title,
        change.archived, what.metadata, change.at, least.messages, least.branches,
        size_after({}, change).branches, what.message_bytes, changes_conversation(change)
    );
    add_rows(to, what);
}

} // namespace agui::session
