#pragma once

#include "session/sqlite/live_logs.hpp"
#include "session/sqlite/sqlite_tables.hpp"

#include "session/base/log.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace agui::session {

/// The file of the ring (log_ring), from the opening of the store to its clean end: each process
/// has its own, and the tables say which file belongs to them. Used by one thread, which is not the
/// store's: before that begins and after it has ended.
class ring_file {
public:
    /// What is given must outlive this.
    ring_file(sqlite_tables& tables, std::string path, agui::logger& logger);

    /// Brings what a former process has left into the tables; to be called once, first of all.
    /// False: they cannot take it, and its file is still needed. Throws sqlite_error.
    [[nodiscard]] bool recover();
    /// The way past the queue, with a new file. Null, with a warning, if there can be none.
    [[nodiscard]] std::unique_ptr<live_logs> open();
    /// Brings what is in the ring into the tables and removes the file; it stays if they cannot
    /// take it.
    void close() noexcept;

private:
    void set_identity(std::optional<std::uint64_t> identity);
    void remove();

    sqlite_tables& tables_;
    const std::string path_;
    agui::logger& logger_;
    bool is_needed_ = false; ///< There is something in it that is not in the tables.
};

} // namespace agui::session
