#include "session/store/store.hpp"

#include "session/sqlite/sqlite_db.hpp"
#include "session/sqlite/sqlite_store.hpp"

#include <sqlite3.h>

#include <stdexcept>
#include <string>

namespace agui::session {

namespace {

std::string explain(const sqlite_error& error) {
    switch (error.code() & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return "is in use by another process: only one process can use a store";
    case SQLITE_NOTADB:
        return "is not an SQLite database";
    default:
        return std::string("cannot be opened: ") + error.what();
    }
}

} // namespace

std::unique_ptr<store> make_sqlite_store(const sqlite_settings& settings) {
    try {
        return std::make_unique<sqlite_store>(settings);
    } catch (const sqlite_error& error) {
        throw std::runtime_error(settings.path + ": " + explain(error));
    } catch (const std::runtime_error& error) {
        throw std::runtime_error(settings.path + ": " + error.what());
    }
}

} // namespace agui::session
