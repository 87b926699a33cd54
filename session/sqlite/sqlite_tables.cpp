#include "session/sqlite/sqlite_tables.hpp"

#include "session/sqlite/journal_recovery.hpp"
#include "session/sqlite/sqlite_schema.hpp"

#include <exception>
#include <filesystem>
#include <random>

namespace agui::session {

namespace {

// Limit of the threads kept in memory: some dozen conversations, and little beside the memory of
// many open streams.
constexpr std::size_t cached_bytes_max = 512U << 10U;

std::unique_ptr<database> open_database(const sqlite_settings& settings) {
    auto db = std::make_unique<database>(settings.path);
    open_schema(*db, settings.durability, sqlite_migrations());
    return db;
}

std::uint64_t random_identity() {
    std::random_device source;
    std::uniform_int_distribution<std::int64_t> any(1);
    return static_cast<std::uint64_t>(any(source));
}

journal::settings journal_settings(const sqlite_settings& settings) {
    journal::settings options;
    options.path = file_beside(settings, "-log");
    options.identity = random_identity();
    options.file_bytes = settings.journal_file_bytes;
    options.survives_power_cut = settings.durability == durability::power;
    return options;
}

} // namespace

std::string file_beside(const sqlite_settings& settings, std::string_view ending) {
    return std::filesystem::weakly_canonical(settings.path).string() + std::string(ending);
}

sqlite_tables::sqlite_tables(const sqlite_settings& settings, agui::logger& logger)
    : db(open_database(settings)),
      files(journal_settings(settings)),
      live(files),
      threads(*db),
      reader(*db, threads, logger),
      runs(*db),
      log(*db, runs, live, files, logger),
      attempts(*db),
      attachments(*db),
      access(*db),
      queue(*db),
      usage(*db),
      removal(*db, log, attempts, queue),
      cache(cached_bytes_max),
      messages(settings.memory) {
    const std::string path = files.path();
    log.start_journal(recover_journal(*db, runs, log, path, logger));
}

void sqlite_tables::close() noexcept {
    if (!log.write_all()) {
        return;
    }
    try {
        transaction last(*db);
        usage.store_all();
        last.commit();
        usage.committed();
        db->execute("UPDATE journal SET identity = NULL");
    } catch (const std::exception&) {
        return; // The next opening reads the journal and finds nothing new.
    }
    files.remove_all();
}

} // namespace agui::session
