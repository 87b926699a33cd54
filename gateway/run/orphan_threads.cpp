#include "gateway/run/orphan_threads.hpp"

#include "gateway/run/orphan_recovery.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <set>
#include <utility>
#include <vector>

namespace agui::gateway {

namespace {

// Each claim blocks new runs on its thread until the thread has been checked.
constexpr std::size_t claimed_at_once = 64;
// Ending a run is mostly waiting for the store, which answers several requests at once. Limited,
// because other requests queue behind them, and each has a whole thread in memory.
constexpr std::size_t ended_at_once = 8;

} // namespace

/// One search for threads with orphans, shared by its workers on one executor.
struct orphan_threads::look {
    std::vector<session::lease_ptr> claimed;
    std::size_t next = 0;                 ///< The first of `claimed` that no worker has taken.
    bool is_listed = true;                ///< All orphans could be read.
    bool goes_on = false;                 ///< There may be more.
    std::set<session::thread_key> failed; ///< The store lists these again.
};

void orphan_threads::add(const conversation_key& conversation) {
    const std::lock_guard lock(mutex_);
    conversations_.insert(conversation);
}

bool orphan_threads::may_have_orphans(const conversation_key& conversation) {
    const std::lock_guard lock(mutex_);
    return !listed_ || conversations_.contains(conversation);
}

boost::asio::awaitable<bool> orphan_threads::recover_held(
    session::store& store, conversation_key conversation, session::lease_ptr held
) {
    if (!held->found_orphans() && !may_have_orphans(conversation)) {
        co_return true;
    }
    co_return co_await recover(store, std::move(conversation), std::move(held), false);
}

boost::asio::awaitable<bool> orphan_threads::recover(
    session::store& store, conversation_key conversation, session::lease_ptr held, bool releases
) {
    const auto recovered = co_await recover_orphans(services_, store, std::move(held), releases);
    if (!recovered || !*recovered) {
        co_return false;
    }
    const std::lock_guard lock(mutex_);
    conversations_.erase(conversation);
    co_return true;
}

boost::asio::awaitable<bool>
orphan_threads::recover(session::store& store, conversation_key conversation) {
    const auto taken = co_await store.acquire(conversation.thread, {});
    if (!taken) {
        co_return false;
    }
    bool recovered = false;
    std::exception_ptr thrown;
    try {
        recovered = (!(*taken)->found_orphans() && !may_have_orphans(conversation)) ||
                    co_await recover(store, conversation, *taken, true);
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
    look all;
    do {
        auto claimed = co_await services_.store.claim_orphans(claimed_at_once);
        all.goes_on = false;
        all.is_listed = all.is_listed && claimed.has_value();
        if (claimed) {
            all.claimed = std::move(*claimed);
            all.next = 0;
            co_await recover_claimed(all);
        }
    } while (all.goes_on && all.is_listed);
    bool was_listed = true;
    {
        const std::lock_guard lock(mutex_);
        was_listed = std::exchange(listed_, all.is_listed);
    }
    if (was_listed && !all.is_listed) {
        services_.log.log(log_level::error, "cannot list the orphaned runs");
    }
    co_return all.is_listed&& all.failed.empty();
}

boost::asio::awaitable<void> orphan_threads::recover_claimed(look& all) {
    namespace asio = boost::asio;
    const auto executor = co_await asio::this_coro::executor;
    const auto begin_next = [&] {
        return asio::co_spawn(executor, recover_next(all), asio::deferred);
    };
    std::vector<decltype(begin_next())> workers;
    for (std::size_t i = 0; i < std::min(ended_at_once, all.claimed.size()); ++i) {
        workers.push_back(begin_next());
    }
    if (workers.empty()) {
        co_return;
    }
    const auto [order, thrown] =
        co_await asio::experimental::make_parallel_group(std::move(workers))
            .async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
    for (const std::exception_ptr& each : thrown) {
        if (each) {
            std::rethrow_exception(each);
        }
    }
}

boost::asio::awaitable<void> orphan_threads::recover_next(look& all) {
    session::store& store = services_.store;
    while (all.next < all.claimed.size()) {
        struct claim {
            session::store& of;
            session::lease_ptr held;
            ~claim() { of.release(held); }
        } const claimed{store, all.claimed[all.next++]};
        const session::thread_key& key = claimed.held->key();
        if (!all.is_listed || all.failed.contains(key)) {
            continue;
        }
        result<bool> recovered = false;
        try {
            recovered = co_await recover_orphans(services_, store, claimed.held, true);
        } catch (const std::exception& error) {
            services_.log.log(
                log_level::error, "an orphaned run could not be ended",
                {{"thread", key.thread_id}, {"reason", error.what()}}
            );
        }
        all.is_listed = all.is_listed && recovered.has_value();
        all.goes_on = true;
        if (!recovered || !*recovered) {
            all.failed.insert(key);
            add({key, false});
        }
    }
}

} // namespace agui::gateway
