#pragma once

#include "session/sqlite/sqlite_tables.hpp"
#include "session/store/store.hpp"
#include "session/store/stored_messages.hpp"

#include "session/base/log.hpp"

#include <cstdint>
#include <vector>

namespace agui::session {

/// The jobs on the queues of threads, executed on the store's thread. Functions do the same as
/// those of that name in `store`. Throws sqlite_error unless stated otherwise.
class queue_jobs {
public:
    /// The arguments must outlive this.
    queue_jobs(sqlite_tables& tables, agui::logger& logger) : tables_(tables), logger_(logger) {}

    /// To be called in a transaction.
    [[nodiscard]] result<std::int64_t>
    enqueue(const thread_key& key, const stored_request& next, const queue_limits& limits);

    [[nodiscard]] std::vector<sqlite_queue::row> queued(const thread_key& key);
    /// The requests with their messages; a message that cannot be read is left out. May be called
    /// from any thread. Throws std::bad_alloc only.
    [[nodiscard]] std::vector<queued_request> read(std::vector<sqlite_queue::row> rows) const;

    /// To be called in a transaction.
    [[nodiscard]] bool withdraw(const thread_key& key, std::int64_t number);

private:
    sqlite_tables& tables_;
    agui::logger& logger_;
};

} // namespace agui::session
