#include "runner/anthropic/anthropic_rules.hpp"

#include "runner/base/json_members.hpp"
#include "session/base/ascii.hpp"
#include "session/base/contains.hpp"
#include "session/base/white_space.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>

namespace agui::runner {

namespace {

/// A row of the table: what Anthropic's documentation said in November 2026, not tried. Models that
/// are not listed get all settings.
struct refusing_model {
    std::string_view begin; ///< Begin of the model's name.
    anthropic_rules rules;
};

constexpr std::array refusing_models = {
    refusing_model{
        "claude-opus-5-5",
        {.sampling = false,
         .thinking_budget = false,
         .no_thinking = false,
         .forced_choice = false,
         .checks_thoughts = true}
    },
    refusing_model{
        "claude-sonnet-5-5",
        {.sampling = false,
         .thinking_budget = false,
         .no_thinking = false,
         .between_tools = true,
         .forced_choice = false,
         .checks_thoughts = true}
    },
    refusing_model{
        "claude-haiku-5-5", {.sampling = false, .thinking_budget = false, .checks_thoughts = true}
    },
    refusing_model{"claude-fable-5-1", {.forced_choice = false, .checks_thoughts = true}},
};

/// From this version of the API on, no model takes temperature, top_p or top_k.
constexpr std::string_view version_without_sampling = "2026-10-21";

/// The name as Anthropic itself writes it, without the prefix of another platform.
std::string own_name(std::string_view model) {
    std::string name = to_lower(model);
    std::ranges::replace(name, '.', '-');
    const std::size_t at = name.find("claude-");
    return at == std::string::npos ? std::string() : name.substr(at);
}

/// Takes a number of at most two digits, and the dash after it, from the front: longer ones are
/// dates.
int take_number(std::string_view& rest) noexcept {
    int number = -1;
    const auto [end, wrong] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    const auto length = static_cast<std::size_t>(end - rest.data());
    if (wrong != std::errc() || number < 0 || length > 2 ||
        (length < rest.size() && rest[length] != '-')) {
        return -1;
    }
    rest.remove_prefix(std::min(length + 1, rest.size()));
    return number;
}

/// True for claude-FAMILY-MAJOR-MINOR from 4.8 on, the first one with system messages in the middle
/// of a conversation, except Sonnet 5. Names before version 4 have the family last.
bool takes_system_messages(std::string_view name) noexcept {
    const bool is_sonnet = name.starts_with("claude-sonnet-");
    for (int dashes = 0; dashes < 2; ++dashes) {
        const std::size_t dash = name.find('-');
        if (dash == std::string_view::npos || (name.front() >= '0' && name.front() <= '9')) {
            return false;
        }
        name.remove_prefix(dash + 1);
    }
    const int major = take_number(name);
    const int minor = take_number(name);
    if (is_sonnet && major == 5 && minor < 5) {
        return false;
    }
    return major > 4 || (major == 4 && minor >= 8);
}

} // namespace

bool drops(const anthropic_settings& settings, std::string_view setting) {
    return contains(settings.drop, setting);
}

anthropic_rules anthropic_rules_of(std::string_view model) {
    const std::string name = own_name(model);
    anthropic_rules rules;
    for (const refusing_model& each : refusing_models) {
        if (name.starts_with(each.begin)) {
            rules = each.rules;
        }
    }
    rules.checks_thoughts = rules.checks_thoughts && name.size() == model.size();
    rules.system_messages = takes_system_messages(name);
    return rules;
}

anthropic_rules anthropic_rules_of(std::string_view model, const anthropic_settings& settings) {
    anthropic_rules rules = anthropic_rules_of(model);
    rules.sampling = rules.sampling && settings.api_version < version_without_sampling;
    return rules;
}

bool is_anthropic_version(std::string_view text) noexcept {
    constexpr std::string_view form = "dddd-dd-dd";
    return std::ranges::equal(text, form, [](char c, char wanted) {
        return wanted == '-' ? c == '-' : c >= '0' && c <= '9';
    });
}

bool is_anthropic_stop(std::string_view text) noexcept { return !is_blank(text); }

std::vector<anthropic_refusal>
anthropic_refusals(const model_parameters& parameters, const anthropic_settings& settings) {
    const anthropic_rules rules = anthropic_rules_of(parameters.model, settings);
    std::vector<anthropic_refusal> all;
    const auto refuse = [&](std::string_view setting, std::string_view what) {
        if (!drops(settings, setting)) {
            all.push_back(
                {std::string(setting), "\"" + parameters.model + "\" refuses " + std::string(what)}
            );
        }
    };
    const std::string where = anthropic_rules_of(parameters.model).sampling
                                  ? " in version " + settings.api_version + " of the API"
                                  : "; use reasoning_effort";
    if (parameters.temperature && !rules.sampling) {
        refuse("temperature", "any temperature" + where);
    }
    if (parameters.top_p && !rules.sampling) {
        refuse("top_p", "any top_p" + where);
    }
    if (parameters.stop && !std::ranges::all_of(*parameters.stop, is_anthropic_stop)) {
        refuse("stop", "white space as a stop text");
    }
    if (parameters.seed) {
        refuse("seed", "a seed: its dialect has none");
    }
    if (parameters.tool_choice && parameters.tool_choice->forces_call() && !rules.forced_choice) {
        refuse("tool_choice", "a tool_choice that forces a call");
    }
    if (settings.thinking == anthropic_thinking::disabled && !rules.no_thinking) {
        refuse(
            "thinking", rules.between_tools ? "\"disabled\"; \"between_tools\" is possible"
                                            : "\"disabled\"; use reasoning_effort"
        );
    }
    for (const std::string_view name : {"temperature", "top_p", "top_k"}) {
        const boost::json::value* const value = settings.extra_body.if_contains(name);
        if (value != nullptr && !value->is_null() && !rules.sampling) {
            refuse("extra_body", name);
        }
    }
    const boost::json::object* const thinking = object_in(settings.extra_body, "thinking");
    const std::string_view type =
        thinking == nullptr ? std::string_view() : string_in(*thinking, "type");
    if (type == "enabled" && !rules.thinking_budget) {
        refuse("extra_body", "thinking with a budget; use reasoning_effort");
    } else if (type == "disabled" && !rules.no_thinking) {
        refuse("extra_body", "thinking of the type \"disabled\"");
    }
    return all;
}

} // namespace agui::runner
