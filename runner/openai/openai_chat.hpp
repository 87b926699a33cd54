#pragma once

#include "runner/base/model_provider.hpp"

#include <boost/json/object.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// Demands of a server beyond the dialect; openai has none.
enum class openai_variant {
    openai,
    /// In its thinking mode, DeepSeek's server refuses turns with calls that lack
    /// `reasoning_content` because another model made them or made them without reasoning. It
    /// documents no placeholder. While a request has such a turn, thinking is switched off:
    /// `"thinking":{"type":"disabled"}`, whatever `extra_body` and `reasoning_effort` say, and no
    /// reasoning is sent (api-docs.deepseek.com/guides/thinking_mode).
    deepseek,
    /// Gemini refuses turns with another model's calls unless the first call of a message has a
    /// signature. The documented placeholder is sent
    /// (ai.google.dev/gemini-api/docs/thought-signatures, FAQ).
    gemini,
    /// Mistral's API and chat templates demand call ids of nine letters and digits
    /// (call_id_form::nine), a user message first, and only assistant messages after the results of
    /// tools.
    mistral,
};

/// The configured part of the OpenAI Chat Completions dialect.
struct openai_settings {
    std::string provider_name = "openai";            ///< The provider's name in usage.
    boost::json::object extra_body;                  ///< Merged into the body last.
    std::vector<std::string> media_urls = {"https"}; ///< URL schemes passed on in media parts.
    bool file_sources = false;                       ///< Pass on `file` handles.
    /// For chat templates that demand alternating roles: successive messages of one role are sent
    /// as one, and the order of roles is that of openai_variant::mistral.
    bool merge_roles = false;
    openai_variant variant = openai_variant::openai;
    /// The tag around the thoughts of a model that writes them into its text, such as `<think>`, or
    /// the closing tag if the prompt holds the opening one; see tagged_thoughts. May be empty.
    std::string reasoning_tags;
};

/// The body of POST /chat/completions with the messages, `stream` and
/// `stream_options.include_usage`. Answers of this provider and model also carry the data that it
/// wants sent back: `reasoning_details`, `extra_content` and, from a user turn's first call on,
/// their reasoning under its original name. Deterministic: the same request gives the same bytes.
/// Tools have the names of tool_names and the schemas of tool_schema(), calls the ids of call_ids.
/// Blank text parts, and parts that the dialect or the settings do not allow, are left out. A user
/// message that is then empty becomes empty_message_text, a tool result the empty string
/// (specification S7), which tools may answer.
[[nodiscard]] std::string
write_openai_request(const model_request& request, const openai_settings& settings);

} // namespace agui::runner
