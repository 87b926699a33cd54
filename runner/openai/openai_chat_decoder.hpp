#pragma once

#include "runner/openai/openai_message_reader.hpp"
#include "runner/openai/repeated_chunk.hpp"
#include "runner/provider/stream_decoder.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace agui::runner {

/// Decodes a streamed answer (bytes of an SSE body, cut anywhere) into a model_sink. Also accepts
/// newline-delimited JSON, and the whole JSON answer of a server that ignores `stream`. Accepts the
/// deviations of compatible servers: reasoning under several names, or in `reasoning_details` and
/// content parts alone; calls without index, whole calls in one chunk, missing ids (see
/// tool_call_assembler); role-only chunks; usage in each chunk, in a chunk without choices, or
/// inside a choice; comments, `[DONE]` missing after a finish_reason, an in-band `{"error":…}`,
/// `data:` lines that are not JSON, no empty line between events, a byte order mark, the whole
/// message after its deltas, characters split between two deltas. The sink always gets valid UTF-8.
/// An answer without a finish_reason is `lost`, unless `[DONE]` came, part of an answer came and no
/// call is cut (some servers always leave the reason null).
class openai_decoder final : public stream_decoder {
public:
    /// `reasoning_tag` is openai_settings::reasoning_tags.
    openai_decoder(
        model_sink& sink, std::string model, std::string provider_name,
        std::string_view reasoning_tag = {}
    );

    /// True once text, reasoning, a call, or a part of a body without events came.
    [[nodiscard]] bool begun() const noexcept override {
        return message_.begun() || may_be_whole();
    }
    /// True once usage came with or after the finish_reason, so that only `[DONE]` is missing.
    [[nodiscard]] bool complete() const noexcept override { return reason_ && usage_at_end_; }

private:
    static constexpr words own_words = {
        .part = "a chunk", .end = "a finish_reason", .ends_with_done = true
    };

    void on_event(std::string_view name, std::string_view data) override;
    void read(std::string_view name, const boost::json::object& chunk, bool torn) override;
    void settle() override;
    [[nodiscard]] std::optional<token_usage> take_usage() override;

    void choice(const boost::json::object& value, bool torn);
    void count(const boost::json::object* source);
    void finish_with(std::string_view name);
    void finish_as_native();
    void report(const boost::json::value& error);
    void check_message();

    openai_message_reader message_;
    repeated_chunk repeated_;
    bool whole_answer_ = false; ///< The body is an object that holds the message, not its deltas.
    bool only_text_ = false;    ///< The current chunk did nothing but add a text.
    bool usage_at_end_ = false; ///< Usage came with the finish_reason or after it.
    /// Reason of the model's server, if another server translates the reasons.
    std::string native_reason_;
    std::unique_ptr<token_usage> usage_; ///< Allocated separately: a running stream has none.
};

} // namespace agui::runner
