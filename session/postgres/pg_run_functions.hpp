#pragma once

namespace agui::session {

// The start and the end of a run, each as one call: a statement that the server gets by itself
// costs several times as much as one of a function. Arguments have names of their own (`new_…`,
// `its_…`, `at_…`), because those of columns would be ambiguous.

/// Gives the lease to the gateway, with a new token. If another gateway has it, `its_token` is
/// null, and the answer names the holder. A row of the same gateway was released there and is not
/// yet deleted, because its process knows the leases that it holds, and acquires a thread by one
/// attempt after the other. If this attempt or a later one has made the row, the call repeats one
/// whose answer was lost, or is that one, and the row stays as it is.
/// Concurrent calls wait before the INSERT takes its snapshot, so each sees the holder and its
/// gateway, and tokens are drawn in the order in which they are given out.
inline constexpr const char* pg_take_lease = R"sql(
CREATE FUNCTION agui.take_lease(
    of_principal bytea, of_thread_id bytea, by_gateway bigint, by_run bytea, by_attempt bigint,
    OUT its_token bigint, OUT has_orphans boolean,
    OUT its_run bytea, OUT its_gateway bigint, OUT has_expired boolean
) LANGUAGE plpgsql AS $$ BEGIN
PERFORM agui.enter(by_gateway);
PERFORM pg_advisory_xact_lock((16712::bigint << 48) + ('x' || encode(substr(sha256(
sha256(of_principal) || of_thread_id), 1, 6), 'hex'))::bit(48)::bigint);
SELECT CASE WHEN l.gateway = by_gateway AND l.attempt >= by_attempt THEN l.token END INTO its_token
FROM agui.leases l WHERE l.principal = of_principal AND l.thread_id = of_thread_id FOR UPDATE;
IF its_token IS NULL THEN
    INSERT INTO agui.leases AS l (principal, thread_id, gateway, token, run_id, attempt)
    VALUES (of_principal, of_thread_id, by_gateway, agui.next_lease_token(), by_run, by_attempt)
    ON CONFLICT ON CONSTRAINT leases_pkey DO UPDATE SET gateway = excluded.gateway,
    token = excluded.token, run_id = excluded.run_id, attempt = excluded.attempt, run_number = 0,
    first_own_message = -1
    WHERE l.gateway = excluded.gateway OR NOT EXISTS
    (SELECT FROM agui.gateways g WHERE g.id = l.gateway AND NOT g.fenced)
    RETURNING l.token INTO its_token;
END IF;
IF its_token IS NULL THEN
    SELECT l.run_id, l.gateway, coalesce(g.expires < clock_timestamp(), true)
    INTO its_run, its_gateway, has_expired
    FROM agui.leases l LEFT JOIN agui.gateways g ON g.id = l.gateway
    WHERE l.principal = of_principal AND l.thread_id = of_thread_id;
ELSE
    has_orphans := EXISTS (SELECT FROM agui.threads t JOIN agui.runs r ON r.thread = t.id
    AND r.status = 'active' WHERE t.principal = of_principal AND t.thread_id = of_thread_id);
END IF; END $$
)sql";

/// For gateways of version 9, which do not name their attempts.
inline constexpr const char* pg_take_lease_9 = R"sql(
CREATE OR REPLACE FUNCTION agui.take_lease(
    of_principal bytea, of_thread_id bytea, by_gateway bigint, by_run bytea,
    OUT its_token bigint, OUT has_orphans boolean,
    OUT its_run bytea, OUT its_gateway bigint, OUT has_expired boolean
) LANGUAGE sql AS $$
SELECT * FROM agui.take_lease(of_principal, of_thread_id, by_gateway, by_run, NULL)
$$
)sql";

/// Stores the rows that a change adds to a thread, without the thread's own row: messages after its
/// first `has_messages`, events after its first `has_events`.
inline constexpr const char* pg_add_to_thread = R"sql(
CREATE FUNCTION agui.add_to_thread(
    of_thread bigint, has_messages bigint, has_events bigint,
    new_parents bigint[], new_message_runs bytea[], new_message_times bigint[],
    new_messages bytea[],
    new_branches bigint[], new_tips bigint[], new_branch_times bigint[],
    new_calls bytea[], new_call_names bytea[], new_call_runs bytea[], new_call_owners text[],
    new_call_statuses text[], new_calls_made_in bigint[],
    new_event_types bytea[], new_event_runs bytea[], new_event_times bigint[],
    new_event_data bytea[],
    new_state bytea, new_tools bytea, new_context bytea
) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
IF cardinality(new_messages) > 0 THEN
    INSERT INTO agui.messages (thread, number, parent, run_id, created_at, message)
    SELECT of_thread, has_messages + n - 1, m.parent, m.run_id, m.created_at, m.message
    FROM unnest(new_parents, new_message_runs, new_message_times, new_messages)
    WITH ORDINALITY AS m(parent, run_id, created_at, message, n);
END IF;
IF cardinality(new_branches) > 0 THEN
    INSERT INTO agui.branches (thread, number, tip, updated_at)
    SELECT of_thread, b.number, b.tip, b.updated_at
    FROM unnest(new_branches, new_tips, new_branch_times) AS b(number, tip, updated_at)
    ON CONFLICT (thread, number) DO UPDATE SET tip = excluded.tip,
    updated_at = excluded.updated_at;
END IF;
IF cardinality(new_calls) > 0 THEN
    INSERT INTO agui.calls (thread, call_id, name, run_id, owner, status, made_in)
    SELECT of_thread, c.call_id, c.name, c.run_id, c.owner, c.status, c.made_in
    FROM unnest(new_calls, new_call_names, new_call_runs, new_call_owners, new_call_statuses,
    new_calls_made_in) WITH ORDINALITY AS c(call_id, name, run_id, owner, status, made_in, n)
    ORDER BY n
    ON CONFLICT (thread, call_id) DO UPDATE SET name = excluded.name, run_id = excluded.run_id,
    owner = excluded.owner, status = excluded.status, made_in = excluded.made_in;
END IF;
IF cardinality(new_event_types) > 0 THEN
    INSERT INTO agui.session_events (thread, sequence, type, run_id, timestamp, data)
    SELECT of_thread, has_events + n, e.type, e.run_id, e.timestamp, e.data
    FROM unnest(new_event_types, new_event_runs, new_event_times, new_event_data)
    WITH ORDINALITY AS e(type, run_id, timestamp, data, n);
END IF;
IF new_state IS NOT NULL OR new_tools IS NOT NULL OR new_context IS NOT NULL THEN
    INSERT INTO agui.thread_documents AS d (thread, state, offered_tools, context)
    VALUES (of_thread, new_state, new_tools, new_context)
    ON CONFLICT (thread) DO UPDATE SET state = coalesce(excluded.state, d.state),
    offered_tools = coalesce(excluded.offered_tools, d.offered_tools),
    context = coalesce(excluded.context, d.context);
END IF;
END $$
)sql";

/// The change, as the last arguments of both functions. `least_` is the size that the thread must
/// have; `branches_after` is 0 or the least number of branches afterwards.
#define AGUI_PG_CHANGE_ARGUMENTS                                                                   \
    R"sql(
    new_head bigint, new_had_history boolean, new_agent_id bytea, new_title bytea,
    new_archived boolean, new_metadata bytea, at_time bigint,
    least_messages bigint, least_branches bigint, branches_after bigint,
    new_message_bytes bigint, changes_conversation boolean,
    new_parents bigint[], new_message_runs bytea[], new_message_times bigint[],
    new_messages bytea[],
    new_branches bigint[], new_tips bigint[], new_branch_times bigint[],
    new_calls bytea[], new_call_names bytea[], new_call_runs bytea[], new_call_owners text[],
    new_call_statuses text[], new_calls_made_in bigint[],
    new_event_types bytea[], new_event_runs bytea[], new_event_times bigint[],
    new_event_data bytea[],
    new_state bytea, new_tools bytea, new_context bytea
)sql"
#define AGUI_PG_LOCK_THREAD                                                                        \
    R"sql(
SELECT t.id, t.message_count, t.branch_count, t.event_count, t.bytes, t.state_bytes,
t.offered_tools_bytes, t.context_bytes, t.version INTO old FROM agui.threads t
WHERE t.principal = of_principal AND t.thread_id = of_thread_id FOR UPDATE;
)sql"
#define AGUI_PG_CHECK_SIZE                                                                         \
    R"sql(
IF coalesce(old.message_count, 0) < least_messages
OR coalesce(old.branch_count, 0) < least_branches THEN
    RAISE EXCEPTION 'the change does not fit the thread' USING ERRCODE = 'AG002';
END IF;
)sql"
// A column of a record that no row was read into is an error, so the sizes are variables.
#define AGUI_PG_CHANGE_THREAD(last_run_time)                                                       \
    R"sql(
state_size := coalesce(octet_length(new_state), old.state_bytes);
tools_size := coalesce(octet_length(new_tools), old.offered_tools_bytes);
context_size := coalesce(octet_length(new_context), old.context_bytes);
UPDATE agui.threads t SET head = coalesce(new_head, t.head),
last_request_had_history = coalesce(new_had_history, t.last_request_had_history),
agent_id = coalesce(new_agent_id, t.agent_id), title = coalesce(new_title, t.title),
archived = coalesce(new_archived, t.archived), metadata = coalesce(new_metadata, t.metadata),
updated_at = CASE WHEN at_time = 0 THEN t.updated_at ELSE at_time END,
last_run_at = )sql" last_run_time R"sql(,
message_count = t.message_count + cardinality(new_messages),
branch_count = greatest(t.branch_count, branches_after),
event_count = t.event_count + cardinality(new_event_types),
bytes = t.bytes - t.state_bytes - t.offered_tools_bytes - t.context_bytes
+ state_size + tools_size + context_size + new_message_bytes,
state_bytes = state_size, offered_tools_bytes = tools_size, context_bytes = context_size,
version = t.version + CASE WHEN changes_conversation THEN 1 ELSE 0 END WHERE t.id = old.id;
)sql"
#define AGUI_PG_ADD_TO_THREAD(thread, messages, events)                                            \
    "PERFORM agui.add_to_thread(" thread ", " messages ", " events R"sql(,
new_parents, new_message_runs, new_message_times, new_messages,
new_branches, new_tips, new_branch_times,
new_calls, new_call_names, new_call_runs, new_call_owners, new_call_statuses, new_calls_made_in,
new_event_types, new_event_runs, new_event_times, new_event_data,
new_state, new_tools, new_context);
)sql"

/// Does store::begin() with a lease, for a run that answers no others. `is_again` says that an
/// earlier call may have taken effect, which the lease shows. The lease is locked first, so a retry
/// waits for a call that is still under way. `answer` is "begun", "lease lost", "changed" or
/// "taken".
inline constexpr const char* pg_begin_run =
    R"sql(
CREATE FUNCTION agui.begin_run(
    by_gateway bigint, by_token bigint, of_principal bytea, of_thread_id bytea, is_again boolean,
    seen_version bigint, its_id bytea, its_parent bytea, its_agent bytea, its_digest bytea,
    its_key bytea, its_protocol bytea, its_start bigint, its_journal_from bigint,
)sql" AGUI_PG_CHANGE_ARGUMENTS R"sql(,
    OUT answer text, OUT its_number bigint, OUT its_first bigint
) LANGUAGE plpgsql AS $$ DECLARE old record; own_thread bigint;
state_size bigint; tools_size bigint; context_size bigint; BEGIN
PERFORM agui.enter(by_gateway);
SELECT l.run_number, l.first_own_message INTO its_number, its_first FROM agui.leases l
WHERE l.principal = of_principal AND l.thread_id = of_thread_id AND l.token = by_token FOR UPDATE;
IF NOT FOUND THEN
    answer := 'lease lost'; RETURN;
END IF;
IF is_again AND EXISTS (SELECT FROM agui.runs r WHERE r.number = its_number
AND r.run_id = its_id) THEN
    answer := 'begun'; RETURN;
END IF;
)sql" AGUI_PG_LOCK_THREAD R"sql(
own_thread := old.id;
IF seen_version <> coalesce(agui.seen_version(old.version), 0) THEN
    answer := 'changed'; RETURN;
END IF;
IF own_thread IS NOT NULL AND EXISTS (SELECT FROM agui.runs r WHERE r.thread = own_thread
AND (r.run_id = its_id OR r.idempotency_key = its_key)) THEN
    answer := 'taken'; RETURN;
END IF;
)sql" AGUI_PG_CHECK_SIZE R"sql(
its_number := agui.next_run_number();
IF own_thread IS NULL THEN
    own_thread := agui.next_thread_number();
    its_first := cardinality(new_messages);
    state_size := coalesce(octet_length(new_state), 0);
    tools_size := coalesce(octet_length(new_tools), 0);
    context_size := coalesce(octet_length(new_context), 0);
    INSERT INTO agui.threads (id, principal, thread_id, agent_id, title, archived, metadata,
    created_at, updated_at, last_run_at, head, last_request_had_history, message_count,
    branch_count, event_count, bytes, state_bytes, offered_tools_bytes, context_bytes, version)
    VALUES (own_thread, of_principal, of_thread_id, coalesce(new_agent_id, its_agent),
    coalesce(new_title, ''), coalesce(new_archived, false), coalesce(new_metadata, '{}'),
    at_time, at_time, its_start, coalesce(new_head, 0), coalesce(new_had_history, false),
    its_first, branches_after, cardinality(new_event_types),
    new_message_bytes + state_size + tools_size + context_size, state_size, tools_size,
    context_size, (own_thread << 24) + 1);
)sql" AGUI_PG_ADD_TO_THREAD("own_thread", "0", "0") R"sql(
ELSE
    its_first := old.message_count + cardinality(new_messages);
)sql" AGUI_PG_CHANGE_THREAD("its_start")
        AGUI_PG_ADD_TO_THREAD("own_thread", "old.message_count", "old.event_count") R"sql(
END IF;
INSERT INTO agui.runs (number, thread, run_id, parent_run_id, agent_id, input_digest,
idempotency_key, protocol, status, end_reason, answered_by, started_at, ended_at, last_sequence,
log, journal_writer, journal_from) VALUES (its_number, own_thread, its_id, its_parent, its_agent,
its_digest, its_key, its_protocol, 'active', '', '', its_start, 0, 0,
'kept', by_gateway, its_journal_from);
UPDATE agui.leases l SET run_number = its_number, first_own_message = its_first
WHERE l.principal = of_principal AND l.thread_id = of_thread_id AND l.token = by_token;
answer := 'begun';
END $$
)sql";

/// Does store::commit() for the end of a run, with its lease, which is deleted. `its_outcome` is a
/// random number of this commit: a call that `is_again` finds it if an earlier one has taken
/// effect. `log_ends` is the last stored entry of the log, or null if none can be lost.
/// `its_log_bytes` is null if its rows are to be joined. `own_now` is the time of the machine whose
/// clock gave `its_end` (agui.shared_time()). `answer` is "ended", "lease lost", "no
/// thread", "log lost" or "no run".
inline constexpr const char* pg_end_run =
    R"sql(
CREATE FUNCTION agui.end_run(
    by_gateway bigint, by_token bigint, of_principal bytea, of_thread_id bytea, is_again boolean,
    its_outcome bigint, its_number bigint, its_parent bytea, its_agent bytea, its_status text,
    its_reason bytea, its_start bigint, its_end bigint, own_now bigint, its_last bigint,
    its_digest bytea, known_connections text[], log_ends bigint, its_log_bytes bigint,
    row_firsts bigint[], row_lasts bigint[], row_events bytea[], row_lengths bytea[],
    row_variants bytea[],
)sql" AGUI_PG_CHANGE_ARGUMENTS R"sql(,
    OUT answer text
) LANGUAGE plpgsql AS $$ DECLARE old record;
state_size bigint; tools_size bigint; context_size bigint; BEGIN
IF is_again THEN
    PERFORM FROM agui.threads t WHERE t.principal = of_principal AND t.thread_id = of_thread_id
    FOR UPDATE;
    IF EXISTS (SELECT FROM agui.runs r WHERE r.number = its_number AND r.outcome = its_outcome)
    THEN answer := 'ended'; RETURN; END IF;
END IF;
PERFORM agui.enter(by_gateway);
)sql" AGUI_PG_LOCK_THREAD R"sql(
IF NOT EXISTS (SELECT FROM agui.leases l WHERE l.principal = of_principal
AND l.thread_id = of_thread_id AND l.token = by_token) THEN
    answer := 'lease lost'; RETURN;
END IF;
IF old.id IS NULL THEN
    answer := 'no thread'; RETURN;
END IF;
IF log_ends > 0 AND agui.connection_name() <> ALL (known_connections) AND log_ends > coalesce((
SELECT l.last_sequence FROM agui.log_rows l WHERE l.run = its_number
ORDER BY l.first_sequence DESC LIMIT 1), 0) THEN
    answer := 'log lost'; RETURN;
END IF;
)sql" AGUI_PG_CHECK_SIZE R"sql(
UPDATE agui.runs r SET parent_run_id = its_parent, agent_id = its_agent, status = its_status,
end_reason = its_reason, started_at = its_start,
ended_at = agui.shared_time(its_end, own_now), last_sequence = its_last,
input_digest = CASE WHEN length(its_digest) = 0 THEN r.input_digest ELSE its_digest END,
outcome = its_outcome, log_bytes = its_log_bytes, journal_writer = 0
WHERE r.number = its_number AND r.thread = old.id;
IF NOT FOUND THEN
    answer := 'no run'; RETURN;
END IF;
DELETE FROM agui.leases l WHERE l.principal = of_principal AND l.thread_id = of_thread_id
AND l.token = by_token;
)sql" AGUI_PG_CHANGE_THREAD("t.last_run_at")
        AGUI_PG_ADD_TO_THREAD("old.id", "old.message_count", "old.event_count") R"sql(
IF cardinality(row_firsts) > 0 THEN
    INSERT INTO agui.log_rows (run, first_sequence, last_sequence, events, lengths, variants)
    SELECT its_number, w.* FROM unnest(row_firsts, row_lasts, row_events, row_lengths,
    row_variants) AS w;
END IF;
answer := 'ended';
END $$
)sql";

/// Stores entries of active runs: `parts` as a row of the gateway's journal, and rows of their
/// logs, which have all entries of these runs so far. Rows that are there already stay as they are.
/// `begun` are the runs whose first entries are among these. On a connection that is not one of
/// `known_connections` it does nothing. Returns the connection. The row of the journal needs no ON
/// CONFLICT, whose second WAL record takes as much as two tokens: a call that meets an earlier one
/// under way fails, and is repeated.
inline constexpr const char* pg_add_entries = R"sql(
CREATE FUNCTION agui.add_entries(
    by_gateway bigint, known_connections text[], its_batch bigint, part_runs bigint[],
    parts bytea[], begun bigint[], row_runs bigint[], row_firsts bigint[], row_lasts bigint[],
    row_events bytea[], row_lengths bytea[], row_variants bytea[]
) RETURNS text LANGUAGE plpgsql AS $$ DECLARE name text := agui.connection_name(); BEGIN
PERFORM agui.enter(by_gateway);
IF name <> ALL (known_connections) THEN
    RETURN name;
END IF;
IF cardinality(part_runs) > 0 AND NOT EXISTS (SELECT FROM agui.journal j
WHERE j.writer = by_gateway AND j.batch = its_batch) THEN
    INSERT INTO agui.journal (writer, batch, runs, entries)
    VALUES (by_gateway, its_batch, part_runs, parts);
END IF;
IF cardinality(row_runs) > 0 THEN
    INSERT INTO agui.log_rows (run, first_sequence, last_sequence, events, lengths, variants)
    SELECT w.* FROM unnest(row_runs, row_firsts, row_lasts, row_events, row_lengths,
    row_variants) AS w ON CONFLICT DO NOTHING;
    UPDATE agui.runs r SET journal_from = its_batch + 1
    WHERE r.number = ANY (row_runs) AND r.journal_writer = by_gateway;
END IF;
IF cardinality(begun) > 0 THEN
    UPDATE agui.runs r SET last_sequence = 1
    WHERE r.number = ANY (begun) AND r.last_sequence = 0 AND r.status = 'active';
END IF;
RETURN name;
END $$
)sql";

} // namespace agui::session
