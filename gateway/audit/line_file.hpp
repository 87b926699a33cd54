#pragma once

#include "gateway/base/log_interval.hpp"
#include "session/base/log.hpp"
#include "session/base/mutex.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace agui::gateway {

/// When a line_file writes a line.
enum class line_writing {
    at_once,
    /// At the next flush(), or before a line that would exceed lines_bytes_max. A line costs less,
    /// and a process that is killed loses those that it has collected.
    collected,
};

/// A file to which records are appended, one line each, for other programs. Each write(2) has whole
/// lines, so that lines of several processes do not mix. Nothing waits and nothing fails
/// because of the file: a line that cannot be written is lost, and the log says how many were, at
/// most once a minute. Safe to call from any thread.
class line_file {
public:
    /// Lines that are written together, but for a single one that is longer. A pipe takes so many
    /// bytes whole or not at all (PIPE_BUF of Linux).
    static constexpr std::size_t lines_bytes_max = 4096;

    /// `path` is a file, which is made if it is missing and then only its owner may read, or "-"
    /// for standard output. `name` is the file's key in the configuration, for the log. Throws
    /// std::runtime_error if the file cannot be opened.
    line_file(std::string path, std::string name, line_writing when, logger& log);
    /// Writes collected lines.
    ~line_file();
    line_file(const line_file&) = delete;
    line_file& operator=(const line_file&) = delete;

    /// `line` holds no line break.
    void append(std::string_view line);

    /// Writes collected lines.
    void flush() noexcept;
    /// Writes collected lines, and each later one at once: the process is about to end.
    void stop_collecting() noexcept;

    /// Opens the path again, after the file was renamed (logrotate). Collected lines still go to
    /// the former file. If the path cannot be opened, the log says so, and all lines do.
    void reopen();

private:
    [[nodiscard]] int open_path() const noexcept;
    void write_lines() noexcept AGUI_REQUIRES(mutex_);
    [[nodiscard]] std::size_t write_some(std::string_view text) noexcept AGUI_REQUIRES(mutex_);
    void report_lost() noexcept AGUI_REQUIRES(mutex_);

    const std::string path_;
    const std::string name_;
    logger& log_;
    mutex mutex_;
    line_writing when_ AGUI_GUARDED_BY(mutex_);
    int file_ AGUI_GUARDED_BY(mutex_) = -1;
    std::string unwritten_ AGUI_GUARDED_BY(mutex_);
    bool is_torn_ AGUI_GUARDED_BY(mutex_) = false; ///< The last line was written in part.
    std::size_t lost_ AGUI_GUARDED_BY(mutex_) = 0; ///< Not reported yet.
    int last_error_ AGUI_GUARDED_BY(mutex_) = 0;
    log_interval reports_ AGUI_GUARDED_BY(mutex_){std::chrono::minutes(1)};
};

} // namespace agui::gateway
