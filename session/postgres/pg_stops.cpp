#include "session/postgres/pg_stops.hpp"

#include "session/base/as_result.hpp"
#include "session/postgres/pg_error.hpp"

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
    "INSERT INTO agui.stops (gateway, principal, thread_id, run_id, at, is_read) "
    "VALUES ($1, $2, $3, $4, clock_timestamp() - $5 * interval '1 millisecond', $6)";
// A process that waits for the end of a run asks again.
constexpr const char* drop_old_stops =
    "DELETE FROM agui.stops WHERE at < clock_timestamp() - interval '10 s'";
constexpr const char* stops_of_others =
    "SELECT number, principal, thread_id, run_id, "
    "(extract(epoch FROM clock_timestamp() - at) * 1000)::bigint, is_read FROM agui.stops "
    "WHERE gateway <> $1 AND at > clock_timestamp() - interval '10 s'";

} // namespace

pg_stops::pg_stops(pg_shared& shared, const pg_gateway& gateway)
    : shared_(shared), gateway_(gateway), timer_(shared.context) {}

asio::awaitable<void> pg_stops::request(stop_request request, kind of) {
    (void)co_await write_at_once(shared_, {}, [request, of, gateway = gateway_.id()] {
        const std::optional<std::string_view> run_id =
            request.run_id ? std::optional<std::string_view>(*request.run_id) : std::nullopt;
        pg_batch batch;
        batch.emplace_back(drop_old_stops);
        batch.emplace_back(
            insert_stop, gateway, request.key.principal, request.key.thread_id, run_id,
            request.age.count(), of == kind::reading
        );
        return batch;
    });
}

asio::awaitable<void> pg_stops::work() {
    while (!is_closed_) {
        try {
            co_await read();
        } catch (const pg_error&) {
            // The store reports that it cannot be used.
        } catch (const pg_unavailable&) {
            // As above.
        }
        if (!is_closed_) {
            timer_.expires_after(between_looks);
            co_await timer_.async_wait(as_result);
        }
    }
}

void pg_stops::close() noexcept {
    is_closed_ = true;
    timer_.cancel();
}

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
        if (!known.contains(number)) {
            stop_request request;
            request.key = {std::string(rows.text(i, 1)), std::string(rows.text(i, 2))};
            if (!rows.is_null(i, 3)) {
                request.run_id = std::string(rows.text(i, 3));
            }
            request.age = std::chrono::milliseconds(rows.integer(i, 4));
            tell(request, rows.boolean(i, 5) ? kind::reading : kind::stop);
        }
    }
}

void pg_stops::tell(const stop_request& request, kind of) {
    const std::lock_guard lock(handler_mutex_);
    if (handler_ == nullptr) {
        return;
    }
    if (of == kind::reading) {
        handler_->on_reader(request.key, request.run_id.value_or(std::string()));
    } else {
        handler_->on_stop_request(request);
    }
}

} // namespace agui::session
