#pragma once

#include "session/conversation/node_list.hpp"

#include "session/base/clock.hpp"
#include "session/base/json_text.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

/// Names a conversation of one principal. The same thread id under two principals names two
/// threads.
struct thread_key {
    std::string principal; ///< Empty if the server does not distinguish principals.
    std::string thread_id;

    friend auto operator<=>(const thread_key&, const thread_key&) = default;
};

/// A branch is given by its last message (no_node if it has none), from which parents lead to the
/// first. Its number is its index in thread_record::branches.
struct branch {
    node_index tip = no_node;
    unix_ms updated_at = 0;
};

/// The side that executes a call.
enum class call_owner { server, external };

enum class call_status {
    open,      ///< Made by a run that has not ended.
    pending,   ///< External; the run that made it finished and left it to the caller.
    answered,  ///< Its tool message is stored.
    dead,      ///< Its run was stopped, cut off, failed or was lost.
    abandoned, ///< The conversation continued without its answer.
    denied,    ///< A server call that was not allowed to run.

    // A server call that needs a person's approval.
    held,          ///< Made by a run that has not ended.
    asked,         ///< The run that made it finished, and the call waits for its approval.
    approved,      ///< Approved by the request of `run_id`, a run that has not started its tool.
    executing,     ///< Approved, and that run may have started its tool.
    cancelled,     ///< Its approval was cancelled, or its run was stopped before the tool started.
    indeterminate, ///< Its run was lost or stopped while the tool may have been running.

    /// A server call whose subagent (history/subagent.hpp) waits: its run finished, and left calls
    /// of the subagent pending or asked.
    suspended,
};

/// True for a call of a run that has not ended. False for calls that only a request can continue.
[[nodiscard]] bool is_of_active_run(call_status value) noexcept;

[[nodiscard]] std::string_view to_string(call_status value) noexcept;
[[nodiscard]] std::optional<call_status> call_status_from_string(std::string_view name) noexcept;

/// The record of one tool call; ids are unique in a thread.
struct call_record {
    std::string id;
    std::string name;
    std::string run_id;
    call_owner owner = call_owner::external;
    call_status status = call_status::open;
    node_index made_in = no_node; ///< The assistant message that holds the call.
};

/// The approximate stored bytes of a thread's documents.
struct document_sizes {
    std::uint64_t state = 0;
    std::uint64_t offered_tools = 0;
    std::uint64_t context = 0;

    [[nodiscard]] std::uint64_t total() const noexcept { return state + offered_tools + context; }
};

/// The content of one thread. It is a value: stores return copies, which share its messages. It
/// changes only through `changes`.
struct thread_record {
    thread_key key;
    std::string agent_id;
    std::string title;
    bool archived = false;
    json_text metadata; ///< An object with members; null if there are none.
    unix_ms created_at = 0;
    unix_ms updated_at = 0;
    unix_ms last_run_at = 0;

    /// Grows with each change of the conversation (changes_conversation); 0 if it is not stored
    /// yet.
    std::uint64_t version = 0;
    node_list nodes;
    std::uint64_t bytes = 0;  ///< Approximate stored bytes of its messages and documents.
    document_sizes documents; ///< The documents' part of `bytes`.
    std::vector<branch> branches;
    std::uint32_t head = 0;         ///< The branch that a delta continues, if there are branches.
    std::vector<call_record> calls; ///< In the order made.
    /// The tools of the last request that had a `tools` member; then, marked as kept
    /// (session/history/prompt_fold.hpp), earlier ones that it did not offer.
    boost::json::array offered_tools;
    /// The application's context of the last user turn: `context` entries, objects with
    /// `description` and `value`; then, if a prompt uses `forwardedProps`, an object with the
    /// members that it uses.
    boost::json::array context;
    /// True if the last request with a new user message also held earlier messages.
    bool last_request_had_history = false;
    json_text state; ///< The AG-UI state document; null if there is none.

    /// The message numbers from the first message to `tip`, in order; empty for no_node. Throws
    /// std::logic_error if `tip` is not a message of the thread.
    [[nodiscard]] std::vector<node_index> path(node_index tip) const;
    /// nullptr if the thread has no such call. Takes time proportional to the number of calls.
    [[nodiscard]] const call_record* find_call(std::string_view id) const noexcept;
};

enum class run_status { active, finished, failed, cancelled };

[[nodiscard]] std::string_view to_string(run_status value) noexcept;
[[nodiscard]] std::optional<run_status> run_status_from_string(std::string_view name) noexcept;

/// The record of one run. `number` names its log in the store.
struct run_record {
    std::int64_t number = 0; ///< Assigned by the store when the run begins; unique in the store.
    std::string run_id;
    std::string parent_run_id;
    std::string agent_id;
    /// Digest of the request, to recognize a repeat (P6). Opaque to stores.
    std::string input_digest;
    std::string idempotency_key; ///< Another name of the run within its thread; empty if none.
    std::string protocol;        ///< The protocol of its first reader. Opaque to stores.
    run_status status = run_status::active;
    std::string end_reason; ///< The stop reason or error code it ended with; empty while active.
    /// The runId of the run that took this one's messages from the queue and answers them; this run
    /// then counts as ended, and it has no log. Empty if the run answers for itself.
    std::string answered_by;
    unix_ms started_at = 0;
    unix_ms ended_at = 0;
    /// Sequence of the terminal event; 0 if the log cannot be read. While the run is active, a
    /// sequence that the log had reached, or 0.
    std::uint64_t last_sequence = 0;
    /// The last sequence whose event is certain to be the one that clients saw; nullopt if all of
    /// the log is certain. Set by a store that may have lost later events after clients had seen
    /// them (a database that failed over to a server that was behind). A client that asks for
    /// events after a later sequence may have seen other events there.
    std::optional<std::uint64_t> sound_until{};
};

/// An event of a thread: `user.message`, `assistant.message`, `tool.response`, `state.changed`,
/// `interrupt.raised`, `interrupt.answered`, `run.started`, `run.finished`, `run.failed`.
struct session_event {
    std::uint64_t sequence = 0; ///< Assigned by the store: dense from 1 in its thread.
    std::string type;
    std::string run_id;
    unix_ms timestamp = 0;
    boost::json::object data; ///< The ids concerned, e.g. `toolCallId`, `messageId`.
};

/// The changes that one transaction makes to a thread: all or none of them. Absent members change
/// nothing.
struct changes {
    node_list messages; ///< Appended to nodes, in order.

    struct branch_change {
        std::uint32_t index; ///< An existing branch, or the next free index for a new one.
        branch value;
    };
    std::vector<branch_change> branches;
    std::optional<std::uint32_t> head;
    std::vector<call_record> calls; ///< Inserted, or replaced if the id exists.
    std::vector<session_event> events;
    std::optional<boost::json::array> offered_tools;
    std::optional<boost::json::array> context;
    std::optional<bool> last_request_had_history;
    std::optional<json_text> state;
    std::optional<std::string> agent_id;
    std::optional<std::string> title;
    std::optional<bool> archived;
    std::optional<json_text> metadata; ///< As in thread_record.
    unix_ms at = 0; ///< Becomes updated_at and, of a new thread, created_at; 0 for no change.

    /// Replaces the record of run.number, but not its run_id, idempotency_key, protocol and
    /// answered_by. An empty input_digest keeps the stored one.
    std::optional<run_record> run;

    /// The numbers of the queued requests whose messages the run takes. They leave the queue.
    std::vector<std::int64_t> dequeued;
    /// The run records of the dequeued requests other than the run itself, ended and with
    /// answered_by. They are stored in this order, by store::begin() before the run.
    std::vector<run_record> answered;
};

/// True if the change alters the conversation that later requests continue: messages, branches,
/// calls or documents. Title, metadata, agent, the archived mark, session events and run records do
/// not count.
[[nodiscard]] bool changes_conversation(const changes& change) noexcept;

/// The version of a new thread, made from the number that its store gives it, so that it shares no
/// version with a removed thread of the same key.
[[nodiscard]] constexpr std::uint64_t first_version(std::int64_t thread_number) noexcept {
    constexpr unsigned changes_bits = 24;
    return (static_cast<std::uint64_t>(thread_number) << changes_bits) + 1;
}

/// The number of messages and branches of a thread: changes are checked against it.
struct thread_size {
    std::size_t messages = 0;
    std::size_t branches = 0;

    friend bool operator==(const thread_size&, const thread_size&) = default;
};

[[nodiscard]] inline thread_size size_of(const thread_record& thread) noexcept {
    return {thread.nodes.size(), thread.branches.size()};
}

/// The sizes of the documents after the change.
[[nodiscard]] document_sizes sizes_after(document_sizes sizes, const changes& change);

/// thread_record::bytes after the change.
[[nodiscard]] std::uint64_t bytes_after(const thread_record& thread, const changes& change);

/// The number of the run that the change ends; 0 if none.
[[nodiscard]] inline std::int64_t ended_run(const changes& change) noexcept {
    return change.run && change.run->status != run_status::active ? change.run->number : 0;
}

/// Applies `change` to a copy of a thread as a store does to the thread, so that a run can continue
/// with its copy. Session events and run records, which the copy does not hold, are skipped. Throws
/// std::logic_error, before anything is changed, if the change does not fit (check_change).
void apply(thread_record& thread, const changes& change);

} // namespace agui::session
