#pragma once

#include "session/base/memory_budget.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

namespace agui {

/// Texts up to this size are parsed in a few milliseconds, on the caller's thread.
inline constexpr std::size_t small_work_bytes = 256U << 10U;

/// Small texts may use the memory reserve.
[[nodiscard]] constexpr memory_use use_of(std::size_t bytes) noexcept {
    return bytes <= small_work_bytes ? memory_use::small : memory_use::ordinary;
}

/// The size to give to run_heavy() for work that copies, hashes or writes a text of `bytes`: it
/// takes at most a quarter of the time that parsing the text would.
[[nodiscard]] constexpr std::size_t as_parsing(std::size_t bytes) noexcept { return bytes / 4; }

/// Threads for work on texts that are too large for an I/O thread: one for texts of up to 4 MB, one
/// for larger ones. Each does one piece of work at a time, so that little memory is taken at once
/// and a photo does not wait for the largest texts. Safe to use from any thread. Coroutines that
/// wait for work must outlive this object, whose destructor waits for the work under way.
class heavy_work {
public:
    /// `budget` counts the memory that the work takes; may be null.
    explicit heavy_work(memory_budget* budget) : budget_(budget) {}
    ~heavy_work();
    heavy_work(const heavy_work&) = delete;
    heavy_work& operator=(const heavy_work&) = delete;

    [[nodiscard]] memory_budget* budget() const noexcept { return budget_; }
    /// The thread for work on a text of this size.
    [[nodiscard]] boost::asio::thread_pool::executor_type lane_of(std::size_t bytes) noexcept;

private:
    memory_budget* const budget_;
    boost::asio::thread_pool mid_size_{1};
    boost::asio::thread_pool large_{1};
};

/// The budget of `heavy`; null if there is none.
[[nodiscard]] inline memory_budget* budget_of(const heavy_work* heavy) noexcept {
    return heavy == nullptr ? nullptr : heavy->budget();
}

namespace detail {

// An optional, because co_spawn needs a default constructor.
template <class Work>
boost::asio::awaitable<std::optional<std::invoke_result_t<Work&>>> work_there(Work work) {
    std::optional<Work> once(std::move(work));
    std::optional<std::invoke_result_t<Work&>> outcome((*once)());
    once.reset(); // On this thread, because freeing its data may take milliseconds, too.
    co_return std::move(outcome);
}

} // namespace detail

/// Returns work(), where `work` handles a text of `bytes` bytes. A small text is handled at once, a
/// larger one on a thread of `heavy`; the caller resumes on its own executor. If `heavy` is null,
/// everything is done at once. Throws what `work` throws. A cancellation does not end the work.
template <class Work>
[[nodiscard]] boost::asio::awaitable<std::invoke_result_t<Work&>>
run_heavy(heavy_work* heavy, std::size_t bytes, Work work) {
    if (heavy == nullptr || bytes <= small_work_bytes) {
        co_return work();
    }
    // Do not pass the caller's slot: a cancellation would be emitted on the lane, where its signal
    // may already be gone.
    auto outcome = co_await boost::asio::co_spawn(
        heavy->lane_of(bytes), detail::work_there<Work>(std::move(work)),
        boost::asio::bind_cancellation_slot(
            boost::asio::cancellation_slot(), boost::asio::use_awaitable
        )
    );
    co_return std::move(*outcome);
}

} // namespace agui
