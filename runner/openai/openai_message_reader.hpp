#pragma once

#include "runner/base/model_provider.hpp"
#include "runner/base/tool_call_assembler.hpp"
#include "runner/base/utf8.hpp"
#include "runner/openai/openai_fields.hpp"
#include "runner/openai/openai_generated.hpp"
#include "runner/openai/tagged_thoughts.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace agui::runner {

/// Reads the deltas of an answer, or its whole message, and passes them on to a model_sink as text,
/// reasoning, media and calls, in valid UTF-8. For one answer; the sink must outlive it.
class openai_message_reader {
public:
    /// `reasoning_tag` is openai_settings::reasoning_tags.
    openai_message_reader(model_sink& sink, std::string_view reasoning_tag)
        : sink_(sink),
          tags_(reasoning_tag.empty() ? nullptr : std::make_unique<tagged_thoughts>(reasoning_tag)),
          calls_(sink) {}
    openai_message_reader(const openai_message_reader&) = delete;
    openai_message_reader& operator=(const openai_message_reader&) = delete;

    /// Reads a `delta`, or with `whole_message` a `message`, which may repeat the streamed deltas.
    /// `torn` means that the chunk was cut in the middle of a character. Returns the usage that it
    /// holds, or null.
    const boost::json::object*
    read(const boost::json::object& value, bool whole_message, bool torn);
    /// True if the last delta did nothing but add a text, and would do the same again with another.
    [[nodiscard]] bool was_only_text() const noexcept { return was_only_text_; }
    /// Reads a delta that holds only this text, which is UTF-8.
    void read_text(std::string_view text);

    /// Ends the text and passes on its held-back rest.
    void end_text();
    /// Ends the calls. `complete` means that no call was cut. `explained` means that the answer was
    /// cut, which explains a call without a name.
    void end_calls(bool complete, bool explained);
    /// Passes on the data that the server wants sent back with the turn. Call it last.
    void hand_over_data();

    /// Passes on the media that need the end of the answer, which ended by itself.
    void end_media() {
        if (media_) {
            media_->finish();
        }
    }

    /// True if text, reasoning, a medium or a call came.
    [[nodiscard]] bool begun() const noexcept {
        return said_ || thought_ || calls_.any() || has_media();
    }
    /// True if a call, a medium or text that is not blank came.
    [[nodiscard]] bool says_something() const noexcept {
        return spoken_ || calls_.any() || has_media();
    }
    [[nodiscard]] const tool_call_assembler& calls() const noexcept { return calls_; }
    /// Why the answer cannot be used, a literal; empty if it can. No part of a call is passed on
    /// after a problem.
    [[nodiscard]] std::string_view problem() const noexcept { return problem_; }

private:
    [[nodiscard]] bool has_media() const noexcept { return media_ && media_->any(); }
    void reasoning(const std::array<const boost::json::value*, 4>& members);
    void name_reasoning(std::string_view name);
    void details(const boost::json::array* pieces);
    void content(const boost::json::value& value);
    void content_part(const boost::json::object& part);
    void say(std::string_view text);
    void think(std::string_view text);
    void pass_text(std::string_view text);
    void tell(std::string_view text);
    void pass_tagged(std::string_view thoughts, std::string_view text);
    void pass_reasoning(std::string_view text);
    [[nodiscard]] bool may_tell(bool is_text);
    void end_half(utf8_joiner& half, void (openai_message_reader::*pass)(std::string_view));
    void end_halves();
    void tool_call(const boost::json::object& value, std::optional<std::int64_t> position);
    void note(tool_call_assembler::status status);

    // What each token uses comes first, in few cache lines.
    model_sink& sink_;
    std::string_view problem_;
    bool torn_ = false;
    bool was_only_text_ = false;
    bool has_content_ = false; ///< Text came as content, which a transcript only repeats.
    bool said_ = false;
    bool spoken_ = false; ///< Some text that is not blank came.
    bool thought_ = false;
    bool tells_text_ = false;   ///< The last delta was text.
    std::uint32_t changes_ = 0; ///< Changes between text and reasoning.
    bool told_plainly_ = false; ///< Reasoning came under one of its plain names.
    /// Name of the member, or the tag. Outlives this object's use.
    std::string_view reasoning_name_;
    std::unique_ptr<tagged_thoughts> tags_; ///< Null if the setting is empty.
    utf8_joiner text_half_;
    utf8_joiner reasoning_half_;
    tool_call_assembler calls_;
    std::unique_ptr<openai_generated> media_; ///< Null until one came, which is rare.
    reasoning_details details_;
    bool details_torn_ = false;        ///< A piece was cut in the middle of a character.
    boost::json::value extra_content_; ///< Data of the turn; may be null.
};

} // namespace agui::runner
