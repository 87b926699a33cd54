#pragma once

#include "session/conversation/thread.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

/// What a commit changes in a thread, kept until it is applied to the tables: a change by the
/// thread's active run, or the start of a run.
struct redo_record {
    thread_key key;
    std::int64_t run_number = 0;
    std::optional<run_record> begins; ///< The run that begins with it, if one does.
    bool thread_exists = true;        ///< False: the thread begins with it as well.
    /// The thread's size before the change. If the thread has another, the record does not fit.
    thread_size before;
    session::changes change;
    /// The stored texts of the change's messages. In a record from redo_from_bytes() the messages
    /// themselves are empty: texts go into the tables unread.
    std::vector<std::string> message_texts;
};

/// The record, with its message_texts, as bytes that only a program with the same schema version
/// reads; empty if they are more than `most`.
[[nodiscard]] std::string to_bytes(const redo_record& record, std::size_t most);
/// Nullopt: `bytes` are not from to_bytes().
[[nodiscard]] std::optional<redo_record> redo_from_bytes(std::string_view bytes);

} // namespace agui::session
