#include "runner/loop/round_requests.hpp"

#include "runner/base/tool_names.hpp"
#include "runner/loop/run_hooks.hpp"
#include "session/base/contains.hpp"
#include "session/conversation/run_segment.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace agui::runner {

namespace {

bool calls_any(
    const std::vector<session::message>& history, const std::vector<std::string>& tools
) {
    return std::ranges::any_of(history, [&](const session::message& each) {
        return std::ranges::any_of(each.tool_calls, [&](const session::tool_call& call) {
            return contains(tools, call.name);
        });
    });
}

} // namespace

request_draft round_requests::draft(bool first) const {
    const model_request request = plain(models_.preferred(), first);
    request_draft made;
    made.instructions = request.instructions;
    made.parameters = request.parameters;
    made.tools = *request.tools;
    return made;
}

model_request
round_requests::make(std::size_t index, bool first, std::vector<session::message>& history) const {
    model_request request = plain(index, first);
    if (run_.hooks != nullptr) {
        run_.hooks->edit(request);
    } else if (calls_any(history, run_.request.agent.late_tools)) {
        // Servers refuse a call of a tool that is not declared. Another model has made it.
        request.tools = &run_.tools.with_late();
    }
    resolve_tool_choice(request);
    request.messages = &history;
    request.bytes = run_.thread.bytes();
    request.memory = &run_.thread.memory();
    return request;
}

// Model servers refuse a tool_choice without tools, or for a tool that is not offered.
void round_requests::resolve_tool_choice(model_request& request) const {
    std::optional<tool_choice>& choice = request.parameters.tool_choice;
    if (!choice) {
        return;
    }
    if (choice->kind != tool_choice::mode::named) {
        if (request.tools->empty()) {
            choice.reset();
        }
        return;
    }
    const tool_names names(request.tools);
    if (const tool_definition* const tool = names.meant(choice->name)) {
        choice->name = tool->name;
        return;
    }
    choice.reset();
    run_.services.log.log(
        log_level::warning, "tool_choice was left out because it names a tool that is not offered",
        {{"run", session::client_run_id(run_.request.run_id)}}
    );
}

model_request round_requests::plain(std::size_t index, bool first) const {
    model_request request;
    request.parameters = models_.parameters(index);
    request.provider = models_.provider(index).name();
    request.thread = run_.request.key.thread_id;
    request.run = run_.request.run_id;
    request.principal = run_.request.key.principal;
    request.address = run_.request.address;
    request.stop = &run_.stop;
    // The model would obey a forced choice again after each result, endlessly.
    if (!first || !run_.request.new_user_turn) {
        request.parameters.tool_choice.reset();
    }
    request.instructions = run_.request.agent.instructions;
    // Plugins change messages and tools, so that a tool would not stay with its message.
    const bool is_plain = run_.hooks == nullptr;
    request.adds_tools =
        is_plain && run_.request.agent.adds_tools && models_.provider(index).adds_tools();
    const bool takes_late =
        request.adds_tools || (is_plain && !models_.provider(index).binds_tools());
    request.tools = takes_late ? &run_.tools.with_late() : &run_.tools.offered();
    return request;
}

} // namespace agui::runner
