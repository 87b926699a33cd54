#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

namespace agui::runner {

/// Deadlines for waits that are renewed very often, such as the wait for each token of a stream:
/// setting one is an assignment. One timer per execution context checks all deadlines every 250 ms,
/// and earlier when one is due. It runs only while there are watches, so that it does not keep
/// run() from returning.
///
/// Each execution context owns one, and everything here is used on the one thread that runs the
/// context.
class deadline_sweep final : public boost::asio::execution_context::service {
public:
    using clock = std::chrono::steady_clock;
    using key_type = deadline_sweep;
    static inline boost::asio::execution_context::id id;

    explicit deadline_sweep(boost::asio::execution_context& context) : service(context) {}

    /// The deadline_sweep of the executor's context.
    [[nodiscard]] static deadline_sweep& of(const boost::asio::any_io_executor& executor);

    /// One deadline at a time; expired() is called when it has passed.
    class watch {
    public:
        explicit watch(const boost::asio::any_io_executor& executor);
        virtual ~watch();
        watch(const watch&) = delete;
        watch& operator=(const watch&) = delete;

        /// expired() is called once `deadline` has passed, unless disarm() or another arm() comes
        /// first.
        void arm(clock::time_point deadline);
        void disarm() noexcept { deadline_ = clock::time_point::max(); }

    private:
        friend class deadline_sweep;

        /// Called once per deadline, after it was disarmed. Must not create or destroy watches.
        virtual void expired() noexcept = 0;

        deadline_sweep& sweep_;
        std::size_t place_; ///< Its index in the sweep's list.
        clock::time_point deadline_ = clock::time_point::max();
    };

private:
    void shutdown() override;
    void add(watch& which, const boost::asio::any_io_executor& executor);
    void remove(watch& which) noexcept;
    void schedule(clock::time_point when);
    void sweep();

    std::optional<boost::asio::steady_timer> timer_; ///< Absent while there are no watches.
    clock::time_point next_ = clock::time_point::max();
    std::vector<watch*> watches_;
};

} // namespace agui::runner
