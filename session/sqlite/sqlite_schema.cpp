#include "session/sqlite/sqlite_schema.hpp"

#include <stdexcept>
#include <string>

namespace agui::session {

namespace {

// Rows that grow with a conversation are clustered by thread (WITHOUT ROWID), so that loading one
// is a range scan. What is large and seldom changes has tables of its own: SQLite rewrites whole
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

// What was asked is recognised by its digest alone. Requests stored before have none: a repeat of
// one is told that its runId is taken.
void create_version_2(database& db) {
    db.execute("ALTER TABLE runs ADD COLUMN input_digest TEXT NOT NULL DEFAULT ''");
    db.execute("ALTER TABLE runs ADD COLUMN idempotency_key TEXT");
    db.execute("ALTER TABLE runs ADD COLUMN protocol TEXT NOT NULL DEFAULT ''");
    db.execute("CREATE UNIQUE INDEX runs_by_key ON runs (thread, idempotency_key) "
               "WHERE idempotency_key IS NOT NULL");
    db.execute("DROP TABLE run_inputs");
}

// Logs are written in another form, and those of the old one go: who reads such a run again is told
// that its events are gone, and a run that was active when its process ended loses its partial
// text.
void create_version_3(database& db) {
    db.execute("DELETE FROM log_pages");
    db.execute("DROP TABLE run_logs");
    db.execute("CREATE TABLE run_logs (run INTEGER NOT NULL, first_sequence INTEGER NOT NULL, "
               "last_sequence INTEGER NOT NULL, bytes INTEGER NOT NULL, checksum INTEGER NOT NULL, "
               "payload BLOB NOT NULL)");
    // Holds all that tells what a log takes, so that no payload is read for it.
    db.execute("CREATE UNIQUE INDEX run_logs_by_run ON run_logs (run, first_sequence, bytes)");
    db.execute("UPDATE runs SET log = CASE status WHEN 'active' THEN 'damaged' ELSE 'dropped' END");
}

// The identity of the ring of log entries that belongs to the store (log_ring); NULL: there is
// none.
void create_version_4(database& db) {
    db.execute("CREATE TABLE log_ring (identity INTEGER)");
    db.execute("INSERT INTO log_ring VALUES (NULL)");
}

// Up to where the ring's commits are in the tables (log_ring::place). The ring of version 4 is not
// read: what it holds is lost, as if the file were missing.
void create_version_5(database& db) {
    db.execute("ALTER TABLE log_ring ADD COLUMN applied INTEGER NOT NULL DEFAULT 0");
}

// How much the messages of a thread take; and the threads that are gone, of which there are rows
// left (sqlite_removal).
void create_version_6(database& db) {
    db.execute("ALTER TABLE threads ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0");
    db.execute("UPDATE threads SET bytes = (SELECT coalesce(sum(length(CAST(message AS BLOB))), 0) "
               "FROM messages WHERE thread = threads.id)");
    db.execute("CREATE TABLE removed_threads (thread INTEGER PRIMARY KEY)");
}

// What the application said about itself in the thread's last user turn.
void create_version_7(database& db) {
    db.execute("ALTER TABLE thread_documents ADD COLUMN context TEXT");
}

// How much the documents of a thread take, each; they are a part of `bytes`.
void create_version_8(database& db) {
    for (const std::string document : {"state", "offered_tools", "context"}) {
        const std::string column = document + "_bytes";
        db.execute("ALTER TABLE threads ADD COLUMN " + column + " INTEGER NOT NULL DEFAULT 0");
        db.execute(
            "UPDATE threads SET " + column + " = coalesce((SELECT length(CAST(" + document +
            " AS BLOB)) FROM thread_documents WHERE thread = threads.id), 0)"
        );
        db.execute("UPDATE threads SET bytes = bytes + " + column);
    }
}

constexpr sqlite_migration all_migrations[] = {create_version_1, create_version_2, create_version_3,
                                               create_version_4, create_version_5, create_version_6,
                                               create_version_7, create_version_8};

void check_owner(database& db) {
    const std::int64_t application_id = db.integer("PRAGMA application_id");
    const std::int64_t objects = db.integer("SELECT count(*) FROM sqlite_master");
    if (application_id != sqlite_application_id && (application_id != 0 || objects != 0)) {
        throw std::runtime_error("is the database of another program");
    }
}

void migrate(database& db, std::span<const sqlite_migration> migrations) {
    const auto newest = static_cast<std::int64_t>(migrations.size());
    // One transaction for all: it also takes the write lock where there is nothing to migrate.
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
            "was written by a newer version of this program (schema " + std::to_string(version) +
            ", known are those up to " + std::to_string(newest) + ")"
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

std::span<const sqlite_migration> sqlite_migrations() noexcept { return all_migrations; }

void open_schema(
    database& db, session::durability durability, std::span<const sqlite_migration> migrations
) {
    // Long enough for a predecessor that is just closing.
    db.execute("PRAGMA busy_timeout = 250");
    // One process owns the store. Without shared memory a transaction needs no lock calls either.
    db.execute("PRAGMA locking_mode = EXCLUSIVE");
    // Of a new file. A transaction changes little on each of a dozen pages, and writes and sums up
    // all of them: with 2 KB it costs a fifth less than with 4 KB, with 1 KB no less.
    db.execute("PRAGMA page_size = 2048");
    check_owner(db);
    check_version(db, static_cast<std::int64_t>(migrations.size()));
    use_wal(db);
    db.execute(
        durability == session::durability::power ? "PRAGMA synchronous = FULL"
                                                 : "PRAGMA synchronous = NORMAL"
    );
    // A checkpoint syncs on the thread that commits: seldom, at 16 MB of log.
    db.execute("PRAGMA wal_autocheckpoint = 8000");
    db.execute("PRAGMA journal_size_limit = 67108864");
    db.execute("PRAGMA cache_size = -192");
    // A cache beyond its size writes in the middle of a transaction. Not below 8 MB: a read that
    // finds commits which a full disk cannot take does without (sqlite_redo), and the ring holds 1
    // MB of them.
    db.execute("PRAGMA cache_spill = 4000");
    // What a savepoint keeps of pages would be written to a file else.
    db.execute("PRAGMA temp_store = MEMORY");
    // Distributions turn on the overwriting of what is deleted; FAST does it only where it is free.
    db.execute("PRAGMA secure_delete = FAST");
    migrate(db, migrations);
}

} // namespace agui::session
