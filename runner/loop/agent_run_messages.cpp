// User messages that an active run takes between two answers of its model.
#include "runner/loop/agent_run.hpp"
#include "session/base/failpoint.hpp"

#include <utility>

namespace agui::runner {

// Stores the answer that would have been the last, and the messages after it. They may have been
// withdrawn meanwhile.
boost::asio::awaitable<std::optional<stop_reason>> agent_run::continue_with_messages() {
    if (model_round_.turn()) {
        hold(take_answer(model_round_.turn(), request_.run_id));
        if (const auto failed = co_await commit_unstored()) {
            co_return failed;
        }
    }
    if (stop_.requested()) {
        co_return stop_.reason();
    }
    const session::node_index answer = conversation_.tip();
    const std::optional<stop_reason> ended = co_await take_messages();
    if (conversation_.tip() == answer) {
        co_return ended.value_or(stop_reason::completed);
    }
    ++answers_;
    ++used_.rounds;
    co_return ended;
}

// Stores the user messages that wait for the run, and shows the conversation with them.
boost::asio::awaitable<std::optional<stop_reason>> agent_run::take_messages() {
    user_messages taken = sink_.take_messages();
    if (taken.messages.empty()) {
        co_return std::nullopt;
    }
    branch_growth growing = conversation_.growth();
    growing.change = std::move(taken.change);
    for (session::message& each : taken.messages) {
        conversation_.append(growing, std::move(each));
    }
    const auto stored = co_await conversation_.commit(conversation_.take(std::move(growing)));
    if (!stored) {
        const errc code = stored.error().code;
        const bool goes_on = code == errc::conflict || code == errc::run_id_reused;
        co_return goes_on ? std::nullopt : std::optional(stop_reason::store_unavailable);
    }
    check_failpoint("loop.messages_taken");
    const std::optional<stop_reason> unloaded = co_await conversation_.load();
    if (!unloaded) {
        emit_snapshot(conversation_.thread(), conversation_.tip());
    }
    co_return unloaded;
}

// True if no limit ends the run in a further round. Otherwise the messages are left to the next
// run.
bool agent_run::may_answer_messages() const noexcept {
    const turn_limits& limits = request_.agent.limits;
    const turn_use use = use_so_far();
    const bool has_rounds = answers_ < request_.agent.max_rounds &&
                            (limits.max_turn_rounds == 0 || use.rounds < limits.max_turn_rounds);
    const bool has_tokens = limits.max_tokens == 0 || use.tokens < limits.max_tokens;
    return has_rounds && has_tokens && conversation_.bytes() <= services_.max_thread_bytes;
}

} // namespace agui::runner
