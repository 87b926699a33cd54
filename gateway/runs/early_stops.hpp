#pragma once

#include "gateway/runs/conversation_key.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace agui::gateway {

/// Stops whose request has not been read yet. One that names a runId is for the request of that
/// runId, whenever it comes. One of a whole thread is for the requests that were being received
/// when it came, and for none that was sent later. Bounded for each principal and in all, the
/// oldest go first: nobody pushes out another one's stops.
class early_stops {
public:
    using time_point = std::chrono::steady_clock::time_point;

    struct limits {
        /// A body takes no longer to arrive, mostly.
        std::chrono::seconds life{60};
        std::size_t each_principal = 4'000;
        std::size_t in_all = 16'000;
    };

    explicit early_stops(limits bounds) : limits_(bounds) {}

    /// An empty `run_id` is the whole thread. Of one name the last counts.
    void add(const conversation_key& place, const std::string& run_id, time_point now);
    /// Whether a request, of which the first byte came at `received`, is to be stopped. A stop
    /// that names its runId is used up.
    [[nodiscard]] bool take(
        const conversation_key& place, const std::string& run_id, time_point received,
        time_point now
    );
    /// No request of this runId is to come.
    void forget(const conversation_key& place, const std::string& run_id);

    [[nodiscard]] std::size_t size() const noexcept { return in_order_.size(); }

private:
    using name = std::pair<conversation_key, std::string>;
    struct entry {
        std::uint64_t number; ///< In the order in which they came.
        time_point at;
    };

    void remove(std::map<name, entry>::iterator one);
    void remove_number(std::uint64_t number);

    const limits limits_;
    std::uint64_t last_number_ = 0;
    std::map<name, entry> by_name_;
    std::map<std::uint64_t, std::map<name, entry>::iterator> in_order_;
    std::map<std::string, std::set<std::uint64_t>> by_principal_;
};

} // namespace agui::gateway
