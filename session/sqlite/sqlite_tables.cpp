#include "session/sqlite/sqlite_tables.hpp"

#include "session/sqlite/sqlite_schema.hpp"

namespace agui::session {

namespace {

std::unique_ptr<database> open_database(const sqlite_settings& settings) {
    auto db = std::make_unique<database>(settings.path);
    open_schema(*db, settings.durability, sqlite_migrations());
    return db;
}

} // namespace

sqlite_tables::sqlite_tables(const sqlite_settings& settings, agui::logger& logger)
    : db(open_database(settings)),
      threads(*db),
      reader(*db, threads, logger),
      runs(*db),
      log(*db, runs, logger),
      attempts(*db),
      queue(*db),
      removal(*db, log, attempts, queue),
      redo(*db, threads, runs, log, settings.apply_window, logger) {}

} // namespace agui::session
