#include "session/postgres/pg_result.hpp"

#include "session/postgres/pg_types.hpp"

#include <libpq-fe.h>

#include <charconv>
#include <stdexcept>
#include <utility>

namespace agui::session {

namespace {

[[noreturn]] void throw_no_such_cell() {
    throw std::logic_error("a row or a column that a statement does not return was read");
}

void check_type(bool fits) {
    if (!fits) {
        throw std::logic_error("a column of a statement has a different type from the one read");
    }
}

std::uint64_t big_endian(std::string_view bytes) {
    std::uint64_t value = 0;
    for (const char byte : bytes) {
        value = value << 8U | static_cast<unsigned char>(byte);
    }
    return value;
}

/// Takes pieces from the front of a value in binary format.
class value_reader {
public:
    explicit value_reader(std::string_view bytes) : rest_(bytes) {}

    std::string_view take(std::size_t size) {
        if (size > rest_.size()) {
            throw std::runtime_error("a record from the database is truncated");
        }
        const std::string_view taken = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return taken;
    }
    std::uint32_t number() { return static_cast<std::uint32_t>(big_endian(take(4))); }
    /// A value after its length; a length of 2^32 - 1 means NULL, whose data() is null.
    std::string_view sized() {
        const std::uint32_t size = number();
        return size == 0xFFFF'FFFFU ? std::string_view() : take(size);
    }

private:
    std::string_view rest_;
};

} // namespace

bool pg_table::is_null(std::size_t row, int column) const {
    return at(row, column).bytes == nullptr;
}

std::int64_t pg_table::integer(std::size_t row, int column) const {
    const cell found = at(row, column);
    check_type(found.type == pg_type::int8);
    return found.bytes == nullptr ? 0 : static_cast<std::int64_t>(big_endian({found.bytes, 8}));
}

bool pg_table::boolean(std::size_t row, int column) const {
    const cell found = at(row, column);
    check_type(found.type == pg_type::boolean);
    return found.bytes != nullptr && *found.bytes != 0;
}

std::string_view pg_table::text(std::size_t row, int column) const {
    const cell found = at(row, column);
    check_type(found.type == pg_type::text || found.type == pg_type::bytea);
    return found.bytes == nullptr ? std::string_view() : std::string_view(found.bytes, found.size);
}

pg_records pg_table::records(std::size_t row, int column) const {
    return {result_, at(row, column)};
}

pg_rows::pg_rows(PGresult* result)
    : pg_table({result, PQclear}, static_cast<std::size_t>(PQntuples(result))) {}

std::uint64_t pg_rows::changed() const {
    const std::string_view count = result_ ? PQcmdTuples(result_.get()) : std::string_view();
    std::uint64_t value = 0;
    (void)std::from_chars(count.data(), count.data() + count.size(), value); // 0 without a count.
    return value;
}

pg_table::cell pg_rows::at(std::size_t row, int column) const {
    if (row >= size_ || column >= PQnfields(result_.get())) {
        throw_no_such_cell();
    }
    check_type(PQfformat(result_.get(), column) == 1);
    const int number = static_cast<int>(row);
    cell found{.type = PQftype(result_.get(), column)};
    if (PQgetisnull(result_.get(), number, column) == 0) {
        found.bytes = PQgetvalue(result_.get(), number, column);
        found.size = static_cast<std::size_t>(PQgetlength(result_.get(), number, column));
    }
    return found;
}

// Reads the output of the server's record_send() and array_send().
pg_records::pg_records(std::shared_ptr<PGresult> owner, const cell& from)
    : pg_table(std::move(owner), 0) {
    check_type(from.type == pg_type::record || from.type == pg_type::record_array);
    if (from.bytes == nullptr) {
        return;
    }
    value_reader reader({from.bytes, from.size});
    const bool is_array = from.type == pg_type::record_array;
    std::size_t rows = 1;
    if (is_array) {
        const std::uint32_t dimensions = reader.number();
        (void)reader.take(8); // Skips the flag for NULLs and the type of the elements.
        rows = dimensions == 0 ? 0 : reader.number();
        (void)reader.take(dimensions == 0 ? 0 : 4); // Skips the number of its first element.
    }
    for (; size_ < rows; ++size_) {
        value_reader record(is_array ? reader.sized() : std::string_view(from.bytes, from.size));
        columns_ = record.number();
        for (std::size_t i = 0; i < columns_; ++i) {
            const unsigned type = record.number();
            const std::string_view value = record.sized();
            cells_.push_back({.type = type, .bytes = value.data(), .size = value.size()});
        }
    }
}

pg_table::cell pg_records::at(std::size_t row, int column) const {
    const std::size_t number = row * columns_ + static_cast<std::size_t>(column);
    if (row >= size_ || static_cast<std::size_t>(column) >= columns_) {
        throw_no_such_cell();
    }
    return cells_.at(number);
}

} // namespace agui::session
