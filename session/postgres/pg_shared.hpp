#pragma once

#include "session/postgres/pg_clock.hpp"
#include "session/postgres/pg_pool.hpp"
#include "session/postgres/pg_transaction.hpp"

#include "session/base/log.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <functional>
#include <utility>
#include <vector>

namespace agui::session {

/// The objects that all parts of a store use. Everything but `context`, `log` and `time` belongs to
/// the store's thread, the only one that runs `context`.
struct pg_shared {
    boost::asio::io_context& context;
    pg_pool& pool;
    pg_patience patience;
    agui::logger& log;
    pg_clock& time; ///< May be used by any thread.
};

/// Executes all of `batch` in one round trip, as a transaction that may be carried out twice.
[[nodiscard]] inline boost::asio::awaitable<std::vector<pg_rows>>
write_at_once(pg_shared& shared, pg_purpose purpose, std::function<pg_batch()> batch) {
    std::function<boost::asio::awaitable<std::vector<pg_rows>>(pg_transaction&)> work =
        [batch = std::move(batch)](pg_transaction& in) {
            return in.write_at_once(batch());
        };
    return transact(shared.pool, shared.patience, purpose, std::move(work));
}

/// The same for reads, which see one snapshot.
[[nodiscard]] inline boost::asio::awaitable<std::vector<pg_rows>>
read_at_once(pg_shared& shared, std::function<pg_batch()> batch) {
    std::function<boost::asio::awaitable<std::vector<pg_rows>>(pg_transaction&)> work =
        [batch = std::move(batch)](pg_transaction& in) {
            return in.read_at_once(batch());
        };
    return transact(shared.pool, shared.patience, {}, std::move(work));
}

} // namespace agui::session
