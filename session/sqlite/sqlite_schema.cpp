#include "session/sqlite/sqlite_schema.hpp"

#include "session/base/id.hpp"

#include <stdexcept>
#include <string>

namespace agui::session {

namespace {

// Rows that grow with a conversation are clustered by thread (WITHOUT ROWID), so that loading one
// is a range scan. Large data that seldom changes is in separate tables: SQLite rewrites whole
// rows.
constexpr const char* schema_1 = R"sql(
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
  UNIQUE (principal, thread_id)
);
CREATE INDEX threads_by_change ON threads (principal, archived, updated_at, id);

CREATE TABLE thread_documents (
  thread INTEGER PRIMARY KEY,
  state TEXT,
  offered_tools TEXT
);

CREATE TABLE messages (
  thread INTEGER NOT NULL,
  number INTEGER NOT NULL,
  parent INTEGER,
  run_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (thread, number)
) WITHOUT ROWID;

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
  UNIQUE (thread, run_id)
);
CREATE INDEX runs_active ON runs (number) WHERE status = 'active';
CREATE INDEX runs_with_log ON runs (ended_at) WHERE status <> 'active' AND log <> 'dropped';

CREATE TABLE run_inputs (
  run INTEGER PRIMARY KEY,
  input TEXT NOT NULL
);

CREATE TABLE log_pages (
  page INTEGER PRIMARY KEY,
  slices BLOB NOT NULL
);

CREATE TABLE run_logs (
  run INTEGER NOT NULL,
  first_sequence INTEGER NOT NULL,
  last_sequence INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  payload BLOB NOT NULL,
  PRIMARY KEY (run, first_sequence)
);
)sql";

void create_version_1(database& db) { db.execute(schema_1); }

// A repeated request is recognised by its digest alone. Requests stored by version 1 have none: one
// that is repeated gets the error that its runId was used before.
void create_version_2(database& db) {
    db.execute("ALTER TABLE runs ADD COLUMN input_digest TEXT NOT NULL DEFAULT ''");
    db.execute("ALTER TABLE runs ADD COLUMN idempotency_key TEXT");
    db.execute("ALTER TABLE runs ADD COLUMN protocol TEXT NOT NULL DEFAULT ''");
    db.execute("CREATE UNIQUE INDEX runs_by_key ON runs (thread, idempotency_key) "
               "WHERE idempotency_key IS NOT NULL");
    db.execute("DROP TABLE run_inputs");
}

// Logs have a new form, and old logs are dropped: a later reader of such a run gets the error that
// its events are gone, and a run that was active when its process ended loses its partial text.
void create_version_3(database& db) {
    db.execute("DELETE FROM log_pages");
    db.execute("DROP TABLE run_logs");
    db.execute("CREATE TABLE run_logs (run INTEGER NOT NULL, first_sequence INTEGER NOT NULL, "
               "last_sequence INTEGER NOT NULL, bytes INTEGER NOT NULL, checksum INTEGER NOT NULL, "
               "payload BLOB NOT NULL)");
    // Covers everything needed to compute a log's size, so that no payload is read.
    db.execute("CREATE UNIQUE INDEX run_logs_by_run ON run_logs (run, first_sequence, bytes)");
    db.execute("UPDATE runs SET log = CASE status WHEN 'active' THEN 'damaged' ELSE 'dropped' END");
}

// The identity of the ring that belongs to the store; NULL: there is none.
void create_version_4(database& db) {
    db.execute("CREATE TABLE log_ring (identity INTEGER)");
    db.execute("INSERT INTO log_ring VALUES (NULL)");
}

// How far the ring's commits are in the tables. The ring of version 4 is not
// read: its contents are lost, as if the file were missing.
void create_version_5(database& db) {
    db.execute("ALTER TABLE log_ring ADD COLUMN applied INTEGER NOT NULL DEFAULT 0");
}

// The size of a thread's messages, and the removed threads that still have rows (sqlite_removal).
void create_version_6(database& db) {
    db.execute("ALTER TABLE threads ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0");
    db.execute("UPDATE threads SET bytes = (SELECT coalesce(sum(length(CAST(message AS BLOB))), 0) "
               "FROM messages WHERE thread = threads.id)");
    db.execute("CREATE TABLE removed_threads (thread INTEGER PRIMARY KEY)");
}

// The `context` entries of the thread's last user turn.
void create_version_7(database& db) {
    db.execute("ALTER TABLE thread_documents ADD COLUMN context TEXT");
}

void add_document_size(database& db, const std::string& document) {
    const std::string column = document + "_bytes";
    db.execute("ALTER TABLE threads ADD COLUMN " + column + " INTEGER NOT NULL DEFAULT 0");
    db.execute(
        "UPDATE threads SET " + column + " = coalesce((SELECT length(CAST(" + document +
        " AS BLOB)) FROM thread_documents WHERE thread = threads.id), 0)"
    );
    db.execute("UPDATE threads SET bytes = bytes + " + column);
}

// The size of each document of a thread; they are part of `bytes`.
void create_version_8(database& db) {
    add_document_size(db, "state");
    add_document_size(db, "offered_tools");
    add_document_size(db, "context");
}

// What failed model calls have left for the operator. The first index also gives the size of a
// run's attempts, the second that of all and the oldest, without reading a body.
void create_version_9(database& db) {
    db.execute("CREATE TABLE failed_attempts (number INTEGER PRIMARY KEY, run INTEGER NOT NULL, "
               "at INTEGER NOT NULL, model TEXT NOT NULL, status INTEGER NOT NULL, "
               "request_id TEXT NOT NULL, bytes INTEGER NOT NULL, body TEXT NOT NULL)");
    db.execute("CREATE INDEX failed_attempts_by_run ON failed_attempts (run, bytes)");
    db.execute("CREATE INDEX failed_attempts_by_time ON failed_attempts (at, bytes)");
}

// Requests that wait for the thread's next run, and which run answers them. Their numbers are not
// used again: one that was taken must not name a later request. The index gives the size of a
// thread's queue without reading the messages.
void create_version_10(database& db) {
    db.execute("CREATE TABLE queued_requests (number INTEGER PRIMARY KEY AUTOINCREMENT, "
               "thread INTEGER NOT NULL, run_id TEXT NOT NULL, parent_run_id TEXT NOT NULL, "
               "agent_id TEXT NOT NULL, input_digest TEXT NOT NULL, idempotency_key TEXT, "
               "protocol TEXT NOT NULL, queued_at INTEGER NOT NULL, bytes INTEGER NOT NULL, "
               "messages TEXT NOT NULL)");
    db.execute("CREATE INDEX queued_requests_by_thread ON queued_requests (thread, number, bytes)");
    db.execute("ALTER TABLE runs ADD COLUMN answered_by TEXT NOT NULL DEFAULT ''");
}

// The journal replaces the ring and the pages, whose contents earlier_log takes over afterwards.
// A thread has a version. Messages have a row number of their own: adding one to a tree that is
// sorted by thread costs three times as much.
void create_version_11(database& db) {
    db.execute("CREATE TABLE journal (identity INTEGER, oldest INTEGER NOT NULL, "
               "newest INTEGER NOT NULL)");
    db.execute("INSERT INTO journal VALUES (NULL, 0, 0)");
    db.execute("ALTER TABLE threads ADD COLUMN version INTEGER NOT NULL DEFAULT 1");
    db.execute("ALTER TABLE messages RENAME TO earlier_messages");
    db.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, "
               "number INTEGER NOT NULL, parent INTEGER, run_id TEXT NOT NULL, "
               "created_at INTEGER NOT NULL, message TEXT NOT NULL)");
    db.execute("INSERT INTO messages (thread, number, parent, run_id, created_at, message) "
               "SELECT thread, number, parent, run_id, created_at, message "
               "FROM earlier_messages ORDER BY thread, number");
    db.execute("CREATE UNIQUE INDEX messages_by_thread ON messages (thread, number)");
    db.execute("DROP TABLE earlier_messages");
}

// What signatures of this store are made with (store::signing_key). Attachments, whose thread need
// not exist: they are found by its name.
void create_version_12(database& db) {
    db.execute("CREATE TABLE signing_key (key BLOB NOT NULL)");
    statement(db, "INSERT INTO signing_key VALUES (?)")
        .execute(blob_view{random_bytes(signing_key_bytes)});
    db.execute("CREATE TABLE attachments (number INTEGER PRIMARY KEY, principal TEXT NOT NULL, "
               "thread_id TEXT NOT NULL, sha256 TEXT NOT NULL, mime_type TEXT NOT NULL, "
               "kept_at INTEGER NOT NULL, size INTEGER NOT NULL, bytes BLOB NOT NULL, "
               "UNIQUE (principal, thread_id, sha256))");
    db.execute("CREATE INDEX attachments_by_time ON attachments (kept_at)");
}

constexpr sqlite_migration all_migrations[] = {
    create_version_1, create_version_2,  create_version_3,  create_version_4,
    create_version_5, create_version_6,  create_version_7,  create_version_8,
    create_version_9, create_version_10, create_version_11, create_version_12
};

void check_owner(database& db) {
    const std::int64_t application_id = db.integer("PRAGMA application_id");
    const std::int64_t objects = db.integer("SELECT count(*) FROM sqlite_master");
    if (application_id != sqlite_application_id && (application_id != 0 || objects != 0)) {
        throw std::runtime_error("is the database of another program");
    }
}

void migrate(database& db, std::span<const sqlite_migration> migrations) {
    const auto newest = static_cast<std::int64_t>(migrations.size());
    // One transaction for all migrations. It takes the write lock even if there are none.
    transaction change(db);
    for (std::int64_t version = db.integer("PRAGMA user_version"); version < newest; ++version) {
        migrations[static_cast<std::size_t>(version)](db);
    }
    db.execute("PRAGMA application_id = " + std::to_string(sqlite_application_id));
    db.execute("PRAGMA user_version = " + std::to_string(newest));
    change.commit();
}

void check_version(database& db, std::int64_t newest) {
    const std::int64_t version = db.integer("PRAGMA user_version");
    if (version > newest || version < 0) {
        throw std::runtime_error(
            "was written by a newer version of this program (schema version " +
            std::to_string(version) + "; this program knows versions up to " +
            std::to_string(newest) + ")"
        );
    }
}

void use_wal(database& db) {
    statement pragma(db, "PRAGMA journal_mode = WAL");
    statement::rows row = pragma.query();
    if (!row.next() || row.text(0) != "wal") {
        throw std::runtime_error("is on a file system that cannot hold a write-ahead log");
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
    // For a new file. A transaction changes little on each of a dozen pages, but writes and
    // checksums all of them: with 2 KB it costs a fifth less than with 4 KB; 1 KB saves no more.
    db.execute("PRAGMA page_size = 2048");
    check_owner(db);
    check_version(db, static_cast<std::int64_t>(migrations.size()));
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

} // namespace agui::session
