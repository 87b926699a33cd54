#include "gateway/runs/orphan_threads.hpp"

#include "gateway/runs/orphan_recovery.hpp"

#include <exception>
#include <string>

namespace agui::gateway {

void orphan_threads::add(const conversation_key& place) {
    const std::lock_guard lock(mutex_);
    places_.insert(place);
}

bool orphan_threads::may_have_orphans(const conversation_key& place) {
    const std::lock_guard lock(mutex_);
    return !listed_ || places_.contains(place);
}

boost::asio::awaitable<bool>
orphan_threads::recover_held(session::store& store, conversation_key place) {
    if (!may_have_orphans(place)) {
        co_return true;
    }
    const auto remaining = co_await recover_orphans(services_, store, place.thread);
    const bool recovered = remaining && remaining->empty();
    if (recovered) {
        const std::lock_guard lock(mutex_);
        places_.erase(place);
    }
    co_return recovered;
}

boost::asio::awaitable<bool>
orphan_threads::recover(session::store& store, conversation_key place) {
    const auto taken = co_await store.acquire(place.thread, std::string(server_itself));
    if (!taken) {
        co_return false;
    }
    bool recovered = false;
    std::exception_ptr thrown;
    try {
        recovered = co_await recover_held(store, place);
    } catch (...) {
        thrown = std::current_exception();
    }
    store.release(place.thread, server_itself);
    if (thrown) {
        std::rethrow_exception(thrown);
    }
    co_return recovered;
}

boost::asio::awaitable<void> orphan_threads::recover_all() {
    const auto remaining = co_await recover_orphans(services_, services_.store);
    const std::lock_guard lock(mutex_);
    listed_ = remaining.has_value();
    if (remaining) {
        for (const session::thread_key& key : *remaining) {
            places_.insert({key, false});
        }
    }
}

} // namespace agui::gateway
