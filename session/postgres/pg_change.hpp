#pragma once

#include "session/postgres/pg_result.hpp"
#include "session/postgres/pg_transaction.hpp"

#include "session/conversation/thread.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace agui::session {

/// The position of a thread in the tables, read in the transaction that changes it.
struct pg_thread_position {
    std::int64_t thread = 0;
    thread_size size;
    std::uint64_t version = 0;
    std::uint64_t seen_version = 0; ///< The version as a reader of this server sees it.
    std::uint64_t event_count = 0;
    std::uint64_t bytes = 0;
    document_sizes documents;
};

/// Locks the row of the thread until the transaction ends: other changes of the thread wait.
[[nodiscard]] pg_statement lock_thread(const thread_key& key);
/// Reads the result of lock_thread(); nullopt if there is no such thread.
[[nodiscard]] std::optional<pg_thread_position> position_of(const pg_rows& rows);

/// A change as the rows that it makes. Making it is expensive and happens on the caller's thread.
/// It is immutable, and a transaction that is retried uses it again.
class pg_change {
public:
    explicit pg_change(changes change);

    [[nodiscard]] const changes& value() const noexcept { return change_; }

    /// Adds the statements for an existing thread. Throws std::logic_error if the change does not
    /// fit it (check_change).
    void
    apply(pg_batch& to, const pg_thread_position& at, std::optional<unix_ms> last_run_at) const;
    /// True if `earlier` was made for the thread at `before`, led to its position `now`, and this
    /// change begins with all messages and events of `earlier`.
    [[nodiscard]] bool repeats(
        const pg_change& earlier, const pg_thread_position& before, const pg_thread_position& now
    ) const;
    /// Like apply(), for a change that repeats one: existing rows are not added again.
    void apply_again(pg_batch& to, pg_thread_position before, const pg_thread_position& now) const;
    /// Adds the common arguments of agui.begin_run() and agui.end_run().
    void add_arguments(pg_params& to) const;
    /// Adds the statements for a new thread, whose number is `thread`.
    void create(
        pg_batch& to, std::int64_t thread, const thread_key& key, const std::string& agent_id,
        unix_ms last_run_at
    ) const;

private:
    struct document_texts {
        std::optional<std::string> state;
        std::optional<std::string> offered_tools;
        std::optional<std::string> context;
    };

    enum class rows { are_new, may_be_there };
    void apply_rows(
        pg_batch& to, const pg_thread_position& at, std::optional<unix_ms> last_run_at, rows which
    ) const;
    void add_rows(pg_batch& to, const pg_thread_position& at, rows which) const;
    void add_branches(pg_batch& to, std::int64_t thread) const;
    void add_calls(pg_batch& to, std::int64_t thread) const;
    void add_events(pg_batch& to, const pg_thread_position& at, rows which) const;
    [[nodiscard]] document_sizes sizes_after(document_sizes sizes) const;

    changes change_;
    std::vector<std::string> messages_; ///< The stored JSON of each.
    std::uint64_t message_bytes_ = 0;
    std::vector<std::string> events_; ///< The JSON of the data of each.
    std::optional<std::string_view> metadata_;
    document_texts documents_;
};

/// The number in the tables: -1 for no_node.
[[nodiscard]] inline std::int64_t number_of(node_index node) noexcept {
    return node == no_node ? -1 : std::int64_t{node};
}
[[nodiscard]] inline node_index node_of(std::int64_t number) noexcept {
    return number < 0 ? no_node : static_cast<node_index>(number);
}

} // namespace agui::session
