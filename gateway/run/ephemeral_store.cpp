#include "gateway/run/ephemeral_store.hpp"

#include "gateway/run/conversation_key.hpp"

#include <boost/asio/co_spawn.hpp>

#include <exception>
#include <string>
#include <utility>

namespace agui::gateway {

ephemeral_store::ephemeral_store(memory_budget* budget)
    : store_(session::make_memory_store()), threads_(budget) {}

ephemeral_store::~ephemeral_store() = default;

void ephemeral_store::grown(
    const session::thread_key& key, std::size_t bytes, const boost::asio::any_io_executor& executor
) {
    for (ephemeral_threads::entry& oldest : threads_.grown(key, bytes)) {
        begin_removal(std::move(oldest), executor);
    }
}

void ephemeral_store::remove(
    const session::thread_key& key, const boost::asio::any_io_executor& executor
) {
    begin_removal({.key = key}, executor);
}

void ephemeral_store::begin_removal(
    ephemeral_threads::entry thread, const boost::asio::any_io_executor& executor
) {
    boost::asio::co_spawn(
        executor, remove(std::move(thread)),
        [keep = shared_from_this()](const std::exception_ptr&) {}
    );
}

boost::asio::awaitable<bool> ephemeral_store::remove_now(session::thread_key key) {
    const auto taken = co_await store_->acquire(key, {});
    if (!taken) {
        co_return false;
    }
    (void)co_await store_->remove(key);
    store_->release(*taken);
    threads_.removed(key);
    co_return true;
}

boost::asio::awaitable<void> ephemeral_store::remove(ephemeral_threads::entry thread) {
    const auto taken = co_await store_->acquire(thread.key, {});
    if (!taken) {
        // A run holds it; the removal is retried when another thread grows.
        threads_.put_back(thread);
        co_return;
    }
    // It cannot fail, and a thread that does not exist need not be removed.
    (void)co_await store_->remove(thread.key);
    store_->release(*taken);
}

} // namespace agui::gateway
