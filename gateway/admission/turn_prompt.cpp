#include "gateway/admission/turn_prompt.hpp"

#include "runner/loop/context_part.hpp"
#include "session/base/contains.hpp"
#include "session/history/prompt_fold.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

namespace agui::gateway {

namespace {

void append_paragraph(std::string& text, std::string_view more) {
    if (!text.empty() && !more.empty()) {
        text.append("\n\n");
    }
    text.append(more);
}

session::node_index tip_of(const session::thread_record& thread) {
    return thread.head < thread.branches.size() ? thread.branches[thread.head].tip
                                                : session::no_node;
}

// Time of the last user message of the branch that ends in `at`; 0 if there is none.
unix_ms time_of_turn(const session::thread_record& thread, session::node_index at) {
    while (at < thread.nodes.size()) {
        const session::stored_message& node = thread.nodes[at];
        if (session::begins_user_turn(node.message)) {
            return node.created_at;
        }
        at = node.parent;
    }
    return 0;
}

session::prompt_values values_of(
    const agent_entry& agent, const session::thread_record& thread,
    const boost::json::array& context, unix_ms time
) {
    session::prompt_values values;
    values.user = thread.key.principal;
    values.agent = agent.settings.id;
    values.thread = thread.key.thread_id;
    values.time = time;
    values.props = props_in(context);
    return values;
}

bool appends(const agent_entry& agent) noexcept {
    return agent.refresh == instructions_refresh::append;
}

// True if a text of that place is told with messages, or kept in the first system text.
bool is_recorded(const agent_entry& agent, context_place place) noexcept {
    return place == context_place::user || (place == context_place::system && appends(agent));
}

bool is_spoken(const session::message& value) noexcept {
    return value.subagent_run_id.empty() &&
           (value.role == session::role::user || value.role == session::role::tool);
}

// The place of the message, among those of the change, that is told something: the last user
// message or, after it, the result that stands last in the request, which orders results by their
// calls. Nullopt if there is none.
std::optional<std::size_t>
told_message(const session::changes& change, const session::thread_record& before) {
    std::optional<std::size_t> chosen;
    std::size_t last_call = 0;
    for (std::size_t i = change.messages.size(); i-- > 0;) {
        const session::message& each = change.messages[i].message;
        if (!is_spoken(each)) {
            if (chosen) {
                break;
            }
            continue;
        }
        if (each.role == session::role::user) {
            return chosen ? chosen : i;
        }
        const auto call =
            std::ranges::find(before.calls, each.tool_call_id, &session::call_record::id);
        const auto place = static_cast<std::size_t>(call - before.calls.begin());
        if (!chosen || place > last_call) {
            chosen = i;
            last_call = place;
        }
    }
    return chosen;
}

// The prompt of the branch to which the change adds messages, which have no records yet. With them,
// the last message before may count as refused, and is then not told again. The views live as long
// as `before`, whose messages the copy shares.
session::told_prompt
told_before(const session::changes& change, const session::thread_record& before) {
    session::thread_record with_change;
    with_change.nodes = before.nodes;
    with_change.nodes.append(change.messages);
    return session::fold_prompts(
        with_change, static_cast<session::node_index>(with_change.nodes.size() - 1)
    );
}

bool keeps_tools(const agent_entry& agent) noexcept { return agent.tool_list == tool_list::append; }

// Definitions of the tools that were told, are not offered, and are not recorded as withdrawn. Only
// requests bring tools that go away; what they brought is in `before`.
boost::json::array withdrawn_tools(
    const session::told_prompt& told, const session::thread_record& before,
    const std::vector<std::string>& offered
) {
    boost::json::array found;
    for (const boost::json::value& each : before.offered_tools) {
        const boost::json::object* const tool = each.if_object();
        const std::string_view name =
            tool == nullptr ? std::string_view() : session::name_of_tool(*tool);
        if (tool == nullptr || !contains(told.tools, name) || contains(offered, name)) {
            continue;
        }
        boost::json::object definition = session::definition_of_kept(*tool);
        const bool known = std::ranges::any_of(told.withdrawn, [&](const auto* one) {
            return *one == definition;
        });
        if (!known && told.withdrawn.size() + found.size() < withdrawn_tools_max) {
            found.push_back(std::move(definition));
        }
    }
    return found;
}

runner::tool_definition definition_of(const boost::json::object& tool) {
    runner::tool_definition made;
    made.name = session::name_of_tool(tool);
    const auto* const description = tool.if_contains("description");
    if (description != nullptr && description->is_string()) {
        made.description = std::string(description->get_string());
    }
    if (const auto* const parameters = tool.if_contains("parameters")) {
        made.parameters = *parameters;
    }
    return made;
}

// Adds the tools that the branch declares and the last request did not offer, if it brought no
// message to record them with.
void add_kept_tools(
    std::vector<runner::tool_definition>& withdrawn, const session::told_prompt& told,
    const session::thread_record& thread
) {
    for (const boost::json::value& each : thread.offered_tools) {
        if (!session::is_kept_tool(each)) {
            continue;
        }
        runner::tool_definition kept = definition_of(each.get_object());
        if (contains(told.tools, kept.name) &&
            std::ranges::find(withdrawn, kept.name, &runner::tool_definition::name) ==
                withdrawn.end()) {
            withdrawn.push_back(std::move(kept));
        }
    }
}

// True while the model is inside a turn, whose tools may not change under its thoughts.
bool is_inside_turn(const session::thread_record& thread, session::node_index tip) {
    for (session::node_index at = tip; at < thread.nodes.size(); at = thread.nodes[at].parent) {
        const session::message& each = thread.nodes[at].message;
        // A call that is approved, or that a subagent made, goes on after the model's message.
        if (each.role == session::role::assistant && each.subagent_run_id.empty()) {
            return true;
        }
        if (is_spoken(each)) {
            return each.role == session::role::tool;
        }
    }
    return false;
}

} // namespace

const boost::json::object* props_of(const boost::json::value& element) {
    const auto* object = element.if_object();
    const auto* props = object == nullptr ? nullptr : object->if_contains(props_member);
    return props == nullptr ? nullptr : props->if_object();
}

const boost::json::object* props_in(const boost::json::array& context) {
    return context.empty() ? nullptr : props_of(context.back());
}

void record_prompt(
    session::history_plan& plan, const session::thread_record& before, const agent_entry& agent,
    std::vector<std::string> tools, unix_ms now
) {
    session::changes& change = plan.change;
    const std::optional<std::size_t> place = told_message(change, before);
    // A message that waits for an approval is told later, with the context that came with it.
    const bool is_told = plan.next == session::next_step::call_model ||
                         plan.next == session::next_step::wait_for_approval;
    if (!is_told || !place) {
        return;
    }
    const session::node_index base = change.messages[0].parent;
    const boost::json::array& context = change.context ? *change.context : before.context;
    const bool begins_turn = session::begins_user_turn(change.messages[*place].message);
    const session::prompt_values values =
        values_of(agent, before, context, begins_turn ? now : time_of_turn(before, base));
    session::current_prompt current;
    current.agent_id = agent.settings.id;
    current.source = agent.prompt_source;
    if (appends(agent)) {
        current.values = agent.prompt.told(values);
        if (!agent.prompt.constant()) {
            current.instructions = agent.prompt.render(values);
        }
    }
    current.tells_values = begins_turn;
    current.context_in_system = appends(agent) && agent.context == context_place::system;
    current.state_in_system = appends(agent) && agent.state == context_place::system;
    if (is_recorded(agent, agent.context)) {
        current.context = runner::context_text(context);
    }
    if (is_recorded(agent, agent.state)) {
        current.state = runner::state_text(change.state ? *change.state : before.state);
    }
    const session::told_prompt told = told_before(change, before);
    if (keeps_tools(agent)) {
        current.withdrawn = withdrawn_tools(told, before, tools);
    }
    const bool inside_turn = !begins_turn && told.continues(agent.settings.id, agent.prompt_source);
    // Without any tool before, this one would begin the list, and change it under the model's
    // thoughts.
    const bool adds_tools = agent.adds_tools && !told.tools.empty();
    current.tells_tools = !keeps_tools(agent) || !inside_turn || adds_tools;
    current.tools = std::move(tools);
    std::shared_ptr<const session::prompt_record> record =
        session::next_record(told, std::move(current));
    std::size_t at = 0;
    change.messages.edit_each([&](session::stored_message& node) {
        if (at++ == *place) {
            node.message.prompt = std::move(record);
        }
    });
}

void set_prompt(
    runner::agent_settings& settings, const agent_entry& agent, const session::thread_record& thread
) {
    const session::node_index tip = tip_of(thread);
    const session::told_prompt told = session::fold_prompts(thread, tip);
    const bool recorded = appends(agent) && told.continues(agent.settings.id, agent.prompt_source);
    if (recorded && told.beginning->instructions) {
        settings.instructions = *told.beginning->instructions;
    } else if (!agent.prompt.constant()) {
        const unix_ms time = agent.prompt.tells_time() ? time_of_turn(thread, tip) : 0;
        settings.instructions = agent.prompt.render(values_of(agent, thread, thread.context, time));
    }
    if (recorded) {
        append_paragraph(settings.instructions, told.system_context);
        append_paragraph(settings.instructions, told.system_state);
    }
    if (told.beginning != nullptr && told.beginning->agent_id == agent.settings.id) {
        settings.tool_order = told.tools;
        if (keeps_tools(agent)) {
            for (const boost::json::object* const tool : told.withdrawn) {
                settings.withdrawn_tools.push_back(definition_of(*tool));
            }
            add_kept_tools(settings.withdrawn_tools, told, thread);
            // A message that is answered again has no record for further tools.
            const bool adds_to_list = agent.adds_tools && !told.tools.empty();
            settings.keeps_tool_list = adds_to_list || is_inside_turn(thread, tip);
            settings.late_tools = told.late_tools;
            settings.adds_tools = agent.adds_tools;
        }
    }
    // The application's text is data (P10): it is delimited, and becomes system text only if
    // configured. Inside a prefix only the records tell it: the next request would not repeat
    // anything else.
    const bool continues = told.continues(agent.settings.id, agent.prompt_source);
    const auto put = [&](context_place place, std::string_view text, std::string_view known) {
        const bool is_system_text = place == context_place::system && !recorded;
        const bool is_told = continues || text == known;
        if (place == context_place::off || (is_told && !is_system_text)) {
            return;
        }
        append_paragraph(is_system_text ? settings.instructions : settings.context, text);
    };
    if (agent.context != context_place::off) {
        put(agent.context, runner::context_text(thread.context), told.context);
    }
    if (agent.state != context_place::off) {
        put(agent.state, runner::state_text(thread.state), told.state);
    }
}

} // namespace agui::gateway
