#include "gateway/server_impl.hpp"

#include "session/base/as_result.hpp"
#include "session/base/clock.hpp"
#include "session/base/failpoint.hpp"

#include <exception>
#include <memory>

namespace agui::gateway {
namespace asio = boost::asio;
using steady = std::chrono::steady_clock;

namespace {

constexpr std::chrono::minutes log_drop_period{10};
/// Period of wrong_tokens::sweep() and authenticator::renew().
constexpr std::chrono::minutes wrong_token_period{1};
// Interval of the search for runs lost by other processes, which must end within five seconds after
// their lease.
constexpr std::chrono::seconds lost_run_period{2};
constexpr std::chrono::seconds access_log_period{1};

} // namespace

/// Tells other gateways the address of this one.
asio::awaitable<void> server::impl::announce() {
    const std::uint16_t port = door->endpoint().port();
    const std::string url = effective_peer_url(settings.server, port, store->local_address());
    if (url.empty()) {
        log.log(log_level::warning, "other gateways cannot reach this one: set server.peer_url");
    }
    const auto announced = co_await store->announce(url, peer_secret);
    is_announced = announced.has_value();
    if (!announced) {
        log.log(
            log_level::error,
            "other gateways cannot reach this one yet: its address could not be stored",
            {{"error", announced.error().detail}}
        );
    }
}

asio::awaitable<void> server::impl::drop_old_logs() {
    using std::chrono::milliseconds;
    const auto age = std::chrono::duration_cast<milliseconds>(settings.session.log_age).count();
    // Kept until their links have expired, at the end of a day.
    const auto attached =
        std::chrono::duration_cast<milliseconds>(settings.session.link_age + std::chrono::hours(24))
            .count();
    while (!stopping) {
        result<void> dropped = failure{errc::internal, {}, {}, {}};
        try {
            check_failpoint("sweep.begin");
            dropped = co_await store->drop_logs({
                .ended_since = system_clock().now() - age,
                .attached_since = system_clock().now() - attached,
                .now = system_clock().now(),
                .max_bytes = settings.session.log_max_bytes,
            });
            check_failpoint("sweep.done");
        } catch (const std::exception& error) {
            dropped = failure{errc::internal, error.what(), {}, {}};
        }
        if (!dropped) {
            log.log(
                log_level::error, "old logs could not be dropped",
                {{"detail", dropped.error().detail}}
            );
        }
        if (stopping) {
            co_return;
        }
        log_timer->expires_after(log_drop_period);
        (void)co_await log_timer->async_wait(as_result); // Its cancellation is the end.
    }
}

asio::awaitable<void> server::impl::look_for_lost_runs() {
    while (!stopping) {
        lost_timer->expires_after(lost_run_period);
        (void)co_await lost_timer->async_wait(as_result); // Its cancellation is the end.
        if (stopping) {
            co_return;
        }
        try {
            if (peers && !is_announced) {
                co_await announce();
            }
            co_await count_gateways();
            co_await runs.recover();
        } catch (const std::exception& error) {
            log.log(
                log_level::error, "the search for lost runs has failed", {{"error", error.what()}}
            );
        }
    }
}

/// Gateways on the same store share the limits of requests and runs.
asio::awaitable<void> server::impl::count_gateways() {
    if (!limits || !store->is_shared()) {
        co_return;
    }
    const auto others = co_await store->other_gateways();
    if (others) { // Otherwise the last number is the best one known.
        limits->set_gateways(others->size() + 1);
    }
}

asio::awaitable<void> server::impl::write_accesses() {
    while (!stopping) {
        access_timer->expires_after(access_log_period);
        (void)co_await access_timer->async_wait(as_result); // Its cancellation is the end.
        accesses->flush();
    }
}

asio::awaitable<void> server::impl::look_after_auth() {
    while (!stopping) {
        const std::shared_ptr<authenticator> current = auth.get();
        try {
            co_await current->renew();
        } catch (const std::exception& error) {
            log.log(
                log_level::error, "the keys of auth.jwks_url could not be renewed",
                {{"error", error.what()}}
            );
        }
        if (stopping) {
            co_return; // The timer has been cancelled already.
        }
        wrong_timer->expires_after(wrong_token_period);
        (void)co_await wrong_timer->async_wait(as_result); // Its cancellation is the end.
        wrong.sweep(steady::now());
        if (failures) {
            failures->sweep();
        }
    }
}

} // namespace agui::gateway
