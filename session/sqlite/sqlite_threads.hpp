#pragma once

#include "session/sqlite/sqlite_db.hpp"
#include "session/store/store.hpp"

#include "session/base/log.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
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
        std::uint64_t bytes = 0;  ///< Of its messages and documents.
        document_sizes documents; ///< Of `bytes`.
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
    /// Throws std::logic_error, before it writes, for a change that does not fit (check_change).
    /// Without `last_run_at`, no run begins with it.
    void apply(
        const position& at, const changes& change,
        std::optional<unix_ms> last_run_at = std::nullopt, const message_texts& texts = {}
    );
    /// A thread on its way out of the tables, which may be interrupted by anything but its removal.
    struct reading {
        std::int64_t thread = 0;
        std::size_t message_count = 0;
        std::vector<bool> left_out; ///< By number: the message cannot be read.
        thread_record record;
    };
    /// Everything but the messages.
    [[nodiscard]] reading begin_reading(const thread_key& key, const position& at);
    /// Reads on for a few milliseconds. True: the record is complete.
    ///
    /// A message that cannot be read is left out of every branch: those after it go on from the one
    /// before it. Its number stays taken, by an empty activity message that no branch holds.
    [[nodiscard]] bool read_on(reading& what);

    /// The calls of a thread that wait, on their way out of the tables.
    struct pending_reading {
        std::int64_t thread = 0;
        std::vector<pending_call> found; ///< Of the messages read so far, with what these say.
        std::vector<std::size_t> order;  ///< Of `found`, by the message that made the call.
        std::size_t next = 0;            ///< In `order`.
    };
    void begin_reading(const position& at, pending_reading& what);
    /// As above.
    [[nodiscard]] bool read_on(pending_reading& what);

    /// The branches of a thread, on their way out of the tables.
    struct branches_reading {
        std::int64_t thread = 0;
        std::size_t message_count = 0;
        std::vector<branch> branches;
        std::uint32_t head = 0;
        std::vector<branch_summary> found;
        /// By number, of the messages read so far: the one before it that can be read, as far as is
        /// known; and how many there are up to it.
        std::vector<node_index> parents;
        std::vector<std::uint32_t> depths;
        std::unordered_map<node_index, std::optional<std::string>> ids; ///< Of those looked at.
    };
    void begin_reading(const position& at, branches_reading& what);
    /// As above.
    [[nodiscard]] bool read_on(branches_reading& what);

    // Parts of a thread, see store.
    [[nodiscard]] std::optional<thread_summary> summary(const thread_key& key);
    [[nodiscard]] std::optional<json_text> state(const thread_key& key);
    [[nodiscard]] result<thread_page> list(const thread_query& query);
    [[nodiscard]] std::vector<session_event>
    events(const thread_key& key, std::uint64_t after, std::size_t limit);

private:
    struct document_texts;
    void add_rows(
        const position& at, const changes& change, std::span<const std::string_view> texts,
        const document_texts& documents
    );
    /// `bytes` grows by what was read.
    [[nodiscard]] result<message>
    read_message(std::int64_t thread, std::size_t number, std::size_t& bytes);
    void read_links(branches_reading& what, std::size_t count);
    [[nodiscard]] const std::optional<std::string>&
    id_of(branches_reading& what, node_index node, std::size_t& bytes);
    void load_documents(std::int64_t thread, thread_record& record);
    void read_message(reading& what, const statement::rows& row);
    void load_branches(std::int64_t thread, thread_record& record);
    void load_calls(std::int64_t thread, thread_record& record);

    database& db_;
    agui::logger& log_;
    std::int64_t last_id_ = 0; ///< Given by this process.
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
    statement load_message_;
    statement load_links_;
    statement load_branches_;
    statement load_calls_;
    statement load_events_;
    statement list_;
};

} // namespace agui::session
