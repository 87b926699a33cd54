#include "gateway/http/room_log.hpp"

#include <utility>

namespace agui::gateway {

namespace {

// The server itself has about ten; plugins can add more.
constexpr std::size_t reasons_max = 16;
constexpr std::string_view other_reasons = "others";

} // namespace

void room_log::add(std::string_view reason, time_point now) {
    const std::lock_guard lock(mutex_);
    auto found = reasons_.find(reason);
    if (found == reasons_.end()) {
        const auto name = reasons_.size() < reasons_max ? reason : other_reasons;
        found = reasons_.try_emplace(std::string(name)).first;
    }
    reason_count& count = found->second;
    ++count.unreported;
    if (count.lines.due(now)) {
        const std::string number = std::to_string(std::exchange(count.unreported, 0));
        log_.log(
            log_level::warning, "requests were refused for lack of memory or capacity",
            {{"reason", found->first}, {"count", number}}
        );
    }
}

} // namespace agui::gateway
