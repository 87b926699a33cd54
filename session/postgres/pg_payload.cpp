#include "session/postgres/pg_payload.hpp"

#include <charconv>
#include <utility>

namespace agui::session {

namespace {

// Ids need not be UTF-8, as a payload must be; "-" stands for none.
std::string as_hex(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const char each : bytes) {
        const auto value = static_cast<unsigned char>(each);
        text += digits[value >> 4U];
        text += digits[value & 0xfU];
    }
    return text;
}

std::optional<std::string> from_hex(std::string_view text) {
    if (text.size() % 2 != 0) {
        return std::nullopt;
    }
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); i += 2) {
        unsigned value = 0;
        const char* const end = text.data() + i + 2;
        const auto read = std::from_chars(text.data() + i, end, value, 16);
        if (read.ec != std::errc() || read.ptr != end) {
            return std::nullopt;
        }
        bytes += static_cast<char>(value);
    }
    return bytes;
}

} // namespace

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    for (;;) {
        const std::size_t end = text.find(' ');
        words.push_back(text.substr(0, end));
        if (end == std::string_view::npos) {
            return words;
        }
        text.remove_prefix(end + 1);
    }
}

std::optional<std::int64_t> number_in(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = problem == std::errc() && end == text.data() + text.size();
    return is_number ? std::optional(value) : std::nullopt;
}

std::string payload_of(const stop_request& request, std::int64_t gateway) {
    return "stop " + std::to_string(gateway) + ' ' + as_hex(request.key.principal) + ' ' +
           as_hex(request.key.thread_id) + ' ' + (request.run_id ? as_hex(*request.run_id) : "-") +
           ' ' + as_hex(request.reason);
}

std::optional<sent_stop> stop_in(std::string_view payload) {
    const std::vector<std::string_view> words = words_of(payload);
    if (words.size() != 6 || words[0] != "stop") {
        return std::nullopt;
    }
    const auto gateway = number_in(words[1]);
    auto principal = from_hex(words[2]);
    auto thread_id = from_hex(words[3]);
    const bool has_run = words[4] != "-";
    std::optional<std::string> run_id = has_run ? from_hex(words[4]) : std::nullopt;
    auto reason = from_hex(words[5]);
    if (!gateway || !principal || !thread_id || (has_run && !run_id) || !reason) {
        return std::nullopt;
    }
    return sent_stop{
        *gateway,
        {{std::move(*principal), std::move(*thread_id)}, std::move(run_id), std::move(*reason)}
    };
}

} // namespace agui::session
