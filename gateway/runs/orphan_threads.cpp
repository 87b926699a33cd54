#include "gateway/runs/orphan_threads.hpp"

#include "gateway/runs/orphan_recovery.hpp"

#include <cstddef>
#include <exception>
#include <set>
#include <utility>

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
    co_return co_await recover(store, std::move(place), std::move(held), false);
}

boost::asio::awaitable<bool> orphan_threads::recover(
    session::store& store, conversation_key place, session::lease_ptr held, bool releases
) {
    const auto recovered = co_await recover_orphans(services_, store, std::move(held), releases);
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
        recovered = (!(*taken)->found_orphans() && !may_have_orphans(place)) ||
                    co_await recover(store, place, *taken, true);
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
    std::set<session::thread_key> failed; // The store names them again.
    for (bool goes_on = true; goes_on;) {
        const auto claimed = co_await store.claim_orphans(claimed_at_once);
        goes_on = false;
        is_listed = is_listed && claimed.has_value();
        for (std::size_t i = 0; claimed && i < claimed->size(); ++i) {
            const session::lease_ptr& held = (*claimed)[i];
            if (is_listed && !failed.contains(held->key())) {
                const auto recovered = co_await recover_orphans(services_, store, held, true);
                is_listed = recovered.has_value();
                goes_on = is_listed;
                if (!recovered || !*recovered) {
                    failed.insert(held->key());
                    add({held->key(), false});
                }
            }
            store.release(held);
        }
    }
    bool was_listed = true;
    {
        const std::lock_guard lock(mutex_);
        was_listed = std::exchange(listed_, is_listed);
    }
    if (was_listed && !is_listed) {
        services_.log.log(log_level::error, "cannot list the runs without an end");
    }
    co_return is_listed&& failed.empty();
}

} // namespace agui::gateway
