#pragma once

#include "runner/anthropic/anthropic_block_reader.hpp"
#include "runner/anthropic/anthropic_fields.hpp"
#include "runner/provider/stream_decoder.hpp"

#include <boost/json/object.hpp>

#include <optional>
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
/// they are only one text and then calls, and the answer is no pause. An answer that broke off,
/// failed or was refused has no record; one that a limit cut has.
class anthropic_decoder final : public stream_decoder {
public:
    anthropic_decoder(model_sink& sink, std::string model, std::string provider_name);

    /// True once text, reasoning, a call or an opaque block came.
    [[nodiscard]] bool begun() const noexcept override { return blocks_.begun() || may_be_whole(); }
    /// True once `message_stop` came.
    [[nodiscard]] bool complete() const noexcept override { return stopped_; }

private:
    static constexpr words own_words = {.part = "an event", .end = "a stop_reason"};

    void read(std::string_view name, const boost::json::object& event, bool torn) override;
    void settle() override;
    [[nodiscard]] std::optional<token_usage> take_usage() override {
        return usage_.counts(provider_, model_);
    }

    void event(std::string_view type, const boost::json::object& value, bool torn);
    void whole_message(const boost::json::object& message, bool torn);
    void end_with(const boost::json::object& delta);
    void note_transformations(const boost::json::object& value);
    void report(const boost::json::object& value);

    anthropic_block_reader blocks_;
    anthropic_usage usage_;
    bool has_end_event_ = false; ///< `message_delta` came, perhaps without a reason.
};

} // namespace agui::runner
