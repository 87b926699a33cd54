#pragma once

#include "runner/provider/model_dialect.hpp"

#include <boost/json/object.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// What a server demands beyond the dialect. openai: nothing.
enum class openai_variant {
    openai,
    /// In its thinking mode, DeepSeek's server refuses turns with calls that another model has
    /// made, or made without reasoning, without `reasoning_content`, and documents no placeholder.
    /// As long as a request has such a turn, thinking is switched off:
    /// `"thinking":{"type":"disabled"}`, whatever `extra_body` and `reasoning_effort` say, and no
    /// reasoning is sent (api-docs.deepseek.com/guides/thinking_mode).
    deepseek,
    /// Gemini refuses such turns without a signature at the first of a message's calls. The
    /// documented placeholder is sent (ai.google.dev/gemini-api/docs/thought-signatures, FAQ).
    gemini,
    /// Mistral's API and chat templates: ids of calls are nine letters and digits
    /// (call_id_form::nine); the first message is the user's; only an assistant message follows the
    /// results of tools.
    mistral,
};

/// The configured part of the OpenAI Chat Completions dialect.
struct openai_settings {
    std::string provider_name = "openai";            ///< The provider's name in usage.
    boost::json::object extra_body;                  ///< Merged into the body last.
    std::vector<std::string> media_urls = {"https"}; ///< URL schemes passed on in media parts.
    bool file_sources = false;                       ///< Pass on `file` handles.
    /// For chat templates that demand roles in turn: messages of one role in a row are sent as one,
    /// and the order of roles is as for openai_variant::mistral.
    bool merge_roles = false;
    openai_variant variant = openai_variant::openai;
    /// The tag around the thoughts of a model that thinks aloud in its text, such as `<think>`, or
    /// the closing one where the prompt holds the opening one; see tagged_thoughts. Empty: none.
    std::string reasoning_tags;
};

/// The body of POST /chat/completions with the messages (for answers of this provider and model
/// also the data it wants sent back: `reasoning_details`, `extra_content` and, from a user turn's
/// first call on, their reasoning under the name it had), `stream` and
/// `stream_options.include_usage`. Deterministic: the same request gives the same bytes. Tools have
/// the names of tool_names and the schemas of tool_schema(), calls the ids of call_ids. Text parts
/// of white space, and parts that the dialect or the settings do not allow, are left out: a user
/// message of nothing else is empty_message_text, a tool result the empty string (specification
/// S7), which tools may answer.
[[nodiscard]] std::string
write_openai_request(const model_request& request, const openai_settings& settings);

/// Decodes a streamed answer (bytes of an SSE body, cut anywhere) into a model_sink. Also takes
/// newline-delimited JSON, and the whole JSON answer of a server that ignores `stream`. Accepts
/// what compatible servers send in practice: reasoning under several names, or in
/// `reasoning_details` and content parts alone; calls without index, whole calls in one chunk,
/// missing ids (see tool_call_assembler); role-only chunks; usage in each chunk, in a chunk without
/// choices, or inside a choice; comments, `[DONE]` missing after a finish_reason, an in-band
/// `{"error":…}`, `data:` lines that are not JSON, no empty line between events, a byte order mark,
/// the whole message after its deltas, characters split between two deltas. The sink always gets
/// valid UTF-8.
class openai_decoder final : public answer_decoder {
public:
    /// `reasoning_tag`: openai_settings::reasoning_tags.
    openai_decoder(
        model_sink& sink, std::string model, std::string provider_name,
        std::string_view reasoning_tag = {}
    );
    ~openai_decoder() override;
    openai_decoder(const openai_decoder&) = delete;
    openai_decoder& operator=(const openai_decoder&) = delete;

    /// True while more is expected; false once `[DONE]` or an error was seen (further bytes are
    /// ignored).
    bool feed(std::string_view bytes) override;

    /// True once text, reasoning or a call has come, or a part of a body without events.
    [[nodiscard]] bool begun() const noexcept override;
    /// True once a finish_reason was seen: usage and `[DONE]` may still come.
    [[nodiscard]] bool ending() const noexcept override;
    /// True once usage came with or after the finish_reason: only `[DONE]` is missing.
    [[nodiscard]] bool complete() const noexcept override;
    /// True if the answer can no longer become complete.
    [[nodiscard]] bool failed() const noexcept override;
    /// True if the body is JSON without events.
    [[nodiscard]] bool whole() const noexcept override;
    /// The number of chunks of the dialect so far; comments and signs of life do not count.
    [[nodiscard]] std::size_t chunks() const noexcept override;

    [[nodiscard]] std::size_t kept() const noexcept override;
    [[nodiscard]] std::size_t large() const noexcept override;
    void parse_large(memory_budget* budget) override;
    [[nodiscard]] std::shared_ptr<void> deliver_large() override;
    void end() override;

    /// The answer. Calls end() and reads what is large where that was not done. Without a
    /// finish_reason it is `lost`, unless `[DONE]` came, there was some answer and no call is cut
    /// (some servers always leave the reason null).
    [[nodiscard]] model_outcome finish() override;

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace agui::runner
