#pragma once

#include "runner/anthropic/anthropic_chat.hpp"
#include "runner/base/model_provider.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// What a model of Anthropic refuses (400) or takes, by its id.
struct anthropic_rules {
    bool sampling = true;         ///< temperature, top_p, top_k.
    bool thinking_budget = true;  ///< `thinking` of the type `enabled`, with a budget.
    bool no_thinking = true;      ///< `thinking` of the type `disabled`.
    bool between_tools = false;   ///< Where no_thinking is false: `between_tools` in its place.
    bool forced_choice = true;    ///< tool_choice that forces a call.
    bool system_messages = false; ///< System messages in the middle of a conversation.
    /// Checks that nothing before a thought has changed. False under the names of other platforms,
    /// which may not know the control for it.
    bool checks_thoughts = false;
};

/// The rules of a model; the defaults for a model that is not known. Ids of other platforms hold
/// the same name: `anthropic/claude-opus-5.5`, `us.anthropic.claude-opus-5-5-v1:0`.
[[nodiscard]] anthropic_rules anthropic_rules_of(std::string_view model);
/// The rules of a model in the configured version of the API, which may be stricter.
[[nodiscard]] anthropic_rules
anthropic_rules_of(std::string_view model, const anthropic_settings& settings);

/// True for a text of the form YYYY-MM-DD.
[[nodiscard]] bool is_anthropic_version(std::string_view text) noexcept;

/// Names of the settings that anthropic_settings::drop may hold.
inline constexpr std::array<std::string_view, 10> anthropic_setting_names = {
    "response_format",
    "temperature",
    "top_p",
    "stop",
    "seed",
    "thinking",
    "tool_choice",
    "reasoning_effort",
    "max_output_tokens",
    "parallel_tool_calls",
};

/// True if the setting of that name is in anthropic_settings::drop.
[[nodiscard]] bool drops(const anthropic_settings& settings, std::string_view setting);

/// True if the server takes the text as a stop sequence: it refuses white space alone.
[[nodiscard]] bool is_anthropic_stop(std::string_view text) noexcept;

/// A setting that a model would refuse.
struct anthropic_refusal {
    std::string setting; ///< The name of the key, such as `temperature`, or `extra_body`.
    std::string why;
};

/// The configured settings that the model of `parameters` is known to refuse. Settings in `drop`
/// are not among them, because they are not sent.
[[nodiscard]] std::vector<anthropic_refusal>
anthropic_refusals(const model_parameters& parameters, const anthropic_settings& settings);

} // namespace agui::runner
