#pragma once

#include "gateway/run/conversation_key.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace agui::gateway {

/// Stops of requests that have not been read yet. A stop with a runId applies to the request with
/// that runId if it arrives within `life`. A stop of a whole thread applies to requests whose first
/// byte arrived before it, not to later ones. The number is limited in total and per principal, so
/// that no single principal can take all places; the oldest are dropped first. Not synchronized.
class early_stops {
public:
    using time_point = std::chrono::steady_clock::time_point;

    struct limits {
        /// Longer than a body usually takes to arrive.
        std::chrono::seconds life{60};
        std::size_t each_principal = 4'000;
        std::size_t in_all = 16'000;
    };

    explicit early_stops(limits bounds) : limits_(bounds) {}

    /// Keeps a stop. An empty `run_id` means the whole thread. Of two for the same run or thread,
    /// the later one is kept.
    void add(const conversation_key& conversation, const std::string& run_id, time_point asked);
    /// Returns true if a request whose first byte arrived at `received` must be stopped. Removes a
    /// stop that names its runId.
    [[nodiscard]] bool take(
        const conversation_key& conversation, const std::string& run_id, time_point received,
        time_point now
    );
    /// Removes the stop of a run whose request will not arrive.
    void forget(const conversation_key& conversation, const std::string& run_id);

    [[nodiscard]] std::size_t size() const noexcept { return in_order_.size(); }

private:
    using name = std::pair<conversation_key, std::string>;
    struct entry {
        std::uint64_t number; ///< Its number in the order of arrival.
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
