#pragma once

#include "session/conversation/pending_call.hpp"
#include "session/sqlite/sqlite_db.hpp"
#include "session/store/stored_change.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace agui::session {

/// Finds a thread in the tables and writes it with its messages, branches, calls, documents and
/// session events; sqlite_thread_reader reads them. Used on the store's thread; functions that
/// write must be called in a transaction. Throws sqlite_error.
class sqlite_threads {
public:
    explicit sqlite_threads(database& db);

    [[nodiscard]] std::optional<thread_position> find(const thread_key& key);
    /// Creates a thread from the change and returns its id. Throws as apply() does.
    std::int64_t create(
        const thread_key& key, const std::string& agent_id, const stored_change& what,
        unix_ms last_run_at
    );
    /// Writes the change. Throws std::logic_error, before it writes, if the change does not fit
    /// (check_change). `last_run_at` is given if a run begins with the change.
    void apply(
        const thread_position& at, const stored_change& what,
        std::optional<unix_ms> last_run_at = std::nullopt
    );

    /// Gives a thread the time of its creation.
    void set_created(std::int64_t thread, unix_ms created_at);
    /// store::principals().
    [[nodiscard]] std::vector<std::string>
    principals(const std::optional<std::string>& after, std::size_t limit);

    /// Claims a pending call (store::claim_call()). nullopt: the thread has no such call that is
    /// pending.
    [[nodiscard]] std::optional<call_claim>
    claim_call(std::int64_t thread, const call_claim& claim, unix_ms now);

    /// store::replace_title().
    [[nodiscard]] bool
    replace_title(std::int64_t thread, std::string_view from, std::string_view to);

private:
    void add_rows(const thread_position& at, const stored_change& what);

    /// The largest id that was used. An id is not reused while a removed thread has rows with it,
    /// nor by this process: code that reads a thread in slices identifies it by its id.
    std::int64_t last_id_;
    statement find_;
    statement create_;
    statement update_;
    statement update_documents_;
    statement add_message_;
    statement set_branch_;
    statement set_call_;
    statement claim_call_;
    statement replace_title_;
    statement add_event_;
    statement set_created_;
    statement principals_;
};

} // namespace agui::session
