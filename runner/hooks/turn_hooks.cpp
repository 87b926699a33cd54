#include "runner/hooks/turn_hooks.hpp"

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <tuple>
#include <utility>

namespace agui::runner {

namespace {

namespace asio = boost::asio;

// Cancels a group when the scope is left in any way. A finished group is not affected.
class group_end {
public:
    explicit group_end(hook_group& group) noexcept : group_(group) {}
    ~group_end() { group_.cancel(); }
    group_end(const group_end&) = delete;
    group_end& operator=(const group_end&) = delete;

private:
    hook_group& group_;
};

// A hook that ignores its cancellation may outlive the run, so each hook owns its arguments.

struct started {
    turn_clean_up clean_up;
    bool too_late = false; ///< The turn no longer waits for the clean-up.
};

asio::awaitable<void> call_start(
    std::shared_ptr<plugin> one, std::shared_ptr<plugin_turn> turn, std::shared_ptr<started> result
) {
    turn_clean_up made = co_await one->on_turn_start(*turn);
    if (made && result->too_late) {
        co_await asio::this_coro::reset_cancellation_state();
        co_await made();
    } else {
        result->clean_up = std::move(made);
    }
}

asio::awaitable<void> call_before(
    std::shared_ptr<plugin> one, std::shared_ptr<plugin_turn> turn,
    std::shared_ptr<request_draft> draft
) {
    co_await one->on_before_request(*turn, *draft);
}

asio::awaitable<void> call_append(
    std::shared_ptr<plugin> one, std::shared_ptr<plugin_turn> turn,
    std::shared_ptr<appended_message> value
) {
    co_await one->on_message_append(*turn, *value);
}

asio::awaitable<void> call_after(
    std::shared_ptr<plugin> one, std::shared_ptr<plugin_turn> turn,
    std::shared_ptr<appended_after> all, std::size_t index
) {
    after_request request(std::move(all), index);
    co_await one->on_after_request(*turn, request);
}

asio::awaitable<void>
call_end(std::shared_ptr<plugin> one, std::shared_ptr<plugin_turn> turn, stop_reason reason) {
    co_await one->on_turn_end(*turn, reason);
}

asio::awaitable<void> call_clean_up(turn_clean_up what) { co_await what(); }

} // namespace

turn_hooks::turn_hooks(plugin_list plugins, plugin_turn turn, stop_source& stop, logger& log)
    : plugins_(std::move(plugins)),
      turn_(std::make_shared<plugin_turn>(std::move(turn))),
      stop_(stop),
      log_(log) {}

hook_group::time_point turn_hooks::end_by(phase at) {
    std::optional<hook_group::time_point>& until = at == phase::appending ? append_by_ : end_by_;
    if (!until) {
        until = std::chrono::steady_clock::now() +
                (at == phase::appending ? appending_max : ending_max);
    }
    return *until;
}

void turn_hooks::note_error(const std::exception_ptr& thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
        errors_.emplace_back(error.what());
    } catch (...) { // No exception of a plugin leaves this class.
        errors_.emplace_back("not a std::exception");
    }
}

turn_hooks::verdict turn_hooks::judge(const std::exception_ptr& thrown) {
    if (stop_.requested()) {
        return stop_.reason(); // A cancelled hook throws, which is no error.
    }
    try {
        std::rethrow_exception(thrown);
    } catch (const turn_aborted&) {
        return stop_reason::aborted;
    } catch (...) { // Any type; see note_error().
        note_error(thrown);
        return stop_reason::error;
    }
}

// Waits for one hook. A stop cancels it at once, except that on_message_append, and on_turn_end if
// it begins after the stop, may run until end_by().
asio::awaitable<turn_hooks::verdict> turn_hooks::await(asio::awaitable<void> hook, phase at) {
    const bool stopped_before = stop_.requested();
    if (stopped_before && at == phase::in_turn) {
        co_return stop_.reason();
    }
    const auto group = std::make_shared<hook_group>(co_await asio::this_coro::executor);
    const group_end cancelling(*group);
    group->start(std::move(hook));
    if (!stopped_before) {
        co_await group->wait(&stop_);
    }
    const bool over = group->done() || group->error();
    if (!over && (stopped_before || at == phase::appending)) {
        co_await group->wait(nullptr, end_by(at));
    }
    if (group->error()) {
        co_return judge(group->error());
    }
    if (!group->done()) {
        co_return stop_.reason();
    }
    co_return std::nullopt;
}

asio::awaitable<turn_hooks::verdict> turn_hooks::start() {
    for (const std::shared_ptr<plugin>& each : plugins_) {
        const auto result = std::make_shared<started>();
        const verdict ended = co_await await(call_start(each, turn_, result), phase::in_turn);
        if (result->clean_up) {
            clean_ups_.push_back(std::move(result->clean_up));
        }
        if (ended) {
            result->too_late = true;
            co_return ended;
        }
    }
    co_return std::nullopt;
}

asio::awaitable<turn_hooks::verdict> turn_hooks::before_request(std::shared_ptr<request_draft> draft
) {
    for (const std::shared_ptr<plugin>& each : plugins_) {
        const verdict ended = co_await await(call_before(each, turn_, draft), phase::in_turn);
        if (ended) {
            co_return ended;
        }
    }
    co_return std::nullopt;
}

void turn_hooks::on_stream_data(const session::message& so_far, const stream_data& data) noexcept {
    for (const std::shared_ptr<plugin>& each : plugins_) {
        if (stream_error_) {
            return;
        }
        try {
            each->on_stream_data(*turn_, so_far, data);
        } catch (...) { // Any type; see note_error().
            stream_error_ = std::current_exception();
        }
    }
}

turn_hooks::verdict turn_hooks::stream_verdict() {
    const std::exception_ptr thrown = std::exchange(stream_error_, nullptr);
    return thrown ? judge(thrown) : std::nullopt;
}

asio::awaitable<turn_hooks::appended> turn_hooks::append(session::message value) {
    appended result;
    auto current = std::make_shared<appended_message>(value);
    for (const std::shared_ptr<plugin>& each : plugins_) {
        const auto next = std::make_shared<appended_message>(*current);
        result.ended = co_await await(call_append(each, turn_, next), phase::appending);
        if (result.ended) {
            break;
        }
        next->message.id = value.id;
        next->message.role = value.role;
        next->drop_outdated(current->message);
        current = next;
    }
    result.message = current->message;
    result.stored = current->stored();
    result.denied = current->denied();
    result.changed = result.stored.size() != 1 || result.stored.front() != value;
    co_return result;
}

asio::awaitable<void> turn_hooks::append_one(appended_after::entry entry, followed& result) {
    appended one = co_await append(std::move(entry.message));
    std::ranges::move(one.stored, std::back_inserter(result.stored));
    if (!result.ended) {
        result.ended = one.ended;
    }
}

asio::awaitable<turn_hooks::followed>
turn_hooks::after_request(session::message answer, model_answer last) {
    followed result;
    if (stop_.requested()) {
        result.ended = stop_.reason();
        co_return result;
    }
    const auto group = std::make_shared<hook_group>(co_await asio::this_coro::executor);
    const group_end cancelling(*group);
    const auto all = std::make_shared<appended_after>();
    all->message = std::move(answer);
    all->last = std::move(last);
    all->on_append = [weak = std::weak_ptr(group)] {
        if (const auto owner = weak.lock()) {
            owner->wake();
        }
    };
    for (std::size_t i = 0; i < plugins_.size(); ++i) {
        group->start(call_after(plugins_[i], turn_, all, i));
    }
    bool waiting = true;
    while (waiting) {
        co_await group->wait(&stop_);
        // Even if the turn ends here, these messages count as appended.
        while (!all->now.empty()) {
            appended_after::entry next = std::move(all->now.front());
            all->now.pop_front();
            co_await append_one(std::move(next), result);
        }
        if (!result.ended && stop_.requested()) {
            result.ended = stop_.reason();
        } else if (!result.ended && group->error()) {
            result.ended = judge(group->error());
        }
        waiting = !result.ended && (!group->done() || !all->now.empty());
    }
    all->closed = true;
    if (!result.ended) {
        std::ranges::sort(all->deferred, [](const auto& left, const auto& right) {
            return std::tuple(right.options.priority, left.plugin, left.place) <
                   std::tuple(left.options.priority, right.plugin, right.place);
        });
        for (appended_after::entry& each : all->deferred) {
            co_await append_one(std::move(each), result);
        }
    }
    result.requested = all->requested;
    co_return result;
}

asio::awaitable<turn_hooks::verdict> turn_hooks::end(stop_reason reason) {
    for (const std::shared_ptr<plugin>& each : plugins_) {
        const verdict ended = co_await await(call_end(each, turn_, reason), phase::ending);
        if (ended) {
            co_return ended;
        }
    }
    co_return std::nullopt;
}

// Waits for one clean-up; after a stop, until end_by(). It is never cancelled: after that time it
// continues by itself. Returns false if it has thrown.
asio::awaitable<bool> turn_hooks::await_clean_up(turn_clean_up what) {
    const auto group = std::make_shared<hook_group>(co_await asio::this_coro::executor);
    group->start(call_clean_up(std::move(what)));
    if (!stop_.requested()) {
        co_await group->wait(&stop_);
    }
    if (!group->done()) {
        co_await group->wait(nullptr, end_by(phase::ending));
    }
    if (!group->done()) {
        log_.log(
            log_level::warning, "a plugin's clean-up did not finish in time",
            {{"run", turn_->run_id}}
        );
    }
    if (group->error()) {
        note_error(group->error());
    }
    co_return group->error() == nullptr;
}

asio::awaitable<turn_hooks::verdict> turn_hooks::clean_up() {
    verdict ended;
    while (!clean_ups_.empty()) {
        turn_clean_up last = std::move(clean_ups_.back());
        clean_ups_.pop_back();
        const bool done = co_await await_clean_up(std::move(last));
        if (!done) {
            ended = stop_reason::error;
        }
    }
    if (!errors_.empty()) {
        std::string all;
        for (const std::string& each : errors_) {
            all += (all.empty() ? "" : "; ") + each;
        }
        log_.log(
            log_level::error, "a turn with plugins has failed",
            {{"run", turn_->run_id}, {"detail", all}}
        );
    }
    co_return ended;
}

} // namespace agui::runner
