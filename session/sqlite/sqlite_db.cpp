#include "session/sqlite/sqlite_db.hpp"

#include <sqlite3.h>

#include <fcntl.h>
#include <unistd.h>

namespace agui::session {

namespace {

[[noreturn]] void fail(sqlite3* handle, int code) {
    std::string what = sqlite3_errstr(code);
    if (handle != nullptr && sqlite3_errcode(handle) != SQLITE_OK) {
        what += " (";
        what += sqlite3_errmsg(handle);
        what += ")";
    }
    throw sqlite_error(code, what);
}

// Conversations are private. SQLite gives the files next to this one the same mode.
void create_private_file(const std::string& path) {
    const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0) {
        ::close(file);
    }
}

} // namespace

database::database(const std::string& path) {
    create_private_file(path);
    const int flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    const int code = sqlite3_open_v2(path.c_str(), &handle_, flags, vfs_.name());
    if (code != SQLITE_OK) {
        const sqlite_error error(code, sqlite3_errstr(code));
        sqlite3_close_v2(handle_);
        throw error;
    }
}

database::~database() {
    begin_.reset();
    commit_.reset();
    sqlite3_close_v2(handle_);
}

void database::execute(const std::string& sql) {
    const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) {
        fail(handle_, code);
    }
}

void database::begin() {
    if (!begin_) {
        begin_ = std::make_unique<statement>(*this, "BEGIN IMMEDIATE");
        commit_ = std::make_unique<statement>(*this, "COMMIT");
    }
    begin_->execute();
}

void database::commit() { commit_->execute(); }

void database::rollback() noexcept {
    if (in_transaction()) {
        (void)sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
    }
}

std::int64_t database::integer(const std::string& sql) {
    statement single(*this, sql);
    statement::rows row = single.query();
    return row.next() ? row.integer(0) : 0;
}

std::int64_t database::last_insert_id() const noexcept {
    return sqlite3_last_insert_rowid(handle_);
}

std::int64_t database::changed_rows() const noexcept { return sqlite3_changes64(handle_); }

bool database::in_transaction() const noexcept { return sqlite3_get_autocommit(handle_) == 0; }

statement::statement(database& db, std::string_view sql) : db_(db) {
    const int code = sqlite3_prepare_v3(
        db_.handle(), sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &handle_,
        nullptr
    );
    check(code);
}

statement::~statement() { sqlite3_finalize(handle_); }

void statement::check(int code) const {
    if (code != SQLITE_OK) {
        fail(db_.handle(), code);
    }
}

bool statement::step() {
    const int code = sqlite3_step(handle_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
        fail(db_.handle(), code);
    }
    return code == SQLITE_ROW;
}

void statement::reset() noexcept {
    // This returns the error of the last step, which was thrown already.
    (void)sqlite3_reset(handle_);
    (void)sqlite3_clear_bindings(handle_);
}

void statement::bind(int index, std::int64_t value, lifetime) {
    check(sqlite3_bind_int64(handle_, index, value));
}

void statement::bind(int index, std::uint64_t value, lifetime) {
    check(sqlite3_bind_int64(handle_, index, static_cast<std::int64_t>(value)));
}

void statement::bind(int index, std::uint32_t value, lifetime) {
    check(sqlite3_bind_int64(handle_, index, value));
}

void statement::bind(int index, int value, lifetime) {
    check(sqlite3_bind_int(handle_, index, value));
}

void statement::bind(int index, bool value, lifetime) {
    check(sqlite3_bind_int(handle_, index, value ? 1 : 0));
}

void statement::bind(int index, std::string_view value, lifetime how) {
    // A null pointer would bind NULL instead of an empty text.
    const char* const data = value.data() == nullptr ? "" : value.data();
    check(sqlite3_bind_text64(
        handle_, index, data, value.size(),
        how == lifetime::copied ? SQLITE_TRANSIENT : SQLITE_STATIC, SQLITE_UTF8
    ));
}

void statement::bind(int index, blob_view value, lifetime how) {
    const char* const data = value.bytes.data() == nullptr ? "" : value.bytes.data();
    check(sqlite3_bind_blob64(
        handle_, index, data, value.bytes.size(),
        how == lifetime::copied ? SQLITE_TRANSIENT : SQLITE_STATIC
    ));
}

void statement::bind_null(int index) { check(sqlite3_bind_null(handle_, index)); }

std::int64_t statement::rows::integer(int column) const noexcept {
    return sqlite3_column_int64(owner_.handle_, column);
}

bool statement::rows::is_null(int column) const noexcept {
    return sqlite3_column_type(owner_.handle_, column) == SQLITE_NULL;
}

std::string_view statement::rows::text(int column) const {
    // The bytes of a text are UTF-8 already, so that nothing needs to be converted.
    return blob(column);
}

std::string_view statement::rows::blob(int column) const {
    const auto* data = static_cast<const char*>(sqlite3_column_blob(owner_.handle_, column));
    const int size = sqlite3_column_bytes(owner_.handle_, column);
    return data == nullptr ? std::string_view()
                           : std::string_view(data, static_cast<std::size_t>(size));
}

} // namespace agui::session
