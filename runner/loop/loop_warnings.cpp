#include "runner/loop/loop_warnings.hpp"

#include "runner/loop/turn_use.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace agui::runner {

namespace {

std::vector<loop_detector::call> looked_at(const std::vector<session::tool_call>& answer) {
    std::vector<loop_detector::call> calls;
    calls.reserve(answer.size());
    for (const session::tool_call& call : answer) {
        calls.push_back({call.name, call.arguments});
    }
    return calls;
}

} // namespace

std::optional<loop_detector> detector_of_turn(
    const session::thread_record& thread, session::node_index tip, const turn_limits& limits
) {
    if (limits.loop_threshold <= 1) {
        return std::nullopt;
    }
    loop_detector detector(limits.loop_threshold);
    for (const auto& answer : last_calls(thread, tip, detector.memory())) {
        (void)detector.add(looked_at(answer));
    }
    return detector;
}

loop_action action_on(const found_loop& found, const turn_limits& limits) {
    return limits.decide_loop ? limits.decide_loop(found) : limits.on_loop;
}

std::optional<std::string> warning_before_result(
    const session::thread_record& thread, const session::call_record& call,
    const turn_limits& limits
) {
    if (call.made_in >= thread.nodes.size()) {
        return std::nullopt;
    }
    const session::stored_message& made_in = thread.nodes[call.made_in];
    std::optional<loop_detector> detector = detector_of_turn(thread, made_in.parent, limits);
    const std::vector<session::tool_call>& calls = made_in.message.tool_calls;
    const auto own = std::ranges::find(calls, call.id, &session::tool_call::id);
    if (!detector || own == calls.end()) {
        return std::nullopt;
    }
    const auto loops = detector->add(looked_at(calls));
    const std::optional<found_loop>& found = loops[static_cast<std::size_t>(own - calls.begin())];
    if (!found || action_on(*found, limits) != loop_action::warn) {
        return std::nullopt;
    }
    return loop_warning(*found);
}

} // namespace agui::runner
