#include "gateway/runs/orphan_threads.hpp"

#include "gateway/runs/orphan_recovery.hpp"

#include <cstddef>
#include <exception>
#include <utility>
#include <vector>

namespace agui::gateway {

namespace {

// Each keeps its thread from new runs until it has been looked at.
constexpr std::size_t claimed_at_once = 64;

} // namespace

void orphan_threads::add(const conversation_key& place) {
    const std::lock_guard lock(mutex_);
    places_.insert(place);
}

bool orphan_threads::may_have_orphans(const conversation_key& place) {
    const std::lock_guard lock(mutex_);
    return !listed_ || places_.contains(place);
}

boost::asio::awaitable<bool> orphan_threads::recover_held(
    session::store& store, conversation_key place, session::lease_ptr held
) {
    if (!held->found_orphans() && !may_have_orphans(place)) {
        co_return true;
    }
    const auto recovered = co_await recover_orphans(services_, store, held);
    if (!recovered || !*recovered) {
        co_return false;
    }
    const std::lock_guard lock(mutex_);
    places_.erase(place);
    co_return true;
}

boost::asio::awaitable<bool>
orphan_threads::recover(session::store& store, conversation_key place) {
    const auto taken = co_await store.acquire(place.thread, {});
    if (!taken) {
        co_return false;
    }
    bool recovered = false;
    std::exception_ptr thrown;
    try {
        recovered = co_await recover_held(store, place, *taken);
    } catch (...) {
        thrown = std::current_exception();
    }
    store.release(*taken);
    if (thrown) {
        std::rethrow_exception(thrown);
    }
    co_return recovered;
}

boost::asio::awaitable<bool> orphan_threads::recover_all() {
    session::store& store = services_.store;
    bool is_listed = true;
    // Those that cannot be recovered stay held until the end, so that the store does not name them
    // again.
    std::vector<session::lease_ptr> remaining;
    while (is_listed) {
        auto claimed = co_await store.claim_orphans(claimed_at_once);
        if (!claimed) {
            is_listed = false;
            break;
        }
        if (claimed->empty()) {
            break;
        }
        for (session::lease_ptr& held : *claimed) {
            if (!is_listed) {
                remaining.push_back(std::move(held));
                continue;
            }
            const auto recovered = co_await recover_orphans(services_, store, held);
            is_listed = recovered.has_value();
            if (recovered && *recovered) {
                store.release(held);
            } else {
                remaining.push_back(std::move(held));
            }
        }
    }
    for (const session::lease_ptr& held : remaining) {
        add({held->key(), false});
        store.release(held);
    }
    bool was_listed = true;
    {
        const std::lock_guard lock(mutex_);
        was_listed = std::exchange(listed_, is_listed);
    }
    if (was_listed && !is_listed) {
        services_.log.log(log_level::error, "cannot list the runs without an end");
    }
    co_return is_listed&& remaining.empty();
}

} // namespace agui::gateway
