#pragma once

#include "runner/provider/model_dialect.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace agui::runner {

/// Decodes a streamed answer of the Messages dialect (bytes of an SSE body, cut anywhere) into a
/// model_sink. Also accepts the whole JSON message of a server that ignores `stream`. Accepts the
/// deviations of servers that imitate the dialect: no pings, no signatures, no `event:` lines, no
/// empty lines between events; a `message_stop` without `message_delta` and the reverse; blocks
/// without a start, without a stop or without an index; several open blocks at a time; the input of
/// a call in its start; characters split between two deltas. Unknown events and deltas are skipped.
/// The sink always gets valid UTF-8.
///
/// The answer's blocks are recorded as data to be sent back with the turn (answer_blocks), unless
/// they are only text and then calls. An answer that was cut, failed or refused has no record.
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
