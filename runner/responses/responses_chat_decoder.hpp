#pragma once

#include "runner/provider/stream_decoder.hpp"
#include "runner/responses/responses_item_reader.hpp"

#include <boost/json/object.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace agui::runner {

/// Decodes a streamed answer of the Responses dialect (bytes of an SSE body, cut anywhere) into a
/// model_sink. Also accepts the whole JSON answer of a server that ignores `stream`. Accepts the
/// deviations of servers that imitate the dialect: no `event:` lines, no empty lines between
/// events, `[DONE]`; items without a start, without an end, all with the same index, or without one
/// (an event then belongs to the item that began with its id, otherwise to the latest); another
/// `item_id` in every event; texts and arguments that come only at the end of their part, of their
/// item or of the answer; characters split between two deltas. Unknown events are skipped. The sink
/// always gets valid UTF-8.
///
/// The dialect has no reason for an end with calls: an answer that has function calls ends with
/// them. Tools that the server executes are no calls; they are kept with the answer.
///
/// The answer's items are recorded as data to be sent back with the turn (answer_blocks), unless
/// they are only one message and then calls. An answer that broke off, failed or was filtered has
/// no record; one that a limit cut has.
class responses_decoder final : public stream_decoder {
public:
    responses_decoder(model_sink& sink, std::string model, std::string provider_name);

    /// True once text, reasoning, a call or a whole opaque item came.
    [[nodiscard]] bool begun() const noexcept override { return items_.begun() || may_be_whole(); }
    /// True once the answer's last event came.
    [[nodiscard]] bool complete() const noexcept override { return stopped_; }

private:
    static constexpr words own_words = {.part = "an event", .end = "its last event"};

    void read(std::string_view name, const boost::json::object& event, bool torn) override;
    void settle() override;
    [[nodiscard]] std::optional<token_usage> take_usage() override { return std::move(usage_); }

    using position = responses_item_reader::position;

    [[nodiscard]] position place_of(const boost::json::object& event) const;
    void
    item_event(std::string_view type, position at, const boost::json::object& event, bool torn);
    void end_with(std::string_view type, const boost::json::object& response, bool torn);
    void report(const boost::json::value& error);

    responses_item_reader items_;
    std::optional<token_usage> usage_;
};

} // namespace agui::runner
