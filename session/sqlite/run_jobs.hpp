#pragma once

#include "session/sqlite/sqlite_tables.hpp"
#include "session/store/lease_table.hpp"
#include "session/store/store.hpp"
#include "session/store/stored_change.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace agui::session {

/// The jobs on runs, executed on the store's thread: their start, their commits, and reads of their
/// records. Functions do the same as those of that name in `store`. A read sees everything that was
/// durable before. Throws sqlite_error, and std::logic_error where `store` does.
class run_jobs {
public:
    /// The arguments must outlive this.
    run_jobs(sqlite_tables& tables, lease_table& leases) : tables_(tables), leases_(leases) {}

    // To be called in a transaction.
    [[nodiscard]] result<begun_run> begin(
        const thread_key& key, const run_record& run, const stored_change& what,
        std::optional<std::uint64_t> seen_version, const lease_ptr& held
    );
    [[nodiscard]] result<void> commit(
        const thread_key& key, const stored_change& what, const std::optional<log_slice>& log,
        const lease_ptr& held
    );

    // Records.
    [[nodiscard]] std::optional<run_record> find(const thread_key& key, const std::string& run_id);
    [[nodiscard]] result<std::vector<store::orphan>> orphans(const lease& held);
    [[nodiscard]] std::vector<lease_ptr> claim_orphans(std::size_t limit);

private:
    [[nodiscard]] result<void> take_queued(std::int64_t thread, const changes& change);

    sqlite_tables& tables_;
    lease_table& leases_;
};

} // namespace agui::session
