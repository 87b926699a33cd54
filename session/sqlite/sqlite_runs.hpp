#pragma once

#include "session/sqlite/sqlite_db.hpp"
#include "session/store/store.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace agui::session {

/// The state of a run's log.
enum class log_state {
    kept,
    dropped, ///< Dropped by drop_logs().
    damaged, ///< Some of its bytes are lost, so none of it is served.
};

/// The table of runs. Used on the store's thread; functions that write must be called in a
/// transaction. Throws sqlite_error.
class sqlite_runs {
public:
    explicit sqlite_runs(database& db);

    /// True if the thread has a run with the id or the idempotency key of `run`.
    [[nodiscard]] bool exists(std::int64_t thread, const run_record& run);
    /// Returns the run's number: its own or, if that is 0, the next unused one. A run that another
    /// one answers has no log: it counts as dropped.
    std::int64_t add(std::int64_t thread, const run_record& run);
    /// Replaces a record as described at changes::run. Returns false if the thread has no run of
    /// that number. A dropped log of a run that becomes active again is kept from here on.
    [[nodiscard]] bool update(std::int64_t thread, const run_record& run);

    [[nodiscard]] std::optional<run_record> find(std::int64_t thread, const std::string& run_id);
    [[nodiscard]] std::optional<run_record>
    find_by_key(const thread_key& key, const std::string& idempotency_key);
    [[nodiscard]] std::optional<run_record> latest(const thread_key& key);
    /// store::runs().
    [[nodiscard]] std::vector<run_record>
    page(const thread_key& key, std::int64_t after, std::size_t limit);
    struct active_run {
        thread_key key;
        run_record run;
    };
    /// Active runs, of one thread or of all, in the order in which they began.
    [[nodiscard]] std::vector<active_run> active(const std::optional<thread_key>& thread);

    /// The numbers of the thread's runs.
    [[nodiscard]] std::vector<std::int64_t> of_thread(std::int64_t thread);
    void erase_of_thread(std::int64_t thread);

    struct log_position {
        log_state state = log_state::kept;
        std::uint64_t last_sequence = 0; ///< Sequence of the terminal event; 0 while active.
    };
    /// nullopt if there is no such run.
    [[nodiscard]] std::optional<log_position> log_of(std::int64_t number);
    void set_log_state(std::int64_t number, log_state state);
    /// At most `limit` runs that ended before that time and whose logs are not dropped yet, in the
    /// order in which they ended.
    [[nodiscard]] std::vector<std::int64_t> with_log_before(unix_ms older_than, std::size_t limit);
    /// At most `limit` ended runs whose logs have rows, in the order in which they ended.
    [[nodiscard]] std::vector<std::int64_t> with_rows(std::size_t limit);

private:
    database& db_;
    statement exists_;
    statement add_;
    statement update_;
    statement find_;
    statement find_by_key_;
    statement latest_;
    statement page_;
    statement log_of_;
    statement set_log_state_;
    statement with_log_;
    statement with_rows_;
};

} // namespace agui::session
