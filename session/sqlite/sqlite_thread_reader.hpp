#pragma once

#include "session/sqlite/sqlite_db.hpp"
#include "session/sqlite/sqlite_threads.hpp"
#include "session/store/store.hpp"
#include "session/store/thread_assembler.hpp"
#include "session/store/thread_position.hpp"

#include "session/base/log.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace agui::session {

/// Reads threads, or parts of them, from the tables. Long ones are read in slices: begin_reading(),
/// then read_on() until it returns true. Runs on the store's thread. Throws sqlite_error, and
/// std::runtime_error for rows that do not form a thread.
class sqlite_thread_reader {
public:
    /// The arguments must outlive this.
    sqlite_thread_reader(database& db, sqlite_threads& threads, agui::logger& log);

    /// A thread that is being read. Other jobs may run between two slices; once one has removed the
    /// thread, reading must stop.
    struct reading : thread_assembler {
        std::int64_t thread = 0;
    };
    /// Everything but the messages.
    [[nodiscard]] reading begin_reading(const thread_key& key, const thread_position& at);
    /// Reads the thread's own row. Reads no message.
    void refresh(thread_record& record, const thread_position& at);
    /// Continues reading for a few milliseconds. Returns true once the record is complete.
    [[nodiscard]] bool read_on(reading& what);

    /// The pending calls of a thread that are being read.
    struct pending_reading {
        std::int64_t thread = 0;
        std::vector<pending_call> found; ///< All calls; those whose message was read have details.
        /// Indexes of `found`, ordered by the message that made the call.
        std::vector<std::size_t> order;
        std::size_t next = 0; ///< Position in `order`.
    };
    [[nodiscard]] pending_reading begin_pending_calls(const thread_position& at);
    /// As above.
    [[nodiscard]] bool read_on(pending_reading& what);

    // Parts of a thread, as in `store`; active_run_id is not set.
    [[nodiscard]] std::optional<thread_summary> summary(const thread_key& key);
    [[nodiscard]] std::optional<json_text> state(const thread_key& key);
    [[nodiscard]] result<thread_page> list(const thread_query& query);
    [[nodiscard]] std::vector<session_event>
    events(const thread_key& key, std::uint64_t after, std::size_t limit);

private:
    /// Increases `bytes` by the length of the stored message.
    [[nodiscard]] result<message>
    read_message(std::int64_t thread, std::size_t number, std::size_t& bytes);
    void load_documents(std::int64_t thread, thread_record& record);
    void load_branches(std::int64_t thread, thread_record& record);
    void load_calls(std::int64_t thread, thread_record& record);

    sqlite_threads& threads_;
    agui::logger& log_;
    statement load_thread_;
    statement load_documents_;
    statement load_messages_;
    statement load_message_;
    statement load_branches_;
    statement load_calls_;
    statement load_claim_;
    statement load_events_;
    statement list_;
    statement list_opened_;
};

} // namespace agui::session
