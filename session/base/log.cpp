#include "session/base/log.hpp"

#include "session/base/id.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace agui {

namespace {

// A value that could be mistaken for the text around it is quoted; quotes and characters that could
// break the line or change how it is shown are escaped. So one call is always one line.
void append_value(std::string& line, std::string_view value) {
    static constexpr char hex[] = "0123456789abcdef";
    bool plain = !value.empty();
    for (std::size_t at = 0; at < value.size() && plain; ++at) {
        const char c = value[at];
        plain = c != ' ' && c != '"' && c != '\\' && c != '=' &&
                unsound_character(value.substr(at)) == 0;
    }
    if (plain) {
        line.append(value);
        return;
    }
    line.push_back('"');
    for (std::size_t at = 0; at < value.size();) {
        const std::size_t unsound = unsound_character(value.substr(at));
        for (const char c : value.substr(at, unsound)) {
            const auto byte = static_cast<unsigned char>(c);
            line.append("\\x");
            line.push_back(hex[byte >> 4U]);
            line.push_back(hex[byte & 15U]);
        }
        if (unsound == 0) {
            if (value[at] == '"' || value[at] == '\\') {
                line.push_back('\\');
            }
            line.push_back(value[at]);
        }
        at += unsound == 0 ? 1 : unsound;
    }
    line.push_back('"');
}

std::string format(std::string_view text, std::initializer_list<log_field> fields) {
    std::string line(text);
    for (const log_field& field : fields) {
        line.push_back(' ');
        line.append(field.key);
        line.push_back('=');
        append_value(line, field.value);
    }
    return line;
}

spdlog::level::level_enum to_spdlog(log_level level) noexcept {
    switch (level) {
    case log_level::debug:
        return spdlog::level::debug;
    case log_level::info:
        return spdlog::level::info;
    case log_level::warning:
        return spdlog::level::warn;
    case log_level::error:
        return spdlog::level::err;
    case log_level::critical:
        return spdlog::level::critical;
    case log_level::off:
        return spdlog::level::off;
    }
    return spdlog::level::off;
}

class stderr_logger final : public logger {
public:
    explicit stderr_logger(log_level threshold)
        : logger(threshold),
          out_("agui-gateway", std::make_shared<spdlog::sinks::stderr_sink_mt>()) {
        out_.set_level(spdlog::level::debug);
        out_.set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
    }

private:
    void write(log_level level, std::string_view text, std::initializer_list<log_field> fields)
        override {
        out_.log(to_spdlog(level), "{}", format(text, fields));
    }

    spdlog::logger out_;
};

class discarding_logger final : public logger {
public:
    discarding_logger() : logger(log_level::off) {}

private:
    void write(log_level, std::string_view, std::initializer_list<log_field>) override {}
};

} // namespace

std::string_view to_string(log_level level) noexcept {
    switch (level) {
    case log_level::debug:
        return "debug";
    case log_level::info:
        return "info";
    case log_level::warning:
        return "warning";
    case log_level::error:
        return "error";
    case log_level::critical:
        return "critical";
    case log_level::off:
        return "off";
    }
    return "off";
}

std::unique_ptr<logger> make_stderr_logger(log_level threshold) {
    return std::make_unique<stderr_logger>(threshold);
}

logger& null_logger() {
    static discarding_logger instance;
    return instance;
}

std::vector<std::string> memory_logger::lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
}

void memory_logger::write(
    log_level level, std::string_view text, std::initializer_list<log_field> fields
) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::string(to_string(level)) + " " + format(text, fields));
}

} // namespace agui
