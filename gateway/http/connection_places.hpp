#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace agui::gateway {

struct place_limits {
    std::size_t all = 20'000;       ///< Of connections, besides the reserve.
    std::size_t per_client = 5'000; ///< Of connections from one client, besides the reserve.
    /// Of further connections, which may ask for probe routes only. Also how many connections may
    /// be ending to make room for others.
    std::size_t reserve = 32;
    /// For how long a connection must have been idle before it gives way. A request that is sent
    /// into a closing connection fails, and the next one often follows the last within seconds.
    std::chrono::milliseconds idle{5'000};
};

/// Decides who may have a connection. If there is no room, the connection that has been idle for
/// the longest time gives its place to the next one; failing that, the next one gets a place of the
/// reserve, for which the oldest of the reserve gives way. Safe to call from any thread; must
/// outlive its places.
class connection_places {
public:
    class place;
    using time_point = std::chrono::steady_clock::time_point;

    /// Why a place is one of the reserve.
    enum class shortage {
        none,       ///< It is not: the connection may ask for everything.
        of_all,     ///< place_limits::all is reached.
        of_clients, ///< place_limits::per_client is reached.
    };

    explicit connection_places(const place_limits& limits) noexcept : limits_(limits) {}
    connection_places(const connection_places&) = delete;
    connection_places& operator=(const connection_places&) = delete;

private:
    struct client {
        std::size_t places = 0;    ///< All of them; the record goes with the last.
        std::size_t held = 0;      ///< Those that count: neither of the reserve nor leaving.
        std::list<place*> resting; ///< Longest first.
    };
    using client_map = std::map<std::string, client>;

public:
    /// The place of one connection; the destructor frees it. Made by enter() only. Used by one
    /// thread at a time.
    class place {
    public:
        place(connection_places& owner, client_map::iterator client, shortage why);
        ~place();
        place(const place&) = delete;
        place& operator=(const place&) = delete;

        /// Called once. `ask` makes the connection end, unless a request has arrived meanwhile. Any
        /// thread calls it, perhaps again, and under a lock: it must only post.
        void on_needed(std::function<void()> ask);
        /// The connection waits for a request since then: its place may be needed.
        void rest(time_point since);
        /// A request has begun to arrive.
        void wake();

        [[nodiscard]] shortage reserve_because() const noexcept { return why_; }
        [[nodiscard]] bool is_reserve() const noexcept { return why_ != shortage::none; }

    private:
        friend connection_places;
        void count(bool more) noexcept;
        void stop_waiting();
        void give_way();

        connection_places& owner_;
        const client_map::iterator client_; ///< The end: not limited.
        const shortage why_;
        std::function<void()> ask_;
        bool listed_ = false;  ///< In the owner's list of places that may give way.
        bool leaving_ = false; ///< It has given way.
        time_point since_;
        std::list<place*>::iterator in_all_;
        std::list<place*>::iterator in_client_; ///< Valid if listed, not of the reserve, limited.
    };

    /// A place for a connection of that client (empty: of none that is limited), or null if even
    /// the reserve has none.
    [[nodiscard]] std::unique_ptr<place> enter(const std::string& client, time_point now);

    [[nodiscard]] const place_limits& limits() const noexcept { return limits_; }

private:
    [[nodiscard]] shortage find_room(client_map::iterator client, time_point now);
    [[nodiscard]] bool find_reserve();
    [[nodiscard]] bool one_gives_way(const std::list<place*>& among, time_point idle_since);

    const place_limits limits_;
    std::mutex mutex_; ///< Guards all below, and the places.
    client_map clients_;
    std::size_t held_ = 0;
    std::size_t reserved_ = 0;
    std::size_t leaving_ = 0;
    std::list<place*> resting_;    ///< Longest first.
    std::list<place*> in_reserve_; ///< Oldest first.
};

} // namespace agui::gateway
