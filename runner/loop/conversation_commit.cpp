// How the changes of a run and of its subagents are stored one after the other.
#include "runner/loop/conversation.hpp"

#include "runner/loop/agent_loop.hpp"
#include "session/base/as_result.hpp"

#include <boost/asio/this_coro.hpp>

#include <utility>

namespace agui::runner {

using session::call_record;

// Another change may have been stored since this one was made.
void conversation::move_to_tip(session::changes& change) const {
    if (change.messages.empty() || change.branches.empty()) {
        return;
    }
    const std::size_t count = change.messages.size();
    const std::size_t first = change.branches.back().value.tip + 1 - count;
    if (first == message_count_) {
        return;
    }
    const auto shift = static_cast<session::node_index>(message_count_ - first);
    session::node_index parent = tip_;
    auto place = static_cast<session::node_index>(message_count_);
    change.messages.edit_each([&](session::stored_message& node) {
        node.parent = parent;
        parent = place++;
    });
    for (call_record& call : change.calls) {
        if (call.made_in >= first && call.made_in < first + count) {
            call.made_in += shift;
        }
    }
    change.branches.back().value.tip += shift;
}

boost::asio::awaitable<void> conversation::wait_for_commit() {
    while (is_committing_) {
        if (!committed_) {
            committed_ = std::make_unique<boost::asio::steady_timer>(
                co_await boost::asio::this_coro::executor,
                boost::asio::steady_timer::time_point::max()
            );
        }
        co_await committed_->async_wait(as_result);
    }
}

boost::asio::awaitable<result<void>> conversation::commit(session::changes change) {
    co_await wait_for_commit();
    struct turn {
        explicit turn(conversation& whose) : of(whose) { of.is_committing_ = true; }
        ~turn() {
            of.is_committing_ = false;
            if (of.committed_) {
                of.committed_->cancel();
            }
        }
        turn(const turn&) = delete;
        turn& operator=(const turn&) = delete;
        conversation& of;
    } const taken(*this);
    move_to_tip(change);
    unload();
    memory_.shrink_to(0);
    add_additions(change);
    change.at = time_.now();
    result<void> done = co_await sink_.commit(change);
    if (done) {
        additions_.clear();
        additions_memory_.shrink_to(0);
        continue_from(change);
    }
    co_return done;
}

} // namespace agui::runner
