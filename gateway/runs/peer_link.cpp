#include "gateway/runs/peer_link.hpp"

#include "gateway/runs/live_run.hpp"
#include "session/base/failpoint.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <exception>

namespace agui::gateway {

namespace {

using runner::stop_reason;

// False: it still has readers, or has ended meanwhile.
boost::asio::awaitable<bool> loses_readers(run_core& core, const std::shared_ptr<live_run>& run) {
    const auto executor = co_await boost::asio::this_coro::executor;
    const auto give_up = std::chrono::steady_clock::now() + core.settings.busy_wait;
    const auto watch = core.registry.watch_place(run->place(), executor);
    while (!run->detached()) {
        if (std::chrono::steady_clock::now() >= give_up ||
            core.registry.active(run->place()) != run) {
            co_return false;
        }
        co_await watch->wait_until(give_up);
    }
    co_return true;
}

boost::asio::awaitable<void> forward_wakes(
    std::shared_ptr<run_core> core, conversation_key place,
    std::shared_ptr<session::run_watch> watch, std::shared_ptr<const std::atomic<bool>> is_over
) {
    while (!*is_over) {
        co_await watch->wait_until(std::chrono::steady_clock::time_point::max());
        core->registry.wake(place);
    }
}

} // namespace

boost::asio::awaitable<stopped_here> supersede_here(
    std::shared_ptr<run_core> core, conversation_key place, std::optional<std::string> run_id,
    bool if_left
) {
    const auto run = core->registry.active(place);
    if (!run || (run_id && run->record().run_id != *run_id)) {
        co_return stopped_here();
    }
    const bool gives_way = !if_left || co_await loses_readers(*core, run);
    if (!gives_way) {
        co_return stopped_here{true, false};
    }
    run->stop(stop_reason::superseded);
    co_await run->ended().wait();
    co_return stopped_here{true, run->was_stopped()};
}

peer_link::peer_link(session::store& store, const std::shared_ptr<run_core>& core)
    : store_(store), core_(core) {
    store_.set_peer_handler(this);
}

peer_link::~peer_link() { store_.set_peer_handler(nullptr); }

void peer_link::on_stop_request(const session::stop_request& request) noexcept {
    try {
        stop(request);
    } catch (const std::exception&) {
        // No memory: who asked for it sees that the run goes on, and may ask again.
        return;
    }
}

void peer_link::stop(const session::stop_request& request) {
    const std::shared_ptr<run_core> core = core_.lock();
    if (!core) {
        return;
    }
    const conversation_key place{request.key, false};
    if (request.reason == peer_stop::cancelled) {
        (void)core->registry.stop(place, request.run_id);
        return;
    }
    const auto run = core->registry.active(place);
    const bool if_left = request.reason == peer_stop::superseded_if_left;
    if (run && (if_left || request.reason == peer_stop::superseded)) {
        boost::asio::co_spawn(
            run->executor(), supersede_here(core, place, request.run_id, if_left),
            boost::asio::detached
        );
    }
}

void peer_link::on_peer_readers(
    std::int64_t run_number, std::int64_t peer, std::size_t readers, session::leaving how
) noexcept {
    try {
        const std::shared_ptr<run_core> core = core_.lock();
        if (const auto run = core ? core->registry.find_active(run_number) : nullptr) {
            run->log()->set_peer_readers(peer, readers > 0, how);
        }
    } catch (const std::exception&) {
        // No memory. That there are readers is told again later.
        return;
    }
}

wake_from_elsewhere::wake_from_elsewhere(
    run_core& core, const conversation_key& place, std::int64_t run_number,
    const boost::asio::any_io_executor& executor
)
    : watch_(core.store_of(place).watch(run_number, executor)) {
    boost::asio::co_spawn(
        executor, forward_wakes(core.shared_from_this(), place, watch_, is_over_),
        boost::asio::detached
    );
}

wake_from_elsewhere::~wake_from_elsewhere() {
    *is_over_ = true;
    watch_->wake();
}

} // namespace agui::gateway
