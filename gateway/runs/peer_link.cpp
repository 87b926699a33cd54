#include "gateway/runs/peer_link.hpp"

#include "gateway/run/live_run.hpp"
#include "session/base/failpoint.hpp"

#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <exception>

namespace agui::gateway {

namespace {

using runner::stop_reason;

// Returns false if the run still has readers or has ended meanwhile.
boost::asio::awaitable<bool> loses_readers(run_core& core, const std::shared_ptr<live_run>& run) {
    const auto executor = co_await boost::asio::this_coro::executor;
    const auto give_up = std::chrono::steady_clock::now() + core.settings.busy_wait;
    const auto watch = core.registry.watch_conversation(run->conversation(), executor);
    while (!run->detached()) {
        if (std::chrono::steady_clock::now() >= give_up ||
            core.registry.active(run->conversation()) != run) {
            co_return false;
        }
        co_await watch->wait_until(give_up);
    }
    co_return true;
}

} // namespace

boost::asio::awaitable<stopped_here> supersede_here(
    std::shared_ptr<run_core> core, conversation_key conversation,
    std::optional<std::string> run_id, bool if_left
) {
    const auto run = core->registry.active(conversation);
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
        // Without memory, the requester sees that the run continues, and may ask again.
        return;
    }
}

void peer_link::on_reader(const session::thread_key& key, const std::string& run_id) noexcept {
    try {
        const std::shared_ptr<run_core> core = core_.lock();
        const auto run = core ? core->registry.active({key, false}) : nullptr;
        if (run && run->record().run_id == run_id) {
            run->count_reader_elsewhere();
        }
    } catch (const std::exception&) {
        // Without memory, nothing is counted; the report is repeated.
        return;
    }
}

void peer_link::stop(const session::stop_request& request) {
    const std::shared_ptr<run_core> core = core_.lock();
    if (!core) {
        return;
    }
    (void)core->registry.stop(
        {request.key, false}, request.run_id, std::chrono::steady_clock::now() - request.age
    );
}

} // namespace agui::gateway
