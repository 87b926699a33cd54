#include "session/history/prompt_fold.hpp"

#include "session/base/contains.hpp"
#include "session/base/text_map.hpp"
#include "session/history/delimited_text.hpp"
#include "session/history/escaped_texts.hpp"
#include "session/history/refused_turns.hpp"
#include "session/history/text_part.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>

namespace agui::session {

namespace {

namespace json = boost::json;

void set_value(prompt_value_list& values, const std::string& name, const std::string& value) {
    const auto known = std::ranges::find(values, name, &prompt_value_list::value_type::first);
    if (known == values.end()) {
        values.emplace_back(name, value);
    } else {
        known->second = value;
    }
}

// A member of an element of thread_record::offered_tools.
constexpr std::string_view kept_member = "kept";

void fold(told_prompt& told, const prompt_record& record) {
    bool context_in_message = true;
    bool state_in_message = true;
    if (record.begins) {
        const prompt_beginning& begins = *record.begins;
        // What only the former system text held is gone with it.
        const bool lost_context = told.beginning != nullptr && told.beginning->holds_context;
        const bool lost_state = told.beginning != nullptr && told.beginning->holds_state;
        if (told.beginning != nullptr && told.beginning->agent_id != begins.agent_id) {
            told.tools.clear();
            told.withdrawn.clear();
        }
        told.beginning = &begins;
        told.values.clear();
        context_in_message = !begins.holds_context;
        state_in_message = !begins.holds_state;
        told.system_context = context_in_message ? std::string_view() : record.context;
        told.system_state = state_in_message ? std::string_view() : record.state;
        if (lost_context || !context_in_message) {
            told.context = {};
        }
        if (lost_state || !state_in_message) {
            told.state = {};
        }
    }
    for (const auto& [name, value] : record.values) {
        set_value(told.values, name, value);
    }
    if (!record.context.empty()) {
        told.context = record.context;
    }
    if (!record.state.empty()) {
        told.state = record.state;
    }
    std::erase_if(told.tools, [&](const std::string& name) {
        return contains(record.undeclared, name);
    });
    told.tools.insert(told.tools.end(), record.tools.begin(), record.tools.end());
    for (const json::value& each : record.withdrawn) {
        const json::object& tool = each.get_object();
        std::erase_if(told.withdrawn, [&](const json::object* known) {
            return name_of_tool(*known) == name_of_tool(tool);
        });
        told.withdrawn.push_back(&tool);
    }
}

template <class Edit>
void edit_record(message& value, Edit edit) {
    if (!value.prompt) {
        return;
    }
    auto edited = std::make_shared<prompt_record>(*value.prompt);
    edit(*edited);
    value.prompt = std::move(edited);
}

std::string parts_of(const prompt_record& record) {
    std::string text;
    const auto add = [&text](std::string_view part) {
        text.append(text.empty() || part.empty() ? "" : "\n\n").append(part);
    };
    if (!record.begins) {
        add(values_text(record.values));
    }
    if (!record.begins || !record.begins->holds_context) {
        add(record.context);
    }
    if (!record.begins || !record.begins->holds_state) {
        add(record.state);
    }
    return text;
}

// One text where possible, because servers of text models do not support parts.
void put_before(content& value, std::string_view told) {
    if (auto* const parts = std::get_if<json::array>(&value)) {
        parts->insert(parts->begin(), text_part(told));
    } else {
        std::get<std::string>(value).insert(0, std::string(told) + "\n\n");
    }
}

void put_after(message& result, std::string_view told) {
    if (auto* const parts = std::get_if<json::array>(&result.content)) {
        parts->push_back(text_part(told));
        return;
    }
    std::string& text = std::get<std::string>(result.content);
    if (result.error && text == *result.error) {
        text.clear(); // Dialects add the error, unless it is the whole text.
    }
    text.append(text.empty() ? "" : "\n\n").append(told);
}

// The tools that tell_prompts() leaves, by the places of their messages.
std::map<std::size_t, std::vector<std::string>> added_tools(const std::vector<message>& messages) {
    bool has_list = false;
    std::size_t begin = 0; // The place after the message that made the list.
    for (std::size_t at = 0; at < messages.size(); ++at) {
        const prompt_record* const record = messages[at].prompt.get();
        if (record == nullptr) {
            continue;
        }
        const bool makes_list = !has_list && !record->tools.empty();
        has_list = has_list || makes_list;
        if (record->begins || makes_list) { // The list of a new prefix holds all tools.
            begin = at + 1;
        }
    }
    std::map<std::size_t, std::vector<std::string>> added;
    std::set<std::string_view> known;
    for (std::size_t at = messages.size(); at-- > begin;) {
        if (!messages[at].prompt) {
            continue;
        }
        std::vector<std::string> names;
        for (const std::string& name : messages[at].prompt->tools) {
            if (known.insert(name).second) {
                names.push_back(name);
            }
        }
        if (!names.empty()) {
            added.emplace(at, std::move(names));
        }
    }
    return added;
}

// What a request declares besides what the branch's last one declared, and no longer does.
void compare_tools(prompt_record& made, const told_prompt& told, current_prompt& current) {
    const bool same_agent =
        told.beginning == nullptr || told.beginning->agent_id == current.agent_id;
    if (same_agent) {
        const auto is_kept = [&](const std::string& name) {
            const auto is_it = [&](const json::value& each) {
                return name_of_tool(each.get_object()) == name;
            };
            return contains(current.tools, name) || std::ranges::any_of(current.withdrawn, is_it) ||
                   std::ranges::any_of(told.withdrawn, [&](const json::object* tool) {
                       return name_of_tool(*tool) == name;
                   });
        };
        std::ranges::remove_copy_if(told.tools, std::back_inserter(made.undeclared), is_kept);
    }
    for (std::string& name : current.tools) {
        if (current.tells_tools && !(same_agent && contains(told.tools, name))) {
            made.tools.push_back(std::move(name));
        }
    }
    for (json::value& each : current.withdrawn) {
        const bool known = std::ranges::any_of(told.withdrawn, [&](const json::object* one) {
            return *one == each.get_object();
        });
        if (!(same_agent && known)) {
            made.withdrawn.push_back(std::move(each));
        }
    }
}

} // namespace

std::string_view name_of_tool(const json::object& definition) noexcept {
    const json::value* const name = definition.if_contains("name");
    return name != nullptr && name->is_string() ? std::string_view(name->get_string())
                                                : std::string_view();
}

bool is_kept_tool(const json::value& element) noexcept {
    const json::object* const tool = element.if_object();
    const json::value* const kept = tool == nullptr ? nullptr : tool->if_contains(kept_member);
    return kept != nullptr && kept->is_bool() && kept->get_bool();
}

json::array keep_tools(json::array offered, const json::array& before, std::size_t most) {
    std::set<std::string, std::less<>> names;
    for (json::value& each : offered) {
        if (json::object* const tool = each.if_object()) {
            tool->erase(kept_member); // Only the gateway says so.
            names.emplace(name_of_tool(*tool));
        }
    }
    std::size_t count = 0;
    for (const bool was_kept : {false, true}) {
        for (const json::value& each : before) {
            const json::object* const tool = each.if_object();
            if (tool == nullptr || is_kept_tool(each) != was_kept || count == most ||
                !names.emplace(name_of_tool(*tool)).second) {
                continue;
            }
            json::object kept = *tool;
            kept[kept_member] = true;
            offered.push_back(std::move(kept));
            ++count;
        }
    }
    return offered;
}

void keep_definitions(json::array& offered, const json::array& before) {
    view_map<const json::object*> known;
    for (const json::value& each : before) {
        if (const json::object* const tool = each.if_object()) {
            known.emplace(name_of_tool(*tool), tool);
        }
    }
    for (json::value& each : offered) {
        const json::object* const tool = each.if_object();
        const auto found = known.find(tool == nullptr ? std::string_view() : name_of_tool(*tool));
        if (tool != nullptr && found != known.end()) {
            each = definition_of_kept(*found->second);
        }
    }
}

json::object definition_of_kept(const json::object& element) {
    json::object definition = element;
    definition.erase(kept_member);
    return definition;
}

bool told_prompt::continues(std::string_view agent_id, std::string_view source) const noexcept {
    return beginning != nullptr && beginning->agent_id == agent_id && beginning->source == source;
}

told_prompt fold_prompts(const thread_record& thread, node_index tip) {
    const std::vector<node_index> path = thread.path(tip);
    const std::vector<refused_part> refused = refused_parts(thread, path);
    told_prompt told;
    for (std::size_t at = 0; at < path.size(); ++at) {
        const message& each = thread.nodes[path[at]].message;
        if (refused[at] == refused_part::whole) {
            continue;
        }
        if (each.prompt) {
            fold(told, *each.prompt);
        }
        if (begins_user_turn(each) || (each.prompt && each.prompt->begins)) {
            told.late_tools.clear();
        } else if (each.prompt) {
            const std::vector<std::string>& more = each.prompt->tools;
            told.late_tools.insert(told.late_tools.end(), more.begin(), more.end());
        }
    }
    return told;
}

std::shared_ptr<const prompt_record> next_record(const told_prompt& told, current_prompt current) {
    prompt_record made;
    std::string_view told_context = told.context;
    std::string_view told_state = told.state;
    if (!told.continues(current.agent_id, current.source)) {
        prompt_beginning& begins = made.begins.emplace();
        begins.agent_id = current.agent_id;
        begins.source = current.source;
        begins.instructions = std::move(current.instructions);
        begins.holds_context = current.context_in_system;
        begins.holds_state = current.state_in_system;
        made.values = std::move(current.values);
        const bool had = told.beginning != nullptr;
        if (begins.holds_context || (had && told.beginning->holds_context)) {
            told_context = {};
        }
        if (begins.holds_state || (had && told.beginning->holds_state)) {
            told_state = {};
        }
    } else {
        if (current.tells_values) {
            std::ranges::copy_if(
                current.values, std::back_inserter(made.values),
                [&](const auto& each) { return !contains(told.values, each); }
            );
        }
    }
    compare_tools(made, told, current);
    if (current.context != told_context) {
        made.context = std::move(current.context);
    }
    if (current.state != told_state) {
        made.state = std::move(current.state);
    }
    return made.empty() ? nullptr : std::make_shared<const prompt_record>(std::move(made));
}

void drop_replaced_records(std::vector<message>& messages) {
    const auto last =
        std::ranges::find_if(messages.rbegin(), messages.rend(), [](const message& each) {
            return each.prompt && each.prompt->begins;
        });
    if (last == messages.rend()) {
        return;
    }
    const prompt_beginning newest = *last->prompt->begins;
    for (auto each = std::next(last); each != messages.rend(); ++each) {
        edit_record(*each, [&](prompt_record& record) {
            if (newest.holds_context || (record.begins && record.begins->holds_context)) {
                record.context.clear();
            }
            if (newest.holds_state || (record.begins && record.begins->holds_state)) {
                record.state.clear();
            }
            record.values.clear();
            record.begins.reset();
        });
    }
}

void move_told_parts(std::vector<message>& messages, std::size_t first, std::size_t last) {
    if (last >= messages.size()) {
        return;
    }
    prompt_record moved;
    for (std::size_t at = first; at < last; ++at) {
        if (!messages[at].prompt) {
            continue;
        }
        const prompt_record& record = *messages[at].prompt;
        moved.tools.insert(moved.tools.end(), record.tools.begin(), record.tools.end());
        if (!record.begins) {
            for (const auto& [name, value] : record.values) {
                set_value(moved.values, name, value);
            }
        }
        if (!record.context.empty() && !(record.begins && record.begins->holds_context)) {
            moved.context = record.context;
        }
        if (!record.state.empty() && !(record.begins && record.begins->holds_state)) {
            moved.state = record.state;
        }
    }
    const prompt_record own = messages[last].prompt ? *messages[last].prompt : prompt_record();
    if (own.begins) {
        // The instructions hold its values; nothing before it counts.
        moved.values.clear();
    }
    for (const auto& [name, value] : own.values) {
        set_value(moved.values, name, value);
    }
    moved.begins = own.begins;
    moved.tools.insert(moved.tools.end(), own.tools.begin(), own.tools.end());
    if (!own.context.empty()) {
        moved.context = own.context;
    }
    if (!own.state.empty()) {
        moved.state = own.state;
    }
    messages[last].prompt =
        moved.empty() ? nullptr : std::make_shared<const prompt_record>(std::move(moved));
}

void tell_prompts(std::vector<message>& messages) {
    std::map<std::size_t, std::vector<std::string>> added = added_tools(messages);
    for (std::size_t at = 0; at < messages.size(); ++at) {
        message& each = messages[at];
        if (each.role != role::user && each.role != role::tool) {
            continue;
        }
        // Dialects put an error behind the content, unless it is the whole text.
        const bool adds_error = each.error && *each.error != text_of(each.content);
        const bool is_continued = each.role == role::user || adds_error;
        escape_texts(
            each.content, is_continued ? text_end::continued : text_end::closed, escape_parts
        );
        if (each.error) {
            escape_parts(*each.error, text_end::closed);
        }
        const std::string told = each.prompt ? parts_of(*each.prompt) : std::string();
        each.prompt = nullptr;
        if (const auto tools = added.find(at); tools != added.end()) {
            prompt_record left;
            left.tools = std::move(tools->second);
            each.prompt = std::make_shared<const prompt_record>(std::move(left));
        }
        if (told.empty()) {
            continue;
        }
        if (each.role == role::user) {
            put_before(each.content, told);
        } else {
            put_after(each, told);
        }
    }
}

} // namespace agui::session
