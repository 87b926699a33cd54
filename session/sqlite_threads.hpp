#pragma once

#include "session/sqlite_db.hpp"
#include "session/store.hpp"

#include "session/base/log.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace agui::session {

/// The tables of threads, messages, branches, calls and journal entries. Runs on the store's
/// thread; functions that write expect a transaction. Throws sqlite_error.
class sqlite_threads {
public:
    sqlite_threads(database& db, agui::logger& log);

    /// A thread's row: what a write needs to know of it.
    struct position {
        std::int64_t thread = 0;
        thread_size size;
        std::uint64_t event_count = 0;
    };

    [[nodiscard]] std::optional<position> find(const thread_key& key);
    /// The thread of a run.
    [[nodiscard]] std::optional<position> find_of_run(std::int64_t run_number);
    /// The texts of the messages in a change, as they are stored; empty: to be made from it.
    using message_texts = std::vector<std::string>;

    /// A new thread with what `change` makes of it; returns its id. Throws like apply().
    std::int64_t create(
        const thread_key& key, const std::string& agent_id, const changes& change,
        unix_ms last_run_at, const message_texts& texts = {}
    );
    /// Throws std::logic_error, before it writes, for a change that does not fit (check_change). Without
    /// `last_run_at`, no run begins with it.
    void apply(
        const position& at, const changes& change,
        std::optional<unix_ms> last_run_at = std::nullopt, const message_texts& texts = {}
    );
    void erase(std::int64_t thread);

    /// A message that cannot be read is left out of every branch: those after it go on from the one
    /// before it. Its number stays taken, by an empty activity message that no branch holds.
    [[nodiscard]] std::optional<thread_record> load(const thread_key& key);
    /// The same, of a thread that was found.
    [[nodiscard]] std::optional<thread_record> load(const thread_key& key, const position& at);
    [[nodiscard]] result<thread_page> list(const thread_query& query);
    [[nodiscard]] std::vector<session_event>
    events(const thread_key& key, std::uint64_t after, std::size_t limit);

private:
    void add_rows(const position& at, const changes& change, const message_texts& texts);
    void add_messages(const position& at, const changes& change, const message_texts& texts);
    void load_documents(std::int64_t thread, thread_record& record);
    void load_messages(std::int64_t thread, std::size_t count, thread_record& record);
    void load_branches(std::int64_t thread, thread_record& record);
    void load_calls(std::int64_t thread, thread_record& record);

    database& db_;
    agui::logger& log_;
    statement find_;
    statement find_of_run_;
    statement create_;
    statement update_;
    statement update_documents_;
    statement add_message_;
    statement set_branch_;
    statement set_call_;
    statement add_event_;
    statement load_thread_;
    statement load_documents_;
    statement load_messages_;
    statement load_branches_;
    statement load_calls_;
    statement load_events_;
    statement list_;
};

} // namespace agui::session
