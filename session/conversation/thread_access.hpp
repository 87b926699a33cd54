#pragma once

#include "session/conversation/thread.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

/// What a principal may do in a thread of another one. Each right includes those before it.
enum class access_right : std::uint8_t {
    read,    ///< Read the thread and its runs.
    write,   ///< Begin, stop and steer runs, answer calls, change the state, upload files.
    approve, ///< Answer approvals and other interrupts.
};

[[nodiscard]] std::string_view to_string(access_right right) noexcept;
[[nodiscard]] std::optional<access_right> access_right_from_string(std::string_view text) noexcept;

/// One principal to whom a thread is opened.
struct access_entry {
    std::string principal;
    access_right right = access_right::read;

    friend bool operator==(const access_entry&, const access_entry&) = default;
};

/// Limit for the entries of one thread. Each list of threads and each change reads or writes them.
inline constexpr std::size_t access_entries_max = 100;

/// To whom a thread is opened.
struct thread_access {
    /// The id by which others name the thread. Empty until it is opened for the first time; then it
    /// stays the same.
    std::string shared_id;
    std::vector<access_entry> entries; ///< Sorted by principal, each of which occurs once.

    friend bool operator==(const thread_access&, const thread_access&) = default;
};

/// A thread that a principal has found by its shared id.
struct shared_thread {
    thread_key key;
    access_right right = access_right::read;
};

/// Makes the id of a thread for others: `shared-` and 128 random bits in lower-case hexadecimal, so
/// that it tells nothing of the thread and cannot be guessed.
[[nodiscard]] std::string make_shared_id();
/// True if the text has the form of such an id. No store has to be asked about other ids.
[[nodiscard]] bool is_shared_id(std::string_view text) noexcept;

} // namespace agui::session
