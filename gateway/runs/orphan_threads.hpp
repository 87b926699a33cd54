#pragma once

#include "gateway/runs/conversation_key.hpp"
#include "gateway/runs/process_services.hpp"
#include "session/store/store.hpp"

#include <boost/asio/awaitable.hpp>

#include <mutex>
#include <set>

namespace agui::gateway {

/// Which threads may have an orphan, and that it is recovered before the thread has another run.
/// `store` is that of the thread each time. Any thread; must outlive its awaits.
class orphan_threads {
public:
    explicit orphan_threads(process_services services) : services_(services) {}
    orphan_threads(const orphan_threads&) = delete;
    orphan_threads& operator=(const orphan_threads&) = delete;

    /// The thread has an orphan, or may have one.
    void add(const conversation_key& place);

    /// Recovers the orphans of a thread that the caller holds. False: it has one that cannot be
    /// recovered yet.
    [[nodiscard]] boost::asio::awaitable<bool>
    recover_held(session::store& store, conversation_key place);
    /// Holds the thread for that. False, too, if somebody else holds it.
    [[nodiscard]] boost::asio::awaitable<bool>
    recover(session::store& store, conversation_key place);
    /// Recovers what a former process left, of all threads that are kept. Before the first run.
    [[nodiscard]] boost::asio::awaitable<void> recover_all();

private:
    [[nodiscard]] bool may_have_orphans(const conversation_key& place);

    const process_services services_;
    std::mutex mutex_;
    std::set<conversation_key> places_;
    bool listed_ = true; ///< False: any thread may have one that a former process left.
};

} // namespace agui::gateway
