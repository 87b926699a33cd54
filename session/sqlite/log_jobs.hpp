#pragma once

#include "session/sqlite/sqlite_tables.hpp"
#include "session/store/store.hpp"

#include "session/base/log.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace agui::session {

/// The jobs on logs, executed on the store's thread. Throws sqlite_error.
class log_jobs {
public:
    /// The arguments must outlive this.
    log_jobs(sqlite_tables& tables, agui::logger& logger) : tables_(tables), logger_(logger) {}

    /// Like store::read_log(). Sees everything that was durable before.
    [[nodiscard]] result<std::vector<log_entry>>
    read(std::int64_t run_number, std::uint64_t after, std::size_t limit);

    /// Drops some of the logs and failed attempts beyond the limits; runs in a transaction. Returns
    /// true if there may be more.
    [[nodiscard]] bool drop_some(const store::log_limits& limits);

private:
    [[nodiscard]] std::vector<std::int64_t> first_ended_beyond(std::uint64_t max_bytes);

    sqlite_tables& tables_;
    agui::logger& logger_;
};

} // namespace agui::session
