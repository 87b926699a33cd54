#include "runner/loop/loop_warnings.hpp"

#include "runner/loop/turn_use.hpp"

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

std::map<std::string, std::string, std::less<>> warnings_before_results(
    const session::thread_record& thread, session::node_index made_in, const turn_limits& limits
) {
    std::map<std::string, std::string, std::less<>> warnings;
    if (made_in >= thread.nodes.size()) {
        return warnings;
    }
    const session::stored_message& answer = thread.nodes[made_in];
    std::optional<loop_detector> detector = detector_of_turn(thread, answer.parent, limits);
    if (!detector) {
        return warnings;
    }
    const std::vector<session::tool_call>& calls = answer.message.tool_calls;
    const std::vector<std::optional<found_loop>> loops = detector->add(looked_at(calls));
    for (std::size_t i = 0; i < calls.size(); ++i) {
        if (loops[i] && action_on(*loops[i], limits) == loop_action::warn) {
            warnings.emplace(calls[i].id, loop_warning(*loops[i]));
        }
    }
    return warnings;
}

} // namespace agui::runner
