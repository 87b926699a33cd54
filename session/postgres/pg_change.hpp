#pragma once

#include "session/postgres/pg_result.hpp"
#include "session/postgres/pg_transaction.hpp"
#include "session/store/stored_change.hpp"

#include "session/conversation/thread.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace agui::session {

/// Locks the row of the thread until the transaction ends: other changes of the thread wait.
[[nodiscard]] pg_statement lock_thread(const thread_key& key);
/// Reads the result of lock_thread(); nullopt if there is no such thread.
[[nodiscard]] std::optional<thread_position> position_of(const pg_rows& rows);
/// The thread's version as a reader of this server sees it, from the same result; 0 if there is no
/// such thread.
[[nodiscard]] std::uint64_t seen_version_of(const pg_rows& rows);

/// A change as the rows that it makes.
class pg_change {
public:
    explicit pg_change(changes change) : what_(std::move(change)) {}

    [[nodiscard]] const changes& value() const noexcept { return what_.change; }

    /// Adds the statements for an existing thread. Throws std::logic_error if the change does not
    /// fit it (check_change).
    void apply(pg_batch& to, const thread_position& at, std::optional<unix_ms> last_run_at) const;
    /// True if `earlier` was made for the thread at `before`, led to its position `now`, and this
    /// change begins with all messages and events of `earlier`.
    [[nodiscard]] bool repeats(
        const pg_change& earlier, const thread_position& before, const thread_position& now
    ) const;
    /// Like apply(), for a change that repeats one: existing rows are not added again.
    void apply_again(pg_batch& to, thread_position before, const thread_position& now) const;
    /// Adds the common arguments of agui.begin_run() and agui.end_run().
    void add_arguments(pg_params& to) const;
    /// Adds the statements for a new thread, whose number is `thread`.
    void create(
        pg_batch& to, std::int64_t thread, const thread_key& key, const std::string& agent_id,
        unix_ms last_run_at
    ) const;

private:
    enum class rows { are_new, may_be_there };
    void apply_rows(
        pg_batch& to, const thread_position& at, std::optional<unix_ms> last_run_at, rows which
    ) const;
    void add_rows(pg_batch& to, const thread_position& at, rows which) const;
    void add_branches(pg_batch& to, std::int64_t thread) const;
    void add_calls(pg_batch& to, std::int64_t thread) const;
    void add_events(pg_batch& to, const thread_position& at, rows which) const;

    stored_change what_;
};

/// The number in the tables: -1 for no_node.
[[nodiscard]] inline std::int64_t number_of(node_index node) noexcept {
    return node == no_node ? -1 : std::int64_t{node};
}
[[nodiscard]] inline node_index node_of(std::int64_t number) noexcept {
    return number < 0 ? no_node : static_cast<node_index>(number);
}

} // namespace agui::session
