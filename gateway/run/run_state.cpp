#include "gateway/run/run_state.hpp"

#include "runner/tools/run_context.hpp"
#include "session/base/failpoint.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>

#include <exception>
#include <string_view>
#include <utility>

namespace agui::gateway {

run_state::run_state(
    boost::asio::any_io_executor executor, const clock& time, state_writing where,
    std::function<void(const runner::runner_event&)> show
)
    : executor_(std::move(executor)),
      time_(time),
      where_(std::move(where)),
      show_(std::move(show)) {}

void run_state::begin(const json_text& state) {
    if (!state.is_null()) {
        show_(runner::state_shown{&state});
        is_shown_ = true;
    }
}

boost::asio::awaitable<result<void>>
run_state::change(std::shared_ptr<void> owner, session::state_change change) {
    const auto made = std::make_shared<job>();
    made->change = std::move(change);
    boost::asio::dispatch(executor_, [this, owner, made] { add(owner, made); });
    // Not this object: it may be gone when a cancelled caller leaves.
    co_await made->over.wait();
    co_return made->outcome;
}

void run_state::add(const std::shared_ptr<void>& owner, std::shared_ptr<job> added) {
    if (closed_) {
        added->outcome = runner::run_is_over();
        added->over.set();
        return;
    }
    jobs_.push_back(std::move(added));
    if (!std::exchange(is_working_, true)) {
        boost::asio::co_spawn(executor_, work(owner), boost::asio::detached);
    }
}

boost::asio::awaitable<void> run_state::work(std::shared_ptr<void> /*owner*/) {
    while (!jobs_.empty()) {
        const std::shared_ptr<job> next = std::move(jobs_.front());
        jobs_.pop_front();
        try {
            next->outcome = co_await carry_out(std::move(next->change));
        } catch (const std::exception&) {
            next->outcome = failure{errc::internal, "the state could not be changed"};
            is_shown_ = false;
        }
        next->over.set();
    }
    is_working_ = false;
    if (closed_) {
        idle_.set();
    }
}

boost::asio::awaitable<result<void>> run_state::carry_out(session::state_change change) {
    check_failpoint("run.state");
    const auto changed = co_await write_state(where_, std::move(change), time_.now());
    check_failpoint("run.state_stored");
    if (!changed) {
        if (changed.error().code == errc::store_unavailable) {
            is_shown_ = false; // Nobody knows whether the change was stored.
        }
        co_return changed.error();
    }
    if (changed->is_changed) {
        const std::string_view patch = is_shown_ ? changed->patch : std::string_view();
        is_shown_ = false;
        show_(runner::state_shown{&changed->state, patch});
        is_shown_ = true;
    }
    co_return result<void>();
}

boost::asio::awaitable<void> run_state::close() {
    closed_ = true;
    if (is_working_) {
        co_await idle_.wait();
    }
}

} // namespace agui::gateway
