#pragma once

#include "runner/provider/model_dialect.hpp"

#include <boost/json/object.hpp>

#include <cstddef>
#include <memory>
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

/// Decodes a streamed answer (bytes of an SSE body, cut anywhere) into a model_sink. Also accepts
/// newline-delimited JSON, and the whole JSON answer of a server that ignores `stream`. Accepts the
/// deviations of compatible servers: reasoning under several names, or in `reasoning_details` and
/// content parts alone; calls without index, whole calls in one chunk, missing ids (see
/// tool_call_assembler); role-only chunks; usage in each chunk, in a chunk without choices, or
/// inside a choice; comments, `[DONE]` missing after a finish_reason, an in-band `{"error":…}`,
/// `data:` lines that are not JSON, no empty line between events, a byte order mark, the whole
/// message after its deltas, characters split between two deltas. The sink always gets valid UTF-8.
class openai_decoder final : public answer_decoder {
public:
    /// `reasoning_tag` is openai_settings::reasoning_tags.
    openai_decoder(
        model_sink& sink, std::string model, std::string provider_name,
        std::string_view reasoning_tag = {}
    );
    ~openai_decoder() override;
    openai_decoder(const openai_decoder&) = delete;
    openai_decoder& operator=(const openai_decoder&) = delete;

    /// Returns true while more is expected, and false once `[DONE]` or an error came (further bytes
    /// are ignored).
    bool feed(std::string_view bytes) override;

    /// True once text, reasoning, a call, or a part of a body without events came.
    [[nodiscard]] bool begun() const noexcept override;
    /// True once a finish_reason came; usage and `[DONE]` may still follow.
    [[nodiscard]] bool ending() const noexcept override;
    /// True once usage came with or after the finish_reason, so that only `[DONE]` is missing.
    [[nodiscard]] bool complete() const noexcept override;
    /// True if the answer can no longer become complete.
    [[nodiscard]] bool failed() const noexcept override;
    /// True if the body is JSON without events.
    [[nodiscard]] bool whole() const noexcept override;
    /// Number of chunks of the dialect so far, without comments and signs of life.
    [[nodiscard]] std::size_t chunks() const noexcept override;

    [[nodiscard]] std::size_t kept() const noexcept override;
    [[nodiscard]] std::size_t large() const noexcept override;
    void parse_large(memory_budget* budget) override;
    [[nodiscard]] std::shared_ptr<void> deliver_large() override;
    void end() override;

    /// The answer. Calls end() and reads remaining large parts unless that was done. An answer
    /// without a finish_reason is `lost`, unless `[DONE]` came, part of an answer came and no call
    /// is cut (some servers always leave the reason null).
    [[nodiscard]] model_outcome finish() override;

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace agui::runner
