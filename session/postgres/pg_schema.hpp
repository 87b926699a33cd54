#pragma once

#include "session/postgres/pg_pool.hpp"
#include "session/postgres/pg_transaction.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace agui::session {

/// The steps from one version of the schema to the next.
struct pg_migration {
    std::span<const char* const> statements;
    /// True if gateways that know only older versions can no longer use the store: they lose their
    /// leases before the statements run.
    bool breaks_older_readers = false;
};

/// The oldest version that can be opened.
inline constexpr std::int64_t pg_first_version = 9;

/// The first makes pg_first_version from nothing, each other one a version from that before it.
[[nodiscard]] std::span<const pg_migration> pg_migrations() noexcept;

/// The version that this program reads and writes.
[[nodiscard]] std::int64_t pg_newest_version() noexcept;

/// Makes the schema `agui`, or brings it to the newest version, in one transaction; several
/// gateways may do so at once. A store of a newer version is used as it is if it declares that this
/// is possible. Throws std::runtime_error with a text for the operator if it cannot, pg_error or
/// pg_unavailable.
[[nodiscard]] boost::asio::awaitable<void> open_pg_schema(
    pg_pool& pool, pg_patience patience, std::span<const pg_migration> migrations = pg_migrations()
);

/// store::signing_key() of an open schema. Throws like open_pg_schema().
[[nodiscard]] boost::asio::awaitable<std::string>
read_signing_key(pg_pool& pool, pg_patience patience);

// Keys of advisory locks, which a database has for all of its programs: the upper 16 bits are a
// number of this program. agui.enter() and agui.make_log_partitions() have their own.
inline constexpr std::int64_t pg_schema_lock = (std::int64_t{0x4146} << 48U) + 1;

} // namespace agui::session
