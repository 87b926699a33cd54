#include "runner/http/connect_race.hpp"

#include "session/base/as_result.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

namespace agui::runner {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

/// Shared by the attempts and the coroutine that waits for them, which may end before they do.
struct race {
    explicit race(const asio::any_io_executor& on) : executor(on), wake(on) {}

    void begin(const std::shared_ptr<race>& self, const tcp::endpoint& to) {
        sockets.push_back(std::make_unique<tcp::socket>(executor));
        ++running;
        sockets.back()->async_connect(
            to,
            [self, number = sockets.size() - 1](const error_code& ec) { self->ended(number, ec); }
        );
    }

    void ended(std::size_t number, const error_code& ec) {
        --running;
        if (!ec && winner == nullptr && !over) {
            winner = std::move(sockets[number]);
        } else {
            last = ec;
            sockets[number].reset();
        }
        wake.cancel();
    }

    void close() {
        over = true;
        for (const std::unique_ptr<tcp::socket>& each : sockets) {
            if (each) {
                error_code ignored; // The socket is closed even if close(2) fails.
                each->close(ignored);
            }
        }
    }

    asio::any_io_executor executor;
    asio::steady_timer wake;
    std::vector<std::unique_ptr<tcp::socket>> sockets;
    std::unique_ptr<tcp::socket> winner;
    std::size_t running = 0;
    error_code last = asio::error::timed_out;
    bool over = false; ///< The coroutine no longer waits.
};

} // namespace

std::vector<asio::ip::address> in_turn(const std::vector<asio::ip::address>& found) {
    std::vector<asio::ip::address> first;
    std::vector<asio::ip::address> second;
    for (const asio::ip::address& each : found) {
        (each.is_v6() == found.front().is_v6() ? first : second).push_back(each);
    }
    std::vector<asio::ip::address> order;
    for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
        for (const auto* const family : {&first, &second}) {
            if (i < family->size()) {
                order.push_back((*family)[i]);
            }
        }
    }
    return order;
}

asio::awaitable<race_outcome> connect_first(
    std::vector<tcp::endpoint> endpoints, std::chrono::steady_clock::time_point deadline,
    std::chrono::milliseconds delay
) {
    const auto executor = co_await asio::this_coro::executor;
    const auto shared = std::make_shared<race>(executor);
    struct closing {
        race& all;
        ~closing() { all.close(); }
    } guard{*shared};
    std::size_t next = 0;
    auto next_at = std::chrono::steady_clock::time_point::min();
    for (;;) {
        const auto now = std::chrono::steady_clock::now();
        if (shared->winner != nullptr) {
            co_return race_outcome{{}, std::move(*shared->winner)};
        }
        if (now >= deadline) {
            co_return race_outcome{asio::error::timed_out, tcp::socket(executor)};
        }
        const bool more = next < endpoints.size();
        if (!more && shared->running == 0) {
            co_return race_outcome{shared->last, tcp::socket(executor)};
        }
        if (more && (now >= next_at || shared->running == 0)) {
            shared->begin(shared, endpoints[next++]);
            next_at = now + delay;
            continue;
        }
        shared->wake.expires_at(more ? std::min(next_at, deadline) : deadline);
        co_await shared->wake.async_wait(as_result);
        const auto state = co_await asio::this_coro::cancellation_state;
        if (state.cancelled() != asio::cancellation_type::none) {
            co_return race_outcome{asio::error::operation_aborted, tcp::socket(executor)};
        }
    }
}

} // namespace agui::runner
