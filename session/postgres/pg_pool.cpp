#include "session/postgres/pg_pool.hpp"

#include "session/base/as_result.hpp"
#include "session/postgres/pg_error.hpp"

#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <random>
#include <utility>

namespace agui::session {

namespace asio = boost::asio;

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

// One address that does not answer must not use up all of a call's time.
constexpr auto connect_time_max = 5s;
// Pause between two tries. Each of the few connections tries on its own, so this is no burden.
constexpr auto first_pause = 50ms;
constexpr auto longest_pause = 1000ms;
constexpr auto longest_pause_at_once = 200ms;

} // namespace

pg_commit_marks::pg_commit_marks()
    : writer_([] {
          std::random_device random;
          return std::uniform_int_distribution<std::int64_t>(1)(random);
      }()) {}

pg_commit_marks::mark::mark(pg_commit_marks& of) : of_(of), value_(++of.last_value_) {
    while (!of_.taken_.insert(slot_).second) {
        ++slot_;
    }
}

pg_commit_marks::mark::~mark() { of_.taken_.erase(slot_); }

struct pg_pool::waiter {
    explicit waiter(const asio::any_io_executor& executor) : timer(executor) {}
    asio::steady_timer timer;
    std::unique_ptr<pg_connection> given;
    bool is_woken = false;
};

pg_pool::pg_pool(asio::any_io_executor executor, const pg_target& target, settings given)
    : executor_(std::move(executor)), target_(target), settings_(given) {}

asio::awaitable<pg_pool::loan> pg_pool::take(time_point deadline, urgency how) {
    for (;;) {
        if (is_closed_) {
            throw pg_unavailable("the store is closed");
        }
        if (!idle_.empty()) {
            std::unique_ptr<pg_connection> last = std::move(idle_.back());
            idle_.pop_back();
            ++places_taken_;
            co_return loan(*this, std::move(last));
        }
        std::unique_ptr<pg_connection> found;
        if (places_taken_ < settings_.size || how == urgency::at_once) {
            found = co_await connect(deadline, how);
        } else {
            found = co_await wait_in_line(deadline);
        }
        if (found) {
            co_return loan(*this, std::move(found));
        }
    }
}

// Holds a place of its own while it lasts, which limits how many try at the same time.
asio::awaitable<std::unique_ptr<pg_connection>> pg_pool::connect(time_point deadline, urgency how) {
    const auto most =
        std::chrono::milliseconds(how == urgency::at_once ? longest_pause_at_once : longest_pause);
    struct place {
        explicit place(pg_pool& of) : pool(of) {
            ++pool.places_taken_;
            ++pool.connecting_;
        }
        place(const place&) = delete;
        place& operator=(const place&) = delete;
        ~place() {
            --pool.connecting_;
            if (!is_lent) {
                pool.free_place();
            }
        }
        pg_pool& pool;
        bool is_lent = false;
    };
    place own(*this);
    for (auto next_pause = std::chrono::milliseconds(first_pause);;
         next_pause = std::min(next_pause * 2, most)) {
        std::string reason;
        try {
            std::unique_ptr<pg_connection> made = co_await pg_connection::open(
                target_, settings_.prepares, std::min(deadline, clock::now() + connect_time_max)
            );
            set_unavailable({});
            own.is_lent = true;
            co_return made;
        } catch (const pg_error& error) {
            reason = error.what();
        }
        // One connection more than the server allows is no outage while others work.
        if (idle_.empty() && places_taken_ == connecting_) {
            set_unavailable(reason);
        }
        if (is_closed_ || clock::now() + next_pause >= deadline) {
            throw pg_unavailable(reason);
        }
        co_await pause(next_pause, deadline);
        if (!idle_.empty()) {
            co_return nullptr; // Another call has connected.
        }
    }
}

asio::awaitable<std::unique_ptr<pg_connection>> pg_pool::wait_in_line(time_point deadline) {
    waiter self(executor_);
    const auto place = waiters_.insert(waiters_.end(), &self);
    self.timer.expires_at(deadline);
    co_await self.timer.async_wait(as_result);
    if (!self.is_woken) {
        waiters_.erase(place);
        const std::string reason = unavailable();
        throw pg_unavailable(
            reason.empty() ? "all connections to the PostgreSQL server are in use" : reason
        );
    }
    co_return std::move(self.given);
}

asio::awaitable<void> pg_pool::pause(std::chrono::milliseconds time, time_point deadline) {
    // Queued as well, so that close() ends it, and a returned connection can serve it.
    waiter self(executor_);
    const auto place = waiters_.insert(waiters_.end(), &self);
    self.timer.expires_at(std::min(deadline, clock::now() + time));
    co_await self.timer.async_wait(as_result);
    if (!self.is_woken) {
        waiters_.erase(place);
    } else if (self.given) {
        --places_taken_; // Its own place is still counted.
        idle_.push_back(std::move(self.given));
    }
}

void pg_pool::wake_next(std::unique_ptr<pg_connection> given) noexcept {
    if (waiters_.empty()) {
        return;
    }
    waiter* const next = waiters_.front();
    waiters_.pop_front();
    next->is_woken = true;
    next->given = std::move(given);
    next->timer.cancel();
}

void pg_pool::give_back(std::unique_ptr<pg_connection> connection) noexcept {
    const bool has_place = places_taken_ + idle_.size() <= settings_.size;
    const bool can_be_used = connection->is_usable() && connection->is_idle() && !is_closed_;
    if (!can_be_used || !has_place) {
        free_place();
    } else if (!waiters_.empty()) {
        wake_next(std::move(connection)); // The connection keeps its place.
    } else {
        --places_taken_;
        idle_.push_back(std::move(connection));
    }
}

void pg_pool::free_place() noexcept {
    --places_taken_;
    if (places_taken_ < settings_.size) {
        wake_next(nullptr);
    }
}

void pg_pool::close() noexcept {
    is_closed_ = true;
    idle_.clear();
    while (!waiters_.empty()) {
        wake_next(nullptr);
    }
}

std::string pg_pool::unavailable() const {
    const std::lock_guard lock(mutex_);
    return unavailable_;
}

void pg_pool::set_unavailable(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    unavailable_ = reason;
}

} // namespace agui::session
