#pragma once

#include "runner/base/model_provider.hpp"

#include <boost/json/object.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// How Claude thinks; the member `thinking` of a request.
enum class anthropic_thinking {
    model_default, ///< The member is not sent.
    adaptive,
    between_tools,
    disabled,
};

/// What an answer shows of the thoughts; the member `thinking.display` of a request.
enum class anthropic_display {
    model_default, ///< The member is not sent. The models of 2026 then show nothing.
    summarized,
    omitted,
    updates, ///< Only what the model says between calls.
};

/// How the server treats thoughts that are sent back after something before them was changed.
enum class anthropic_mismatch {
    model_default, ///< Drops them if the model is known to check, and is named as Anthropic does.
    drop,          ///< Leaves them out. The member `thinking.block_binding` asks for it.
    refuse,        ///< Answers 400, which is its own default.
};

/// How long the server's prompt cache keeps what a request marks.
enum class anthropic_cache { off, five_minutes, one_hour };

/// The configured part of the Messages dialect.
struct anthropic_settings {
    std::string provider_name = "anthropic";         ///< The provider's name in usage.
    boost::json::object extra_body;                  ///< Merged into the body.
    std::vector<std::string> media_urls = {"https"}; ///< URL schemes passed on in media parts.
    bool file_sources = false;                       ///< Pass on `file` handles.
    anthropic_thinking thinking = anthropic_thinking::model_default;
    anthropic_display display = anthropic_display::model_default;
    anthropic_mismatch mismatch = anthropic_mismatch::model_default;
    anthropic_cache cache = anthropic_cache::five_minutes;
    /// Ask for the arguments of calls as the model writes them, before they are valid JSON.
    bool eager_input = true;
    /// The model takes tools that are told in the middle of a conversation, and so system messages
    /// there: see model_request::adds_tools.
    bool tool_addition = false;
    std::string api_version = "2023-06-01"; ///< The header `anthropic-version`: a date.
    std::vector<std::string> betas;         ///< Names for the header `anthropic-beta`.
    /// Settings that are never sent, whoever gave them: names of anthropic_setting_names.
    std::vector<std::string> drop;
    /// Is told of each setting of a request that is left out because the model would refuse it
    /// (anthropic_rules), or because it is not known to take it. Called from any thread, possibly
    /// for each request. May be empty.
    std::function<void(std::string_view model, std::string_view setting)> on_left_out;
};

/// `max_tokens`, which the dialect demands, if the parameters set no limit.
inline constexpr std::int64_t anthropic_output_tokens = 32'000;

/// The body of POST /v1/messages. Messages are its last member, so that the body of a conversation
/// that grows begins with the former body, except for the marks of the cache and where the last
/// message grows. Deterministic: the same request gives the same bytes.
///
/// System text before the first other message is the system prompt. Later system text is a message
/// of its own where the model takes that, otherwise a text of the user. Tools that a message adds
/// (model_request::adds_tools) are told in such a message, too. Adjacent messages of one role are
/// sent as one; results come before text. Answers of this provider and model get their
/// blocks back as they came (answer_blocks); thoughts of others are left out. Tools have the names
/// of tool_names and the schemas of tool_schema(), calls the ids of call_ids. Arguments that are no
/// object are sent as `{"INVALID_JSON": text}`. Blank texts, and parts that the dialect or the
/// settings do not allow, are left out; a user message that is then empty becomes
/// empty_message_text.
[[nodiscard]] std::string
write_anthropic_request(const model_request& request, const anthropic_settings& settings);

/// The value of the header `anthropic-beta`: the configured names and those that members of the
/// body need. May be empty.
[[nodiscard]] std::string
anthropic_betas(const model_request& request, const anthropic_settings& settings);

} // namespace agui::runner
