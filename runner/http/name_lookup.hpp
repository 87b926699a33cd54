#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace agui::runner {

/// The addresses of a name, or why there are none.
struct looked_up {
    boost::system::error_code ec;
    std::vector<boost::asio::ip::address> addresses;
};

/// Finds the addresses of names. The system's resolver cannot be interrupted and may take minutes,
/// so each name is looked up on a thread of its own, however many callers wait for it. At most
/// sixteen threads run; other names queue for one. Unless all threads hang, a look-up that hangs
/// delays only the callers of that name. A thread without waiting callers is abandoned: neither the
/// end of an execution context nor that of the process waits for it.
///
/// Found addresses are kept for 30 s, failures for 1 s.
class name_lookup {
public:
    using clock = std::chrono::steady_clock;
    /// May block. Called on threads of this class, even after the name_lookup was destroyed. Must
    /// not throw.
    using function = std::function<looked_up(const std::string& host)>;

    static constexpr std::chrono::seconds found_time{30};
    static constexpr std::chrono::seconds not_found_time{1};
    static constexpr std::size_t threads_max = 16;

    /// `now` is for tests.
    explicit name_lookup(function look_up, std::function<clock::time_point()> now = clock::now);

    /// The instance with the system's resolver, shared by the whole process.
    [[nodiscard]] static const std::shared_ptr<name_lookup>& system();

    /// May be called on any thread and completes on the caller's executor. The result is
    /// asio::error::timed_out at `deadline` and operation_aborted after a cancellation.
    [[nodiscard]] boost::asio::awaitable<looked_up>
    find(std::string host, clock::time_point deadline);

private:
    struct state;
    std::shared_ptr<state> state_; ///< Shared with the threads.
};

} // namespace agui::runner
