#pragma once

#include "session/conversation/thread.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

/// A commit as versions 5 to 10 of the schema kept it in their ring (earlier_log): a change by the
/// thread's active run, or the start of a run.
struct earlier_commit {
    thread_key key;
    std::int64_t run_number = 0;      ///< Of the run that made it.
    std::optional<run_record> begins; ///< The run that begins with it, if one does.
    bool thread_exists = true;        ///< False: the thread begins with it as well.
    thread_size before;               ///< The thread's size before the change.
    session::changes change;
    std::vector<std::string> message_texts; ///< The stored texts of the change's messages.
};

/// Nullopt: the bytes are not a commit.
[[nodiscard]] std::optional<earlier_commit> read_earlier_commit(std::string_view bytes);

} // namespace agui::session
