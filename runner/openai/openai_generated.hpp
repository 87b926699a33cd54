#pragma once

#include "runner/base/generated_media.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <string>
#include <string_view>

namespace agui::runner {

/// Reads the media that a model made: `audio` (OpenAI), whose base64 comes in pieces beside its
/// transcript, and `images` (OpenRouter and others), each whole as a data URL. No other URL is ever
/// fetched. For one answer; the sink must outlive it.
class openai_generated {
public:
    explicit openai_generated(model_sink& sink) noexcept : sink_(sink) {}

    /// Reads both members of a delta, or of a `whole_message`, which may repeat the deltas; each
    /// may be null. Returns the piece of the transcript, which lives as long as `audio`.
    std::string_view
    read(const boost::json::value* audio, const boost::json::value* images, bool whole_message);
    /// Passes on the audio, whose answer has ended by itself.
    void finish();

    [[nodiscard]] bool any() const noexcept { return has_images_ || sound_.any(); }

private:
    void add_sound(std::string_view piece);
    void image(const boost::json::object& part);

    model_sink& sink_;
    base64_pieces sound_;
    std::string words_; ///< The transcript so far.
    bool has_images_ = false;
};

} // namespace agui::runner
