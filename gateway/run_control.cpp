#include "gateway/run_control.hpp"

#include "gateway/http/http_message.hpp"
#include "session/base/id.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;

void run_control::open(std::vector<asio::any_io_executor> executors) {
    const std::lock_guard lock(mutex_);
    executors_ = std::move(executors);
}

void run_control::close() {
    const std::lock_guard lock(mutex_);
    executors_.clear();
}

std::optional<run_control::place> run_control::next_place() {
    const std::lock_guard lock(mutex_);
    if (executors_.empty()) {
        return std::nullopt;
    }
    next_ = (next_ + 1) % executors_.size();
    return place{executors_[next_], asio::make_work_guard(executors_[next_])};
}

// co_spawn's result needs a default constructor, which result lacks.
template <class Value>
asio::awaitable<result<Value>> run_control::on_server(asio::awaitable<result<Value>> job) {
    auto place = next_place();
    if (!place) {
        co_return failure{errc::draining, "the server is not running"};
    }
    std::optional<result<Value>> done;
    co_await asio::co_spawn(
        place->executor,
        [&done, &job]() -> asio::awaitable<void> { done.emplace(co_await std::move(job)); },
        asio::use_awaitable
    );
    co_return std::move(*done);
}

asio::awaitable<result<ordered_run>> run_control::start(run_order order) {
    return on_server(start_here(std::move(order)));
}

asio::awaitable<result<bool>>
run_control::stop(session::thread_key thread, std::optional<std::string> run_id) {
    return on_server(stop_here(std::move(thread), std::move(run_id)));
}

asio::awaitable<result<session::run_record>>
run_control::wait(session::thread_key thread, std::string run_id) {
    return on_server(runs_.wait_for_end(std::move(thread), std::move(run_id)));
}

asio::awaitable<result<ordered_run>> run_control::start_here(run_order order) {
    if (!is_sound_id(order.idempotency_key)) {
        co_return failure{errc::invalid_input, "must be at most 512 bytes", "idempotency_key"};
    }
    requested_run what;
    what.body_bytes = order.input.size();
    memory_share memory(&memory_, memory_use_of_body(order.input.size()));
    auto input = co_await parser_.read(std::move(order.input), std::move(memory));
    if (!input) {
        co_return input.error();
    }
    move_into(what, std::move(*input));
    what.source.principal = order.principal;
    what.principal = std::move(order.principal);
    what.agent_id = std::move(order.agent_id);
    what.idempotency_key = std::move(order.idempotency_key);
    ordered_run made{{what.principal, what.input.thread_id}, what.input.run_id, false};
    auto accepted = co_await runs_.accept(std::move(what));
    if (!accepted) {
        co_return accepted.error();
    }
    made.repeated = accepted->to_begin == nullptr;
    const auto begun = co_await runs_.begin(std::move(*accepted));
    if (!begun) {
        co_return begun.error();
    }
    co_return made;
}

asio::awaitable<result<bool>>
run_control::stop_here(session::thread_key thread, std::optional<std::string> run_id) {
    co_return co_await runs_.cancel(std::move(thread), std::move(run_id));
}

} // namespace agui::gateway
