#pragma once

#include "session/base/mutex.hpp"
#include "session/base/text_map.hpp"
#include "session/sqlite/sqlite_db.hpp"
#include "session/store/usage.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace agui::session {

/// The usage of a subject in one period.
struct usage_count {
    std::int64_t period = 0;
    usage_amount used;
    usage_amount stored;        ///< Value of the committed row; never less than `used`.
    usage_amount row;           ///< Value of the row in the open transaction.
    std::uint64_t interval = 0; ///< The last one between two sweeps in which something was added.
};

/// The table of usage, and in memory what some of its subjects have used. A row is written with
/// room for calls to come, which then need no transaction. So the rows of these subjects may say
/// more than was used, but never less. A kill leaves the unused room counted: for each subject up
/// to `calls_ahead_max` calls, and up to one part of `left_parts` of what its limits had left.
///
/// The functions that begin with try_ may be called from any thread, and change nothing if the
/// table is needed. Everything else runs on the store's thread and throws sqlite_error; functions
/// that write run in a transaction, after which committed() or rolled_back() is called. Room that a
/// settlement gives back can be used only once that is committed.
class sqlite_usage {
public:
    static constexpr std::int64_t calls_ahead_max = 16;
    static constexpr std::int64_t left_parts = 64;
    /// Number of subjects in memory, without those of one call.
    static constexpr std::size_t subjects_max = 10'000;
    /// Rows that one call of store_idle() writes: every stream waits for the transaction.
    static constexpr std::size_t rows_at_once = 256;

    explicit sqlite_usage(database& db);

    /// store::reserve_usage().
    [[nodiscard]] std::optional<usage_reservation>
    try_reserve(const std::vector<usage_claim>& claims, const usage_amount& amount, unix_ms now);
    /// store::settle_usage(). False if the table is needed.
    [[nodiscard]] bool try_settle(const usage_settlement& what);
    /// store::read_usage().
    [[nodiscard]] std::optional<usage_reading>
    try_read(const std::vector<std::string>& subjects, unix_ms now);

    /// Writes nothing if it refuses.
    [[nodiscard]] usage_reservation
    reserve(const std::vector<usage_claim>& claims, const usage_amount& amount, unix_ms now);
    void settle(const usage_settlement& what);
    [[nodiscard]] usage_reading read(const std::vector<std::string>& subjects, unix_ms now);
    /// Begins an interval, and stores and forgets some of the periods to which nothing was added in
    /// the whole interval before. Returns true if there may be more: store_more_idle().
    [[nodiscard]] bool store_idle();
    [[nodiscard]] bool store_more_idle();
    /// Stores and forgets all periods.
    void store_all();
    /// Erases some of the periods that are not kept at `now`. Returns false if there were none.
    [[nodiscard]] bool erase_some(unix_ms now);
    void committed() noexcept;
    void rolled_back() noexcept;

    /// The size of all threads of the principal.
    [[nodiscard]] std::uint64_t bytes_of_principal(const std::string& principal);

private:
    struct change {
        std::string subject;
        std::int64_t period = 0;
        usage_amount more; ///< Was added to what is in memory.
        usage_amount less; ///< Will be, after the commit; not positive.
    };
    struct row {
        std::string subject;
        std::int64_t period = 0;
        usage_amount amount;
    };

    [[nodiscard]] usage_count* find(const std::string& subject, std::int64_t period)
        AGUI_REQUIRES(mutex_);
    /// Of each subject the month and the day. Empty if one is not in memory.
    [[nodiscard]] std::vector<usage_count*>
    find_all(const std::vector<std::string>& subjects, const usage_periods& at)
        AGUI_REQUIRES(mutex_);
    void need_all(const std::vector<std::string>& subjects, const usage_periods& at);
    void need(const std::string& subject, std::int64_t period);
    void
    add(const std::vector<std::string>& subjects, const std::vector<usage_count*>& counts,
        const usage_amount& difference) AGUI_REQUIRES(mutex_);
    [[nodiscard]] std::vector<row> rows_with_room(
        const std::vector<std::string>& subjects, const std::vector<usage_count*>& counts,
        const usage_amount& room
    ) AGUI_REQUIRES(mutex_);
    [[nodiscard]] bool is_full();
    /// Stores and forgets periods to which nothing was added since the interval began. Writes
    /// about `rows_max` rows, and returns true if there may be more.
    [[nodiscard]] bool store_unused_since(std::uint64_t interval, std::size_t rows_max);
    [[nodiscard]] std::uint64_t interval();
    [[nodiscard]] usage_amount read_row(const std::string& subject, std::int64_t period);
    void write(const std::vector<row>& rows);

    statement select_;
    statement write_;
    statement old_;
    statement erase_;
    statement bytes_;

    mutex mutex_;
    text_map<std::vector<usage_count>> subjects_ AGUI_GUARDED_BY(mutex_);
    std::uint64_t interval_ AGUI_GUARDED_BY(mutex_) = 1;
    // Of the open transaction.
    std::vector<change> changes_;
    std::vector<std::string> forgotten_; ///< Their rows were written.
};

} // namespace agui::session
