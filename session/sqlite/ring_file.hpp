#pragma once

#include "session/sqlite/live_logs.hpp"
#include "session/sqlite/sqlite_tables.hpp"

#include "session/base/log.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace agui::session {

/// The ring's file (log_ring), from the opening of the store to its clean shutdown. Each process
/// makes its own file, and the tables record which one belongs to them. Used only while the store's
/// thread does not run: before it starts and after it has ended.
class ring_file {
public:
    /// The arguments must outlive this.
    ring_file(sqlite_tables& tables, std::string path, agui::logger& logger);

    /// Brings into the tables what an earlier process left; to be called once, before anything
    /// else. False: the tables cannot take it, and the file is still needed. Throws sqlite_error,
    /// and std::system_error if the file cannot be read.
    [[nodiscard]] bool recover();
    /// Makes a new file and opens the way past the queue. Null, with a warning, if that fails.
    [[nodiscard]] std::unique_ptr<live_logs> open();
    /// Brings the ring's contents into the tables and removes the file; keeps it if the tables
    /// cannot take them.
    void close() noexcept;

private:
    void set_identity(std::optional<std::uint64_t> identity);
    void remove();

    sqlite_tables& tables_;
    const std::string path_;
    agui::logger& logger_;
    bool is_needed_ = false; ///< The file holds something that is not in the tables.
};

} // namespace agui::session
