#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

// The same as in libpq-fe.h, which no header of the room includes.
using PGresult = struct pg_result;

namespace agui::session {

class pg_records;

/// Rows of values in binary format. Rows and columns count from 0. The members throw
/// std::logic_error if there is no such row or column, or if it has another type.
class pg_table {
public:
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

    [[nodiscard]] bool is_null(std::size_t row, int column) const;
    /// 0 for NULL.
    [[nodiscard]] std::int64_t integer(std::size_t row, int column) const;
    /// False for NULL.
    [[nodiscard]] bool boolean(std::size_t row, int column) const;
    /// A value of type text or bytea; valid as long as one of the copies. Empty for NULL.
    [[nodiscard]] std::string_view text(std::size_t row, int column) const;
    /// A value of type record (one row) or record[]. No rows for NULL.
    [[nodiscard]] pg_records records(std::size_t row, int column) const;

protected:
    struct cell {
        unsigned type = 0;
        const char* bytes = nullptr; ///< Null pointer for NULL.
        std::size_t size = 0;
    };

    pg_table() = default;
    pg_table(std::shared_ptr<PGresult> result, std::size_t size)
        : result_(std::move(result)), size_(size) {}
    pg_table(const pg_table&) = default;
    pg_table(pg_table&&) noexcept = default;
    pg_table& operator=(const pg_table&) = default;
    pg_table& operator=(pg_table&&) noexcept = default;
    ~pg_table() = default;

    std::shared_ptr<PGresult> result_; ///< Owns the bytes.
    std::size_t size_ = 0;

private:
    [[nodiscard]] virtual cell at(std::size_t row, int column) const = 0;
};

/// One row of a table, which must outlive it.
class pg_row {
public:
    pg_row(const pg_table& table, std::size_t row) noexcept : table_(table), row_(row) {}

    [[nodiscard]] bool is_null(int column) const { return table_.is_null(row_, column); }
    [[nodiscard]] std::int64_t integer(int column) const { return table_.integer(row_, column); }
    [[nodiscard]] bool boolean(int column) const { return table_.boolean(row_, column); }
    [[nodiscard]] std::string_view text(int column) const { return table_.text(row_, column); }

private:
    const pg_table& table_;
    std::size_t row_;
};

/// The results of read(pg_row) for each row.
template <class Read>
[[nodiscard]] auto read_each(const pg_table& rows, Read read) {
    std::vector<decltype(read(pg_row(rows, 0)))> all;
    all.reserve(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        all.push_back(read(pg_row(rows, i)));
    }
    return all;
}

/// The rows that a statement has returned. Copies share them; they are never changed, so that a
/// large one can be read on another thread.
class pg_rows final : public pg_table {
public:
    pg_rows() = default;
    /// Takes over `result`, which holds rows or the end of a command.
    explicit pg_rows(PGresult* result);

    /// Number of rows that an INSERT, UPDATE or DELETE has changed.
    [[nodiscard]] std::uint64_t changed() const;

private:
    [[nodiscard]] cell at(std::size_t row, int column) const override;
};

/// The value of a column that is a table itself: ROW(...) has one row, ARRAY(SELECT ROW(...)) any
/// number. It keeps the rows that it comes from.
class pg_records final : public pg_table {
private:
    friend class pg_table;
    /// Throws std::runtime_error if `from` is not the server's form of records.
    pg_records(std::shared_ptr<PGresult> owner, const cell& from);

    [[nodiscard]] cell at(std::size_t row, int column) const override;

    std::vector<cell> cells_;
    std::size_t columns_ = 0;
};

} // namespace agui::session
