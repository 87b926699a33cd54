#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace agui::runner {

/// Reads the text of a chunk that repeats an earlier chunk byte for byte in everything else, as
/// most chunks of a stream do, without parsing it. OpenAI's `obfuscation`, random letters that hide
/// the length of the text, may differ, too. Keeps about as many bytes as a chunk has.
class repeated_chunk {
public:
    /// To be called with a chunk, a JSON object in UTF-8, that did nothing but add the text of its
    /// member `content`. A chunk in which that text cannot be found for certain changes nothing.
    void learn(std::string_view chunk);

    /// The text of a chunk that equals the learned one in everything else. Empty if it does not, or
    /// if its text must be parsed (escapes, bytes that are not UTF-8).
    [[nodiscard]] std::string_view text_in(std::string_view chunk) const noexcept;

private:
    /// The bytes before the text, those between it and the random letters, and those after them.
    std::string around_;
    std::size_t before_bytes_ = 0;
    std::size_t between_bytes_ = 0; ///< 0: there are no random letters.
};

} // namespace agui::runner
