#pragma once

#include "session/base/clock.hpp"
#include "session/conversation/thread.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

class run_sink;

/// Messages that follow the tip of a branch, with what belongs to them, on their way into a change.
struct branch_growth {
    session::changes change;
    session::node_index tip = session::no_node; ///< Of the branch once the change is stored.
};

/// The thread as one run sees and changes it: where the branch ends that it goes on from, its own
/// calls, and what it has committed. The thread itself is held only while it is needed: a run that
/// waits for its model takes the same memory on a long thread as on a short one. Lives on the run's
/// executor. Precondition of everything: the run holds the thread, so that nobody else writes to
/// its branch.
class conversation {
public:
    /// Holds `thread` until let_go(). `sink` and `time` must outlive it.
    conversation(
        session::thread_record thread, std::string run_id, run_sink& sink, const clock& time
    );

    /// Makes sure that the thread is held. False: the store cannot give it.
    [[nodiscard]] boost::asio::awaitable<bool> hold();
    void let_go() noexcept { thread_.reset(); }
    /// Precondition: it is held.
    [[nodiscard]] const session::thread_record& thread() const { return thread_.value(); }

    /// The last message of the branch that the run goes on from.
    [[nodiscard]] session::node_index tip() const noexcept { return tip_; }
    /// About how many bytes the messages of the thread take.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    /// True also for a few ids that the thread does not have, and for all of them where it has very
    /// many calls.
    [[nodiscard]] bool may_have_call(std::string_view id) const noexcept;
    /// A call of this run that is stored and open. Precondition: there is one.
    [[nodiscard]] const session::call_record& own_call(std::string_view id) const;

    /// A change without anything in it, at the tip.
    [[nodiscard]] branch_growth growth() const;
    /// Puts a message after what `growing` has; returns its number.
    session::node_index append(branch_growth& growing, session::message value) const;
    void add_event(session::changes& change, std::string_view type, boost::json::object data) const;
    /// The change that stores what was appended.
    [[nodiscard]] session::changes take(branch_growth growing) const;

    /// This run's calls without an answer, those of a change that is not stored yet included, in
    /// call order.
    [[nodiscard]] std::vector<session::call_record> open_calls(const session::changes& change
    ) const;
    /// Notes in `change` that the call has that status.
    static void set_status(
        session::changes& change, const session::call_record& call, session::call_status status
    );

    /// Makes `change` durable and goes on from it; lets the thread go. False: it could not be
    /// stored.
    [[nodiscard]] boost::asio::awaitable<bool> commit(session::changes change);

private:
    void note_call(const session::call_record& call);
    void note_id(std::string_view call_id);
    void go_on_from(const session::changes& change);

    std::optional<session::thread_record> thread_;
    std::string run_id_;
    run_sink& sink_;
    const clock& time_;

    std::uint32_t branch_ = 0;
    session::node_index tip_ = session::no_node;
    std::size_t message_count_ = 0;
    std::uint64_t bytes_ = 0;
    std::vector<session::call_record> open_; ///< Of this run, in call order.
    std::vector<std::uint32_t> call_hashes_; ///< Of the ids of all calls of the thread, sorted.
    bool has_many_calls_ = false;            ///< So many that there are no hashes.
};

} // namespace agui::runner
