#pragma once

#include "session/sqlite/sqlite_db.hpp"
#include "session/store/store.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

/// Finds a thread in the tables and writes it with its messages, branches, calls, documents and
/// journal entries; sqlite_thread_reader reads them. Used on the store's thread; functions that
/// write must be called in a transaction. Throws sqlite_error.
class sqlite_threads {
public:
    explicit sqlite_threads(database& db);

    /// The part of a thread's row that a write needs.
    struct position {
        std::int64_t thread = 0;
        thread_size size;
        std::uint64_t event_count = 0;
        std::uint64_t bytes = 0;  ///< Of its messages and documents.
        document_sizes documents; ///< The documents' part of `bytes`.
    };

    [[nodiscard]] std::optional<position> find(const thread_key& key);
    /// The thread of a run.
    [[nodiscard]] std::optional<position> find_of_run(std::int64_t run_number);
    /// The stored texts of a change's messages; empty: they are made from the messages.
    using message_texts = std::vector<std::string>;

    /// Creates a thread from `change` and returns its id. Throws as apply() does.
    std::int64_t create(
        const thread_key& key, const std::string& agent_id, const changes& change,
        unix_ms last_run_at, const message_texts& texts = {}
    );
    /// Writes `change`. Throws std::logic_error, before it writes, if the change does not fit
    /// (check_change). `last_run_at` is given if a run begins with the change.
    void apply(
        const position& at, const changes& change,
        std::optional<unix_ms> last_run_at = std::nullopt, const message_texts& texts = {}
    );

private:
    struct document_texts;
    void add_rows(
        const position& at, const changes& change, std::span<const std::string_view> texts,
        const document_texts& documents
    );

    database& db_;
    std::int64_t last_id_ = 0; ///< The id of the last thread that this process created.
    statement find_;
    statement find_of_run_;
    statement create_;
    statement update_;
    statement update_documents_;
    statement add_message_;
    statement set_branch_;
    statement set_call_;
    statement add_event_;
};

} // namespace agui::session
