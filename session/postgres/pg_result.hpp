#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

using PGresult = struct pg_result; // As in libpq-fe.h, which no header of the room includes.

namespace agui::session {

/// The rows that a statement has returned, in binary format. Copies share them; they are never
/// changed, so that a large one can be read on another thread. Rows and columns count from 0.
class pg_rows {
public:
    pg_rows() = default;
    /// Takes over `result`, which holds rows or the end of a command.
    explicit pg_rows(PGresult* result);

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    /// How many rows an INSERT, UPDATE or DELETE has changed.
    [[nodiscard]] std::uint64_t changed() const;

    // Each throws std::logic_error if there is no such row or column, or if it has another type.

    [[nodiscard]] bool is_null(std::size_t row, int column) const;
    /// 0 for NULL.
    [[nodiscard]] std::int64_t integer(std::size_t row, int column) const;
    /// False for NULL.
    [[nodiscard]] bool boolean(std::size_t row, int column) const;
    /// Of type text or bytea; valid as long as one of the copies. Empty for NULL.
    [[nodiscard]] std::string_view text(std::size_t row, int column) const;

private:
    /// Null pointer: NULL.
    [[nodiscard]] const char* cell(std::size_t row, int column) const;
    void check_type(int column, bool fits) const;

    std::shared_ptr<PGresult> result_;
    std::size_t size_ = 0;
};

} // namespace agui::session
