#pragma once

#include "runner/base/model_provider.hpp"
#include "runner/base/tool_call_assembler.hpp"
#include "runner/base/utf8.hpp"
#include "runner/openai/openai_fields.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace agui::runner {

/// What an answer says: its deltas, or its whole message, passed on to a model_sink as text,
/// reasoning and calls, in valid UTF-8. For one answer; the sink must outlive it.
class openai_message_reader {
public:
    explicit openai_message_reader(model_sink& sink) : sink_(sink), calls_(sink) {}
    openai_message_reader(const openai_message_reader&) = delete;
    openai_message_reader& operator=(const openai_message_reader&) = delete;

    /// A `delta`, or with `whole_message` a `message`, which may repeat what was streamed. `torn`:
    /// its chunk was cut in the middle of a character.
    void read(const boost::json::object& value, bool whole_message, bool torn);

    /// No more text will come: the rest of a split character is passed on.
    void end_halves();
    /// No more calls will come; `complete`: none was cut. `explained`: the answer was cut, which
    /// explains a call without a name.
    void end_calls(bool complete, bool explained);
    /// Passes on what the server wants sent back with the turn. Last.
    void hand_over_data();

    [[nodiscard]] const tool_call_assembler& calls() const noexcept { return calls_; }
    /// Why the answer cannot be used; a literal, empty: it can. Nothing of a call is passed on
    /// after that.
    [[nodiscard]] std::string_view problem() const noexcept { return problem_; }

private:
    void reasoning(
        const boost::json::value* reasoning_content, const boost::json::value* reasoning_text
    );
    void content(const boost::json::value& value);
    void say(std::string_view text);
    void think(std::string_view text);
    void pass(utf8_joiner& half, std::string_view text, void (model_sink::*to)(std::string_view));
    void tool_call(const boost::json::object& value, std::optional<std::int64_t> position);
    void note(tool_call_assembler::status status);

    model_sink& sink_;
    tool_call_assembler calls_;
    std::string_view problem_;
    bool torn_ = false;
    bool said_ = false;
    bool thought_ = false;
    std::string_view reasoning_name_; ///< Of the member; a literal.
    utf8_joiner text_half_;
    utf8_joiner reasoning_half_;
    reasoning_details details_;
    boost::json::value extra_content_; ///< Of the turn; null: none.
};

} // namespace agui::runner
