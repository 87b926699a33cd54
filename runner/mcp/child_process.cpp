#include "runner/mcp/child_process.hpp"

#include "session/base/as_result.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace agui::runner {

namespace asio = boost::asio;

namespace {

/// After SIGKILL only a process that hangs in the kernel remains.
constexpr std::chrono::seconds after_kill{2};
constexpr std::chrono::milliseconds look_again_max{50};

/// Two ends of a pipe or socket pair; ends that are not released are closed.
struct ends {
    std::array<int, 2> fd{-1, -1};

    ends() = default;
    ends(const ends&) = delete;
    ends& operator=(const ends&) = delete;
    ~ends() {
        for (const int each : fd) {
            if (each >= 0) {
                ::close(each);
            }
        }
    }
    int release(std::size_t which) { return std::exchange(fd[which], -1); }
};

struct spawn_actions {
    posix_spawn_file_actions_t value{};
    spawn_actions() { ::posix_spawn_file_actions_init(&value); }
    ~spawn_actions() { ::posix_spawn_file_actions_destroy(&value); }
    spawn_actions(const spawn_actions&) = delete;
    spawn_actions& operator=(const spawn_actions&) = delete;
};

struct spawn_attributes {
    posix_spawnattr_t value{};
    spawn_attributes() { ::posix_spawnattr_init(&value); }
    ~spawn_attributes() { ::posix_spawnattr_destroy(&value); }
    spawn_attributes(const spawn_attributes&) = delete;
    spawn_attributes& operator=(const spawn_attributes&) = delete;
};

failure not_started(int error) {
    return {.code = errc::not_found, .detail = std::system_category().message(error)};
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    pointers.reserve(texts.size() + 1);
    for (std::string& each : texts) {
        pointers.push_back(each.data());
    }
    pointers.push_back(nullptr);
    return pointers;
}

/// Returns 0 or an error number.
int spawn(pid_t& id, const child_command& what, int input, int output, int errors) {
    spawn_actions actions;
    const std::array<int, 3> wanted{input, output, errors};
    int failed = 0;
    for (int target = 0; target < 3 && failed == 0; ++target) {
        failed = ::posix_spawn_file_actions_adddup2(
            &actions.value, wanted[static_cast<std::size_t>(target)], target
        );
    }
    // Asio's sockets lack O_CLOEXEC: a client's connection that we close must not stay open in a
    // child.
    if (failed == 0) {
        failed = ::posix_spawn_file_actions_addclosefrom_np(&actions.value, 3);
    }
    if (failed == 0 && !what.cwd.empty()) {
        failed = ::posix_spawn_file_actions_addchdir_np(&actions.value, what.cwd.c_str());
    }
    if (failed != 0) {
        return failed;
    }
    spawn_attributes attributes;
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setflags(
        &attributes.value, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
    );
    ::posix_spawnattr_setpgroup(&attributes.value, 0);
    ::posix_spawnattr_setsigmask(&attributes.value, &none);
    ::posix_spawnattr_setsigdefault(&attributes.value, &all);

    std::vector<std::string> words{what.command};
    words.insert(words.end(), what.args.begin(), what.args.end());
    std::vector<std::string> variables;
    variables.reserve(what.environment.size());
    for (const auto& [name, value] : what.environment) {
        variables.push_back(name);
        variables.back().append("=").append(value);
    }
    return ::posix_spawnp(
        &id, what.command.c_str(), &actions.value, &attributes.value, pointers_to(words).data(),
        pointers_to(variables).data()
    );
}

} // namespace

child_process::child_process(const asio::any_io_executor& executor)
    : input_(executor), output_(executor), errors_(executor) {}

result<std::unique_ptr<child_process>>
child_process::start(const asio::any_io_executor& executor, const child_command& what) {
    ends input;
    ends output;
    ends errors;
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, input.fd.data()) != 0 ||
        ::pipe2(output.fd.data(), O_CLOEXEC) != 0 || ::pipe2(errors.fd.data(), O_CLOEXEC) != 0) {
        return not_started(errno);
    }
    std::unique_ptr<child_process> started(new child_process(executor));
    const int failed = spawn(started->id_, what, input.fd[1], output.fd[1], errors.fd[1]);
    if (failed != 0) {
        started->id_ = -1;
        return not_started(failed);
    }
    started->input_.assign(asio::local::stream_protocol(), input.release(0));
    started->output_.assign(output.release(0));
    started->errors_.assign(errors.release(0));
    return started;
}

child_process::~child_process() {
    if (id_ > 0) {
        signal_group(SIGKILL);
        reap();
    }
}

asio::awaitable<void> child_process::end(std::chrono::milliseconds grace) {
    // The child is ended even if the caller is cancelled.
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    boost::system::error_code ignored;
    input_.close(ignored);
    if (id_ <= 0) {
        co_return;
    }
    bool gone = co_await gone_within(grace);
    if (!gone) {
        signal_group(SIGTERM);
        gone = co_await gone_within(grace);
    }
    // Also kills the processes that the child left behind.
    signal_group(SIGKILL);
    if (!gone) {
        gone = co_await gone_within(after_kill);
    }
    output_.close(ignored);
    errors_.close(ignored);
    if (gone) {
        reap();
    }
    id_ = -1;
}

asio::awaitable<bool> child_process::gone_within(std::chrono::milliseconds time) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    const auto deadline = std::chrono::steady_clock::now() + time;
    for (std::chrono::milliseconds pause{1};; pause = std::min(2 * pause, look_again_max)) {
        if (has_ended()) {
            co_return true;
        }
        if (std::chrono::steady_clock::now() >= deadline) {
            co_return false;
        }
        timer.expires_after(pause);
        co_await timer.async_wait(as_result);
    }
}

/// Leaves the child a zombie, so that its id, which is also that of its group, is not reused.
bool child_process::has_ended() const noexcept {
    siginfo_t info{};
    const int failed = ::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT);
    // If the program ignores SIGCHLD, an ended child leaves nothing to wait for.
    return failed != 0 ? errno == ECHILD : info.si_pid == id_;
}

void child_process::signal_group(int number) const noexcept { ::kill(-id_, number); }

void child_process::reap() noexcept {
    while (::waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {
    }
    id_ = -1;
}

} // namespace agui::runner
