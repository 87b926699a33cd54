#pragma once

#include "session/base/error.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace agui::runner {

struct child_command {
    std::string command; ///< A path, or a name to be looked up in PATH.
    std::vector<std::string> args;
    std::string cwd; ///< Working directory; empty for this process's.
    /// The whole environment of the child.
    std::vector<std::pair<std::string, std::string>> environment;
};

/// A child process with pipes to it. It has its own process group, inherits none of our other
/// descriptors, and has default signal handling. Used on one executor.
class child_process {
public:
    /// Starts the child. errc::not_found if it cannot be started; the detail says why, without the
    /// command line.
    [[nodiscard]] static result<std::unique_ptr<child_process>>
    start(const boost::asio::any_io_executor& executor, const child_command& what);

    /// Kills the process group unless end() has ended it.
    ~child_process();
    child_process(const child_process&) = delete;
    child_process& operator=(const child_process&) = delete;

    /// A socket instead of a pipe, because writing to a dead child must not raise SIGPIPE.
    [[nodiscard]] boost::asio::local::stream_protocol::socket& input() noexcept { return input_; }
    [[nodiscard]] boost::asio::posix::stream_descriptor& output() noexcept { return output_; }
    [[nodiscard]] boost::asio::posix::stream_descriptor& errors() noexcept { return errors_; }
    [[nodiscard]] pid_t id() const noexcept { return id_; }

    /// Closes the child's standard input. If the child has not ended after `grace`, it gets
    /// SIGTERM, and SIGKILL after another `grace`. Processes that it started in its group are
    /// killed with it. Returns once it is gone.
    [[nodiscard]] boost::asio::awaitable<void> end(std::chrono::milliseconds grace);

private:
    child_process(const boost::asio::any_io_executor& executor);

    [[nodiscard]] boost::asio::awaitable<bool> gone_within(std::chrono::milliseconds time);
    [[nodiscard]] bool has_ended() const noexcept;
    void signal_group(int number) const noexcept;
    void reap() noexcept;

    boost::asio::local::stream_protocol::socket input_;
    boost::asio::posix::stream_descriptor output_;
    boost::asio::posix::stream_descriptor errors_;
    pid_t id_ = -1; ///< -1 if the child is not started or is gone.
};

} // namespace agui::runner
