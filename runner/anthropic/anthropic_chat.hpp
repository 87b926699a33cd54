#pragma once

#include "runner/provider/model_dialect.hpp"

#include <boost/json/object.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
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
    std::vector<std::string> betas; ///< Names for the header `anthropic-beta`.
    /// Settings that are never sent, whoever gave them: names of anthropic_setting_names.
    std::vector<std::string> drop;
    /// Is told of each setting of a request that is left out because the model would refuse it
    /// (anthropic_rules). Called from any thread, possibly for each request. May be empty.
    std::function<void(std::string_view model, std::string_view setting)> on_left_out;
};

/// `max_tokens`, which the dialect demands, if the parameters set no limit.
inline constexpr std::int64_t anthropic_output_tokens = 32'000;

/// The body of POST /v1/messages. Messages are its last member, so that the body of a conversation
/// that grows begins with the former body, except for the marks of the cache and where the last
/// message grows. Deterministic: the same request gives the same bytes.
///
/// System text before the first other message is the system prompt. Later system text is a message
/// of its own where the model takes that, otherwise a text of the user. Adjacent messages of one
/// role are sent as one; results come before text. Answers of this provider and model get their
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

/// Decodes a streamed answer of the Messages dialect (bytes of an SSE body, cut anywhere) into a
/// model_sink. Also accepts the whole JSON message of a server that ignores `stream`. Accepts the
/// deviations of servers that imitate the dialect: no pings, no signatures, no `event:` lines, no
/// empty lines between events; a `message_stop` without `message_delta` and the reverse; blocks
/// without a start, without a stop or without an index; several open blocks at a time; the input of
/// a call in its start; characters split between two deltas. Unknown events and deltas are skipped.
/// The sink always gets valid UTF-8.
///
/// The answer's blocks are recorded as data to be sent back with the turn (answer_blocks), unless
/// they are only one text and then calls. An answer that was cut, failed or refused has no record.
class anthropic_decoder final : public answer_decoder {
public:
    anthropic_decoder(model_sink& sink, std::string model, std::string provider_name);
    ~anthropic_decoder() override;
    anthropic_decoder(const anthropic_decoder&) = delete;
    anthropic_decoder& operator=(const anthropic_decoder&) = delete;

    /// Returns true while more is expected, and false once `message_stop` or an error came (further
    /// bytes are ignored).
    bool feed(std::string_view bytes) override;

    /// True once text, reasoning, a call or an opaque block came.
    [[nodiscard]] bool begun() const noexcept override;
    /// True once a stop reason came; `message_stop` should follow.
    [[nodiscard]] bool ending() const noexcept override;
    [[nodiscard]] bool complete() const noexcept override;
    [[nodiscard]] bool failed() const noexcept override;
    [[nodiscard]] bool whole() const noexcept override;
    /// Pings count only while a block is open that may be silent for long: thoughts that the server
    /// does not show, and a tool that it executes itself.
    [[nodiscard]] std::size_t chunks() const noexcept override;
    [[nodiscard]] std::size_t kept() const noexcept override;
    [[nodiscard]] std::size_t large() const noexcept override;
    void parse_large(memory_budget* budget) override;
    [[nodiscard]] std::shared_ptr<void> deliver_large() override;
    void end() override;

    [[nodiscard]] model_outcome finish() override;

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace agui::runner
