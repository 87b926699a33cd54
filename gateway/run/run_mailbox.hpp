#pragma once

#include "session/base/error.hpp"
#include "session/base/mutex.hpp"
#include "session/conversation/message.hpp"
#include "session/conversation/thread.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace agui::gateway {

/// What becomes of messages that are sent to an active run.
enum class letter_fate {
    waits,
    in_commit, ///< The run is storing them.
    taken,     ///< They are stored, and part of the run's next request to its model.
    returned,  ///< Nothing was stored.
    unknown,   ///< They may have been stored.
};

/// User messages for an active run, which takes all of them or none. Shared by their sender and the
/// run's mailbox.
struct mailbox_letter {
    std::vector<session::message> messages; ///< With ids. Emptied once they are taken.
    /// For a request from the thread's queue: its number there, and its run record so far.
    std::int64_t queue_number = 0;
    session::run_record record;
    /// Called once it is decided, on any thread. Must neither block nor throw.
    std::function<void()> on_decided;

    // Locked by its mailbox:
    letter_fate fate = letter_fate::waits;
    std::uint64_t sequence = 0; ///< If taken: the run's event at which it was.
};

/// errc::run_ended.
[[nodiscard]] failure run_has_ended();

/// The messages that wait for one active run. It takes them between two answers of its model. The
/// mailbox is closed before the run ends, so that each letter is either taken or returned. All
/// functions may be called from any thread.
class run_mailbox {
public:
    using letter_ptr = std::shared_ptr<mailbox_letter>;

    /// Holds at most `letters_max` waiting letters.
    explicit run_mailbox(std::size_t letters_max) : letters_max_(letters_max) {}
    run_mailbox(const run_mailbox&) = delete;
    run_mailbox& operator=(const run_mailbox&) = delete;

    /// Adds a letter. Returns another one if that waits with a message of the same id, or the run
    /// has taken such a one. errc::run_ended: it is closed. errc::queue_full.
    [[nodiscard]] result<letter_ptr> put(letter_ptr letter);
    /// The letter that has a message with this id and waits, or that the run has taken; or null.
    [[nodiscard]] letter_ptr find(const std::string& message_id) const;

    struct outcome {
        letter_fate fate = letter_fate::waits;
        std::uint64_t sequence = 0;
    };
    [[nodiscard]] outcome outcome_of(const mailbox_letter& letter) const;
    /// Takes a waiting letter back. Returns false if it is too late.
    [[nodiscard]] bool withdraw(const letter_ptr& letter);

    [[nodiscard]] bool is_open() const;

    // For the run.

    /// True if a letter waits. Takes no lock.
    [[nodiscard]] bool has_waiting() const noexcept { return has_waiting_; }
    /// Takes all that wait; requests from the queue in their order there. They are in a commit
    /// until settle() or close(). `sequence` becomes theirs.
    [[nodiscard]] std::vector<letter_ptr> take(std::uint64_t sequence);
    /// Decides the letters in a commit, if there are any, by its result. After errc::conflict or
    /// errc::run_id_reused, which concern the queue, letters that are not from it wait again.
    void settle(const result<void>& stored);
    /// Returns what waits, and refuses all that comes. May be repeated.
    void close() noexcept;

private:
    void decide(std::vector<letter_ptr> letters, letter_fate fate);
    void add(letter_ptr letter) AGUI_REQUIRES(mutex_);
    void forget(const mailbox_letter& letter) AGUI_REQUIRES(mutex_);

    const std::size_t letters_max_;
    mutable mutex mutex_;
    std::vector<letter_ptr> waiting_ AGUI_GUARDED_BY(mutex_); ///< By number in the queue.
    std::vector<letter_ptr> in_commit_ AGUI_GUARDED_BY(mutex_);
    /// By the ids of their messages: those that wait, and those that the run has taken.
    std::map<std::string, letter_ptr> by_message_ AGUI_GUARDED_BY(mutex_);
    bool closed_ AGUI_GUARDED_BY(mutex_) = false;
    std::atomic<bool> has_waiting_{false};
};

} // namespace agui::gateway
