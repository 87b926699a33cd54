#pragma once

#include "session/postgres/pg_transaction.hpp"
#include "session/store/message_cache.hpp"
#include "session/store/store.hpp"

#include "session/base/log.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace agui::session {

// Reads of threads. Each has two steps: statements, which see one snapshot on the store's thread,
// and the reading of their rows on the caller's thread, because that takes long.

/// One statement. If the thread has a run of that id, only the run is read. Of the messages in
/// `known`, only the last is read again.
[[nodiscard]] pg_batch select_thread(
    const thread_key& key, const std::optional<std::string>& run_id,
    const message_cache::kept& known
);
/// Reads the run from the result of select_thread(). Nullopt if the thread has no such run.
[[nodiscard]] std::optional<run_record> run_found(const pg_rows& found);
/// The thread in the result of select_thread().
struct pg_thread_reading {
    std::optional<thread_record> thread; ///< Nullopt if there is none.
    /// True if the thread does not have the messages in `known`: it must be read without them.
    bool is_other = false;
};
/// Lets other coroutines of the executor run in between: a long thread takes many milliseconds.
/// Throws std::runtime_error for rows that do not form a thread, and leaves out messages as
/// thread_assembler does. `known` is what select_thread() was given; `keep` gets the messages.
[[nodiscard]] boost::asio::awaitable<pg_thread_reading> read_thread(
    thread_key key, pg_rows found, message_cache::kept known, message_cache& keep, agui::logger& log
);

[[nodiscard]] pg_batch select_summary(const thread_key& key);
/// active_run_id is not set.
[[nodiscard]] std::optional<thread_summary>
read_summary(const thread_key& key, const std::vector<pg_rows>& results);

[[nodiscard]] pg_batch select_state(const thread_key& key);
[[nodiscard]] std::optional<json_text> read_state(const std::vector<pg_rows>& results);

[[nodiscard]] pg_batch select_pending_calls(const thread_key& key);
[[nodiscard]] std::optional<std::vector<pending_call>>
read_pending_calls(const std::vector<pg_rows>& results);
/// Times are the database's.
[[nodiscard]] pg_batch
claim_call_statement(const thread_key& key, const call_claim& claim, unix_ms now);
/// nullopt if there is no such pending call.
[[nodiscard]] std::optional<call_claim>
read_claim(const std::string& call_id, const std::vector<pg_rows>& results);

/// One row if the thread had the title `from`, otherwise none.
[[nodiscard]] pg_batch
replace_title_statement(const thread_key& key, const std::string& from, const std::string& to);

[[nodiscard]] pg_batch select_events(const thread_key& key, std::uint64_t after, std::size_t limit);
[[nodiscard]] std::vector<session_event> read_events(const std::vector<pg_rows>& results);

/// errc::invalid_input if the cursor is invalid. `gateway` is the reader's own.
[[nodiscard]] result<pg_batch> select_page(const thread_query& query, std::int64_t gateway);
/// active_run_id is set for runs of other processes; the runs of this one are not known here.
[[nodiscard]] thread_page read_page(const thread_query& query, const std::vector<pg_rows>& results);

} // namespace agui::session
