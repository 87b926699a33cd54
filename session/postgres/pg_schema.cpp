#include "session/postgres/pg_schema.hpp"

#include "session/postgres/pg_run_functions.hpp"
#include "session/postgres/pg_usage.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace agui::session {

namespace asio = boost::asio;

namespace {

// Texts from outside (ids, titles, JSON) are bytea: they need not be UTF-8, and may hold NUL. They
// are compared byte by byte, whatever the collation of the database. Nodes are -1 where there is
// none.
constexpr const char* first_schema[] = {
    "CREATE SEQUENCE agui.thread_numbers",
    "CREATE SEQUENCE agui.run_numbers",
    "CREATE SEQUENCE agui.queued_numbers",
    "CREATE SEQUENCE agui.lease_tokens",

    "CREATE TABLE agui.threads (id bigint PRIMARY KEY, principal bytea NOT NULL, "
    "thread_id bytea NOT NULL, agent_id bytea NOT NULL, title bytea NOT NULL, "
    "archived boolean NOT NULL, metadata bytea NOT NULL, created_at bigint NOT NULL, "
    "updated_at bigint NOT NULL, last_run_at bigint NOT NULL, head bigint NOT NULL, "
    "last_request_had_history boolean NOT NULL, message_count bigint NOT NULL, "
    "branch_count bigint NOT NULL, event_count bigint NOT NULL, bytes bigint NOT NULL, "
    "state_bytes bigint NOT NULL, offered_tools_bytes bigint NOT NULL, "
    "context_bytes bigint NOT NULL, version bigint NOT NULL, UNIQUE (principal, thread_id))",
    // The principal is not first: while the server has no statistics of the table, it would
    // otherwise find a thread's name by this index, and read all threads of the principal.
    "CREATE INDEX threads_by_change ON agui.threads (archived, principal, updated_at, id)",
    "CREATE TABLE agui.removed_threads (thread bigint PRIMARY KEY)",
    // Kept apart from the row that every commit rewrites.
    "CREATE TABLE agui.thread_documents (thread bigint PRIMARY KEY, state bytea, "
    "offered_tools bytea, context bytea)",
    "CREATE TABLE agui.messages (thread bigint, number bigint, parent bigint NOT NULL, "
    "run_id bytea NOT NULL, created_at bigint NOT NULL, message bytea NOT NULL, "
    "PRIMARY KEY (thread, number))",
    "CREATE TABLE agui.branches (thread bigint, number bigint, tip bigint NOT NULL, "
    "updated_at bigint NOT NULL, PRIMARY KEY (thread, number))",
    "CREATE TABLE agui.calls (number bigint GENERATED ALWAYS AS IDENTITY, thread bigint, "
    "call_id bytea, name bytea NOT NULL, run_id bytea NOT NULL, owner text NOT NULL, "
    "status text NOT NULL, made_in bigint NOT NULL, PRIMARY KEY (thread, call_id))",
    "CREATE TABLE agui.session_events (thread bigint, sequence bigint, type bytea NOT NULL, "
    "run_id bytea NOT NULL, timestamp bigint NOT NULL, data bytea NOT NULL, "
    "PRIMARY KEY (thread, sequence))",
    // Their thread need not exist: they are found by its name.
    "CREATE TABLE agui.attachments (principal bytea, thread_id bytea, sha256 bytea, "
    "mime_type bytea NOT NULL, kept_at bigint NOT NULL, size bigint NOT NULL, "
    "bytes bytea NOT NULL, PRIMARY KEY (principal, thread_id, sha256))",
    "CREATE INDEX attachments_by_time ON agui.attachments (kept_at)",

    // journal_writer: the gateway whose journal has the run's latest entries, in rows from
    // journal_from on; 0 if all are in log_rows. outcome: a random number of the commit that ended
    // the run, by which a retry recognizes its own commit.
    "CREATE TABLE agui.runs (number bigint PRIMARY KEY, thread bigint NOT NULL, "
    "run_id bytea NOT NULL, parent_run_id bytea NOT NULL, agent_id bytea NOT NULL, "
    "input_digest bytea NOT NULL, idempotency_key bytea, protocol bytea NOT NULL, "
    "status text NOT NULL, end_reason bytea NOT NULL, answered_by bytea NOT NULL, "
    "started_at bigint NOT NULL, ended_at bigint NOT NULL, last_sequence bigint NOT NULL, "
    "log text NOT NULL, log_bytes bigint, outcome bigint, "
    "journal_writer bigint NOT NULL DEFAULT 0, journal_from bigint NOT NULL DEFAULT 0, "
    "sound_until bigint, "
    "UNIQUE (thread, run_id))",
    "CREATE UNIQUE INDEX runs_by_key ON agui.runs (thread, idempotency_key) "
    "WHERE idempotency_key IS NOT NULL",
    "CREATE INDEX runs_by_thread ON agui.runs (thread, number)",
    "CREATE INDEX runs_active ON agui.runs (thread, number) WHERE status = 'active'",
    // Upkeep searches repeatedly among all runs that have a log.
    "CREATE INDEX runs_with_log ON agui.runs (ended_at) INCLUDE (log_bytes, number) "
    "WHERE status <> 'active' AND log <> 'dropped'",
    "CREATE INDEX runs_to_join ON agui.runs (ended_at) "
    "WHERE status <> 'active' AND log <> 'dropped' AND log_bytes IS NULL",

    "CREATE TABLE agui.log_rows (run bigint, first_sequence bigint, "
    "last_sequence bigint NOT NULL, events bytea NOT NULL, lengths bytea NOT NULL, "
    "variants bytea NOT NULL, PRIMARY KEY (run, first_sequence)) PARTITION BY RANGE (run)",
    // Recent entries of active runs (pg_journal.hpp).
    "CREATE TABLE agui.journal (writer bigint, batch bigint, runs bigint[] NOT NULL, "
    "entries bytea[] NOT NULL, PRIMARY KEY (writer, batch))",

    "CREATE TABLE agui.failed_attempts (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
    "run bigint NOT NULL, at bigint NOT NULL, model bytea NOT NULL, status bigint NOT NULL, "
    "request_id bytea NOT NULL, bytes bigint NOT NULL, body bytea NOT NULL)",
    "CREATE INDEX failed_attempts_by_run ON agui.failed_attempts (run)",
    "CREATE INDEX failed_attempts_by_time ON agui.failed_attempts (at, number) INCLUDE (bytes)",

    // gateway: the one that is responsible for the request. queued_at is by the clock of the one
    // that queued it, waits_since the same moment by the database's.
    "CREATE TABLE agui.queued_requests (number bigint PRIMARY KEY, thread bigint NOT NULL, "
    "run_id bytea NOT NULL, parent_run_id bytea NOT NULL, agent_id bytea NOT NULL, "
    "input_digest bytea NOT NULL, idempotency_key bytea, protocol bytea NOT NULL, "
    "queued_at bigint NOT NULL, waits_since bigint NOT NULL, bytes bigint NOT NULL, "
    "messages bytea NOT NULL, gateway bigint NOT NULL DEFAULT 0)",
    "CREATE INDEX queued_requests_by_thread ON agui.queued_requests (thread, number)",
    "CREATE INDEX queued_requests_by_gateway ON agui.queued_requests (gateway, number)",

    // url, secret: the address and the secret for requests of other gateways.
    "CREATE TABLE agui.gateways (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
    "expires timestamptz NOT NULL, fenced boolean NOT NULL DEFAULT false, "
    "knows_version bigint NOT NULL, url bytea NOT NULL DEFAULT '', "
    "secret bytea NOT NULL DEFAULT '')",
    // There is no index by run, so that the update with the run's number happens in place.
    "CREATE TABLE agui.leases (principal bytea, thread_id bytea, gateway bigint NOT NULL, "
    "token bigint NOT NULL, run_id bytea NOT NULL, run_number bigint NOT NULL DEFAULT 0, "
    "first_own_message bigint NOT NULL DEFAULT -1, PRIMARY KEY (principal, thread_id))",
    "CREATE INDEX leases_by_gateway ON agui.leases (gateway)",
    // The last commit of a writer in each of its slots. Rewritten in place: no index changes.
    "CREATE TABLE agui.commit_marks (writer bigint, slot bigint, mark bigint NOT NULL, "
    "at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (writer, slot)) WITH (fillfactor = 25)",
    // Requests of a gateway to those that it cannot reach. Rows live for 10 s.
    "CREATE UNLOGGED TABLE agui.stops (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
    "at timestamptz NOT NULL, gateway bigint NOT NULL, "
    "principal bytea NOT NULL, thread_id bytea NOT NULL, run_id bytea, "
    "is_read boolean NOT NULL)",
    "CREATE INDEX stops_by_time ON agui.stops (at)",
    // The key for signatures of this store (store::signing_key): two random UUIDs, of which the
    // server's strong generator makes 122 bits each.
    "CREATE TABLE agui.signing_key (key bytea NOT NULL)",
    "INSERT INTO agui.signing_key SELECT decode(replace(gen_random_uuid()::text || "
    "gen_random_uuid()::text, '-', ''), 'hex')",

    // A writing transaction calls it first, so that fence() waits until the transaction has ended.
    // The check comes after the lock, because each statement of the function sees all earlier
    // commits.
    "CREATE FUNCTION agui.enter(gateway bigint) RETURNS void LANGUAGE plpgsql AS $$ BEGIN "
    "PERFORM pg_advisory_xact_lock_shared((16711::bigint << 48) + enter.gateway); "
    "PERFORM 1 FROM agui.gateways g WHERE g.id = enter.gateway AND NOT g.fenced; "
    "IF NOT FOUND THEN RAISE EXCEPTION 'the gateway has lost its leases' "
    "USING ERRCODE = 'AG001'; END IF; END $$",
    // Returns true if the gateway had not renewed in time, and can no longer write.
    "CREATE FUNCTION agui.fence(gateway bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN "
    "PERFORM pg_advisory_xact_lock((16711::bigint << 48) + fence.gateway); "
    "UPDATE agui.gateways g SET fenced = true WHERE g.id = fence.gateway AND NOT g.fenced "
    "AND g.expires < clock_timestamp(); RETURN FOUND; END $$",

    "CREATE FUNCTION agui.today() RETURNS bigint LANGUAGE sql AS "
    "$$ SELECT floor(extract(epoch FROM clock_timestamp()) / 86400)::bigint $$",
    "CREATE FUNCTION agui.now_ms() RETURNS bigint LANGUAGE sql AS "
    "$$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$",
    // The time of a machine whose clock says own_now at this moment (pg_clock::shared()).
    "CREATE FUNCTION agui.shared_time(given bigint, own_now bigint) RETURNS bigint LANGUAGE sql "
    "AS $$ SELECT CASE WHEN given = 0 OR abs(agui.now_ms() - own_now) < 60000 THEN given "
    "ELSE given + agui.now_ms() - own_now END $$",

    // ATTACH, because CREATE TABLE ... PARTITION OF would wait for readers and writers of logs.
    "CREATE FUNCTION agui.make_log_partitions(first bigint, last bigint) RETURNS void "
    "LANGUAGE plpgsql AS $$ BEGIN "
    "PERFORM pg_advisory_xact_lock((16710::bigint << 48) + 2); "
    "FOR day IN first .. last LOOP "
    "IF NOT EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.relname = 'log_rows_' || day "
    "AND c.relnamespace = 'agui'::regnamespace) THEN "
    "EXECUTE format('CREATE TABLE agui.log_rows_%s (LIKE agui.log_rows, "
    "PRIMARY KEY (run, first_sequence))', day); "
    "EXECUTE format('ALTER TABLE agui.log_rows ATTACH PARTITION agui.log_rows_%s "
    "FOR VALUES FROM (%s) TO (%s)', day, day::bigint << 40, (day + 1)::bigint << 40); "
    "END IF; END LOOP; END $$",
    // A database whose clock was set may be on a day for which no partition was made ahead.
    "CREATE FUNCTION agui.need_day(day bigint) RETURNS void LANGUAGE plpgsql AS $$ BEGIN "
    "IF to_regclass('agui.log_rows_' || need_day.day) IS NULL THEN "
    "PERFORM agui.make_log_partitions(need_day.day, need_day.day); END IF; END $$",

    // A standby that is promoted begins a new timeline, and its sequences may be behind those of
    // the server that it replaces. It is 0 if the server does not report it.
    "CREATE FUNCTION agui.timeline() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN "
    "RETURN ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint; "
    "EXCEPTION WHEN feature_not_supported OR insufficient_privilege OR undefined_function "
    "THEN RETURN 0; END $$",
    // The version of a thread for a reader, which therefore shares none with a reader of a server
    // that this one has replaced: they may have had different changes after the same number of
    // them. Only the uppermost bits of the thread's number are hidden by it.
    "CREATE FUNCTION agui.seen_version(stored bigint) RETURNS bigint LANGUAGE sql AS "
    "$$ SELECT stored # ((agui.timeline() & 127) << 49) $$",
    // Some bits of the timeline, before some of the sequence.
    "CREATE FUNCTION agui.next_number(of regclass, timeline_bits integer, bits integer) "
    "RETURNS bigint LANGUAGE sql AS "
    "$$ SELECT ((agui.timeline() & ((1::bigint << timeline_bits) - 1)) << bits) + "
    "(nextval(of) & ((1::bigint << bits) - 1)) $$",
    // Contains the day on which the run began, which selects the partition of its log.
    "CREATE FUNCTION agui.next_run_number() RETURNS bigint LANGUAGE plpgsql AS $$ "
    "DECLARE day bigint := agui.today(); BEGIN PERFORM agui.need_day(day); "
    "RETURN (day << 40) + agui.next_number('agui.run_numbers', 10, 30); END $$",
    // With the version of a thread (first_version()), its number fills 64 bits.
    "CREATE FUNCTION agui.next_thread_number() RETURNS bigint LANGUAGE sql AS "
    "$$ SELECT agui.next_number('agui.thread_numbers', 7, 32) $$",
    "CREATE FUNCTION agui.next_queued_number() RETURNS bigint LANGUAGE sql AS "
    "$$ SELECT agui.next_number('agui.queued_numbers', 20, 40) $$",
    "CREATE FUNCTION agui.next_lease_token() RETURNS bigint LANGUAGE sql AS "
    "$$ SELECT agui.next_number('agui.lease_tokens', 20, 40) $$",

    // Identifies the session and the start of the server.
    "CREATE FUNCTION agui.connection_name() RETURNS text LANGUAGE sql STABLE AS "
    "$$ SELECT pg_backend_pid() || ' ' || extract(epoch FROM pg_postmaster_start_time()) $$",
    pg_add_to_thread,
    pg_begin_run,
    pg_end_run,
    pg_add_entries,
};

// attempt: a random number of the call that acquired the lease; null if a claim of orphans did.
constexpr const char* version_10[] = {
    "ALTER TABLE agui.leases ADD COLUMN attempt bigint",
    pg_take_lease,
    pg_take_lease_9,
};

// Claims of pending calls (call_claim).
constexpr const char* version_11[] = {
    "ALTER TABLE agui.calls ADD COLUMN claimed_by bytea, "
    "ADD COLUMN claimed_until bigint NOT NULL DEFAULT 0",
};

// Threads that are opened to other principals (thread_access). The rows go with their thread, also
// if a gateway of an older program removes it.
constexpr const char* version_12[] = {
    "CREATE TABLE agui.shared_ids (thread bigint PRIMARY KEY REFERENCES agui.threads "
    "ON DELETE CASCADE, shared_id bytea NOT NULL UNIQUE)",
    "CREATE TABLE agui.thread_access (thread bigint REFERENCES agui.threads ON DELETE CASCADE, "
    "principal bytea, access_right text NOT NULL, PRIMARY KEY (thread, principal))",
    "CREATE INDEX thread_access_by_principal ON agui.thread_access (principal)",
};

// Usage of models (store::reserve_usage()). A row is rewritten in place: no index changes.
constexpr const char* version_13[] = {
    "CREATE TABLE agui.usage (subject bytea, period bigint, input_tokens bigint NOT NULL, "
    "output_tokens bigint NOT NULL, micro_cost bigint NOT NULL, PRIMARY KEY (subject, period)) "
    "WITH (fillfactor = 50)",
    "CREATE INDEX usage_by_period ON agui.usage (period)",
    pg_reserve_usage,
};

constexpr pg_migration all_migrations[] = {
    {first_schema, false},
    {version_10, false},
    {version_11, false},
    {version_12, false},
    {version_13, false}
};

std::int64_t newest_of(std::span<const pg_migration> migrations) {
    return pg_first_version - 1 + static_cast<std::int64_t>(migrations.size());
}

// Precedes a version that gateways of older programs must not use: they lose their leases here, and
// cannot enroll again. After the locks, which are those of agui.fence(), none of their writes is
// under way. The locks come before all others that such a write may wait for.
void add_fence(pg_batch& to, std::int64_t version) {
    constexpr const char* own_locks =
        "SELECT pg_advisory_xact_lock((16711::bigint << 48) + g.id) FROM agui.gateways g "
        "ORDER BY g.id";
    to.push_back(pg_statement::once("LOCK TABLE agui.gateways IN SHARE ROW EXCLUSIVE MODE"));
    to.push_back(pg_statement::once(own_locks));
    to.push_back(pg_statement::once("UPDATE agui.gateways SET fenced = true"));
    to.push_back(pg_statement::once(
        "ALTER TABLE agui.gateways DROP CONSTRAINT IF EXISTS knows_enough, "
        "ADD CONSTRAINT knows_enough CHECK (fenced OR knows_version >= " +
        std::to_string(version) + ")"
    ));
}

// Reads the tables, because to_regclass() may answer with the state at the transaction's start.
constexpr const char* meta_is_there =
    "SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = 'agui'), "
    "EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n "
    "ON n.oid = c.relnamespace WHERE n.nspname = 'agui' AND c.relname = 'meta')";
constexpr const char* versions = "SELECT schema_version, min_reader_version FROM agui.meta";
constexpr const char* lock = "SELECT pg_advisory_xact_lock($1)";
// Limits for the wait for another gateway that migrates, which may rewrite a table.
constexpr const char* unlimited =
    "SELECT set_config('search_path', 'pg_catalog', true), set_config('lock_timeout', '0', true), "
    "set_config('statement_timeout', '0', true), "
    "set_config('idle_in_transaction_session_timeout', '0', true)";
// Other gateways write meanwhile: a statement that waits for a lock blocks them too, and the
// creation of an index blocks its table. Not used for the wait for another gateway that migrates.
constexpr const char* bounds = "SELECT set_config('lock_timeout', '4000', true), "
                               "set_config('statement_timeout', '60000', true)";
constexpr const char* write_version =
    "UPDATE agui.meta SET schema_version = $1, min_reader_version = $2";

struct known_versions {
    std::int64_t schema = 0;
    std::int64_t min_reader = 0;
};

// Only the holder of the connection changes the schema.
asio::awaitable<known_versions> read_versions(pg_connection& on, pg_connection::time_point until) {
    pg_batch look;
    look.emplace_back(meta_is_there);
    const auto found = co_await on.execute(std::move(look), until);
    known_versions read{.schema = 0, .min_reader = pg_first_version};
    if (found.at(0).boolean(0, 1)) {
        pg_batch question;
        question.emplace_back(versions);
        const auto answer = co_await on.execute(std::move(question), until);
        if (!answer.at(0).empty()) {
            read.schema = answer.at(0).integer(0, 0);
            read.min_reader = answer.at(0).integer(0, 1);
        }
    } else {
        pg_batch make;
        if (!found.at(0).boolean(0, 0)) {
            make.emplace_back("CREATE SCHEMA agui");
        }
        make.emplace_back("CREATE TABLE agui.meta "
                          "(schema_version bigint NOT NULL, min_reader_version bigint NOT NULL)");
        make.emplace_back("INSERT INTO agui.meta VALUES (0, 0)");
        (void)co_await on.execute(std::move(make), until);
    }
    co_return read;
}

void check(const known_versions& found, std::int64_t newest) {
    const bool is_older = found.schema != 0 && found.schema < pg_first_version;
    if (!is_older && found.min_reader <= newest) {
        return;
    }
    throw std::runtime_error(
        std::string("the PostgreSQL store was written by ") + (is_older ? "an older" : "a newer") +
        " version of this program (schema version " +
        std::to_string(is_older ? found.schema : found.min_reader) +
        "; known: " + std::to_string(pg_first_version) + " to " + std::to_string(newest) +
        "): use that version, or rename the schema agui (ALTER SCHEMA agui RENAME TO ...) to start "
        "a new store"
    );
}

[[noreturn]] void explain(const pg_error& error) {
    const bool is_locked = error.sqlstate() == "55P03";
    if (!is_locked && error.sqlstate() != "57014") {
        throw pg_error(error);
    }
    throw std::runtime_error(
        (is_locked ? "the PostgreSQL store's schema cannot be changed while another session locks "
                     "its tables (a backup, a long query): start the gateway again when that "
                     "session has finished. "
                   : "a change of the PostgreSQL store's schema took too long and would block "
                     "other gateways: create the new indexes first (CREATE INDEX CONCURRENTLY). ") +
        std::string(error.what())
    );
}

asio::awaitable<bool>
migrate(pg_pool& pool, pg_patience patience, std::span<const pg_migration> migrations) {
    // Long enough for a migration that rewrites a table.
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(10);
    const std::int64_t newest = newest_of(migrations);
    const pg_pool::loan on =
        co_await pool.take(std::chrono::steady_clock::now() + patience.store_wait);
    pg_batch begin;
    begin.emplace_back("BEGIN");
    begin.emplace_back(unlimited);
    begin.emplace_back(lock, pg_schema_lock);
    (void)co_await on->execute(std::move(begin), until);
    known_versions at = co_await read_versions(*on, until);
    check(at, newest);
    pg_batch change;
    change.emplace_back(bounds);
    for (std::int64_t next = std::max(at.schema + 1, pg_first_version); next <= newest; ++next) {
        const pg_migration& step = migrations[static_cast<std::size_t>(next - pg_first_version)];
        if (step.breaks_older_readers) {
            add_fence(change, next);
            at.min_reader = next;
        }
        for (const char* const statement : step.statements) {
            change.push_back(pg_statement::once(statement));
        }
    }
    if (at.schema < newest) {
        change.emplace_back(write_version, newest, at.min_reader);
    }
    change.emplace_back("COMMIT");
    try {
        (void)co_await on->execute(std::move(change), until);
    } catch (const pg_error& error) {
        explain(error);
    }
    co_return true;
}

} // namespace

std::span<const pg_migration> pg_migrations() noexcept { return all_migrations; }

std::int64_t pg_newest_version() noexcept { return newest_of(all_migrations); }

asio::awaitable<std::string> read_signing_key(pg_pool& pool, pg_patience patience) {
    std::function<asio::awaitable<std::string>(pg_transaction&)> look =
        [](pg_transaction& in) -> asio::awaitable<std::string> {
        pg_batch question;
        question.emplace_back("SELECT key FROM agui.signing_key");
        const auto answer = co_await in.read_at_once(std::move(question));
        if (answer.at(0).empty()) {
            throw std::runtime_error("the PostgreSQL store has no signing key");
        }
        co_return std::string(answer.at(0).text(0, 0));
    };
    co_return co_await transact(pool, patience, {}, std::move(look));
}

asio::awaitable<void>
open_pg_schema(pg_pool& pool, pg_patience patience, std::span<const pg_migration> migrations) {
    const std::int64_t newest = newest_of(migrations);
    // Takes no lock: usually there is nothing to do, and the role may lack the right.
    std::function<asio::awaitable<known_versions>(pg_transaction&)> look =
        [](pg_transaction& in) -> asio::awaitable<known_versions> {
        pg_batch first;
        first.emplace_back(meta_is_there);
        const auto found = co_await in.read_at_once(std::move(first));
        known_versions read;
        if (found.at(0).boolean(0, 1)) {
            pg_batch question;
            question.emplace_back(versions);
            const auto answer = co_await in.read_at_once(std::move(question));
            read.schema = answer.at(0).empty() ? 0 : answer.at(0).integer(0, 0);
            read.min_reader = answer.at(0).empty() ? 0 : answer.at(0).integer(0, 1);
        }
        co_return read;
    };
    const known_versions found = co_await transact(pool, patience, {}, std::move(look));
    check(found, newest);
    if (found.schema < newest) {
        (void)co_await migrate(pool, patience, migrations);
    }
}

} // namespace agui::session
