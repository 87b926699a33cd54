#pragma once

#include "runner/provider/model_dialect.hpp"

#include <boost/json/object.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// What of the OpenAI Chat Completions dialect is configured rather than said per request.
struct openai_settings {
    std::string name; ///< model_provider::name(): what it said is given back to it alone.
    std::string provider_name = "openai";            ///< Named in usage.
    boost::json::object extra_body;                  ///< Merged into the body last.
    std::vector<std::string> media_urls = {"https"}; ///< URL schemes passed on in media parts.
    bool file_sources = false;                       ///< Pass on `file` handles.
    bool merge_roles = false;                        ///< User messages in a row are sent as one.
};

/// The body of POST /chat/completions with the messages (of answers of this provider and model also
/// what it wants back: `reasoning_details`, `extra_content` and, since a user turn's first call,
/// their reasoning under the name under which it came), `stream` and
/// `stream_options.include_usage`. Deterministic: the same request gives the same bytes. Parts that
/// the dialect or the settings do not allow are dropped; a tool result whose every part was dropped
/// is the empty string (specification S7).
[[nodiscard]] std::string
write_openai_request(const model_request& request, const openai_settings& settings);

/// Decodes a streamed answer (bytes of an SSE body, cut anywhere) into a model_sink. Also takes the
/// whole non-streamed JSON answer of a server that ignores `stream`. Accepts what compatible
/// servers really send: `reasoning_content` and `reasoning` deltas, calls without index, whole
/// calls in one chunk, missing ids, role-only chunks, a usage chunk without choices, usage repeated
/// in each chunk, comments, `[DONE]` missing after a finish_reason, an in-band `{"error":…}`,
/// `data:` lines that are no JSON, a byte order mark, the whole message after its deltas,
/// characters cut in two by two deltas. The sink gets valid UTF-8 whatever was sent.
class openai_decoder final : public answer_decoder {
public:
    explicit openai_decoder(model_sink& sink, std::string model, std::string provider_name);
    ~openai_decoder() override;
    openai_decoder(const openai_decoder&) = delete;
    openai_decoder& operator=(const openai_decoder&) = delete;

    /// True while more is expected; false once `[DONE]` or an error was seen (further bytes are
    /// ignored).
    bool feed(std::string_view bytes) override;

    /// A finish_reason was seen: usage and `[DONE]` may still come.
    [[nodiscard]] bool ending() const noexcept override;
    /// Usage came with the finish_reason or after it: nothing is missing but `[DONE]`.
    [[nodiscard]] bool complete() const noexcept override;
    /// The answer cannot become whole any more.
    [[nodiscard]] bool failed() const noexcept override;
    /// The body is one JSON object: it has no events that could be counted.
    [[nodiscard]] bool whole() const noexcept override;
    /// Chunks of the dialect so far; comments and signs of life are none.
    [[nodiscard]] std::size_t chunks() const noexcept override;

    /// The answer, once the body has ended. Without a finish_reason it is `lost`, unless `[DONE]`
    /// came, something was answered and no call is cut (servers that leave the reason null
    /// throughout).
    [[nodiscard]] model_outcome finish() override;

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace agui::runner
