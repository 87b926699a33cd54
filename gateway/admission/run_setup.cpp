#include "gateway/admission/run_setup.hpp"

#include "gateway/admission/turn_prompt.hpp"
#include "runner/loop/loop_detector.hpp"
#include "runner/loop/loop_warnings.hpp"
#include "runner/tools/check_budget.hpp"
#include "runner/tools/tool_question.hpp"
#include "session/base/text_map.hpp"
#include "session/conversation/run_segment.hpp"
#include "session/history/history_ids.hpp"
#include "session/history/history_rules.hpp"
#include "session/history/missing_result.hpp"
#include "session/history/prompt_fold.hpp"
#include "session/history/title.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace agui::gateway {

namespace {

bool may_offer(const agent_entry& agent, std::string_view name) {
    const auto matches = [name](const std::string& pattern) {
        return runner::matches_tool_pattern(name, pattern);
    };
    return !agent.client_tools || std::ranges::any_of(*agent.client_tools, matches);
}

// One model call, without tools of the server.
void use_only_tools_of_request(runner::agent_settings& agent) {
    agent.only_external_tools = true;
    agent.agents.clear();
    agent.executors = nullptr;
    agent.max_rounds = 1;
}

runner::tool_definition tool_from_json(const boost::json::value& json) {
    runner::tool_definition tool;
    const boost::json::object& object = json.as_object();
    tool.name = std::string(object.at("name").as_string());
    if (const auto* description = object.if_contains("description")) {
        if (description->is_string()) {
            tool.description = std::string(description->get_string());
        }
    }
    const auto* const parameters = object.if_contains("parameters");
    if (parameters != nullptr && parameters->is_object()) {
        tool.parameters = *parameters;
    }
    return tool;
}

void add_events(session::history_plan& plan, const translator::run_input& input, unix_ms now) {
    const auto add = [&](std::string_view type, boost::json::object data) {
        session::session_event event;
        event.type = type;
        event.run_id = input.run_id;
        event.timestamp = now;
        event.data = std::move(data);
        plan.change.events.push_back(std::move(event));
    };
    add("run.started", {});
    for (const session::approved_call& call : plan.approved) {
        const std::string_view what = call.inputs.empty() ? "approved" : "input";
        add("interrupt.answered", {{"toolCallId", call.call_id}, {what, true}});
    }
    for (const session::taken_answer& call : plan.refused_calls) {
        add("interrupt.answered", {{"toolCallId", call.call_id}, {"approved", false}});
    }
    for (const session::taken_answer& answer : plan.answers) {
        add("tool.response", {{"toolCallId", answer.call_id}, {"messageId", answer.message_id}});
    }
    for (const std::string& id : plan.new_user_messages) {
        add("user.message", {{"messageId", id}});
    }
}

// A client sends `{}` while it knows no state, for example after a reload. `{}` counts as a state
// only from a client that always sends everything.
bool says_state(const json_text& state, const session::history_policy& policy) {
    return !state.is_empty_object() || policy.client_history == session::client_history::full ||
           policy.mode == session::history_mode::client;
}

// Finds the model by its name in the configuration, or by the model server's name for it, which
// clients may know.
auto find_model(const agent_entry& agent, std::string_view name) {
    const auto found = agent.models.find(name);
    return found != agent.models.end()
               ? found
               : std::find_if(agent.models.begin(), agent.models.end(), [&](const auto& one) {
                     return one.second.second.model == name;
                 });
}

// The chosen model is asked first; an agent with fallbacks then falls back to its own models.
void choose_model(
    chosen_agent& chosen, const agent_entry& agent, const std::string& name, logger& log,
    const std::string& run_id
) {
    const auto found = find_model(agent, name);
    if (found == agent.models.end()) {
        log.log(
            log_level::debug, "a request named a model that is not configured",
            {{"run", session::client_run_id(run_id)}}
        );
        return;
    }
    std::vector<runner::model_choice> own = agent.fallbacks;
    if (!own.empty()) {
        own.insert(own.begin(), {agent.model, agent.settings.parameters});
    }
    chosen.model = found->second.first;
    chosen.settings.parameters = found->second.second;
    std::erase_if(own, [&](const runner::model_choice& one) {
        return one.provider == chosen.model;
    });
    chosen.fallbacks = std::move(own);
}

// The thread's context after the request; nullopt if it does not change. A request without context
// keeps the thread's entries.
std::optional<boost::json::array> context_after(
    const translator::run_input& input, const boost::json::array& before, bool new_user_turn
) {
    const boost::json::object& props = input.forwarded.prompt_values;
    const bool new_entries = input.has_context;
    const bool new_props = new_user_turn || !props.empty();
    if (!new_entries && !new_props) {
        return std::nullopt;
    }
    boost::json::array context;
    if (new_entries) {
        for (const translator::context_entry& entry : input.context) {
            context.push_back({{"description", entry.description}, {"value", entry.value}});
        }
    } else {
        std::ranges::copy_if(before, std::back_inserter(context), [](const auto& element) {
            return props_of(element) == nullptr;
        });
    }
    const boost::json::object* const kept = new_props ? &props : props_in(before);
    if (kept != nullptr && !kept->empty()) {
        context.push_back(boost::json::object{{props_member, *kept}});
    }
    if (context == before) {
        return std::nullopt;
    }
    return context;
}

bool answers_pending_call(
    const translator::run_input& input, const session::thread_record& thread
) {
    return std::ranges::any_of(thread.calls, [&](const session::call_record& call) {
        return call.status == session::call_status::pending &&
               std::ranges::any_of(input.messages, [&](const session::message& each) {
                   return each.role == session::role::tool && each.tool_call_id == call.id;
               });
    });
}

// Returns true if the tool messages at the end, or before the last user messages, answer external
// calls of this thread or calls that the client has made itself.
bool ends_in_answers(const translator::run_input& input, const session::thread_record& thread) {
    const auto is_beside = [](const session::message& each) {
        return session::is_user(each) || session::is_system(each);
    };
    const auto is_answer = [](const session::message& each) {
        return each.role == session::role::tool;
    };
    const auto last = std::find_if_not(input.messages.rbegin(), input.messages.rend(), is_beside);
    const auto end = std::find_if_not(last, input.messages.rend(), is_answer);
    if (last == end) {
        return false;
    }
    view_map<const session::call_record*> calls;
    for (const session::call_record& call : thread.calls) {
        calls.emplace(call.id, &call);
    }
    return std::any_of(last, end, [&](const session::message& answer) {
        const auto known = calls.find(answer.tool_call_id);
        if (known == calls.end()) {
            return !session::is_missing_result(answer);
        }
        const session::call_record& call = *known->second;
        return call.owner == session::call_owner::external &&
               (call.status == session::call_status::pending ||
                call.status == session::call_status::answered);
    });
}

// Loop warnings for the caller's tools, as for the server's, by the result's message id. They are
// stored with the result, so that later requests repeat them.
text_map<std::string> warnings_of_loops(
    const session::history_plan& plan, const session::thread_record& thread,
    const runner::turn_limits& limits
) {
    text_map<std::string> found;
    std::map<session::node_index, std::map<std::string, std::string, std::less<>>> warnings;
    for (const session::taken_answer& answer : plan.answers) {
        const session::call_record* const call = thread.find_call(answer.call_id);
        if (call == nullptr) {
            continue;
        }
        const auto [of_answer, is_new] = warnings.try_emplace(call->made_in);
        if (is_new) {
            of_answer->second = runner::warnings_before_results(thread, call->made_in, limits);
        }
        if (const auto warning = of_answer->second.find(call->id);
            warning != of_answer->second.end()) {
            found.insert_or_assign(answer.message_id, warning->second);
        }
    }
    return found;
}

// Makes the id of a message without one.
std::string message_id(const translator::run_input& input, std::size_t index) {
    const session::run_segment run = session::segment_of(input.run_id);
    const std::string segment = run.number == 1 ? "" : "." + std::to_string(run.number);
    return std::string(run.run_id) + segment + ":" + std::to_string(index);
}

} // namespace

void complete_input(translator::run_input& input, const session::thread_record& thread) {
    const bool is_complete = input.tools && input.has_context;
    if (is_complete || !input.resume.empty() || ends_in_answers(input, thread)) {
        return;
    }
    if (!input.tools) {
        input.tools.emplace();
    }
    input.has_context = true;
}

result<void> check_client_tools(const agent_entry& agent, const translator::run_input& input) {
    if (!input.tools || input.is_for_suggestions) {
        return {};
    }
    for (std::size_t i = 0; i < input.tools->size(); ++i) {
        const std::string& name = (*input.tools)[i].name;
        if (!may_offer(agent, name)) {
            return failure{
                errc::tool_not_allowed,
                "clients may not offer the tool \"" + name + "\" to this agent",
                "tools[" + std::to_string(i) + "].name",
                {}
            };
        }
    }
    return {};
}

result<std::vector<runner::tool_definition>> external_tools(
    const run_settings& settings, const agent_entry& agent, const server_tool_check& is_server_tool,
    const translator::run_input& input, const boost::json::array& stored, logger& log
) {
    std::vector<runner::tool_definition> given;
    for (const boost::json::value& each : stored) {
        if (!session::is_kept_tool(each)) {
            given.push_back(tool_from_json(each));
        }
    }
    if (input.is_for_suggestions) {
        return given;
    }
    std::vector<runner::tool_definition> offered;
    std::set<std::string, std::less<>> names;
    for (const external_tool& configured : settings.external_tools) {
        const bool listed = std::any_of(given.begin(), given.end(), [&](const auto& tool) {
            return tool.name == configured.definition.name;
        });
        if (configured.always || listed) {
            offered.push_back(configured.definition);
        }
        // The configuration's definition takes precedence.
        names.insert(configured.definition.name);
    }
    for (std::size_t i = 0; i < given.size(); ++i) {
        runner::tool_definition& tool = given[i];
        if (!may_offer(agent, tool.name)) {
            // Offered before the configuration changed, or to another agent.
            log.log(
                log_level::warning,
                "a client tool of the thread was left out because clients may not offer it",
                {{"thread", input.thread_id}, {"run", session::client_run_id(input.run_id)}}
            );
        } else if (is_server_tool(tool.name)) {
            if (settings.reject_name_clash && input.tools) {
                return failure{
                    errc::tool_name_clash,
                    "a server tool already has this name",
                    "tools[" + std::to_string(i) + "].name",
                    {}
                };
            }
            log.log(
                log_level::warning, "a client tool was ignored because a server tool has its name",
                {{"thread", input.thread_id}, {"run", session::client_run_id(input.run_id)}}
            );
        } else if (names.insert(tool.name).second) {
            offered.push_back(std::move(tool));
        }
    }
    return offered;
}

session::history_input history_of(
    const run_settings& settings, const server_tool_check& is_server_tool,
    const runner::tool_registry& server_tools, const translator::run_input& input, unix_ms now
) {
    session::history_input history;
    history.messages = input.messages;
    for (std::size_t i = 0; i < history.messages.size(); ++i) {
        if (history.messages[i].id.empty()) {
            history.messages[i].id = message_id(input, i);
        }
    }
    session::make_ids_distinct(history.messages);
    if (input.tools) {
        history.offered_tools.emplace();
        for (const runner::tool_definition& tool : *input.tools) {
            history.offered_tools->push_back(tool.name);
        }
    }
    for (const external_tool& tool : settings.external_tools) {
        history.configured_external_tools.push_back(tool.definition.name);
    }
    history.is_server_tool = is_server_tool;
    for (const translator::resume_entry& entry : input.resume) {
        history.approvals.push_back({entry.interrupt_id, entry.cancelled, entry.payload});
    }
    const auto budget = std::make_shared<runner::check_budget>();
    history.checks.arguments = [&server_tools,
                                budget](std::string_view name, boost::json::object arguments) {
        const auto tools = server_tools.snapshot();
        const runner::registered_tool* const tool = tools->find_tool(name);
        return tool == nullptr || tool->schema == nullptr || !tool->schema->fit(arguments, *budget);
    };
    history.checks.input =
        [budget](const boost::json::object& schema, const boost::json::value& answer) {
            return runner::fits_question(schema, answer, *budget);
        };
    history.now = now;
    return history;
}

void name_first_interrupt(
    std::vector<session::approval_answer>& answers, const session::thread_record& thread,
    std::chrono::seconds life
) {
    for (session::approval_answer& each : answers) {
        if (each.approval_id.empty() && thread.head < thread.branches.size()) {
            const auto open =
                session::open_approvals(thread, thread.branches[thread.head].tip, life);
            each.approval_id = open.empty() ? std::string() : open.front().id;
        }
    }
}

std::vector<session::message> messages_to_queue(
    const translator::run_input& input, const std::optional<session::thread_record>& thread
) {
    if (!input.resume.empty()) {
        return {}; // The queue would lose the answers.
    }
    const auto is_user = [](const session::message& each) {
        return each.role == session::role::user;
    };
    const auto last_other =
        std::find_if_not(input.messages.rbegin(), input.messages.rend(), is_user);
    std::vector<session::message> found(last_other.base(), input.messages.end());
    const std::size_t before = input.messages.size() - found.size();
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (found[i].id.empty()) {
            found[i].id = message_id(input, before + i);
        }
    }
    session::make_ids_distinct(found);
    if (thread && answers_pending_call(input, *thread)) {
        return {};
    }
    if (thread && !found.empty()) {
        std::set<std::string_view> known;
        for (const session::stored_message& node : thread->nodes) {
            known.insert(node.message.id);
        }
        std::erase_if(found, [&](const session::message& each) { return known.contains(each.id); });
    }
    return found;
}

bool can_use_model(const agent_entry& agent, std::string_view name) {
    const auto found = find_model(agent, name);
    return found != agent.models.end() &&
           (agent.overridable.contains("model") || found->second.first == agent.model);
}

chosen_agent agent_of(
    const agent_entry& agent, const translator::run_input& input,
    const session::thread_record& thread, logger& log
) {
    chosen_agent chosen{agent.settings, agent.model, agent.fallbacks};
    const auto may_set = [&](std::string_view key) {
        return agent.overridable.contains(key);
    };
    const translator::forwarded_settings& asked = input.forwarded;
    if (asked.model && may_set("model")) {
        choose_model(chosen, agent, *asked.model, log, input.run_id);
    }
    const auto set = [&](runner::model_parameters& parameters) {
        if (asked.temperature && may_set("temperature")) {
            parameters.temperature = asked.temperature;
        }
        if (asked.max_output_tokens && may_set("max_output_tokens")) {
            parameters.max_output_tokens = asked.max_output_tokens;
        }
        // The demanded tool is the only one that a request for suggestions has.
        if (asked.tool_choice && (input.is_for_suggestions || may_set("tool_choice"))) {
            parameters.tool_choice = runner::tool_choice_from_string(*asked.tool_choice);
            parameters.tool_choice->instead_of_thinking = input.is_for_suggestions;
        }
        if (asked.reasoning_effort && may_set("reasoning_effort")) {
            parameters.reasoning_effort = asked.reasoning_effort;
        }
        if (asked.top_p && may_set("top_p")) {
            parameters.top_p = asked.top_p;
        }
        if (asked.stop && may_set("stop")) {
            parameters.stop = asked.stop;
        }
        if (asked.seed && may_set("seed")) {
            parameters.seed = asked.seed;
        }
        if (asked.response_format && may_set("response_format")) {
            parameters.format = *asked.response_format;
        }
    };
    set(chosen.settings.parameters);
    for (runner::model_choice& other : chosen.fallbacks) {
        set(other.parameters);
    }
    set_prompt(chosen.settings, agent, thread);
    std::erase_if(chosen.settings.withdrawn_tools, [&agent](const runner::tool_definition& tool) {
        return !may_offer(agent, tool.name);
    });
    if (input.is_for_suggestions) {
        use_only_tools_of_request(chosen.settings);
    }
    return chosen;
}

void complete_change(
    session::history_plan& plan, const translator::run_input& input,
    const session::thread_record& thread, const agent_entry& agent,
    const session::history_policy& policy, unix_ms now
) {
    add_events(plan, input, now);
    session::changes& change = plan.change;
    change.at = now;
    if (plan.next == session::next_step::refuse) {
        return; // Nothing of the request is stored but that there was one.
    }
    const text_map<std::string> warnings = warnings_of_loops(plan, thread, agent.settings.limits);
    change.messages.edit_each([&](session::stored_message& node) {
        node.run_id = input.run_id;
        node.created_at = now;
        if (const auto warning = warnings.find(node.message.id); warning != warnings.end()) {
            session::content told = node.message.content;
            runner::prepend(told, warning->second);
            node.message.for_model = std::make_shared<const session::content>(std::move(told));
        }
    });
    for (auto& branch : change.branches) {
        branch.value.updated_at = now;
    }
    for (session::call_record& call : change.calls) {
        if (call.run_id.empty()) {
            call.run_id = input.run_id;
        }
    }
    if (input.tools) {
        const bool appends = agent.tool_list == tool_list::append;
        boost::json::array tools = input.tools_json;
        if (appends && !plan.new_user_turn) {
            session::keep_definitions(tools, thread.offered_tools);
        }
        tools = session::keep_tools(
            std::move(tools), thread.offered_tools, appends ? withdrawn_tools_max : 0
        );
        if (tools != thread.offered_tools) {
            change.offered_tools = std::move(tools);
        }
    }
    change.context = context_after(input, thread.context, !plan.new_user_messages.empty());
    if (input.state && says_state(*input.state, policy) &&
        !session::is_same_document(*input.state, thread.state)) {
        change.state = *input.state;
    }
    if (agent.titles) {
        change.title = session::title_of_change(thread, change);
    }
    if (thread.nodes.empty() && thread.agent_id.empty()) {
        change.agent_id = agent.settings.id;
    }
}

} // namespace agui::gateway
