#pragma once

#include "runner/model_provider.hpp"

#include <boost/json/object.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// What of the OpenAI Chat Completions dialect is configured rather than said per request.
struct openai_settings {
    std::string provider_name = "openai";            ///< Named in usage.
    boost::json::object extra_body;                  ///< Merged into the body last.
    std::vector<std::string> media_urls = {"https"}; ///< URL schemes passed on in media parts.
    bool file_sources = false;                       ///< Pass on `file` handles.
};

/// The body of POST /chat/completions with `stream` and `stream_options.include_usage`. Deterministic:
/// the same request gives the same bytes. Parts that the dialect or the settings do not allow are
/// dropped; a tool result whose every part was dropped is the empty string (specification S7).
[[nodiscard]] std::string
write_openai_request(const model_request& request, const openai_settings& settings);

/// Decodes a streamed answer (bytes of an SSE body, cut anywhere) into a model_sink. Also takes the
/// whole non-streamed JSON answer of a server that ignores `stream`. Accepts what compatible servers
/// really send: `reasoning_content` and `reasoning` deltas, calls without index, whole calls in one
/// chunk, missing ids, role-only chunks, a usage chunk without choices, usage repeated in each chunk,
/// comments, `[DONE]` missing after a finish_reason, an in-band `{"error":…}`.
class openai_decoder {
public:
    explicit openai_decoder(model_sink& sink, std::string model, std::string provider_name);
    ~openai_decoder();
    openai_decoder(const openai_decoder&) = delete;
    openai_decoder& operator=(const openai_decoder&) = delete;

    /// True while more is expected; false once `[DONE]` or an error was seen (further bytes are ignored).
    bool feed(std::string_view bytes);

    /// The answer, once the body has ended. Without a finish_reason it is `lost`, unless `[DONE]` came, something
    /// was answered and no call is cut (servers that leave the reason null throughout).
    [[nodiscard]] model_outcome finish();

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace agui::runner
