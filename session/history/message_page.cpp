#include "session/history/message_page.hpp"

#include <algorithm>
#include <iterator>

namespace agui::session {

namespace {

// A subagent's user messages are within the turn that has called it.
bool begins_turn(const message& shown) {
    return shown.role == role::user && shown.subagent_run_id.empty();
}

} // namespace

result<bool>
cut_to_page(std::vector<message>& messages, const std::string& before, std::size_t limit) {
    if (!before.empty()) {
        const auto next = std::ranges::find(messages, before, &message::id);
        if (next == messages.end()) {
            return failure{errc::not_found, "the branch has no message with this id", "before", {}};
        }
        messages.erase(next, messages.end());
    }
    if (messages.size() <= limit) {
        return false;
    }
    auto first = std::prev(messages.end(), static_cast<std::ptrdiff_t>(limit));
    while (first != messages.begin() && !begins_turn(*first)) {
        --first;
    }
    const bool has_earlier = first != messages.begin();
    messages.erase(messages.begin(), first);
    return has_earlier;
}

} // namespace agui::session
