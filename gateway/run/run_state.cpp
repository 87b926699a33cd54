#include "gateway/run/run_state.hpp"

#include "runner/tools/run_context.hpp"
#include "session/base/failpoint.hpp"
#include "session/base/json_pointer.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <exception>
#include <string_view>
#include <utility>

namespace agui::gateway {

namespace json = boost::json;

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
        show(state, {});
    }
}

// Readers may not have got what could not be shown wholly.
void run_state::show(const json_text& state, std::string_view patch) {
    const std::string_view change = is_shown_ && !is_predicted_ ? patch : std::string_view();
    is_shown_ = false;
    show_(runner::state_shown{&state, change});
    is_shown_ = true;
    is_predicted_ = false;
    is_object_ = state.is_null() || state.view().starts_with('{');
}

void run_state::predict(std::string_view key, const json::value& value) {
    if (closed_ || !is_object_) {
        return;
    }
    is_predicted_ = true;
    if (!is_shown_) {
        const json_text whole(json::serialize(json::object{{key, value}}));
        show_(runner::state_shown{&whole});
        is_shown_ = true;
        return;
    }
    std::string path;
    append_token(path, key);
    const json::array patch{{{"op", "add"}, {"path", path}, {"value", value}}};
    const json_text nothing;
    show_(runner::state_shown{&nothing, json::serialize(patch)});
}

void run_state::refresh(const std::shared_ptr<void>& owner) {
    if (is_predicted_) {
        jobs_.push_back(std::make_shared<job>());
        start_work(owner);
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
    start_work(owner);
}

void run_state::start_work(const std::shared_ptr<void>& owner) {
    if (!std::exchange(is_working_, true)) {
        boost::asio::co_spawn(executor_, work(owner), boost::asio::detached);
    }
}

boost::asio::awaitable<void> run_state::work(std::shared_ptr<void> /*owner*/) {
    while (!jobs_.empty()) {
        const std::shared_ptr<job> next = std::move(jobs_.front());
        jobs_.pop_front();
        try {
            if (next->change) {
                next->outcome = co_await carry_out(*std::move(next->change));
            } else {
                next->outcome = co_await show_stored();
            }
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
    if (changed->is_changed || is_predicted_) {
        show(changed->state, changed->patch);
    }
    co_return result<void>();
}

boost::asio::awaitable<result<void>> run_state::show_stored() {
    if (!is_predicted_) {
        co_return result<void>(); // A change has shown it meanwhile.
    }
    const auto stored = co_await where_.store.state(where_.held->key());
    if (!stored) {
        co_return stored.error();
    }
    // A thread has no state if its clients hold none, which is the empty object (specification,
    // "Snapshots and Deltas").
    const json_text document = stored->value_or(json_text());
    show(document.is_null() ? json_text("{}") : document, {});
    co_return result<void>();
}

boost::asio::awaitable<void> run_state::close(std::shared_ptr<void> owner) {
    refresh(owner);
    closed_ = true;
    if (is_working_) {
        co_await idle_.wait();
    }
}

} // namespace agui::gateway
