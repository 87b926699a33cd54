#pragma once

#include "session/sqlite/sqlite_tables.hpp"
#include "session/store/store.hpp"

#include "session/base/log.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace agui::session {

/// What is asked of logs, as it is done on the store's thread. Throws sqlite_error.
class log_jobs {
public:
    /// What is given must outlive this.
    log_jobs(sqlite_tables& tables, agui::logger& logger) : tables_(tables), logger_(logger) {}

    /// See store; sees what was durable before it.
    [[nodiscard]] result<std::vector<log_entry>>
    read(std::int64_t run_number, std::uint64_t after, std::size_t limit);

    /// Drops some logs that are beyond the limits, in a transaction. True: there may be more.
    [[nodiscard]] bool drop_some(const store::log_limits& limits);

private:
    [[nodiscard]] std::vector<std::int64_t> first_ended_beyond(std::uint64_t max_bytes);

    sqlite_tables& tables_;
    agui::logger& logger_;
};

} // namespace agui::session
