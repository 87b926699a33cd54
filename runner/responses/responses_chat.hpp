#pragma once

#include "runner/base/model_provider.hpp"

#include <boost/json/object.hpp>

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// How much of its reasoning a model tells; the member `reasoning.summary` of a request.
enum class responses_summary {
    model_default, ///< The member is not sent. OpenAI's models then tell nothing.
    automatic,
    concise,
    detailed,
};

/// The configured part of the Responses dialect.
struct responses_settings {
    std::string provider_name = "openai";            ///< The provider's name in usage.
    boost::json::object extra_body;                  ///< Merged into the body.
    std::vector<std::string> media_urls = {"https"}; ///< URL schemes passed on in media parts.
    bool file_sources = false;                       ///< Pass on `file` handles.
    responses_summary summary = responses_summary::model_default;
    /// Ask for the reasoning in encrypted form, so that it can be sent back. Models that do not
    /// reason may refuse that.
    bool encrypted_reasoning = true;
    /// Settings that are left out without a word.
    std::vector<std::string> drop = {};
    /// Is told of each setting of a request that is left out because the dialect has no member for
    /// it. Called from any thread, possibly for each request. May be empty.
    std::function<void(std::string_view model, std::string_view setting)> on_left_out = {};
};

/// The settings that the dialect has no member for. responses_settings::drop holds some of them.
inline constexpr std::array<std::string_view, 2> responses_missing_settings = {"stop", "seed"};

/// The names in responses_missing_settings that `parameters` has and `drop` does not.
[[nodiscard]] std::vector<std::string_view>
responses_refusals(const model_parameters& parameters, const std::vector<std::string>& drop);

/// The body of POST /responses, without any state of the server (`store` is false). The input is
/// its last member, so that the body of a conversation that grows begins with the former body.
/// Deterministic: the same request gives the same bytes.
///
/// Answers of this provider and model get their items back as they came: reasoning and other
/// opaque items unchanged, messages with their `phase` (answer_blocks). Answers of others are text
/// and calls. Tools have the names of tool_names and the schemas of tool_schema(), calls the ids of
/// call_ids. Blank texts, and parts that the dialect or the settings do not allow, are left out; a
/// user message that is then empty becomes empty_message_text.
[[nodiscard]] std::string
write_responses_request(const model_request& request, const responses_settings& settings);

} // namespace agui::runner
