#include "session/postgres/pg_result.hpp"

#include "session/postgres/pg_types.hpp"

#include <libpq-fe.h>

#include <charconv>
#include <stdexcept>

namespace agui::session {

pg_rows::pg_rows(PGresult* result)
    : result_(result, PQclear), size_(static_cast<std::size_t>(PQntuples(result))) {}

std::uint64_t pg_rows::changed() const {
    const std::string_view count = result_ ? PQcmdTuples(result_.get()) : std::string_view();
    std::uint64_t value = 0;
    (void)std::from_chars(count.data(), count.data() + count.size(), value); // Without: 0.
    return value;
}

const char* pg_rows::cell(std::size_t row, int column) const {
    if (row >= size_ || column >= PQnfields(result_.get())) {
        throw std::logic_error("a row or a column that a statement does not return was read");
    }
    const int at = static_cast<int>(row);
    return PQgetisnull(result_.get(), at, column) != 0 ? nullptr
                                                       : PQgetvalue(result_.get(), at, column);
}

void pg_rows::check_type(int column, bool fits) const {
    if (!fits || PQfformat(result_.get(), column) != 1) {
        throw std::logic_error("a column of a statement has another type than the one read");
    }
}

bool pg_rows::is_null(std::size_t row, int column) const { return cell(row, column) == nullptr; }

std::int64_t pg_rows::integer(std::size_t row, int column) const {
    const char* const bytes = cell(row, column);
    check_type(column, PQftype(result_.get(), column) == pg_type::int8);
    if (bytes == nullptr) {
        return 0;
    }
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) {
        value = value << 8U | static_cast<unsigned char>(bytes[i]);
    }
    return static_cast<std::int64_t>(value);
}

bool pg_rows::boolean(std::size_t row, int column) const {
    const char* const bytes = cell(row, column);
    check_type(column, PQftype(result_.get(), column) == pg_type::boolean);
    return bytes != nullptr && *bytes != 0;
}

std::string_view pg_rows::text(std::size_t row, int column) const {
    const char* const bytes = cell(row, column);
    const unsigned type = PQftype(result_.get(), column);
    check_type(column, type == pg_type::text || type == pg_type::bytea);
    if (bytes == nullptr) {
        return {};
    }
    const int length = PQgetlength(result_.get(), static_cast<int>(row), column);
    return {bytes, static_cast<std::size_t>(length)};
}

} // namespace agui::session
