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
    std::string command; ///< A path, or a name that is looked up in PATH.
    std::vector<std::string> args;
    std::string cwd; ///< Empty: that of this process.
    /// The whole environment of the child.
    std::vector<std::pair<std::string, std::string>> environment;
};

/// A child process with pipes to it. It has a process group of its own, none of our other
/// descriptors, and default signal handling. Used on one executor.
class child_process {
public:
    /// errc::not_found: it cannot be started; the detail says why, without the command line.
    [[nodiscard]] static result<std::unique_ptr<child_process>>
    start(const boost::asio::any_io_executor& executor, const child_command& what);

    /// Kills the process group, unless end() has ended it.
    ~child_process();
    child_process(const child_process&) = delete;
    child_process& operator=(const child_process&) = delete;

    /// A socket, not a pipe: writing to a child that is gone must not raise SIGPIPE.
    [[nodiscard]] boost::asio::local::stream_protocol::socket& input() noexcept { return input_; }
    [[nodiscard]] boost::asio::posix::stream_descriptor& output() noexcept { return output_; }
    [[nodiscard]] boost::asio::posix::stream_descriptor& errors() noexcept { return errors_; }
    [[nodiscard]] pid_t id() const noexcept { return id_; }

    /// Closes its standard input. If it has not ended after `grace`, it gets SIGTERM, and after as
    /// long again SIGKILL. What it has started in its process group is killed with it. Returns once
    /// it is gone.
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
    pid_t id_ = -1; ///< -1: not started, or gone.
};

} // namespace agui::runner
