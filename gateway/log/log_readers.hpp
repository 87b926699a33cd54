#pragma once

#include "gateway/base/resumption.hpp"
#include "session/store/store.hpp"

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/container/small_vector.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace agui::gateway {

/// The readers of a log: their number, the handlers that are told of changes, and the places where
/// readers wait. Not synchronized.
class log_readers {
public:
    using leaving = session::leaving;

    /// Handlers are called on `executor`.
    explicit log_readers(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}

    void add();
    void remove(leaving how);
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    /// See event_log::set_readers_handler() and set_last_reader_handler().
    void set_handler(std::function<void(std::size_t, leaving)> handler) {
        on_change_ = std::move(handler);
    }
    void set_last_handler(std::function<void(leaving)> handler) {
        on_last_left_ = std::move(handler);
    }
    [[nodiscard]] std::function<void(leaving)> take_last_handler() noexcept {
        return std::exchange(on_last_left_, nullptr);
    }

    /// The place where a reader waits. Exists as long as its reader; one wait at a time.
    class waiter {
    public:
        explicit waiter(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}
        [[nodiscard]] const boost::asio::any_io_executor& executor() const noexcept {
            return executor_;
        }
        /// For all later waits. Must outlive the reader.
        void set_step(woken_step& step) noexcept { step_ = &step; }
        [[nodiscard]] resumption resumption_of(boost::asio::any_completion_handler<void()>&& handler
        ) const {
            return {executor_, std::move(handler), step_};
        }

    private:
        friend class log_readers;
        boost::asio::any_io_executor executor_;
        woken_step* step_ = nullptr;
        resumption resumption_;
    };
    /// Usually one, for which nothing is allocated.
    using resumptions = boost::container::small_vector<resumption, 2>;

    void wait(waiter& who, resumption&& here);
    /// Ends a wait. Returns nullopt if `who` does not wait.
    [[nodiscard]] std::optional<resumption> take(waiter& who);
    /// Ends all waits.
    void take_all(resumptions& ready);
    /// Lets the readers go on, each on its own executor. To be called without a lock.
    static void resume(resumptions& ready);

private:
    void tell(leaving how) const;

    std::vector<waiter*> waiting_;
    std::size_t count_ = 0;
    const boost::asio::any_io_executor executor_;
    std::function<void(std::size_t, leaving)> on_change_;
    std::function<void(leaving)> on_last_left_;
};

} // namespace agui::gateway
