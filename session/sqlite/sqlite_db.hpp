#pragma once

#include "session/sqlite/sqlite_vfs.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace agui::session {

class statement;

/// A call into SQLite failed. code() is SQLite's extended result code.
class sqlite_error final : public std::runtime_error {
public:
    sqlite_error(int code, const std::string& what) : std::runtime_error(what), code_(code) {}
    [[nodiscard]] int code() const noexcept { return code_; }

private:
    int code_;
};

/// A connection. Used by one thread at a time. Functions that are not noexcept throw sqlite_error.
class database {
public:
    /// Opens the file, or creates it readable by its owner only.
    explicit database(const std::string& path);
    ~database();
    database(const database&) = delete;
    database& operator=(const database&) = delete;

    /// Runs statements without arguments and ignores their rows.
    void execute(const std::string& sql);

    /// Used by class `transaction`. Statements are prepared once, because transactions are
    /// frequent.
    void begin();
    void commit();
    /// Does nothing if SQLite has rolled back by itself.
    void rollback() noexcept;

    /// The first column of the first row, as a number; 0 if there is no row.
    [[nodiscard]] std::int64_t integer(const std::string& sql);

    [[nodiscard]] std::int64_t last_insert_id() const noexcept;
    /// Number of rows that the last INSERT, UPDATE or DELETE changed.
    [[nodiscard]] std::int64_t changed_rows() const noexcept;
    /// False also after an error that made SQLite roll back by itself.
    [[nodiscard]] bool in_transaction() const noexcept;
    [[nodiscard]] sqlite3* handle() const noexcept { return handle_; }

private:
    sqlite_vfs vfs_;
    sqlite3* handle_ = nullptr;
    std::unique_ptr<statement> begin_;
    std::unique_ptr<statement> commit_;
};

/// A transaction that takes the write lock at once (BEGIN IMMEDIATE). The destructor rolls it back
/// unless commit() has returned.
class transaction {
public:
    explicit transaction(database& db) : db_(db) { db_.begin(); }
    ~transaction() {
        if (open_) {
            db_.rollback();
        }
    }
    transaction(const transaction&) = delete;
    transaction& operator=(const transaction&) = delete;

    void commit() {
        db_.commit();
        open_ = false;
    }

private:
    database& db_;
    bool open_ = true;
};

/// A part of a transaction: the writes since its start are kept or undone, and the transaction
/// continues. One of the two must be called, unless the transaction is rolled back.
class savepoint {
public:
    explicit savepoint(database& db) : db_(db) { db_.execute("SAVEPOINT part"); }
    void keep() { db_.execute("RELEASE part"); }
    void undo() { db_.execute("ROLLBACK TO part; RELEASE part"); }

private:
    database& db_;
};

/// Bytes to bind as a BLOB; a std::string_view is bound as TEXT.
struct blob_view {
    std::string_view bytes;
};

/// A prepared statement, kept for many uses.
class statement {
public:
    statement(database& db, std::string_view sql);
    ~statement();
    statement(const statement&) = delete;
    statement& operator=(const statement&) = delete;

    /// The rows of one use: next() moves to the first, then to each further one, and returns false
    /// if there are no more. The statement can be used again once this is destroyed. Texts and
    /// blobs of a row are valid until then or until next() is called.
    class rows {
    public:
        explicit rows(statement& owner) noexcept : owner_(owner) {}
        ~rows() { owner_.reset(); }
        rows(const rows&) = delete;
        rows& operator=(const rows&) = delete;

        [[nodiscard]] bool next() { return owner_.step(); }
        [[nodiscard]] std::int64_t integer(int column) const noexcept;
        [[nodiscard]] bool boolean(int column) const noexcept { return integer(column) != 0; }
        [[nodiscard]] bool is_null(int column) const noexcept;
        [[nodiscard]] std::string_view text(int column) const;
        [[nodiscard]] std::string_view blob(int column) const;

    private:
        statement& owner_;
    };

    /// Binds the arguments in order. Texts are copied.
    template <class... Arguments>
    [[nodiscard]] rows query(const Arguments&... arguments) {
        int index = 0;
        (bind(++index, arguments, lifetime::copied), ...);
        return rows(*this);
    }

    /// Runs a statement that returns no rows. Texts and blobs are not copied.
    template <class... Arguments>
    void execute(const Arguments&... arguments) {
        const rows done(*this);
        int index = 0;
        (bind(++index, arguments, lifetime::of_caller), ...);
        (void)step(); // One step does it all, or throws.
    }

private:
    enum class lifetime { copied, of_caller };

    void bind(int index, std::int64_t value, lifetime);
    void bind(int index, std::uint64_t value, lifetime);
    void bind(int index, std::uint32_t value, lifetime);
    void bind(int index, int value, lifetime);
    void bind(int index, bool value, lifetime);
    void bind(int index, std::string_view value, lifetime);
    void bind(int index, blob_view value, lifetime);
    template <class T>
    void bind(int index, const std::optional<T>& value, lifetime how) {
        value ? bind(index, *value, how) : bind_null(index);
    }

    void bind_null(int index);
    void check(int code) const;
    bool step();
    void reset() noexcept;

    database& db_;
    sqlite3_stmt* handle_ = nullptr;
};

} // namespace agui::session
