#include "gateway/runs/thread_removal.hpp"

#include "session/base/failpoint.hpp"

namespace agui::gateway {

boost::asio::awaitable<result<bool>>
remove_held(session::store& store, session::lease_ptr held, forget_thread_function forget) {
    struct release_at_end {
        ~release_at_end() { of.release(held); }
        session::store& of;
        const session::lease_ptr& held;
    };
    const release_at_end released{store, held};
    check_failpoint("thread.removing");
    // Must not be const: co_return would make `true` of a const one.
    auto removed = co_await store.remove(held->key());
    if (removed && forget) {
        forget(held->key());
    }
    co_return removed;
}

} // namespace agui::gateway
