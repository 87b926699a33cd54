#pragma once

#include "session/conversation/thread.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

/// What a commit does to a thread, kept until it is done to the tables: a thread changes while a
/// run of its own is going on, or a run begins on it.
struct redo_record {
    thread_key key;
    std::int64_t run_number = 0;
    std::optional<run_record> begins; ///< The run begins with it.
    bool thread_exists = true;        ///< False: the thread does, too.
    /// Of the thread: a record that does not find it so does not fit.
    thread_size before;
    session::changes change;
    /// The messages of the change as they are stored. A record that was read has them alone: what
    /// cannot be read as a message is stored nevertheless.
    std::vector<std::string> message_texts;
};

/// The record, which has its texts, in a form for the same version of the store's schema; empty if
/// it takes more than `most` bytes.
[[nodiscard]] std::string to_bytes(const redo_record& record, std::size_t most);
/// Nullopt: to_bytes() did not make them.
[[nodiscard]] std::optional<redo_record> redo_from_bytes(std::string_view bytes);

} // namespace agui::session
