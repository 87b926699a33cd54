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
/// its slots: whoever has lost the answer to a COMMIT finds there whether it has taken effect.
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
    const std::int64_t writer_; ///< At random.
    std::int64_t last_value_ = 0;
    std::set<std::int64_t> taken_;
};

/// Connections that calls share, made when they are needed. Whoever finds none waits in line; while
/// the server is away, those with a place try to connect again and again. Belongs to the store's
/// thread, but for unavailable().
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

    /// A connection for as long as this lives. Gives back one that can be used by others, and
    /// closes any other.
    class loan {
    public:
        loan() noexcept = default; ///< None.
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

    /// Who may have one connection more than the pool has, when all are lent.
    enum class urgency : std::uint8_t { waits_in_line, at_once };

    /// Throws pg_unavailable, with the reason, if there is none until `deadline`.
    [[nodiscard]] boost::asio::awaitable<loan>
    take(time_point deadline, urgency how = urgency::waits_in_line);

    /// Those that wait for others are probably lost as well.
    void drop_idle() noexcept { idle_.clear(); }
    [[nodiscard]] pg_commit_marks& marks() noexcept { return marks_; }
    /// Closes what is idle and lets nobody wait any more.
    void close() noexcept;

    /// Why nothing can be read or written at the moment, for the log: it names the server. Empty:
    /// it can. Any thread.
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
    std::size_t connecting_ = 0;   ///< Of them, those that are about to be.
    std::list<waiter*> waiters_;   ///< In order.
    bool is_closed_ = false;
    mutable mutex mutex_;
    std::string unavailable_ AGUI_GUARDED_BY(mutex_);
};

} // namespace agui::session
