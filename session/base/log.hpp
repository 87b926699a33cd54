#pragma once

#include "session/base/mutex.hpp"

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui {

/// critical: the server cannot serve. error: a request or a run failed through our fault. warning:
/// a client caused it, or the server recovered. info: start, stop and the like. debug: one line per
/// event.
enum class log_level { debug, info, warning, error, critical, off };

[[nodiscard]] std::string_view to_string(log_level level) noexcept;

/// One `key=value` of a log line. The views need to be valid during the call only.
struct log_field {
    std::string_view key;
    std::string_view value;
};

/// Where log lines go. Implementations are safe to call from any thread. `text` holds nothing that
/// others choose: that goes into fields, which are escaped. User content is logged at debug level
/// only, secrets never.
class logger {
public:
    explicit logger(log_level threshold) noexcept : threshold_(threshold) {}
    virtual ~logger() = default;
    logger(const logger&) = delete;
    logger& operator=(const logger&) = delete;

    [[nodiscard]] bool enabled(log_level level) const noexcept { return level >= threshold_; }

    void log(log_level level, std::string_view text, std::initializer_list<log_field> fields = {}) {
        if (enabled(level)) {
            write(level, text, fields);
        }
    }

private:
    virtual void
    write(log_level level, std::string_view text, std::initializer_list<log_field> fields) = 0;

    log_level threshold_;
};

/// Lines on standard error: `2026-01-02T03:04:05.678Z warning text key=value`, in UTC. A value with
/// spaces, quotes or control characters is quoted and escaped, so that it cannot forge a line.
[[nodiscard]] std::unique_ptr<logger> make_stderr_logger(log_level threshold);

/// Drops everything.
[[nodiscard]] logger& null_logger();

/// Keeps the lines ("level text key=value …"), for tests.
class memory_logger final : public logger {
public:
    memory_logger() : logger(log_level::debug) {}
    [[nodiscard]] std::vector<std::string> lines() const;

private:
    void
    write(log_level level, std::string_view text, std::initializer_list<log_field> fields) override;

    mutable mutex mutex_;
    std::vector<std::string> lines_ AGUI_GUARDED_BY(mutex_);
};

} // namespace agui
