#pragma once

#include "session/postgres/pg_result.hpp"
#include "session/postgres/pg_transaction.hpp"
#include "session/store/stored_change.hpp"

#include "session/conversation/thread.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace agui::session {

/// Locks the row of the thread until the transaction ends: other changes of the thread wait.
[[nodiscard]] pg_statement lock_thread(const thread_key& key);
/// Reads the result of lock_thread(); nullopt if there is no such thread.
[[nodiscard]] std::optional<thread_position> position_of(const pg_rows& rows);
/// The thread's version as a reader of this server sees it, from the same result; 0 if there is no
/// such thread.
[[nodiscard]] std::uint64_t seen_version_of(const pg_rows& rows);

// Statements that write a change. They throw std::logic_error if it does not fit the thread
// (check_change).

/// For a new thread, whose number is `thread`.
void create_thread(
    pg_batch& to, const stored_change& what, std::int64_t thread, const thread_key& key,
    const std::string& agent_id, unix_ms last_run_at
);
/// For an existing one. `last_run_at` is given if a run begins with the change.
void change_thread(
    pg_batch& to, const stored_change& what, const thread_position& at,
    std::optional<unix_ms> last_run_at = std::nullopt
);
/// The part of `change` that is left to write if `first`, made for the thread at `before`, led to
/// its position `now`, and `change` begins with all messages and events of `first`. Otherwise
/// nullopt.
[[nodiscard]] std::optional<stored_change> rest_of(
    const changes& change, const changes& first, const thread_position& before,
    const thread_position& now
);

/// Adds the common arguments of agui.begin_run() and agui.end_run().
void add_arguments(pg_params& to, const stored_change& what);

/// The number in the tables: -1 for no_node.
[[nodiscard]] inline std::int64_t number_of(node_index node) noexcept {
    return node == no_node ? -1 : std::int64_t{node};
}
[[nodiscard]] inline node_index node_of(std::int64_t number) noexcept {
    return number < 0 ? no_node : static_cast<node_index>(number);
}

} // namespace agui::session
