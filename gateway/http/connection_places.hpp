#pragma once

#include "gateway/http/http_error.hpp"
#include "session/base/mutex.hpp"

#include <boost/intrusive/list.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace agui::gateway {

struct place_limits {
    std::size_t all = 20'000;       ///< Connections outside the reserve.
    std::size_t per_client = 5'000; ///< The same for one client.
    /// Size of the reserve, whose connections may use probe routes only. Also the limit of evicted
    /// connections still ending, inside and outside the reserve each.
    std::size_t reserve = 32;
    std::size_t reserve_per_client = 2; ///< So that one client cannot fill the reserve.
    /// How long a connection must have been idle before it is evicted. A request sent into a
    /// closing connection fails, and requests often follow each other within seconds.
    std::chrono::milliseconds idle{5'000};
};

/// Decides which connections are admitted. If there is no room, the connection that has been idle
/// longest is evicted. Failing that, the new connection gets a place of the reserve, and the oldest
/// in the reserve is evicted for it if necessary. A client at its limit can evict only its own
/// connections. Safe to call from any thread; must outlive its places.
class connection_places {
public:
    class place;
    using time_point = std::chrono::steady_clock::time_point;

    /// Why a connection got a place of the reserve or no place.
    enum class shortage {
        none,
        of_all,     ///< place_limits::all is reached.
        of_clients, ///< place_limits::per_client is reached.
    };

    struct admission {
        std::unique_ptr<connection_places::place> place; ///< Null if the reserve is full too.
        shortage why = shortage::none;
    };

    explicit connection_places(const place_limits& limits) noexcept : limits_(limits) {}
    connection_places(const connection_places&) = delete;
    connection_places& operator=(const connection_places&) = delete;

private:
    using hook = boost::intrusive::list_member_hook<>;

    struct client;
    using client_map = std::map<std::string, client>;

public:
    /// The place of one connection; the destructor frees it. Made by admit() only. Used by one
    /// thread at a time.
    class place {
    public:
        place(connection_places& owner, client_map::iterator client, shortage why)
            AGUI_REQUIRES(owner.mutex_);
        ~place();
        place(const place&) = delete;
        place& operator=(const place&) = delete;

        /// Called once. `ask` makes the connection end, unless a request has arrived meanwhile. It
        /// must only post: any thread may call it, more than once, and under a lock.
        void on_evict(std::function<void()> ask);
        /// Allows eviction: since `since`, the connection has waited for a request's first byte or
        /// its rest.
        void mark_idle(time_point since) noexcept;
        /// The head of a request is complete.
        void mark_busy() noexcept;
        /// Exempts the connection from all limits and from eviction. May be called again.
        void exempt() noexcept;

        [[nodiscard]] shortage reserve_because() const noexcept { return why_; }
        [[nodiscard]] bool is_reserve() const noexcept { return why_ != shortage::none; }

    private:
        friend connection_places;
        void leave() noexcept AGUI_REQUIRES(owner_.mutex_);
        void count(bool more) noexcept AGUI_REQUIRES(owner_.mutex_);
        void unlist() noexcept AGUI_REQUIRES(owner_.mutex_);
        /// Called by the owner with its mutex held; the thread-safety analysis cannot see that it
        /// is the same mutex.
        void evict() AGUI_THREAD_SAFETY(no_thread_safety_analysis);

        connection_places& owner_;
        const client_map::iterator client_; ///< clients_.end() if the client has no limit.
        shortage why_;
        std::function<void()> ask_;
        bool evicted_ = false;
        bool exempt_ = false;
        time_point since_;
        hook in_all_;    ///< Linked while it may be evicted.
        hook in_client_; ///< The same, among its client's connections.
    };

    /// Admits a connection of `client`, which is empty if the client has no limit.
    [[nodiscard]] admission admit(const std::string& client, time_point now);

    [[nodiscard]] const place_limits& limits() const noexcept { return limits_; }

private:
    using age_list =
        boost::intrusive::list<place, boost::intrusive::member_hook<place, hook, &place::in_all_>>;
    using client_age_list = boost::intrusive::list<
        place, boost::intrusive::member_hook<place, hook, &place::in_client_>>;

    struct client {
        std::size_t places = 0;   ///< All its places. The record is erased with the last one.
        std::size_t held = 0;     ///< Places that count against per_client.
        std::size_t reserved = 0; ///< Places that count against reserve_per_client.
        client_age_list idle;     ///< Longest first.
    };

    [[nodiscard]] shortage find_room(client_map::iterator client, time_point now)
        AGUI_REQUIRES(mutex_);
    [[nodiscard]] bool find_reserve(client_map::iterator client, shortage why)
        AGUI_REQUIRES(mutex_);
    template <class List>
    [[nodiscard]] bool evict_oldest(List& among, time_point idle_since) AGUI_REQUIRES(mutex_);

    const place_limits limits_;
    mutex mutex_; ///< Guards the places, too.
    client_map clients_ AGUI_GUARDED_BY(mutex_);
    std::size_t held_ AGUI_GUARDED_BY(mutex_) = 0;
    std::size_t reserved_ AGUI_GUARDED_BY(mutex_) = 0;
    /// Evicted connections outside the reserve that have not ended.
    std::size_t evicted_ AGUI_GUARDED_BY(mutex_) = 0;
    std::size_t evicted_reserved_ AGUI_GUARDED_BY(mutex_) = 0; ///< The same in the reserve.
    age_list idle_ AGUI_GUARDED_BY(mutex_);                    ///< Longest first.
    age_list in_reserve_ AGUI_GUARDED_BY(mutex_);              ///< Oldest first.
};

/// The refusal for a connection without a place, or with one of the reserve that asks for more than
/// a probe.
[[nodiscard]] std::pair<http_errc, std::string_view> refusal_of(connection_places::shortage why
) noexcept;

} // namespace agui::gateway
