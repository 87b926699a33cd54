#pragma once

#include "session/store/store.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace agui::test {

/// A store in memory of this process that several servers use at once, as processes use a database:
/// each through a door of its own. Leases end only where a test says so. The logs are in an SQLite
/// file.
class shared_store {
public:
    /// `inner` must keep logs.
    explicit shared_store(std::unique_ptr<session::store> inner);
    ~shared_store();

    /// A way into the store for one more server, with a number from 1 on.
    [[nodiscard]] std::shared_ptr<session::store> open_door();

    /// The door's leases end, as if its process had been stopped for longer than they last. It is
    /// not told: it finds out by itself.
    void end_leases(std::size_t door);

    /// From now on no other process can ask the door's at its address.
    void hide_address(std::size_t door);
    /// How often a door has read a log.
    [[nodiscard]] std::size_t log_reads(std::size_t door) const;

    /// From now on a door says that it cannot be used, and refuses to read logs and to ask for
    /// stops; empty: neither.
    void set_unavailable(std::size_t door, std::string reason);
    /// The next stops are not heard by a door's process, as when it is connecting anew.
    void lose_stops(std::size_t door, std::size_t count);
    /// From now on a door reads no logs, because they are gone.
    void lose_logs(std::size_t door);
    /// From now on a door's process does not hear that its entries are durable, as over a slow
    /// network, until it is told.
    void hold_answers(std::size_t door);
    void let_answers_go(std::size_t door);
    /// From now on the entries that a door reads are damaged.
    void damage_logs(std::size_t door);
    /// Whether a door refuses to look runs up; these count as refused reads.
    void refuse_lookups(std::size_t door, bool yes);
    /// The next time that a door looks for a run of that id, it waits until it is let go, ten
    /// seconds at most.
    void hold_lookup(std::size_t door, std::string run_id);
    /// Whether it waits now.
    [[nodiscard]] bool holds_a_lookup(std::size_t door) const;
    void let_lookup_go(std::size_t door);
    /// How often it has refused to read one because it could not be used.
    [[nodiscard]] std::size_t refused_reads(std::size_t door) const;

private:
    class hub;
    class door;
    [[nodiscard]] std::shared_ptr<door> find(std::size_t number) const;

    std::shared_ptr<hub> hub_;
};

} // namespace agui::test
