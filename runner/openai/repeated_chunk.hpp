#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace agui::runner {

/// Reads the text of a chunk that repeats an earlier chunk byte for byte in everything else, as
/// most chunks of a stream do, without parsing it. OpenAI's `obfuscation`, random letters that hide
/// the length of the text, may differ, too, and so may `id` and `created` at the chunk's beginning.
/// So the streams of one model share the rest.
class repeated_chunk {
public:
    /// To be called with a chunk, a JSON object in UTF-8, that did nothing but add the text of its
    /// member `content`. A chunk in which that text cannot be found for certain, or that is too
    /// long to be kept, changes nothing. A stream learns at most 16 chunks.
    void learn(std::string_view chunk);

    /// The text of a chunk that equals the learned one in everything else. Empty if it does not, or
    /// if its text must be parsed (escapes, bytes that are not UTF-8).
    [[nodiscard]] std::string_view text_in(std::string_view chunk) const noexcept;

private:
    class shape;
    std::shared_ptr<const shape> shape_; ///< Null until one was learned.
    std::uint8_t learned_ = 0;           ///< Number of chunks that were learned.
};

} // namespace agui::runner
