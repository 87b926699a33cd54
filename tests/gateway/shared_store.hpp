#pragma once

#include "session/store/store.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace agui::test {

/// A store in memory of this process that several servers use, as processes share a database. Each
/// server uses a door of its own. Leases end only when the test says so. The logs are in an SQLite
/// file.
class shared_store {
public:
    /// `inner` must keep logs.
    explicit shared_store(std::unique_ptr<session::store> inner);
    ~shared_store();

    /// Opens a door for one more server. Doors are numbered from 1.
    [[nodiscard]] std::shared_ptr<session::store> open_door();

    /// Ends the door's leases, as if its process had been stopped for longer than their term. The
    /// process is not told and must notice by itself.
    void end_leases(std::size_t door);

    /// From now on, no other process can reach the door's process at its address.
    void hide_address(std::size_t door);
    /// The number of times that a door has read a log.
    [[nodiscard]] std::size_t log_reads(std::size_t door) const;

    /// From now on, a door reports `reason` as unavailable(), and refuses to read logs and to
    /// request stops. An empty reason ends this.
    void set_unavailable(std::size_t door, std::string reason);
    /// The next stops do not reach a door's process, as while it reconnects.
    void lose_stops(std::size_t door, std::size_t count);
    /// From now on, a door finds no logs.
    void lose_logs(std::size_t door);
    /// From now on, a door's process gets no reports that its entries are durable, as over a slow
    /// network, until let_answers_go().
    void hold_answers(std::size_t door);
    void let_answers_go(std::size_t door);
    /// From now on, the entries that a door reads are damaged.
    void damage_logs(std::size_t door);
    /// Makes a door refuse to look runs up, or ends that. Refused look-ups count as refused reads.
    void refuse_lookups(std::size_t door, bool yes);
    /// Makes a door refuse to take requests out of queues, or ends that.
    void refuse_withdrawals(std::size_t door, bool yes);
    /// Holds a door's next look-up of a run with that id until it is released, ten seconds at most.
    void hold_lookup(std::size_t door, std::string run_id);
    /// True while a look-up is held.
    [[nodiscard]] bool holds_a_lookup(std::size_t door) const;
    void let_lookup_go(std::size_t door);
    /// The number of reads that a door has refused because it was unavailable.
    [[nodiscard]] std::size_t refused_reads(std::size_t door) const;

private:
    class hub;
    class door;
    [[nodiscard]] std::shared_ptr<door> find(std::size_t number) const;

    std::shared_ptr<hub> hub_;
};

} // namespace agui::test
