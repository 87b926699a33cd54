#include "session/conversation/pending_call.hpp"

#include "session/base/text_map.hpp"
#include "session/base/work_count.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

namespace agui::session {

std::vector<pending_call> pending_of(const std::vector<call_record>& calls) {
    std::vector<pending_call> pending;
    for (const call_record& call : calls) {
        if (call.status == call_status::pending || call.status == call_status::asked) {
            pending.push_back({call, {}, {}, 0});
        }
    }
    return pending;
}

std::vector<std::size_t> by_message(const std::vector<pending_call>& pending) {
    std::vector<std::size_t> order(pending.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t at) {
        return std::pair(pending[at].call.made_in, at);
    });
    return order;
}

std::span<const std::size_t> calls_of_one(
    const std::vector<pending_call>& pending, const std::vector<std::size_t>& order,
    std::size_t first
) {
    std::size_t last = first;
    while (last < order.size() &&
           pending[order[last]].call.made_in == pending[order[first]].call.made_in) {
        ++last;
    }
    return std::span(order).subspan(first, last - first);
}

void describe(
    std::vector<pending_call>& pending, std::span<const std::size_t> calls, const message& made_in
) {
    count_work(made_in.tool_calls.size() + calls.size());
    view_map<const tool_call*> made;
    for (const tool_call& call : made_in.tool_calls) {
        made[call.id] = &call;
    }
    for (const std::size_t at : calls) {
        pending_call& described = pending[at];
        described.message_id = made_in.id;
        if (const auto found = made.find(described.call.id); found != made.end()) {
            described.arguments = found->second->arguments;
        }
    }
}

} // namespace agui::session
