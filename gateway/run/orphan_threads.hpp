#pragma once

#include "gateway/run/conversation_key.hpp"
#include "gateway/run/process_services.hpp"
#include "session/base/mutex.hpp"
#include "session/store/store.hpp"

#include <boost/asio/awaitable.hpp>

#include <set>

namespace agui::gateway {

/// Knows which threads may have an orphan, and recovers it before the thread has another run. The
/// argument `store` is always the thread's own store. Safe to call from any thread; must outlive
/// its awaits.
class orphan_threads {
public:
    explicit orphan_threads(process_services services) : services_(services) {}
    orphan_threads(const orphan_threads&) = delete;
    orphan_threads& operator=(const orphan_threads&) = delete;

    /// To be called when the thread has an orphan, or may have one.
    void add(const conversation_key& conversation);

    /// Recovers the orphans of a thread that the caller holds by `held`. Returns false if one
    /// cannot be recovered yet.
    [[nodiscard]] boost::asio::awaitable<bool>
    recover_held(session::store& store, conversation_key conversation, session::lease_ptr held);
    /// The same, but acquires the thread itself. Also returns false if the thread is held.
    [[nodiscard]] boost::asio::awaitable<bool>
    recover(session::store& store, conversation_key conversation);
    /// Recovers the orphans on all stored threads without a holder: those of an earlier process
    /// before the first run, and those of other processes at any time. Recovers several at once,
    /// all on the caller's executor. Returns false if some remain.
    boost::asio::awaitable<bool> recover_all();

private:
    [[nodiscard]] boost::asio::awaitable<bool> recover(
        session::store& store, conversation_key conversation, session::lease_ptr held, bool releases
    );
    struct look;
    [[nodiscard]] boost::asio::awaitable<void> recover_claimed(look& all);
    [[nodiscard]] boost::asio::awaitable<void> recover_next(look& all);
    [[nodiscard]] bool may_have_orphans(const conversation_key& conversation);

    const process_services services_;
    mutex mutex_;
    std::set<conversation_key> conversations_ AGUI_GUARDED_BY(mutex_);
    /// False if the orphans of an earlier process are unknown, so that any thread may have one.
    bool listed_ AGUI_GUARDED_BY(mutex_) = true;
};

} // namespace agui::gateway
