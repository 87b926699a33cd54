#include "gateway/audit/line_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace agui::gateway {
namespace {

constexpr std::string_view standard_output = "-";
constexpr mode_t owner_only = 0600;

std::string text_of(int error) { return std::generic_category().message(error); }

} // namespace

line_file::line_file(std::string path, std::string name, line_writing when, logger& log)
    : path_(std::move(path)), name_(std::move(name)), log_(log), when_(when) {
    const std::lock_guard lock(mutex_);
    file_ = open_path();
    if (file_ < 0) {
        throw std::runtime_error(name_ + ": the file cannot be opened: " + text_of(errno));
    }
}

line_file::~line_file() {
    const std::lock_guard lock(mutex_);
    write_lines();
    if (file_ >= 0 && path_ != standard_output) {
        ::close(file_);
    }
}

// O_NONBLOCK is for a named pipe whose reader is gone or slow.
int line_file::open_path() const noexcept {
    if (path_ == standard_output) {
        return STDOUT_FILENO;
    }
    constexpr int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    return ::open(path_.c_str(), flags, owner_only);
}

void line_file::append(std::string_view line) {
    const std::lock_guard lock(mutex_);
    if (unwritten_.size() + line.size() >= lines_bytes_max) {
        write_lines();
    }
    unwritten_.append(line).push_back('\n');
    if (when_ == line_writing::at_once) {
        write_lines();
    }
}

void line_file::flush() noexcept {
    const std::lock_guard lock(mutex_);
    write_lines();
}

void line_file::stop_collecting() noexcept {
    const std::lock_guard lock(mutex_);
    when_ = line_writing::at_once;
    write_lines();
}

void line_file::write_lines() noexcept {
    if (unwritten_.empty()) {
        return;
    }
    if (is_torn_ && write_some("\n") == 1) {
        is_torn_ = false;
    }
    const std::size_t written = is_torn_ ? 0 : write_some(unwritten_);
    const std::string_view rest = std::string_view(unwritten_).substr(written);
    is_torn_ = is_torn_ || (written > 0 && unwritten_[written - 1] != '\n');
    lost_ += static_cast<std::size_t>(std::ranges::count(rest, '\n'));
    unwritten_.clear();
    if (lost_ > 0 && reports_.due(std::chrono::steady_clock::now())) {
        report_lost();
    }
}

std::size_t line_file::write_some(std::string_view text) noexcept {
    if (path_ == standard_output) { // Shared with others, so that it must not become non-blocking.
        pollfd out{file_, POLLOUT, 0};
        if (::poll(&out, 1, 0) <= 0) {
            last_error_ = EAGAIN;
            return 0;
        }
    }
    ssize_t written = 0;
    do {
        written = ::write(file_, text.data(), text.size());
    } while (written < 0 && errno == EINTR);
    const std::size_t taken = written < 0 ? 0 : static_cast<std::size_t>(written);
    if (taken < text.size()) {
        last_error_ = written < 0 ? errno : ENOSPC;
    }
    return taken;
}

void line_file::report_lost() noexcept {
    try {
        log_.log(
            log_level::error, "lines of a file could not be written and are lost",
            {{"file", name_}, {"lines", std::to_string(lost_)}, {"error", text_of(last_error_)}}
        );
        lost_ = 0;
    } catch (const std::exception&) {
        return; // They are part of the next report.
    }
}

void line_file::reopen() {
    if (path_ == standard_output) {
        return;
    }
    const int fresh = open_path();
    const int error = errno;
    if (fresh < 0) {
        log_.log(
            log_level::error, "a file could not be opened again: the former one is still used",
            {{"file", name_}, {"error", text_of(error)}}
        );
        return;
    }
    const std::lock_guard lock(mutex_);
    write_lines();
    ::close(std::exchange(file_, fresh));
    is_torn_ = false;
}

} // namespace agui::gateway
