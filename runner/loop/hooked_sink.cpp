#include "runner/loop/hooked_sink.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <variant>

namespace agui::runner {

hooked_sink::hooked_sink(run_sink& to, turn_hooks& hooks, std::function<void()> on_first)
    : to_(to), hooks_(hooks), on_first_(std::move(on_first)) {
    so_far_.role = session::role::assistant;
    so_far_.content = std::string();
}

void hooked_sink::emit(const runner_event& event) {
    to_.emit(event);
    std::visit([this](const auto& one) { tell(one); }, event);
}

void hooked_sink::begin_answer(std::string_view message_id) {
    so_far_.id = message_id;
    so_far_.content = std::string();
    so_far_.tool_calls.clear();
}

void hooked_sink::tell(const text_delta& event) {
    on_first_();
    std::get<std::string>(so_far_.content).append(event.text);
    hooks_.on_stream_data(so_far_, event);
}

void hooked_sink::tell(const reasoning_delta& event) {
    on_first_();
    hooks_.on_stream_data(so_far_, event);
}

void hooked_sink::tell(const call_started& event) {
    on_first_();
    so_far_.tool_calls.push_back({std::string(event.call_id), std::string(event.name), {}, {}, {}});
    hooks_.on_stream_data(so_far_, event);
}

void hooked_sink::tell(const call_arguments& event) {
    const auto call = std::ranges::find(so_far_.tool_calls, event.call_id, &session::tool_call::id);
    if (call != so_far_.tool_calls.end()) {
        call->arguments.append(event.delta);
    }
    hooks_.on_stream_data(so_far_, event);
}

bool hooked_sink::has_room() const noexcept { return !hooks_.stream_failed() && to_.has_room(); }

boost::asio::awaitable<void> hooked_sink::room() {
    if (hooks_.stream_failed()) {
        throw std::runtime_error("a plugin has ended the answer");
    }
    co_await to_.room();
}

boost::asio::awaitable<result<void>> hooked_sink::commit(session::changes change) {
    return to_.commit(std::move(change));
}

boost::asio::awaitable<result<session::thread_record>> hooked_sink::load_thread() {
    return to_.load_thread();
}

boost::asio::awaitable<result<json_text>> hooked_sink::load_state() { return to_.load_state(); }

boost::asio::awaitable<result<void>> hooked_sink::change_state(session::state_change change) {
    return to_.change_state(std::move(change));
}

boost::asio::awaitable<void> hooked_sink::finish(session::changes change, run_end end) {
    return to_.finish(std::move(change), std::move(end));
}

} // namespace agui::runner
