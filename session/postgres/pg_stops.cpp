#include "session/postgres/pg_stops.hpp"

#include "session/postgres/pg_error.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace agui::session {

namespace asio = boost::asio;

namespace {

// A stop should take effect within a second.
constexpr std::chrono::milliseconds between_looks{500};

constexpr const char* insert_stop =
    "INSERT INTO agui.stops (gateway, principal, thread_id, run_id) VALUES ($1, $2, $3, $4)";
// A process that could not read them for so long has lost its leases.
constexpr const char* drop_old_stops =
    "DELETE FROM agui.stops WHERE at < clock_timestamp() - interval '1 minute'";
constexpr const char* stops_of_others =
    "SELECT number, principal, thread_id, run_id FROM agui.stops WHERE gateway <> $1";

} // namespace

pg_stops::pg_stops(pg_shared& shared, const pg_gateway& gateway)
    : shared_(shared), gateway_(gateway), timer_(shared.context) {}

asio::awaitable<void> pg_stops::request(stop_request request) {
    (void)co_await write_at_once(shared_, {}, [request, gateway = gateway_.id()] {
        const std::optional<std::string_view> run_id =
            request.run_id ? std::optional<std::string_view>(*request.run_id) : std::nullopt;
        pg_batch batch;
        batch.emplace_back(drop_old_stops);
        batch.emplace_back(
            insert_stop, gateway, request.key.principal, request.key.thread_id, run_id
        );
        return batch;
    });
}

asio::awaitable<void> pg_stops::work() {
    while (!is_closed_) {
        try {
            co_await read();
        } catch (const pg_error&) {
            has_looked_ = true; // The store says that it cannot be used.
        } catch (const pg_unavailable&) {
            has_looked_ = true;
        }
        if (!is_closed_) {
            timer_.expires_after(between_looks);
            co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
        }
    }
}

void pg_stops::close() noexcept {
    is_closed_ = true;
    timer_.cancel();
}

// What was asked for before the first look was not meant for this process.
asio::awaitable<void> pg_stops::read() {
    const auto results = co_await read_at_once(shared_, [gateway = gateway_.id()] {
        pg_batch batch;
        batch.emplace_back(stops_of_others, gateway);
        return batch;
    });
    const pg_rows& rows = results.at(0);
    const std::set<std::int64_t> known = std::exchange(known_, {});
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::int64_t number = rows.integer(i, 0);
        known_.insert(number);
        if (has_looked_ && !known.contains(number)) {
            stop_request request;
            request.key = {std::string(rows.text(i, 1)), std::string(rows.text(i, 2))};
            if (!rows.is_null(i, 3)) {
                request.run_id = std::string(rows.text(i, 3));
            }
            tell(request);
        }
    }
    has_looked_ = true;
}

void pg_stops::tell(const stop_request& request) {
    const std::lock_guard lock(handler_mutex_);
    if (handler_ != nullptr) {
        handler_->on_stop_request(request);
    }
}

} // namespace agui::session
