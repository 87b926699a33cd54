#pragma once

#include "session/conversation/thread.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

/// A commit's change to a thread, kept until it is applied to the tables: a change by the thread's
/// active run, or the start of a run.
struct redo_record {
    thread_key key;
    std::int64_t run_number = 0;
    std::optional<run_record> begins; ///< The run that begins with it, if one does.
    bool thread_exists = true;        ///< False: the thread begins with it, too.
    /// The thread's size before: if it differs, the record does not fit.
    thread_size before;
    session::changes change;
    /// The messages of the change as they are stored. A record that was read has only these: text
    /// that cannot be read as a message is stored anyway.
    std::vector<std::string> message_texts;
};

/// The record, with its message_texts, as bytes for the same version of the store's schema; empty
/// if it takes more than `most` bytes.
[[nodiscard]] std::string to_bytes(const redo_record& record, std::size_t most);
/// Nullopt: they are not from to_bytes().
[[nodiscard]] std::optional<redo_record> redo_from_bytes(std::string_view bytes);

} // namespace agui::session
