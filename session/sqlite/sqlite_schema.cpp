#include "session/sqlite/sqlite_schema.hpp"

#include "session/base/id.hpp"

#include <stdexcept>
#include <string>

namespace agui::session {

namespace {

// Rows that grow with a conversation are clustered by thread (WITHOUT ROWID), so that loading one
// is a range scan. Messages have a row number of their own: adding one to a tree that is sorted by
// thread costs three times as much. Large data that seldom changes is in separate tables: SQLite
// rewrites whole rows.
constexpr const char* schema = R"sql(
CREATE TABLE threads (
  id INTEGER PRIMARY KEY,
  principal TEXT NOT NULL,
  thread_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  title TEXT NOT NULL,
  archived INTEGER NOT NULL,
  metadata TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  last_run_at INTEGER NOT NULL,
  head INTEGER NOT NULL,
  last_request_had_history INTEGER NOT NULL,
  message_count INTEGER NOT NULL,
  branch_count INTEGER NOT NULL,
  event_count INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  state_bytes INTEGER NOT NULL,
  offered_tools_bytes INTEGER NOT NULL,
  context_bytes INTEGER NOT NULL,
  version INTEGER NOT NULL,
  UNIQUE (principal, thread_id)
);
CREATE INDEX threads_by_change ON threads (principal, archived, updated_at, id);

CREATE TABLE removed_threads (
  thread INTEGER PRIMARY KEY
);

CREATE TABLE thread_documents (
  thread INTEGER PRIMARY KEY,
  state TEXT,
  offered_tools TEXT,
  context TEXT
);

CREATE TABLE messages (
  id INTEGER PRIMARY KEY,
  thread INTEGER NOT NULL,
  number INTEGER NOT NULL,
  parent INTEGER,
  run_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  message TEXT NOT NULL
);
CREATE UNIQUE INDEX messages_by_thread ON messages (thread, number);

CREATE TABLE branches (
  thread INTEGER NOT NULL,
  number INTEGER NOT NULL,
  tip INTEGER,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (thread, number)
) WITHOUT ROWID;

CREATE TABLE calls (
  number INTEGER PRIMARY KEY,
  thread INTEGER NOT NULL,
  call_id TEXT NOT NULL,
  name TEXT NOT NULL,
  run_id TEXT NOT NULL,
  owner TEXT NOT NULL,
  status TEXT NOT NULL,
  made_in INTEGER,
  UNIQUE (thread, call_id)
);

CREATE TABLE session_events (
  thread INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  type TEXT NOT NULL,
  run_id TEXT NOT NULL,
  timestamp INTEGER NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (thread, sequence)
) WITHOUT ROWID;

CREATE TABLE runs (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  thread INTEGER NOT NULL,
  run_id TEXT NOT NULL,
  parent_run_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  status TEXT NOT NULL,
  end_reason TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER NOT NULL,
  last_sequence INTEGER NOT NULL,
  log TEXT NOT NULL,
  input_digest TEXT NOT NULL,
  idempotency_key TEXT,
  protocol TEXT NOT NULL,
  answered_by TEXT NOT NULL,
  UNIQUE (thread, run_id)
);
CREATE UNIQUE INDEX runs_by_key ON runs (thread, idempotency_key)
  WHERE idempotency_key IS NOT NULL;
CREATE INDEX runs_active ON runs (number) WHERE status = 'active';
CREATE INDEX runs_with_log ON runs (ended_at) WHERE status <> 'active' AND log <> 'dropped';

-- The index covers everything needed to compute a log's size, so that no payload is read.
CREATE TABLE run_logs (
  run INTEGER NOT NULL,
  first_sequence INTEGER NOT NULL,
  last_sequence INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  payload BLOB NOT NULL
);
CREATE UNIQUE INDEX run_logs_by_run ON run_logs (run, first_sequence, bytes);

CREATE TABLE journal (
  identity INTEGER,
  oldest INTEGER NOT NULL,
  newest INTEGER NOT NULL
);
INSERT INTO journal VALUES (NULL, 0, 0);

-- The first index also gives the size of a run's attempts, the second that of all and the oldest,
-- without reading a body.
CREATE TABLE failed_attempts (
  number INTEGER PRIMARY KEY,
  run INTEGER NOT NULL,
  at INTEGER NOT NULL,
  model TEXT NOT NULL,
  status INTEGER NOT NULL,
  request_id TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  body TEXT NOT NULL
);
CREATE INDEX failed_attempts_by_run ON failed_attempts (run, bytes);
CREATE INDEX failed_attempts_by_time ON failed_attempts (at, bytes);

-- The numbers are not used again: one that was taken must not name a later request. The index gives
-- the size of a thread's queue without reading the messages.
CREATE TABLE queued_requests (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  thread INTEGER NOT NULL,
  run_id TEXT NOT NULL,
  parent_run_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  input_digest TEXT NOT NULL,
  idempotency_key TEXT,
  protocol TEXT NOT NULL,
  queued_at INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  messages TEXT NOT NULL
);
CREATE INDEX queued_requests_by_thread ON queued_requests (thread, number, bytes);

CREATE TABLE signing_key (
  key BLOB NOT NULL
);

-- Their thread need not exist: they are found by its name.
CREATE TABLE attachments (
  number INTEGER PRIMARY KEY,
  principal TEXT NOT NULL,
  thread_id TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  mime_type TEXT NOT NULL,
  kept_at INTEGER NOT NULL,
  size INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  UNIQUE (principal, thread_id, sha256)
);
CREATE INDEX attachments_by_time ON attachments (kept_at);
)sql";

void create_schema(database& db) {
    db.execute(schema);
    statement(db, "INSERT INTO signing_key VALUES (?)")
        .execute(blob_view{random_bytes(signing_key_bytes)});
}

// Claims of pending calls (call_claim).
void add_claims(database& db) {
    db.execute("ALTER TABLE calls ADD COLUMN claimed_by TEXT");
    db.execute("ALTER TABLE calls ADD COLUMN claimed_until INTEGER NOT NULL DEFAULT 0");
}

// Threads that are opened to other principals (thread_access).
void add_access(database& db) {
    db.execute(
        "CREATE TABLE shared_ids (thread INTEGER PRIMARY KEY, shared_id TEXT NOT NULL UNIQUE)"
    );
    db.execute("CREATE TABLE thread_access (thread INTEGER NOT NULL, principal TEXT NOT NULL, "
               "access_right TEXT NOT NULL, PRIMARY KEY (thread, principal)) WITHOUT ROWID");
    db.execute("CREATE INDEX thread_access_by_principal ON thread_access (principal)");
}

// Usage of models (store::reserve_usage()). `period` is a day or a month: period_number().
void add_usage_table(database& db) {
    db.execute("CREATE TABLE usage (subject TEXT NOT NULL, period INTEGER NOT NULL, "
               "input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, "
               "micro_cost INTEGER NOT NULL, PRIMARY KEY (subject, period)) WITHOUT ROWID");
    db.execute("CREATE INDEX usage_by_period ON usage (period)");
}

constexpr sqlite_migration all_migrations[] = {
    create_schema, add_claims, add_access, add_usage_table
};

std::int64_t newest_of(std::span<const sqlite_migration> migrations) {
    return sqlite_first_version - 1 + static_cast<std::int64_t>(migrations.size());
}

void check_owner(database& db) {
    const std::int64_t application_id = db.integer("PRAGMA application_id");
    const std::int64_t objects = db.integer("SELECT count(*) FROM sqlite_master");
    if (application_id != sqlite_application_id && (application_id != 0 || objects != 0)) {
        throw std::runtime_error("is the database of another program");
    }
}

// One transaction for all migrations. It takes the write lock even if there are none.
void migrate(database& db, std::span<const sqlite_migration> migrations) {
    transaction change(db);
    const std::int64_t version = db.integer("PRAGMA user_version");
    const std::int64_t done = version == 0 ? 0 : version - sqlite_first_version + 1;
    for (const sqlite_migration next : migrations.subspan(static_cast<std::size_t>(done))) {
        next(db);
    }
    db.execute("PRAGMA application_id = " + std::to_string(sqlite_application_id));
    db.execute("PRAGMA user_version = " + std::to_string(newest_of(migrations)));
    change.commit();
}

void check_version(database& db, std::int64_t newest) {
    const std::int64_t version = db.integer("PRAGMA user_version");
    if (version == 0 || (version >= sqlite_first_version && version <= newest)) {
        return;
    }
    throw std::runtime_error(
        std::string("was written by ") + (version > newest ? "a newer" : "an older") +
        " version of this program (schema version " + std::to_string(version) +
        "; known: " + std::to_string(sqlite_first_version) + " to " + std::to_string(newest) +
        "): use that version, or move this file and the files beside it away to start a new store"
    );
}

void use_wal(database& db) {
    statement pragma(db, "PRAGMA journal_mode = WAL");
    statement::rows row = pragma.query();
    if (!row.next() || row.text(0) != "wal") {
        throw std::runtime_error("is on a file system that does not support a write-ahead log");
    }
}

} // namespace

std::string read_signing_key(database& db) {
    statement read(db, "SELECT key FROM signing_key");
    statement::rows row = read.query();
    if (!row.next()) {
        throw std::runtime_error("has no signing key");
    }
    return std::string(row.blob(0));
}

std::span<const sqlite_migration> sqlite_migrations() noexcept { return all_migrations; }

void open_schema(
    database& db, session::durability durability, std::span<const sqlite_migration> migrations
) {
    // Long enough for a previous process that is closing the file.
    db.execute("PRAGMA busy_timeout = 250");
    // One process owns the store. Without shared memory, transactions also need no lock calls.
    db.execute("PRAGMA locking_mode = EXCLUSIVE");
    // Applies to a new file. A transaction changes little on each of a dozen pages, but writes and
    // checksums all of them: with 2 KB it costs a fifth less than with 4 KB; 1 KB saves no more.
    db.execute("PRAGMA page_size = 2048");
    check_owner(db);
    check_version(db, newest_of(migrations));
    use_wal(db);
    db.execute(
        durability == session::durability::power ? "PRAGMA synchronous = FULL"
                                                 : "PRAGMA synchronous = NORMAL"
    );
    // Checkpoints are rare, one for 16 MB of write-ahead log: the thread that commits waits for the
    // disk.
    db.execute("PRAGMA wal_autocheckpoint = 8000");
    db.execute("PRAGMA journal_size_limit = 67108864");
    db.execute("PRAGMA cache_size = -192");
    // Otherwise a savepoint would write its saved pages to a file.
    db.execute("PRAGMA temp_store = MEMORY");
    // Some distributions overwrite deleted data by default; FAST does so only where it costs no
    // I/O.
    db.execute("PRAGMA secure_delete = FAST");
    migrate(db, migrations);
}

void scrub_file(database& db) {
    db.execute("PRAGMA temp_store = FILE"); // Otherwise the copy would be in memory.
    const auto restore = [&db] {
        db.execute("PRAGMA temp_store = MEMORY");
    };
    try {
        db.execute("VACUUM");
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)");
    } catch (...) {
        restore();
        throw;
    }
    restore();
}

} // namespace agui::session
