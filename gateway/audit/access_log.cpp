#include "gateway/audit/access_log.hpp"

#include "gateway/audit/record_line.hpp"
#include "gateway/auth/caller.hpp"

#include <array>
#include <cstdio>
#include <utility>

namespace agui::gateway {

namespace {

std::string_view shortened(std::string_view text) noexcept {
    return text.substr(0, access_log::text_bytes_max);
}

// As nginx escapes: what could end the field or the line, and every byte that is not ASCII.
void append_field(std::string& line, std::string_view text, bool is_quoted) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    if (text.empty()) {
        line.push_back('-');
    }
    for (const char c : shortened(text)) {
        const auto byte = static_cast<unsigned char>(c);
        const bool is_plain = byte > 0x20 && byte < 0x7F && c != '"' && c != '\\';
        if (is_plain || (c == ' ' && is_quoted)) {
            line.push_back(c);
        } else {
            line.append("\\x");
            line.push_back(digits[byte >> 4U]);
            line.push_back(digits[byte & 0x0FU]);
        }
    }
}

/// `10/Oct/2026:13:55:36 +0000`
std::string common_log_time(unix_ms now) {
    constexpr std::array<const char*, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                 "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const std::chrono::sys_time<std::chrono::milliseconds> at{std::chrono::milliseconds(now)};
    const auto midnight = std::chrono::floor<std::chrono::days>(at);
    const std::chrono::year_month_day date(midnight);
    const std::chrono::hh_mm_ss time(std::chrono::floor<std::chrono::seconds>(at - midnight));
    std::array<char, 64> text{};
    const int size = std::snprintf(
        text.data(), text.size(), "%02u/%s/%04d:%02d:%02d:%02d +0000",
        static_cast<unsigned>(date.day()), months.at(static_cast<unsigned>(date.month()) - 1),
        static_cast<int>(date.year()), static_cast<int>(time.hours().count()),
        static_cast<int>(time.minutes().count()), static_cast<int>(time.seconds().count())
    );
    return {text.data(), static_cast<std::size_t>(size)};
}

} // namespace

std::string combined_line(const access_entry& entry, unix_ms now) {
    std::string line;
    append_field(line, entry.address, false);
    line.append(" - ");
    append_field(line, entry.user, false);
    line.append(" [").append(common_log_time(now)).append("] \"");
    if (entry.method.empty()) {
        line.push_back('-'); // The head could not be read.
    } else {
        append_field(line, entry.method, false);
        line.push_back(' ');
        append_field(line, entry.path, false);
        line.push_back(' ');
        append_field(line, entry.protocol, false);
    }
    line.append("\" ").append(std::to_string(entry.status)).append(" ");
    line.append(std::to_string(entry.bytes)).append(" \"");
    append_field(line, entry.referer, true);
    line.append("\" \"");
    append_field(line, entry.user_agent, true);
    line.append("\"");
    return line;
}

std::string json_line(const access_entry& entry, unix_ms now) {
    record_line line(now);
    const caller_name names = name_of(entry.user);
    line.add("address", shortened(entry.address));
    line.add("tenant", shortened(names.tenant));
    line.add("user", shortened(names.user));
    line.add("method", shortened(entry.method));
    line.add("path", shortened(entry.path));
    line.add("protocol", shortened(entry.protocol));
    line.add("status", entry.status);
    line.add("bytes", static_cast<std::int64_t>(entry.bytes));
    line.add("durationMs", entry.duration.count());
    line.add("referer", shortened(entry.referer));
    line.add("userAgent", shortened(entry.user_agent));
    return line.end();
}

access_log::access_log(std::string path, access_form form, const clock& time, logger& log)
    : form_(form),
      time_(time),
      file_(std::move(path), "access_log.file", line_writing::collected, log) {}

void access_log::write(const access_entry& entry) {
    const unix_ms now = time_.now();
    file_.append(
        form_ == access_form::combined ? combined_line(entry, now) : json_line(entry, now)
    );
}

} // namespace agui::gateway
