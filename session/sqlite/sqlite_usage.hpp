#pragma once

#include "session/sqlite/sqlite_db.hpp"
#include "session/store/usage.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace agui::session {

/// Access to the table of usage. Runs on the store's thread; functions that write run in a
/// transaction. Throws sqlite_error.
class sqlite_usage {
public:
    explicit sqlite_usage(database& db);

    /// store::reserve_usage(). Writes nothing if it refuses.
    [[nodiscard]] usage_reservation
    reserve(const std::vector<usage_claim>& claims, const usage_amount& amount, unix_ms now);
    /// store::settle_usage().
    void settle(const usage_settlement& what);
    /// store::read_usage().
    [[nodiscard]] usage_reading read(const std::vector<std::string>& subjects, unix_ms now);
    /// Erases some of the periods that are not kept at `now`. Returns false if there were none.
    [[nodiscard]] bool erase_some(unix_ms now);

    /// The size of all threads of the principal.
    [[nodiscard]] std::uint64_t bytes_of_principal(const std::string& principal);

private:
    [[nodiscard]] usage_amount used(const std::string& subject, std::int64_t period);
    void add(const std::string& subject, std::int64_t period, const usage_amount& more);

    statement used_;
    statement add_;
    statement old_;
    statement erase_;
    statement bytes_;
};

} // namespace agui::session
