#include "session/conversation/run_segment.hpp"

#include <charconv>
#include <system_error>

namespace agui::session {

namespace {

// A control character, which no id of a client has (is_sound_id).
constexpr char segment_mark = '\x1f';

} // namespace

run_segment segment_of(std::string_view stored_id) noexcept {
    const std::size_t mark = stored_id.rfind(segment_mark);
    if (mark == std::string_view::npos) {
        return {stored_id, 1};
    }
    const std::string_view digits = stored_id.substr(mark + 1);
    std::uint32_t number = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const bool is_number =
        read.ec == std::errc() && read.ptr == digits.data() + digits.size() && number > 1;
    return is_number ? run_segment{stored_id.substr(0, mark), number} : run_segment{stored_id, 1};
}

std::string segment_id(std::string_view run_id, std::uint32_t number) {
    std::string id(run_id);
    if (number > 1) {
        id += segment_mark;
        id += std::to_string(number);
    }
    return id;
}

} // namespace agui::session
