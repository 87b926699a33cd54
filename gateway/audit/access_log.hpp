#pragma once

#include "gateway/audit/line_file.hpp"
#include "session/base/clock.hpp"
#include "session/base/log.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace agui::gateway {

/// The form of a line.
enum class access_form {
    combined, ///< Combined Log Format of Apache and nginx.
    json,     ///< One JSON object, which also has the duration in ms.
};

/// A request that was answered. The members come from the client, except `status` and the numbers.
struct access_entry {
    std::string address;
    std::string user; ///< The caller's principal; empty if there is none.
    std::string method;
    std::string path; ///< As sent, without the query, which may hold a token.
    std::string protocol;
    std::string referer; ///< Without its query, for the same reason.
    std::string user_agent;
    int status = 0;
    std::uint64_t bytes = 0; ///< Sent, with the reply's head.
    std::chrono::milliseconds duration{0};
};

/// One line for each request whose answer has ended, collected (line_writing::collected). Safe to
/// call from any thread.
class access_log {
public:
    /// Longer texts are cut.
    static constexpr std::size_t text_bytes_max = 1024;

    /// `path` as for line_file. Throws as line_file does. The references must outlive it.
    access_log(std::string path, access_form form, const clock& time, logger& log);

    void write(const access_entry& entry);
    /// To be called each second. line_file::flush()
    void flush() noexcept { file_.flush(); }
    /// line_file::stop_collecting()
    void stop_collecting() noexcept { file_.stop_collecting(); }
    /// line_file::reopen()
    void reopen() { file_.reopen(); }

private:
    const access_form form_;
    const clock& time_;
    line_file file_;
};

/// The line in one of the forms, without a line break, whatever the texts hold.
[[nodiscard]] std::string combined_line(const access_entry& entry, unix_ms now);
[[nodiscard]] std::string json_line(const access_entry& entry, unix_ms now);

} // namespace agui::gateway
