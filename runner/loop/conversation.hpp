#pragma once

#include "runner/base/stop_reason.hpp"
#include "runner/loop/additions.hpp"
#include "session/base/clock.hpp"
#include "session/base/error.hpp"
#include "session/base/memory_budget.hpp"
#include "session/conversation/thread.hpp"
#include "session/history/delimited_results.hpp"
#include "session/history/history_window.hpp"
#include "session/history/turn_failure.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/object.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui {
class heavy_work;
}

namespace agui::runner {

class run_sink;

/// Messages to be appended to a branch, with their calls, until they become a change.
struct branch_growth {
    session::changes change;
    session::node_index tip = session::no_node; ///< Tip of the branch after the change is stored.
};

/// The thread as one run sees and changes it: the tip of its branch, its own calls, and its
/// committed changes. The thread itself is in memory only while it is needed: a run that waits for
/// its model takes the same memory for a long thread as for a short one. Lives on the run's
/// executor. Every function requires that the run holds the thread, so that nothing else writes to
/// its branch.
class conversation {
public:
    /// Keeps `thread`, which is not null, in memory until unload(). `sink` and `time` must outlive
    /// this object. `memory` becomes memory(); it may already hold the thread's share.
    conversation(
        std::shared_ptr<const session::thread_record> thread, std::string run_id, run_sink& sink,
        const clock& time, memory_share memory = {}
    );

    /// Loads the thread unless it is in memory. Returns nullopt on success, store_unavailable if
    /// the store cannot deliver it, and overloaded if there is not enough memory for it and its
    /// copies.
    [[nodiscard]] boost::asio::awaitable<std::optional<stop_reason>> load();
    /// Frees the thread. memory() still counts the request made from it, until it is shrunk.
    void unload() noexcept { thread_.reset(); }
    /// Memory of the thread and of the request made from it. Small threads are not counted.
    [[nodiscard]] memory_share& memory() noexcept { return memory_; }
    /// Precondition: the thread is in memory.
    [[nodiscard]] const session::thread_record& thread() const { return *thread_; }

    /// The branch as it is sent to the model (model_history.hpp). A large thread is processed on a
    /// thread of `heavy`, unless that is null. Precondition: the thread is in memory, and stays
    /// there until this returns.
    [[nodiscard]] boost::asio::awaitable<std::vector<session::message>> history(
        const session::history_window& window, const session::foreign_tool_check& is_foreign,
        heavy_work* heavy
    ) const;

    /// The last message of the branch that the run continues.
    [[nodiscard]] session::node_index tip() const noexcept { return tip_; }
    /// The approximate size of the thread's messages in bytes.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    /// A call without a result that a subagent of the run has made.
    struct inner_call {
        session::call_record record;
        std::string subagent_run_id;
    };
    /// In the order in which they became calls of this run.
    [[nodiscard]] const std::vector<inner_call>& inner_calls() const noexcept { return inner_; }
    /// Calls of this run whose subagents wait. They no longer are among open_calls().
    [[nodiscard]] const std::vector<session::call_record>& suspended_calls() const noexcept {
        return suspended_;
    }
    /// Makes an open call one of those. Precondition: it is one of open_calls().
    void suspend(std::string_view id);
    /// Lets may_have_call() be true for an id that is about to be used.
    void reserve_call(std::string_view id) { note_id(id); }

    /// May be true for a few ids that the thread does not have; true for all ids if the thread has
    /// very many calls.
    [[nodiscard]] bool may_have_call(std::string_view id) const noexcept;
    /// A stored, open call of this run. Precondition: there is one.
    [[nodiscard]] const session::call_record& own_call(std::string_view id) const;

    /// An empty change at the tip.
    [[nodiscard]] branch_growth growth() const;
    /// `take` returns messages that each later commit() appends after its own. Those of a commit
    /// that fails go with the next one.
    void set_additions(std::function<additions()> take) { take_additions_ = std::move(take); }
    /// Appends these to `change`, which take() made or which is empty.
    void add_additions(session::changes& change);

    /// Appends a message to `growing`; returns its number.
    session::node_index append(branch_growth& growing, session::message value) const;
    void add_event(session::changes& change, std::string_view type, boost::json::object data) const;
    /// The change that stores the appended messages.
    [[nodiscard]] session::changes take(branch_growth growing) const;

    /// Adds a note of the run's failure after the last message of `change`, which take() made or
    /// which is empty. A branch without messages gets none.
    void add_failure(session::changes& change, const session::turn_failure& failure) const;

    /// This run's stored calls without a result, in call order.
    [[nodiscard]] const std::vector<session::call_record>& open_calls() const noexcept {
        return open_;
    }
    /// Open calls that the server may execute, as their stored messages hold them. commit() changes
    /// the list.
    [[nodiscard]] const std::vector<session::tool_call>& calls_to_execute() const noexcept {
        return to_execute_;
    }
    /// The id of the last message after the change: the one that a note following it takes.
    [[nodiscard]] const std::string& last_id(const session::changes& change) const noexcept {
        return change.messages.empty() ? tip_id_ : change.messages.back().message.id;
    }
    /// Sets the call's status in `change`.
    static void set_status(
        session::changes& change, const session::call_record& call, session::call_status status
    );

    /// Makes `change` durable, continues from it, and releases the thread from memory. Fails as
    /// run_sink::commit(). May be called while another call is under way: the changes are stored
    /// one after the other, each at the tip that the one before has left.
    [[nodiscard]] boost::asio::awaitable<result<void>> commit(session::changes change);

private:
    [[nodiscard]] branch_growth growth_after(session::changes change) const;
    void note_call(const session::call_record& call, const session::message* made_in);
    [[nodiscard]] bool
    note_inner_call(const session::call_record& call, const session::message* made_in);
    void move_to_tip(session::changes& change) const;
    [[nodiscard]] boost::asio::awaitable<void> wait_for_commit();
    void note_id(std::string_view call_id);
    void continue_from(const session::changes& change);

    std::shared_ptr<const session::thread_record> thread_; ///< Null while it is not in memory.
    std::string run_id_;
    run_sink& sink_;
    const clock& time_;
    memory_share memory_;
    std::function<additions()> take_additions_; ///< May be empty.
    std::vector<session::message> additions_;   ///< Taken, and not yet stored.
    memory_share additions_memory_;

    std::uint32_t branch_ = 0;
    session::node_index tip_ = session::no_node;
    std::string tip_id_; ///< Id of the message at the tip.
    std::size_t message_count_ = 0;
    std::uint64_t bytes_ = 0;
    std::vector<session::call_record> open_; ///< The open calls of this run, in call order.
    std::vector<session::call_record> suspended_;
    std::vector<inner_call> inner_;
    std::vector<session::tool_call> to_execute_;
    std::vector<std::uint32_t>
        call_hashes_;             ///< Hashes of the ids of all calls of the thread, sorted.
    bool has_many_calls_ = false; ///< There are too many calls to keep hashes.
    bool is_committing_ = false;
    std::unique_ptr<boost::asio::steady_timer>
        committed_; ///< Null if none had to wait for a commit.
};

} // namespace agui::runner
