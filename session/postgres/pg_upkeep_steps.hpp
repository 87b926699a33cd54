#pragma once

#include "session/postgres/pg_shared.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <vector>

namespace agui::session {

// Helpers of the files that implement pg_upkeep.

/// Number of runs in one transaction.
inline constexpr std::int64_t runs_at_once = 256;

/// One statement, in a transaction of its own.
template <class... Args>
boost::asio::awaitable<pg_rows> write_one(pg_shared& shared, const char* text, Args... args) {
    const auto results = co_await write_at_once(shared, {}, [=] {
        pg_batch batch;
        batch.emplace_back(text, args...);
        return batch;
    });
    co_return results.at(0);
}

/// The first column.
inline std::vector<std::int64_t> numbers_of(const pg_rows& rows) {
    std::vector<std::int64_t> numbers;
    numbers.reserve(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        numbers.push_back(rows.integer(i, 0));
    }
    return numbers;
}

} // namespace agui::session
