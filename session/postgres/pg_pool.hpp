#pragma once

#include "session/base/mutex.hpp"
#include "session/postgres/pg_connection.hpp"
#include "session/postgres/pg_target.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace agui::session {

/// Marks that the transactions of one process leave in agui.commit_marks, one at a time in each of
/// its slots: a transaction that lost the answer to its COMMIT finds there whether it took effect.
/// Belongs to one thread.
class pg_commit_marks {
public:
    pg_commit_marks();

    /// A slot and a value that no other transaction has while this lives.
    class mark {
    public:
        explicit mark(pg_commit_marks& of);
        ~mark();
        mark(const mark&) = delete;
        mark& operator=(const mark&) = delete;
        [[nodiscard]] std::int64_t writer() const noexcept { return of_.writer_; }
        [[nodiscard]] std::int64_t slot() const noexcept { return slot_; }
        [[nodiscard]] std::int64_t value() const noexcept { return value_; }

    private:
        pg_commit_marks& of_;
        std::int64_t slot_ = 0;
        std::int64_t value_ = 0;
    };

private:
    const std::int64_t writer_; ///< A random number.
    std::int64_t last_value_ = 0;
    std::set<std::int64_t> taken_;
};

/// Connections that calls share, made when they are needed. A call that finds none waits in a
/// queue. While the server is away, calls that may connect retry. Everything but unavailable()
/// belongs to the store's thread.
class pg_pool {
public:
    using time_point = std::chrono::steady_clock::time_point;

    struct settings {
        std::size_t size = 8;
        bool prepares = true;
    };
    /// `target` must outlive this.
    pg_pool(boost::asio::any_io_executor executor, const pg_target& target, settings given);
    pg_pool(const pg_pool&) = delete;
    pg_pool& operator=(const pg_pool&) = delete;

    /// A connection for as long as this lives. Returns a reusable connection to the pool, and
    /// closes any other.
    class loan {
    public:
        loan() noexcept = default; ///< Holds no connection.
        loan(pg_pool& of, std::unique_ptr<pg_connection> lent) noexcept
            : pool_(&of), connection_(std::move(lent)) {}
        loan(loan&& other) noexcept = default;
        loan& operator=(loan&& other) = delete;
        ~loan() {
            if (connection_) {
                pool_->give_back(std::move(connection_));
            }
        }
        [[nodiscard]] pg_connection& operator*() const noexcept { return *connection_; }
        [[nodiscard]] pg_connection* operator->() const noexcept { return connection_.get(); }

    private:
        pg_pool* pool_ = nullptr;
        std::unique_ptr<pg_connection> connection_;
    };

    /// `at_once` may exceed the pool by one connection when all are lent.
    enum class urgency : std::uint8_t { waits_in_line, at_once };

    /// Throws pg_unavailable, with the reason, if there is none until `deadline`.
    [[nodiscard]] boost::asio::awaitable<loan>
    take(time_point deadline, urgency how = urgency::waits_in_line);

    /// Closes the idle connections, which are probably lost as well.
    void drop_idle() noexcept { idle_.clear(); }
    [[nodiscard]] pg_commit_marks& marks() noexcept { return marks_; }
    /// Closes idle connections and ends all waits.
    void close() noexcept;

    /// The reason why nothing can be read or written at the moment, or empty if it can. For the log
    /// only: it names the server. Any thread.
    [[nodiscard]] std::string unavailable() const;
    void set_unavailable(const std::string& reason);

private:
    struct waiter;

    void give_back(std::unique_ptr<pg_connection> connection) noexcept;
    void free_place() noexcept;
    void wake_next(std::unique_ptr<pg_connection> given) noexcept;
    boost::asio::awaitable<std::unique_ptr<pg_connection>>
    connect(time_point deadline, urgency how);
    boost::asio::awaitable<std::unique_ptr<pg_connection>> wait_in_line(time_point deadline);
    boost::asio::awaitable<void> pause(std::chrono::milliseconds time, time_point deadline);

    pg_commit_marks marks_;
    boost::asio::any_io_executor executor_;
    const pg_target& target_;
    const settings settings_;
    std::vector<std::unique_ptr<pg_connection>> idle_;
    std::size_t places_taken_ = 0; ///< Connections lent, or about to be; without idle ones.
    std::size_t connecting_ = 0;   ///< Number of them that are about to be lent.
    std::list<waiter*> waiters_;   ///< In order.
    bool is_closed_ = false;
    mutable mutex mutex_;
    std::string unavailable_ AGUI_GUARDED_BY(mutex_);
};

} // namespace agui::session
