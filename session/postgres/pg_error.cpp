#include "session/postgres/pg_error.hpp"

#include "session/base/contains.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace agui::session {

namespace {

// The server does not know the name of a prepared statement, or already has it: another connection
// made it.
bool is_of_another_connection(std::string_view sqlstate) {
    return sqlstate == "26000" || sqlstate == "42P05";
}

std::string text_of(const std::string& sqlstate, const std::string& text) {
    if (sqlstate.empty()) {
        return text;
    }
    std::string whole = text + " (SQLSTATE " + sqlstate + ")";
    if (is_of_another_connection(sqlstate)) {
        whole += "; if the connection goes through a pooler without prepared statements (PgBouncer "
                 "in transaction mode), set session.prepared = false";
    }
    return whole;
}

// Classes about connections, authorization, transactions, names in SQL, resources, limits and the
// server's state. Excluded are class 22, which repeats the value that it could not read, and class
// 23, which is about rows.
constexpr std::array<std::string_view, 14> harmless_classes = {"08", "0A", "25", "28", "3D",
                                                               "3F", "40", "42", "53", "54",
                                                               "55", "57", "58", "XX"};

} // namespace

pg_error::pg_error(std::string sqlstate, const std::string& text, effect on_connection)
    : std::runtime_error(text_of(sqlstate, text)),
      sqlstate_(std::move(sqlstate)),
      effect_(on_connection) {}

bool pg_error::may_succeed_later() const noexcept {
    // Serialization failure, deadlock, lock timeout; and a row that another process has made at the
    // same time, which the next try sees.
    return sqlstate_ == "40001" || sqlstate_ == "40P01" || sqlstate_ == "55P03" ||
           sqlstate_ == "23505";
}

bool pg_error::is_read_only() const noexcept { return sqlstate_ == "25006"; }

bool pg_error::needs_time() const noexcept {
    return is_read_only() || sqlstate_ == "57P03" || sqlstate_.starts_with("53");
}

bool pg_error::is_stale_connection() const noexcept {
    // A plan or a statement name that is no longer valid, or a server that may not be the primary.
    return is_read_only() || sqlstate_ == "0A000" || is_of_another_connection(sqlstate_);
}

bool pg_error::is_damage() const noexcept { return sqlstate_ == "XX001" || sqlstate_ == "XX002"; }

bool pg_error::is_fenced() const noexcept { return sqlstate_ == "AG001"; }

bool pg_error::is_misfit() const noexcept { return sqlstate_ == "AG002"; }

std::string safe_message(std::string_view sqlstate, std::string_view primary) {
    const std::string_view class_of = sqlstate.substr(0, 2);
    if (sqlstate.empty() || contains(harmless_classes, class_of)) {
        return as_one_line(primary);
    }
    return "the server has refused a statement";
}

std::string as_one_line(std::string_view text) {
    std::string line;
    for (const char each : text) {
        if (each == '\n') {
            line += "; ";
        } else if (each != '\t') {
            line += each;
        }
    }
    while (line.ends_with("; ")) {
        line.resize(line.size() - 2);
    }
    return line;
}

} // namespace agui::session
